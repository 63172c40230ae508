"""Votes on disk: durable, resumable, self-describing, and safe to open wherever they come from."""

from starcert.voting.store.rows import GraphRecord, Look, Session, VoteSettings
from starcert.voting.store.votes import VoteStore

__all__ = ["GraphRecord", "Look", "Session", "VoteSettings", "VoteStore"]
