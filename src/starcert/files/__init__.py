"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification

ValueCertificates ─► IntervalArchive ─► write_intervals, read_intervals, verify_intervals: the same for numbers
"""

from __future__ import annotations

from starcert.files.blind_row import BLIND, BlindRow
from starcert.files.interval_verification import IntervalVerification, verify_intervals
from starcert.files.intervals import IntervalArchive, is_intervals, read_intervals, write_intervals
from starcert.files.reading import read
from starcert.files.record import Archive
from starcert.files.verification import Mismatch, Verification, verify
from starcert.files.writing import write

__all__ = ["BLIND", "Archive", "BlindRow", "IntervalArchive", "IntervalVerification", "Mismatch", "Verification",
           "is_intervals", "read", "read_intervals", "verify", "verify_intervals", "write",
           "write_intervals"]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
