"""The vault as tools for an agent, over the Model Context Protocol."""
