"""Sidelight finds evidence in an Obsidian vault and cites the lines where it stands now."""
