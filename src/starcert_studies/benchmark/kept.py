"""Certificates of a fold in a file that `starcert verify` proves again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import starcert as sc
from starcert.files import Archive, ExactArchive, write, write_exact
from starcert_studies.benchmark.folds import Cut, Nodes


def keep(path: Path, found: sc.Certificates | sc.ExactCertificates, cut: Cut) -> None:
    """Writes the certificates of a fold; objects are called by their numbers in the data.

    Votes on one graph serve all its nodes, so all of them are in the file: those that are not tested without a class.
    """
    classes = dict(zip(cut.numbers, cut.tested.labels.tolist(), strict=True))
    data = cut.tested.data if isinstance(cut.tested, Nodes) else cut.tested
    rows = range(len(found)) if data is not cut.tested else cut.numbers
    about: dict[str, Any] = {
        "names": [*map(str, rows)],
        "labels": [classes.get(row) for row in rows],
        "class_names": data.class_names or None,
    }
    if isinstance(found, sc.ExactCertificates):
        write_exact(path, ExactArchive.from_result(found, **about))
    else:
        write(path, Archive.from_result(found, **about))
