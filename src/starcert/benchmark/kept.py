"""Certificates of a fold in a file that `starcert verify` proves again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import starcert as sc
from starcert.benchmark.data import Classes
from starcert.benchmark.folds import Fold, Nodes
from starcert.files import Archive, ExactArchive, write, write_exact


def keep(path: Path, found: sc.Certificates | sc.ExactCertificates, cut: Fold, known: Classes | None) -> None:
    """Writes the certificates of a fold; objects are called as in the data, or by their numbers there.

    Votes on one graph serve all its nodes, so all of them are in the file: those that are not tested without a class.
    """
    truth = dict(zip(cut.numbers, cut.tested.labels.tolist(), strict=True))
    rows = range(len(found)) if isinstance(cut.tested, Nodes) else cut.numbers
    names = known.names if known and known.names else ()
    about: dict[str, Any] = {
        "names": [names[row] if names else str(row) for row in rows],
        "labels": [truth.get(row) for row in rows],
    }
    # The last classes may have no graph that is small enough: then no model knows them.
    called = known.class_names if known and known.class_names else None
    if isinstance(found, sc.ExactCertificates):
        about["class_names"] = called and called[: found.n_classes]
        write_exact(path, ExactArchive.from_result(found, **about))
    elif found.votes is not None:
        about["class_names"] = called and called[: found.votes.counts.shape[1]]
        write(path, Archive.from_result(found, **about))
