"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification
"""

from __future__ import annotations

from starcert.archive.reading import read
from starcert.archive.record import Archive
from starcert.archive.verification import Mismatch, Verification, verify
from starcert.archive.writing import write

__all__ = ["Archive", "Mismatch", "Verification", "read", "verify", "write"]


def __dir__() -> list[str]:
    return sorted(__all__)
