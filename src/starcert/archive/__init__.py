"""Certificates that are kept: everything they are made from, in one record."""

from __future__ import annotations

from starcert.archive.record import Archive

__all__ = ["Archive"]
