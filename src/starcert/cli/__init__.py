"""The command line: parse, call, print. One file a command."""

from starcert.cli import frontier, slack, verify, votes
from starcert.cli.app import app, main

__all__ = ["app", "frontier", "main", "slack", "verify", "votes"]
