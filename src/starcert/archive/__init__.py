"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification

`ExactArchive` keeps results of trying every attack, and `IntervalArchive` intervals: the same functions serve all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.archive.blind_row import BLIND, BlindRow
    from starcert.archive.drawn_again import rerun
    from starcert.archive.exact_archive import ExactArchive
    from starcert.archive.intervals import IntervalArchive
    from starcert.archive.reading import read
    from starcert.archive.record import Archive
    from starcert.archive.verification import Mismatch, Verification, verify
    from starcert.archive.writing import write

_PLACES = {
    "BLIND": "blind_row",
    "Archive": "record",
    "BlindRow": "blind_row",
    "ExactArchive": "exact_archive",
    "IntervalArchive": "intervals",
    "Mismatch": "verification",
    "Verification": "verification",
    "read": "reading",
    "rerun": "drawn_again",
    "verify": "verification",
    "write": "writing",
}
__all__ = ["BLIND", "Archive", "BlindRow", "ExactArchive", "IntervalArchive", "Mismatch", "Verification",
           "read", "rerun", "verify", "write"]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'starcert.archive' has no attribute {name!r}")
    return getattr(import_module(f"starcert.archive.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
