"""The command line: parse, call, print."""

from starcert.cli import compare_command, file_commands, radius_commands, run_commands, train_command
from starcert.cli.command_line import app, main

__all__ = ["app", "compare_command", "file_commands", "main", "radius_commands", "run_commands", "train_command"]
