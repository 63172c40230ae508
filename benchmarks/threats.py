"""What a threat that lists its attacks costs: a million of them listed and weighed, beside a level of a million.

    python benchmarks/threats.py

One core, processor time, 10,000 votes of which about one in ten is against the class. The level is any two flips of
1,415 sites, weighed without a list. Then the same attacks as a list; and a million rewired edges of a graph with 160
nodes. Each is done in a process of its own, which says how much memory it took.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

import starcert as sc
from starcert.claims.question import Question
from starcert.math.evidence import FlipEvidence
from starcert.methods.evidence import evidence_of
from starcert.objects import CleanObject, Sites
from starcert.objects.binding import attack_axes
from table import Table, Work

VOTES = 10_000
Steps = tuple[int, dict[str, float]]
"""How many attacks there were, and the seconds of each step."""


def votes_on(clean: CleanObject, noise: sc.Noise) -> tuple[Sites, FlipEvidence]:
    """Votes with their flips recorded, of a classifier that counts ones: one vote in ten is against the class."""
    sites = Sites.everything(clean, "all")
    n_ones = 0.1 * sites.n_sites + 0.8 * sites.counts[0][1] + 1.28 * (0.09 * sites.n_sites) ** 0.5

    def many(batch: np.ndarray) -> np.ndarray:
        return (batch.values.sum(axis=1) > n_ones).astype(int)

    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(many, on="batch", n_classes=2), noise)
    problem = smoothed.problem([clean])
    votes = smoothed.vote(problem, samples=VOTES, seed=1, record=True, voting=sc.Voting(progress=False))
    axes = attack_axes(problem.sites[0], problem.noise)
    return problem.sites[0], evidence_of(votes.row(0), axes, alpha=Fraction(1, 200), box=None)


def weigh_level(evidence: FlipEvidence) -> Steps:
    """Any two flips, as a level."""
    scheme = next(each for each in evidence.schemes((2,)) if each.listed)
    start = time.process_time()
    evidence.weighed((2,), scheme)
    return scheme.n_attacks, {"weigh": time.process_time() - start}


def weigh_list(evidence: FlipEvidence, sites: Sites, noise: sc.Noise, threat: sc.Threat) -> Steps:
    """All attacks of a threat of its largest size, listed and weighed."""
    times = [time.process_time()]
    asked = Question.of(threat, sites, noise)
    times.append(time.process_time())
    parts = asked.parts(evidence.axes)[threat.most - 1]
    times.append(time.process_time())
    weighed = evidence.weighed_list(parts)
    times.append(time.process_time())
    return weighed.scheme.n_attacks, dict(zip(("list", "group", "weigh"), np.diff(times).tolist(), strict=True))


def apart(work: Callable[..., Steps], *arguments: object) -> tuple[int, dict[str, float], float]:
    """What some work returns in a process of its own, and the gigabytes that it took there."""
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def measure() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = work(*arguments)
        results.put((*found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / 1e9))

    child = context.Process(target=measure)
    child.start()
    found: tuple[int, dict[str, float], float] = results.get()
    child.join()
    return found


def main() -> None:
    """Measures everything."""
    about = "A million attacks of a threat, listed and weighed, on one core; the floor is a level of a million attacks."
    table = Table("threats", about, votes=VOTES)
    noise = sc.Noise(all=0.1)
    few, seen = votes_on(sc.Bits([0] * 30), noise)  # loads compiled code, before anything is measured
    weigh_level(seen)
    weigh_list(seen, few, noise, sc.threats.AnyFlips(2))
    sites, evidence = votes_on(sc.Bits([0] * 1415), noise)
    n, level, memory = apart(weigh_level, evidence)
    table.add(Work(f"{n:,} attacks of a level", level["weigh"], note=f"{memory:.2f} GB", more={"gigabytes": memory}))
    pairs = np.stack(np.triu_indices(160, 1), axis=1)
    graph = sc.Graph(160, pairs[np.random.default_rng(1).random(len(pairs)) < 0.5])
    any_two, rewired = (sc.threats.AnyFlips(2), sites, evidence), (sc.threats.Rewire(1), *votes_on(graph, noise))
    for threat, there, votes in (any_two, rewired):
        n, steps, memory = apart(weigh_list, votes, there, noise, threat)
        note = f"{', '.join(f'{name} {seconds:.2f} s' for name, seconds in steps.items())}; {memory:.2f} GB"
        name, floor, more = f"{n:,} attacks listed: {threat.label}", level["weigh"], {"gigabytes": memory, **steps}
        table.add(Work(name, sum(steps.values()), None, floor, "the level in the first line", note=note, more=more))
    table.write()


if __name__ == "__main__":
    main()
