"""Certificates that are kept: everything they are made from, in a record and in a file that can be checked.

Certificates ─► Archive ─► write ─► certificates.json ─► read ─► Archive
                                                      └► verify ─► Verification

ExactCertificates ─► ExactArchive ─► write_exact, read_exact, verify_exact: the same where every attack was tried
ValueCertificates ─► IntervalArchive ─► write_intervals, read_intervals, verify_intervals: the same for numbers
"""

from __future__ import annotations

from starcert.files.blind_row import BLIND, BlindRow
from starcert.files.exact_archive import ExactArchive, is_exact, read_exact, write_exact
from starcert.files.exact_verification import ExactVerification, verify_exact
from starcert.files.interval_verification import IntervalVerification, verify_intervals
from starcert.files.intervals import IntervalArchive, is_intervals, read_intervals, write_intervals
from starcert.files.reading import read
from starcert.files.record import Archive
from starcert.files.verification import Mismatch, Stated, Verification, verify
from starcert.files.writing import write

__all__ = ["BLIND", "Archive", "BlindRow", "ExactArchive", "ExactVerification", "IntervalArchive",
           "IntervalVerification", "Mismatch", "Stated", "Verification", "is_exact", "is_intervals", "read",
           "read_exact", "read_intervals", "verify", "verify_exact", "verify_intervals", "write", "write_exact",
           "write_intervals"]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
