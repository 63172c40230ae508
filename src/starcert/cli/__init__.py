"""The command line: parse, call, print. One file a command."""

from starcert.cli import frontier, reproduce, slack, votes
from starcert.cli.app import app, main

__all__ = ["app", "frontier", "main", "reproduce", "slack", "votes"]
