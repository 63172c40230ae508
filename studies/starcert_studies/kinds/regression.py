"""Numbers in place of classes: log P of molecules, as a network predicts it from their bonds, under one changed bond.

The molecules are of the NCI's collection, of which RDKit brings 5,000 along; log P is Crippen's, as RDKit computes it.
A GINE learns it with noise that breaks bonds and changes their types. For each test molecule the certified interval
stands beside what is true of the smoothed network, estimated at every attacked molecule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import Ridge
from typing_extensions import override

import starcert as sc
from starcert.models import GINE, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.objects.molecules import load_rdkit
from starcert.objects.threats import Box, Changes, Deletions, after
from starcert.system.parts import Part
from starcert.system.processes import one_torch_thread
from starcert_studies.report import Report
from starcert_studies.trials import Study

ELEMENTS, SIZES = ("Br", "C", "Cl", "F", "N", "O", "S"), range(6, 17)  # the atoms of a molecule, hydrogen left out
OUTPUTS = sc.ValueRange(-5, 7)  # all values of log P here lie inside
NOISE = sc.Noise(bonds=sc.Edges(delete=0.1, add=0.0, change=0.15, types=4))
THREAT = Changes(1) | Deletions(1)
RADII = tuple({"bonds.delete": each, "bonds.add": 0, "bonds.change": 1 - each} for each in (1, 0))
INTERVALS = {"clean": "without attack", "brute": "true, by votes at attacked molecules", "certified": "by weighing",
             "by_radius": "by ρ, over thresholds"}  # fmt: skip
BLOCK = 4  # molecules in a part
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Regression(Study):
    """One network, and its intervals."""

    quick: ClassVar = {"samples": 2_000, "attacked_samples": 200, "molecules": 4, "taught": 200, "epochs": 3}

    samples: int = 50_000  # votes on each molecule
    attacked_samples: int = 5_000  # votes at each attacked molecule, for comparison
    molecules: int = 100  # how many are tested
    taught: int = 2_000  # how many are learnt from; a quarter as many decide which epoch is kept
    epochs: int = 60  # of training
    seed: int = 1  # of the split, weights, training and votes

    @override
    def parts(self) -> list[Part]:
        return [Part(f"molecules-{at}", judge, (self, at)) for at in range(0, self.molecules, BLOCK)]

    @override
    def outcome(self, report: Report, found: Mapping[Any, Any], results: Mapping[str, Any]) -> None:
        rows = [row for part in self.parts() for row in results[part.name]]
        report.table("molecules", rows)
        column = {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0] if name != "smiles"}
        truth, (taught, _, tested) = column["log_p"], splits(self)
        atoms = Ridge().fit(taught.atoms, taught.log_p).predict(tested.atoms)
        predicted = {"smoothed": column["estimate"], "constant": taught.log_p.mean(), "atoms": atoms}
        errors = {name: float(np.abs(values - truth).mean()) for name, values in predicted.items()}
        widths = {name: float((column[f"{name}_high"] - column[f"{name}_low"]).mean()) for name in INTERVALS}
        report.table("errors", [{"predictor": name, "mean_absolute_error": error} for name, error in errors.items()])
        report.table("intervals", [{"interval": INTERVALS[name], "mean_width": each} for name, each in widths.items()])
        values: dict[str, Any] = {"errors": errors, "widths": widths, "tested": len(rows),
                                  "attacks": np.median(column["attacks"])}  # fmt: skip
        report.sentence(samples=self.samples, taught=self.taught, **values)
        slip, whole = 4 * column["brute_error"], self == Regression(seed=self.seed)
        held = column["certified_low"] <= column["brute_low"] + slip
        held &= column["brute_high"] - slip <= column["certified_high"]
        report.check("holds", bool(held.all()), held=int(held.sum()), **values)
        report.check("narrower", widths["certified"] < widths["by_radius"], enough=whole, **values)
        report.check("better", errors["smoothed"] < min(errors["constant"], errors["atoms"]), enough=whole, **values)


class Molecules(NamedTuple):
    """Molecules with types of bonds, in three columns."""

    smiles: list[str]
    graphs: list[sc.Graph]
    log_p: Floats

    def some(self, which: Sequence[int]) -> Molecules:
        """Some of them, by number."""
        return Molecules([self.smiles[i] for i in which], [self.graphs[i] for i in which], self.log_p[list(which)])

    @property
    def atoms(self) -> Floats:
        """How many atoms of each element each has: all that a model knows that sees no bond."""
        return np.array([np.asarray(each.node_data["x"]).sum(axis=0) for each in self.graphs])


@lru_cache(maxsize=1)
def molecules() -> Molecules:
    """Different ones, of one piece, with these elements and sizes."""
    chem, crippen, config, log = map(load_rdkit, ("Chem", "Chem.Crippen", "RDConfig", "rdBase"))
    found: dict[str, float] = {}
    with log.BlockLogs():
        for line in Path(config.RDDataDir, "NCI", "first_5K.smi").read_text("utf-8").splitlines():
            read = chem.MolFromSmiles(line.partition("\t")[0])
            if read is None or read.GetNumAtoms() not in SIZES or "." in (smiles := chem.MolToSmiles(read)):
                continue
            if {atom.GetSymbol() for atom in read.GetAtoms()} <= set(ELEMENTS):
                found[smiles] = float(crippen.MolLogP(read))
    graphs = [sc.Graph.from_smiles(smiles, elements=list(ELEMENTS), bond_types=True) for smiles in found]
    return Molecules(list(found), graphs, np.array(list(found.values())))


@lru_cache(maxsize=1)
def splits(study: Regression) -> tuple[Molecules, Molecules, Molecules]:
    """The molecules to learn from, to choose the epoch by, and to test."""
    order, held = np.random.default_rng(study.seed).permutation(len(molecules().smiles)), study.taught // 4
    cuts = order[: study.taught], order[study.taught : study.taught + held], order[-study.molecules :]
    taught, validated, tested = (molecules().some(each.tolist()) for each in cuts)
    return taught, validated, tested


class Clipped(GINE):
    """A GINE whose outputs stay in their range."""

    @override
    def forward(self, x: Any, edge_index: Any, edge_attr: Any, batch: Any) -> torch.Tensor:  # type: ignore[override]
        return super().forward(x, edge_index, edge_attr, batch).clamp(OUTPUTS.low, OUTPUTS.high)


@lru_cache(maxsize=1)
def smoothed_network(study: Regression) -> sc.SmoothedRegressor:
    """The network, trained with the noise; the validation molecules decide which epoch is kept."""
    with own_generator(study.seed, "cpu"):
        module = Clipped(len(ELEMENTS), 4, 1, hidden=32)
    smoothed = sc.SmoothedRegressor(sc.classifiers.from_pyg(module, outputs=OUTPUTS), NOISE)
    taught, held, _ = splits(study)
    fit_with_noise(smoothed, taught.graphs, taught.log_p, validation=(held.graphs, held.log_p), epochs=study.epochs,
                   learning_rate=5e-3, halve_every=max(1, study.epochs // 4), seed=study.seed,
                   progress=False)  # fmt: skip
    return smoothed


def judge(study: Regression, at: int) -> list[dict[str, Any]]:
    """Intervals of some test molecules: certified, by radius alone, and the true one as far as votes show it."""
    with one_torch_thread():
        smoothed, some = smoothed_network(study), zip(*splits(study)[2], strict=True)
        return [judge_one(study, smoothed, *each) for each in islice(some, at, at + BLOCK)]


def judge_one(
    study: Regression, smoothed: sc.SmoothedRegressor, smiles: str, graph: sc.Graph, log_p: float
) -> dict[str, Any]:
    """One molecule."""
    graphs, voting = [graph], sc.Voting(progress=False)
    result = smoothed.certify(graphs, samples=study.samples, seed=study.seed, threat=THREAT, voting=voting)
    counted = replace(result, proof=replace(result.proof, kept=(None,), asked=None, threat=None))[
        0
    ]  # as if flips were not known
    found = {"clean": _hull([result[0].clean]), "certified": _hull([result[0].interval()]),
             "by_radius": _hull(map(counted.interval, map(Box, RADII)))}  # fmt: skip
    sites = smoothed.problem(graphs).sites[0]
    attacked = [after(sites, row).clean for block in THREAT.up_to(sites, 1).blocks for row in block]
    means = smoothed.certify(attacked, samples=study.attacked_samples, seed=study.seed + 1, voting=voting)
    estimates = [each.estimate for each in (result[0], *means)]
    found["brute"] = min(estimates), max(estimates)
    middles, shares = (OUTPUTS.edges[1:] + OUTPUTS.edges[:-1]) / 2, means.proof.votes.counts / study.attacked_samples
    variance = float((shares @ middles**2 - (shares @ middles) ** 2).max())
    row = {"smiles": smiles, "log_p": float(log_p), "estimate": estimates[0], "attacks": len(attacked)}
    for name, ends in found.items():
        row |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return row | {"brute_error": (variance / study.attacked_samples) ** 0.5}


def _hull(intervals: Iterable[sc.ValueInterval]) -> tuple[float, float]:
    lows, highs = zip(*((each.low, each.high) for each in intervals), strict=True)
    return min(lows), max(highs)
