"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification
"""

from __future__ import annotations

from starcert.files.reading import read
from starcert.files.record import Archive
from starcert.files.verification import Mismatch, Verification, verify
from starcert.files.writing import write

__all__ = ["Archive", "Mismatch", "Verification", "read", "verify", "write"]


def __dir__() -> list[str]:
    return sorted(__all__)
