"""A collective claim about the nodes of Cora-ML: one deleted link changes at most k of 2,530 answers.

    STARCERT_DATA=… python benchmarks/collective.py [votes] [epochs]

The whole `at_most_changed` is timed, with its matrix products here and, where there is a GPU, there; then the archive
is written and `verify` proves the claim again, here. Both k must be equal.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

import starcert as sc
from starcert.archive.checker.collective import CollectiveCheck, prove_together
from starcert.archive.claims import Together
from starcert.classifiers.torch.module import DeviceMatrices
from starcert_studies.kinds.cora import Cora
from table import Table, Work

Value = TypeVar("Value")
THREAT = "deletions:1"


def timed(work: Callable[[], Value]) -> tuple[float, Value]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main(votes: int = 10_000, epochs: int = 1_000) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    smoothed, graph = Cora(epochs=epochs).smoothed("links")
    how = {"samples": votes, "seed": 1, "threat": THREAT, "voting": sc.Voting(selection_samples=1_000, progress=False)}
    evidence = sc.Evidence(own_samples=0)
    certifying, result = timed(lambda: smoothed.certify([graph], evidence=evidence, **how))
    kept = result.collective.about(result.asked[0].threat)
    about = f"{THREAT} on Cora-ML, {len(result):,} nodes, {sum(kept.asked[0].asked.counts):,} attacks."
    table = Table("collective", about, device=device, votes=votes, epochs=epochs, certify_seconds=certifying)
    here, claim = timed(lambda: replace(kept, matrices=None).at_most_changed(result.asked[0].threat, None, None))
    table.add(Work("at_most_changed, products here", here, note=str(claim), more={"k": claim.k}))
    if device == "cuda":
        there = DeviceMatrices(device)
        there.product(there.of(np.ones((8, 8), np.bool_)), there.of(np.ones((8, 8), np.bool_)))  # a warm-up
        seconds, again = timed(lambda: replace(kept, matrices=there).at_most_changed(claim.threat, None, None))
        table.add(Work("at_most_changed, products on the device", seconds, loop=here, more={"k": again.k}))
        if again != claim:
            raise SystemExit(f"the device says {again}")
    archive = sc.archive.Archive.from_result(result, claims=[claim])
    with tempfile.TemporaryDirectory() as folder:
        writing, _ = timed(lambda: sc.archive.write(Path(folder) / "certificates.json", archive))
        size = (Path(folder) / "certificates.collective.evidence.npz").stat().st_size
        read = sc.archive.read(Path(folder) / "certificates.json")
    table.add(Work("writing the archive", writing, more={"bytes": size}))
    found: list[CollectiveCheck] = []
    proving, _ = timed(lambda: list(prove_together((read.collective, found), Together(claim))))
    table.add(Work("proving the claim again from the file", proving, note=str(found[0])))
    if not found[0].proved:
        raise SystemExit("the claim in the file is not proved")
    table.write()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
