"""The command line: parse, call, print."""

from starcert.cli import benchmark_commands, file_commands, radius_commands, run_commands
from starcert.cli.command_line import app, main

__all__ = ["app", "benchmark_commands", "file_commands", "main", "radius_commands", "run_commands"]
