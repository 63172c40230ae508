"""Cora-ML with noisy links: how many answers one deleted link can change, together and one by one.

The network and noise are those of the study `cora`. What votes at attacked graphs show stands beside the claim: at the
links with the largest k, and at others drawn at random.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

import starcert as sc
from starcert.certificates.certify import certify
from starcert.certificates.collective import Collective, ask_jointly, matrices_of
from starcert.certificates.smoothing import draw_votes, plan_of
from starcert.classifiers import from_pyg
from starcert.classifiers.features import sparse
from starcert.classifiers.torch.graphs import TorchClassifier
from starcert.math.collective import JointEvidence, changed_at_most
from starcert.math.confidence import clopper_pearson
from starcert.math.listed import group_attacks
from starcert.objects.threats import Deletions, after
from starcert.objects.threats.attacks import VALUES
from starcert.system.processes import one_torch_thread, worker_processes
from starcert.system.stages import stages
from starcert.voting.vote_loop import VotingRun
from starcert_studies.cora import LAYERS, NOISES, Cora, cora
from starcert_studies.small_noise import CPU, here, packed, unpack
from starcert_studies.study import split_nodes
from starcert_studies.voted import ALPHA

THREAT = Deletions(1)
NOISE = NOISES["links"]


@dataclass(frozen=True)
class ChangedLinks:
    """The test nodes of Cora-ML, and their votes."""

    samples: int  # votes that the claim is made from
    few: tuple[int, ...]  # numbers of votes at which abstentions are counted
    attacked_samples: int  # votes at each attacked graph
    links: int  # attacked graphs: half of them at random
    nodes: int  # test nodes that are asked about, at most
    epochs: int  # of training at most
    seed: int  # of the split, of training and of all votes

    @property
    def tested(self) -> npt.NDArray[np.int64]:
        """The numbers of the test nodes that are asked about."""
        return split_nodes(cora().labels, self.seed)[2][: self.nodes]


def train_nodes(setting: ChangedLinks) -> dict[str, Any]:
    """The network's weights, and the share that a regression on words, which sees no link, has right."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (slow to import)

    start = time.perf_counter()
    smoothed, graph = Cora(epochs=setting.epochs, seed=setting.seed).smoothed("links")
    seconds, base = time.perf_counter() - start, smoothed.classifier
    assert isinstance(base, TorchClassifier)
    labels, words = cora().labels, np.asarray(graph.node_data["x"])
    train, test = split_nodes(labels, setting.seed)[0], setting.tested
    blind = LogisticRegression(max_iter=1_000).fit(words[train], labels[train]).score(words[test], labels[test])
    majority = float(np.bincount(labels[test]).max() / len(test))
    return {"weights": packed(base.model), "blind": blind, "majority": majority, "seconds": seconds,
            "device": here()[1]}  # fmt: skip


@lru_cache(maxsize=1)
def smoothed_nodes(setting: ChangedLinks, weights: str, device: str) -> sc.SmoothedClassifier:
    """The network, smoothed, for all test nodes; on a processor, words are a sparse matrix."""
    data = cora()
    features = np.asarray(data.graph.node_data["x"]).shape[1]
    module = unpack(sc.models.NodeGCN(features, data.n_classes, hidden=64), weights, device)
    how: dict[str, Any] = {"features": sparse("x")} if device == "cpu" else {}
    base = from_pyg(module, n_classes=data.n_classes, targets="nodes", nodes=setting.tested, **how)
    return sc.SmoothedClassifier(base, NOISE, {region: LAYERS[region] for region in NOISE})


def count_abstentions(setting: ChangedLinks, network: Mapping[str, Any], samples: int) -> dict[str, Any]:
    """How many nodes have no answer from few votes: by counts, whose alpha is whole or shared, and by evidence."""
    with one_torch_thread():
        smoothed = smoothed_nodes(setting, network["weights"], here()[0])
        how: dict[str, Any] = {"samples": samples, "seed": setting.seed, "alpha": ALPHA}
        voting, evidence = sc.Voting(progress=False), sc.Evidence(own_samples=0)
        counted = smoothed.certify([cora().graph], voting=voting, **how)
        weighed = smoothed.certify([cora().graph], voting=voting, threat="box:1,0", evidence=evidence, **how)
    none = {"counts": counted, "counts_beside_evidence": replace(weighed, verdicts=None), "evidence": weighed}
    return {"votes": samples, "nodes": len(counted)} | {name: int(each.abstained.sum()) for name, each in none.items()}


def claim(setting: ChangedLinks, network: Mapping[str, Any], *, cores: int | None = None) -> dict[str, Any]:
    """The claim about all nodes, single claims that hold together, and the links to look at."""
    device, name = here() if cores is None else ("cpu", f"{cores} {CPU} cores")
    workers = nullcontext() if cores is None else worker_processes(cores, "Finished parts are kept.")
    with one_torch_thread(), workers as executor:
        smoothed = smoothed_nodes(setting, network["weights"], device)
        problem, base = smoothed.problem([cora().graph]), smoothed.classifier
        voting = sc.Voting(progress=False, executor=executor)
        # As `certify` with collective evidence, but for verdicts on each node by itself, which take far longer.
        jointly = ask_jointly(base, problem, THREAT, None, setting.samples)
        run = VotingRun(base, problem, setting.seed, voting, {0: jointly[0].sites})
        with stages() as clock, run.opened() as store:
            votes = draw_votes(run, plan_of(setting.samples, max(10, setting.samples // 10)), store, record=True)
        start, counted = time.perf_counter(), clopper_pearson(votes, alpha=ALPHA, family="all")
        found = Collective(jointly, votes, counted.labels, ALPHA, matrices_of(base))
        shown = found.at_most_changed(THREAT, None, None)
        seconds, times = time.perf_counter() - start, clock.times()
    by_p = certify(counted, NOISE)
    right = found.labels == cora().labels[setting.tested]
    return {
        "k": shown.k, "nodes": shown.n_targets, "links": sum(shown.n_attacks), "votes": setting.samples,
        "claim": str(shown), "right": float(right.mean()), "labels": found.labels.tolist(),
        "by_p_A_open": int((~by_p.certified((1, 0))).sum()), "device": name, "vote_seconds": times.elapsed,
        "votes_a_second": times.votes / times.elapsed, "claim_seconds": seconds, **weighed_links(setting, found),
    }  # fmt: skip


def weighed_links(setting: ChangedLinks, found: Collective) -> dict[str, Any]:
    """What the same capitals say: single claims that hold together, each with alpha / nodes; and links to be tried.

    Those are the links with the largest k, and others at random: each as its place among the sites, its k, and why.
    """
    question, joint, n = found.questions[0], found.votes.joint[0], len(found.labels)
    assert joint is not None
    evidence = JointEvidence(joint, question.axes, found.labels, found.votes.counts.shape[1], found.matrices)
    least, changed, links, delta = np.full(n, np.inf), list[int](), list[int](), Fraction(ALPHA)
    for group in (None, *group_attacks(question.axes, question.asked.attacks[0])):
        links += [] if group is None else group.attacks[:, 0].tolist()
        for capitals in evidence.capitals(group, n / ALPHA):
            least = np.minimum(least, capitals.min(axis=0))
            changed += changed_at_most(capitals, delta).tolist()
    clean, by_link = changed[0], np.array(changed[1:])
    order, half = np.argsort(-by_link, kind="stable"), setting.links // 2
    drawn = np.random.default_rng(setting.seed).permutation(order[half:])[: setting.links - half]
    named = [(link, "largest k") for link in order[:half]] + [(link, "at random") for link in drawn]
    tried = [(int(links[link]), int(by_link[link]), why) for link, why in named]
    return {"clean_k": clean, "single_open": int((least < n / ALPHA).sum()), "tried": tried}


def delete_link(
    setting: ChangedLinks, network: Mapping[str, Any], labels: Sequence[int], link: int | None
) -> dict[str, Any]:
    """How many answers differ from the stated ones where a link is deleted, by votes there; None: nowhere."""
    with one_torch_thread():
        smoothed = smoothed_nodes(setting, network["weights"], here()[0])
        graph = cora().graph
        if link is not None:
            graph = after(smoothed.sites(graph), np.array([link * VALUES])).clean
        voting = sc.Voting(progress=False, selection_samples=1)  # the answers to compare with are given
        votes = smoothed.vote([graph], samples=setting.attacked_samples, seed=setting.seed + 1, voting=voting).counts
    stated = votes[np.arange(len(votes)), labels]
    others = votes.copy()
    others[np.arange(len(votes)), labels] = -1
    rival = others.max(axis=1)
    return {"link": link, "differ": int((rival > stated).sum()),
            "differ_clearly": int((rival - stated > 3 * np.sqrt(rival + stated)).sum())}  # fmt: skip
