"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification

Results of trying every attack, and intervals, are kept likewise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.archive.drawn_again import rerun
    from starcert.archive.files import read, write
    from starcert.archive.record import BLIND, Archive, BlindRow
    from starcert.archive.verification import Mismatch, Verification, verify

_PLACES = {
    "BLIND": "record",
    "Archive": "record",
    "BlindRow": "record",
    "Mismatch": "verification",
    "Verification": "verification",
    "read": "files",
    "rerun": "drawn_again",
    "verify": "verification",
    "write": "files",
}
__all__ = ["BLIND", "Archive", "BlindRow", "Mismatch", "Verification", "read", "rerun", "verify", "write"]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'starcert.archive' has no attribute {name!r}")
    return getattr(import_module(f"starcert.archive.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
