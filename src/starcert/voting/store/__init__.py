"""Votes on disk: durable, resumable, self-describing, and safe to open wherever they come from."""

from starcert.voting.store.records import GraphRecord, Look, Session, StoreSummary, VoteSettings
from starcert.voting.store.votes import VoteStore

__all__ = ["GraphRecord", "Look", "Session", "StoreSummary", "VoteSettings", "VoteStore"]
