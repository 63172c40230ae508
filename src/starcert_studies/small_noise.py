"""Molecules under small noise: a network that was trained with it, and what is known of any two flips.

A molecule is a piece of work. Its votes come in the order that `Evidence` has: plain ones, deep ones where a level is
open, and votes at attacked molecules last. Without deep votes, as many plain ones as all of them are drawn instead.
"""

from __future__ import annotations

import base64
import io
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from starcert.math.deep import Pools, forecast_votes

import starcert as sc
from starcert.classifiers import from_dense
from starcert.datasets import Dataset, tu
from starcert.math.frontier import levels_of
from starcert.math.limits import AlphaShares
from starcert.math.pooling import level_weight
from starcert.models import GCN
from starcert.objects import Sites
from starcert.objects.attack_axes import axes_of
from starcert.objects.threats import AnyFlips
from starcert.system.processes import one_torch_thread, worker_processes
from starcert.system.stages import stages
from starcert_studies.study import trained_network
from starcert_studies.voted import ALPHA

SPLIT = (0.6, 0.2, 0.2)  # to learn from, to choose the epoch by, to test
NETWORK: Mapping[str, Any] = {"pooling": "sum", "conv": "gin", "layers": 3, "hidden": 32}
THREAT = AnyFlips(2)
FAILURES = {"needed_never": 1e-6, "needed_tenth": 0.1, "needed_third": 1 / 3}
"""Columns of forecasts: how often the attacks fail."""
CPU = "CPU"

Judged = dict[str, Any]


@dataclass(frozen=True)
class SmallNoise:
    """Test molecules of a data set, their noise and their votes."""

    data: str  # the name of the data set
    delete: float  # how likely a bond is deleted
    add: float  # how likely one is added
    max_nodes: int  # larger molecules are left out
    molecules: int  # how many test molecules are asked about
    samples: int  # plain votes on each
    deep_samples: int  # deep ones, at most
    own_samples: int  # votes at attacked versions of it, at most
    epochs: int  # of training
    seed: int  # of the split, weights, training and votes

    @property
    def noise(self) -> sc.Noise:
        """The noise of all node pairs."""
        return sc.Noise(pairs=sc.Flip(delete=self.delete, add=self.add))

    def evidence(self, deep: bool) -> tuple[int, sc.Evidence]:
        """Plain votes, and evidence; without deep votes as many plain ones more."""
        if deep:
            return self.samples, sc.Evidence(own_samples=self.own_samples, deep_samples=self.deep_samples)
        return self.samples + self.deep_samples, sc.Evidence(own_samples=self.own_samples)


@lru_cache(maxsize=2)
def splits(setting: SmallNoise) -> tuple[Dataset, Dataset, Dataset]:
    """Molecules that are small enough: to learn from, to choose the epoch by, to test."""
    every = tu(setting.data)
    small = every[np.array([graph.n_nodes <= setting.max_nodes for graph in every.graphs])]
    taught, held, tested = small.split(SPLIT, seed=setting.seed)
    return taught, held, tested.limited(setting.molecules, setting.seed)


def here() -> tuple[str, str]:
    """The device that torch works on, and its name: the first GPU, or the processor."""
    return ("cuda", torch.cuda.get_device_name()) if torch.cuda.is_available() else ("cpu", CPU)


def train_network(setting: SmallNoise) -> dict[str, Any]:
    """The network's weights, and the answers of a forest that sees atoms and no bond, on the test molecules."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)

    taught, held, tested = splits(setting)
    atoms = [
        np.array([np.asarray(graph.node_data["x"]).sum(axis=0) for graph in some.graphs]) for some in (taught, tested)
    ]
    blind = RandomForestClassifier(random_state=0).fit(atoms[0], taught.labels).predict(atoms[1])
    device, name = here()
    n_features, start = atoms[0].shape[1], time.perf_counter()
    made: list[torch.nn.Module] = []

    def network() -> torch.nn.Module:
        made.append(GCN(n_features, 2, **NETWORK).to(device))
        return made[0]

    with one_torch_thread():
        trained_network(network, setting.seed, setting.noise, None, taught, held, epochs=setting.epochs,
                        learning_rate=2e-3, halve_every=max(setting.epochs // 4, 1), seed=setting.seed)  # fmt: skip
    return {"weights": packed(made[0]), "features": n_features, "blind": blind.tolist(), "device": name,
            "learnt": len(taught), "seconds": time.perf_counter() - start}  # fmt: skip


def packed(module: torch.nn.Module) -> str:
    """The weights of a module, as text."""
    kept = io.BytesIO()
    torch.save({name: value.cpu() for name, value in module.state_dict().items()}, kept)
    return base64.b64encode(kept.getvalue()).decode()


def unpack(module: torch.nn.Module, weights: str, device: str) -> torch.nn.Module:
    """The same module with weights that were packed, ready to answer on a device."""
    module.load_state_dict(torch.load(io.BytesIO(base64.b64decode(weights)), weights_only=True))
    return module.to(device).eval()


@lru_cache(maxsize=1)
def smoothed_network(setting: SmallNoise, features: int, weights: str, device: str) -> sc.SmoothedClassifier:
    """The network, smoothed; it has answered once, so that nothing is compiled while a clock runs."""
    module = unpack(GCN(features, 2, **NETWORK), weights, device)
    assert isinstance(module, GCN)
    smoothed = sc.SmoothedClassifier(from_dense(module.dense(), n_classes=2), setting.noise)
    answer_once(setting, smoothed, sc.Voting(progress=False))
    return smoothed


def answer_once(setting: SmallNoise, smoothed: sc.SmoothedClassifier, voting: sc.Voting) -> None:
    """Some votes of each sort on the smallest molecule: workers have started, and compiled code is loaded."""
    first = min(splits(setting)[2].graphs, key=lambda graph: graph.n_nodes)
    evidence = sc.Evidence(own_samples=200, deep_samples=200)
    smoothed.certify([first], samples=2**14, seed=0, threat=THREAT, evidence=evidence, voting=voting)


def judge(
    setting: SmallNoise, network: Mapping[str, Any], number: int, *, deep: bool = True, cores: int | None = None
) -> Judged:
    """What is known of any two flips of a test molecule, on the device that is there or on processor cores alone."""
    tested = splits(setting)[2]
    graph, truth = tested.graphs[number], int(tested.labels[number])
    device, name = here() if cores is None else ("cpu", f"{cores} {CPU} cores")
    workers = nullcontext() if cores is None else worker_processes(cores, "Finished molecules are kept.")
    with one_torch_thread(), workers as executor:
        smoothed = smoothed_network(setting, network["features"], network["weights"], device)
        samples, evidence = setting.evidence(deep)
        voting = sc.Voting(progress=False, executor=executor)
        how: dict[str, Any] = {"threat": THREAT, "evidence": evidence, "voting": voting, "alpha": ALPHA}
        if executor is not None:
            answer_once(setting, smoothed, voting)
        with stages() as clock:
            found = smoothed.certify([graph], samples=samples, seed=setting.seed, **how)[0]
            verdict = found.verdict(THREAT)
    times = clock.times()
    weighing = times.seconds["certifying"]
    own, levels = (found.verdicts.own_votes, found.verdicts.levels) if found.verdicts else (0, {})
    left = "; ".join(f"{level}: {one.why}" for level, one in levels.items() if one.kind == "open")
    sites = smoothed.sites(graph)
    return {
        "number": number, "nodes": graph.n_nodes, "sites": sites.n_sites,
        "attacks": sum(THREAT.count(sites, size) for size in (1, 2)), "truth": truth, "class": found.label,
        "abstained": found.abstained, "verdict": verdict, "why": found.why(THREAT), "left": left,
        "votes": times.votes, "own": own, "seconds": times.elapsed, "weighing": weighing,
        "votes_a_second": times.votes / (times.elapsed - weighing), "device": name, **forecasts(setting, sites),
    }  # fmt: skip


def forecasts(setting: SmallNoise, sites: Sites) -> dict[str, float]:
    """About how many deep votes theory wants for any two flips, if attacks fail never, with 0.1, and with 1/3."""
    axes = axes_of(sites, setting.noise)
    box, share = tuple(len(axis.sites) for axis in axes), AlphaShares.of(Fraction(ALPHA)).certified
    levels: Sequence[tuple[int, ...]] = list(levels_of(2, box))
    growth = max(-math.log(share * level_weight(level, box)) for level in levels)
    wanted = partial(forecast_votes, Pools(axes), levels, setting.deep_samples, growth=growth)
    return {name: wanted(failure=failure) for name, failure in FAILURES.items()}
