"""`python -m sidelight`: the command line."""

from sidelight.cli import main

main()
