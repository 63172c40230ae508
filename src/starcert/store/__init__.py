"""Votes on disk: durable, resumable, self-describing, and safe to open wherever they come from."""

from starcert.store.records import GraphRecord, Session, Settings
from starcert.store.votes import Summary, VoteStore

__all__ = ["GraphRecord", "Session", "Settings", "Summary", "VoteStore"]
