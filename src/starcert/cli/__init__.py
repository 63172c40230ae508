"""The command line: parse, call, print. One file a command."""

from starcert.cli import certify, frontier, init, reproduce, slack, sweep, verify, votes
from starcert.cli.app import app, main

__all__ = ["app", "certify", "frontier", "init", "main", "reproduce", "slack", "sweep", "verify", "votes"]
