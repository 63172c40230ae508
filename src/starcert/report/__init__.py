"""The report: certificates as one HTML page that needs nothing else, to be read, searched, printed and passed on."""

from __future__ import annotations

from starcert.report.writing import write_report

__all__ = ["write_report"]


def __dir__() -> list[str]:
    return sorted(__all__)
