"""Votes on disk: durable, resumable, self-describing, and safe to open wherever they come from."""

from starcert.store.records import GraphRecord, Look, Session, VoteSettings
from starcert.store.votes import StoreSummary, VoteStore

__all__ = ["GraphRecord", "Look", "Session", "StoreSummary", "VoteSettings", "VoteStore"]
