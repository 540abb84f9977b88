"""The command line: `sidelight`. Heavy parts are imported by the command that needs them."""

from sidelight.cli.commands import main

__all__ = ["main"]
