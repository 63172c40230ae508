"""The command line: parse, call, print. A command is imported when it runs."""

from starcert.cli.command_line import app, loaded, main

__all__ = ["app", "loaded", "main"]
