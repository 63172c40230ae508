"""Certificates of a fold in a file that `starcert verify` proves again."""

from __future__ import annotations

from pathlib import Path

import starcert as sc
from starcert.files import Archive, ExactArchive, write, write_exact
from starcert_studies.benchmark.folds import Cut


def keep(path: Path, found: sc.Certificates | sc.ExactCertificates, cut: Cut) -> None:
    """Writes the certificates of what was tested, with its classes; names are numbers in the data."""
    names, labels = [str(number) for number in cut.numbers], cut.tested.labels.tolist()
    if isinstance(found, sc.ExactCertificates):
        write_exact(path, ExactArchive.from_result(found, names=names, labels=labels))
    else:
        write(path, Archive.from_result(found, names=names, labels=labels))
