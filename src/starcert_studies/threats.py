"""The attacker one has: narrow threats on small molecules, beside any two flips.

A network and its noise are chosen on validation molecules by how many of them are answered right, before any threat is
looked at. Every threat is then asked about the same molecules, from the same votes on each of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.certificates.certify import certify
from starcert.certificates.evidence import with_evidence
from starcert.certificates.questions import Question
from starcert.classifiers import Classifier
from starcert.datasets import Dataset, tu
from starcert.datasets.tu_files import local_names
from starcert.math.confidence import Votes, clopper_pearson
from starcert.math.limits import counts_alpha
from starcert.objects import Partition, Sites
from starcert.objects.binding import Problem
from starcert.objects.threats import AnyFlips, Deletions, LocalBudget, Rewire, Threat, UnfitError, Valence
from starcert.system.processes import one_torch_thread
from starcert.voting.plans import Job
from starcert_studies.figures import verdict_bars
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part, StudyParts
from starcert_studies.study import Study, trained_network
from starcert_studies.voted import ALPHA, Judged, RadiusTally, Voted, tally_groups

NETWORKS: Mapping[str, tuple[Mapping[str, Any], float]] = {
    "GCN": ({"pooling": "sum"}, 1e-2),
    "GIN": ({"pooling": "sum", "conv": "gin", "layers": 3, "hidden": 32}, 2e-3),
}
"""What each network is made with, and its learning rate."""
RATES = ((0.1, 0.1), (0.2, 0.1), (0.1, 0.2))
"""Probabilities to delete and to add a bond: large enough for these votes to weigh three flips."""
MAX_NODES = 22  # from 25 on, sets of three pairs that share no atom are too many to list; 22 keep it short
SPLIT = (0.5, 0.2, 0.3)  # to learn from, to choose by, to test
BLOCK = 5  # molecules in a part

Setting = tuple[str, tuple[float, float]]  # a network and its noise


@dataclass(frozen=True)
class Threats(Study):
    """Five threats, asked about molecules of two data sets."""

    quick: ClassVar = {"samples": 2_000, "own_samples": 5_000, "molecules": 4, "epochs": 5, "choosing_samples": 200}

    samples: int = 50_000  # votes on each molecule
    own_samples: int = 200_000  # the most votes at attacked versions of a molecule, for each threat
    molecules: int = 100  # how many test molecules of a data set are certified, at most
    epochs: int = 80  # of training
    choosing_samples: int = 1_000  # votes on each validation molecule
    nci1: bool = True  # whether there is a copy of NCI1, see `datasets.tu`
    seed: int = 1  # of the sample, its split, weights, training and votes

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        return replace(super().from_options(samples, seed, quick), nci1="NCI1" in local_names())

    @property
    def data(self) -> tuple[str, ...]:
        """The names of the data sets."""
        return ("MUTAG", "NCI1") if self.nci1 else ("MUTAG",)

    @override
    def parts(self) -> list[Part]:
        return [Part(f"chosen-{data}", choose, (self, data)) for data in self.data]

    @override
    def votes(self, parts: StudyParts) -> tuple[dict[Any, Voted], dict[str, Any]]:
        chosen = parts.run(self.parts(), "training")
        asked = [part for data in self.data for part in self.blocks(data, chosen[f"chosen-{data}"])]
        return {}, chosen | parts.run(asked, "votes")

    def blocks(self, data: str, chosen: Mapping[str, Any]) -> list[Part]:
        """The work on the test molecules, once a network and its noise are chosen."""
        setting = chosen["network"], (chosen["delete"], chosen["add"])
        places = range(0, chosen["molecules"], BLOCK)
        return [Part(f"{data}-{at}", ask, (self, data, setting, at)) for at in places]

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        bars, judged = dict[str, list[RadiusTally]](), dict[str, list[Judged]]()
        for data in self.data:
            chosen = results[f"chosen-{data}"]
            some = judged[data] = [one for part in self.blocks(data, chosen) for one in results[part.name]]
            names = [each.label for each in threats_for(data, self.seed)]
            counted = tally_groups({name: [i] for i, name in enumerate(names)}, some, chosen["blind"])
            for i, (name, tally) in enumerate(counted.items()):
                bars[f"{data}: {name}"] = [tally]
                report.table("threats", [row(data, tally, some, i, self.samples)])
            values = {name: chosen[name] for name in ("network", "delete", "add", "learnt", "validated", "sample")}
            values |= {"vote_seconds": round(sum(one["vote_seconds"] for one in some)), "tested": len(some)}
            report.table("networks", chosen["candidates"], data=data)
            report.sentence(data=data, tally=tally, validation=chosen["right"], **values)
        if not self.nci1:
            report.sentence(1)
        report.picture("verdicts", verdict_bars, bars, "molecules")
        self.check_claims(report, judged)

    def check_claims(self, report: Report, judged: Mapping[str, Sequence[Judged]]) -> None:
        """What is documented of narrow threats."""
        enough = self.samples >= 50_000 and self.molecules >= 100
        for data, some in judged.items():
            right = [one["own"] for one in some if one["class"] == one["truth"] and not one["abstained"]]
            numbers = [sum(verdicts[i] == "certified" for verdicts in right) for i in range(5)]
            fewer = [int(np.median([one["attacks"][i] for one in some])) for i in range(5)]
            held = all(numbers[i] >= numbers[-1] for i in WITHIN)
            report.check("narrow", held, enough=enough, data=data, numbers=numbers)
            report.check("fewer", all(fewer[i] < fewer[-1] for i in WITHIN), data=data, fewer=fewer)
        every = [one["own"] for some in judged.values() for one in some]
        at_odds = sum(own[-1] == "certified" and own[i] == "broken" for own in every for i in WITHIN)
        report.check("at_odds", at_odds == 0, at_odds=at_odds, n=len(every) * len(WITHIN))


WITHIN = (0, 1, 3)
"""The threats whose attacks are all among any two flips."""


def row(data: str, tally: RadiusTally, some: Sequence[Judged], i: int, samples: int) -> dict[str, object]:
    """A row of the table: what was asked, what it took, and what is known."""
    attacks, own, seconds = ([one[name][i] for one in some] for name in ("attacks", "own_votes_each", "seconds"))
    n = tally.graphs
    return {"data": data, "threat": tally.radius, "molecules": n, "median_attacks": float(np.median(attacks)),
            "attacks": sum(attacks), "votes": samples, "own_votes": round(float(np.mean(own))),
            "seconds": round(sum(seconds), 1), "right": tally.right, "by_p_A": tally.by_p_A,
            "by_evidence": tally.shared, "certified": tally.own, "broken": tally.broken, "open": tally.open,
            "accuracy": tally.right / n, "majority": tally.majority / n, "blind": tally.blind / n}  # fmt: skip


@lru_cache(maxsize=2)
def splits(data: str, seed: int) -> tuple[Dataset, Dataset, Dataset]:
    """Molecules of at most `MAX_NODES` atoms: to learn from, to choose by, to test.

    NCI1 has as many molecules of either class, but not among the small ones: of those, as many of each are drawn.
    """
    every = tu(data)
    small = every[np.array([graph.n_nodes <= MAX_NODES for graph in every.graphs])]
    if data != "MUTAG":
        rng, n = np.random.default_rng(seed), np.bincount(small.labels).min()
        drawn = [rng.permutation(np.flatnonzero(small.labels == label))[:n] for label in (0, 1)]
        small = small[np.sort(np.concatenate(drawn))]
    return small.split(SPLIT, seed=seed)


@lru_cache(maxsize=2)
def threats_for(data: str, seed: int) -> tuple[Threat, ...]:
    """The threats. NCI1 does not say which elements its labels are: its valences are read off what is learnt from.

    There, an atom has at most as many neighbours as the training molecules show for its label.
    """
    if data == "MUTAG":
        valence = Valence(1, elements="MUTAG")
    else:
        most = np.zeros(100, dtype=np.int64)
        for graph in splits(data, seed)[0].graphs:
            degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
            np.maximum.at(most, np.asarray(graph.node_data["label"]), degrees)
        names = tuple(f"label{number}" for number in range(len(most)))
        valence = Valence(1, elements=names, valences=dict(zip(names, most.tolist(), strict=True)))
    return Rewire(1), valence, LocalBudget(3, per_node=1), Deletions(2), AnyFlips(2)


@lru_cache(maxsize=2)
def tested(study: Threats, data: str) -> Dataset:
    """The test molecules that are certified: those that all threats fit, as many as the study has."""
    fitting = splits(data, study.seed)[2]
    sites = [Partition.everything("pairs").sites(graph) for graph in fitting.graphs]
    return fitting[np.array([_fits(study, data, each) for each in sites])].limited(study.molecules, study.seed)


def _fits(study: Threats, data: str, sites: Sites) -> bool:
    try:
        for threat in threats_for(data, study.seed):
            threat.check(sites)
    except UnfitError:
        return False
    return True


@lru_cache(maxsize=1)
def smoothed_network(study: Threats, data: str, setting: Setting) -> sc.SmoothedClassifier:
    """A network trained with its noise, smoothed; the validation molecules decide which epoch is kept."""
    from starcert.models import GCN  # noqa: PLC0415  (torch is slow to import)

    taught, held, _ = splits(data, study.seed)
    made, learning_rate = NETWORKS[setting[0]]
    noise = sc.Noise(pairs=sc.Flip(delete=setting[1][0], add=setting[1][1]))
    n_features = np.asarray(taught.graphs[0].node_data["x"]).shape[1]
    base: Classifier = trained_network(
        partial(GCN, n_features, 2, **made), study.seed, noise, None, taught, held, epochs=study.epochs,
        learning_rate=learning_rate, halve_every=max(study.epochs // 4, 1), seed=study.seed,
    )  # fmt: skip
    return sc.SmoothedClassifier(base, noise)


def choose(study: Threats, data: str) -> dict[str, Any]:
    """Trains each network with each noise, and chooses the one with the most right answers on validation molecules.

    Of equals the first. Beside it the answers of a blind model, which sees no bond.
    """
    taught, held, _ = splits(data, study.seed)
    test, found = tested(study, data), []
    with one_torch_thread():
        for network, (delete, add) in product(NETWORKS, RATES):
            smoothed = smoothed_network(study, data, (network, (delete, add)))
            answers = smoothed.predict(
                held.graphs, samples=study.choosing_samples, seed=study.seed, voting=sc.Voting(progress=False)
            )
            share = float((answers == held.labels).mean())
            found.append({"network": network, "delete": delete, "add": add, "right": share})
    blind = sc.baselines.blind(taught, noise=sc.Noise(pairs=0.1)).predict(test.graphs)
    sizes = {"learnt": len(taught), "validated": len(held), "molecules": len(test)}
    sizes |= {"sample": sum(map(len, splits(data, study.seed)))}
    return max(found, key=lambda one: one["right"]) | sizes | {"candidates": found, "blind": blind.tolist()}


def ask(study: Threats, data: str, setting: Setting, at: int) -> list[Judged]:
    """The verdicts on some of the test molecules, one after the other."""
    some, threats = tested(study, data)[at : at + BLOCK], threats_for(data, study.seed)
    with one_torch_thread():
        smoothed = smoothed_network(study, data, setting)
        # Compiled code is loaded before anything is timed.
        judge_molecule(replace(study, samples=100, own_samples=100), smoothed, threats, some.graphs[0], 0)
        found = zip(some.graphs, some.labels.tolist(), strict=True)
        return [judge_molecule(study, smoothed, threats, *each) for each in found]


def judge_molecule(
    study: Threats, smoothed: sc.SmoothedClassifier, threats: Sequence[Threat], graph: sc.Graph, truth: int
) -> Judged:
    """The verdicts on one molecule, threat by threat, from one set of votes on it; seconds are of the processor."""
    problem, start = smoothed.problem([graph]), time.process_time()
    votes = smoothed.vote(
        problem, samples=study.samples, seed=study.seed, record=True, voting=sc.Voting(progress=False)
    )
    kept: Judged = {"truth": truth, "vote_seconds": time.process_time() - start}
    job = Job.of(smoothed.classifier, problem, study.seed)
    each = [judge_threat(job, problem, votes, threat, study.own_samples) for threat in threats]
    kept |= {name: [one[name] for one in each] for name in each[0]}
    answer = certify(clopper_pearson(votes, alpha=ALPHA), problem.noise)[0]
    return kept | {"class": answer.label, "abstained": answer.abstained, "own_votes": sum(kept["own_votes_each"])}


def judge_threat(job: Job, problem: Problem, votes: Votes, threat: Threat, own_samples: int) -> Judged:
    """What is known about one threat: by p_A, by evidence from the votes on the molecule, and with own votes."""
    start = time.process_time()
    asked = None if threat.by_radius else [Question.of(threat, problem.sites[0], problem.noise)]
    shares = ALPHA, counts_alpha(ALPHA, evidence=True)
    paper, counts = (
        replace(certify(clopper_pearson(votes, alpha=share), problem.noise, capacity=problem.capacities), asked=asked)
        for share in shares
    )
    weighed = with_evidence(counts, job, alpha=ALPHA, most=own_samples, max_flips=threat.flips, advance=lambda _: None)[
        0
    ]
    seconds, verdict = time.process_time() - start, weighed.verdict(threat)
    own_votes = weighed.verdicts.own_votes if weighed.verdicts else 0
    if asked is None:
        attacks = sum(threat.count(problem.sites[0], size) for size in range(1, threat.most + 1))
    else:
        attacks = sum(asked[0].counts)
    return {
        "by_p_A": paper[0].certified(threat),
        "by_counts": counts[0].certified(threat),
        # Own votes are drawn only where those on the clean molecule leave an attack open.
        "shared": "certified" if verdict == "certified" and not own_votes else "open",
        "own": verdict, "own_votes_each": own_votes, "why": weighed.why(threat), "attacks": attacks, "seconds": seconds,
    }  # fmt: skip
