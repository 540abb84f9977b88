"""The localhost door: wire types, JSON-RPC on strings, methods, server."""
