"""The command line; each command is a module, none has logic of its own."""

from cdvm.cli.main import main

__all__ = ["main"]
