"""The audit of a run: noisy copies are asked about again, in other company and alone, and must be answered the same.

A certificate speaks of a base classifier that is a function of one noisy copy; its votes come from batches. When the
votes of a run are there, copies are drawn at random, from streams of their own, so that votes stay what they are. Half
of them are copies of the graphs, the others of *attacked* graphs: what is rare under the noise of the clean graph may
be frequent at an attacked one. Every copy is asked about

- in a batch, as for votes: the answers that the others are compared with;
- in other company, half as many copies in another order, by the classifier as it is written (`as_written`). This shows
  answers that depend on the other copies or on the place among them, and shortcuts that are wrong;
- alone, as many of them as can be afforded. This shows answers that any company changes, too.

An answer that is wrong in the same way in all three, and one that changes with time, stays unseen: that answers depend
on the graph alone is the author's promise. `Audit` says how rare a dependence would have been found.

How many copies there are follows from the number of votes and from the classifier's `call_cost`: an audit costs about a
fifth of its votes at most, or a few calls where there are very few votes. It never follows from a clock, a batch size,
the workers or an interruption. A run that is continued or repeated from a store is audited like one that draws all its
votes at once: nothing is taken from an earlier audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.certificates.evidence.attack_axes import influences
from starcert.classifiers.agreement import check_alone, check_company, checked_scores, named_errors
from starcert.math.audit import Audit
from starcert.objects.binding import MAX_EVIDENCE_SITES, clean_values
from starcert.sampling.attacked import Attack, values_at_attacks
from starcert.sampling.batch import replace_sites, select_copies
from starcert.sampling.sampler import expected_flips
from starcert.sampling.streams import UInt64s, WordStream
from starcert.system.stages import staged
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.jobs import fitting_batch_of, sampler_of

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier, Scores
    from starcert.math.confidence import Votes
    from starcert.math.flips import FlipRecord
    from starcert.objects import Sites
    from starcert.objects.laws import Law
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.voting.jobs import Job

__all__ = ["AuditSize", "audit_attacked", "audit_votes"]

COPIES = 4_603
"""Copies of the graphs, and as many of attacked ones: 1 − (1 − 1/1,000)ⁿ ≥ 99%."""

SHARE = 5
"""An audit costs at most one in this many votes."""

GRAPH_CALLS, COPY_VOTES = 4, 8
"""What a graph costs in calls: its sampler, a batch, and two of other company; and a copy in votes: it is drawn, asked
about twice, and compared."""

DEVICE_COPY_VOTES = 512
"""The same on a device, where a vote takes a fraction of a microsecond: attacks are chosen on the CPU."""

GATHERED = 16
"""Where a call is about several graphs, each of them costs one in this many calls."""

LEAST_COPIES, LEAST_ALONE = 16, 2
"""However few votes there are, this many copies of one graph are audited, or on a CPU as many as add a sixteenth to the
cost of a call, and this many of them alone; on a device one."""

COMPANY = 16
"""A graph is audited with at least this many copies, if it is audited at all."""

ATTACK_COPIES = 4
"""At most this many copies of an attacked graph: many attacks show more than many copies of one."""

ATTACK_NOISE, SMALL_ATTACK = 4, 8
"""An attack at random changes at most this many times as many sites as the noise does, or this many, and at most half
of all: copies stay of the kind that the classifier meets."""

ALONE_ATTACKED = 3 / 4
"""This share of the copies that are asked about alone are of attacked graphs, where rare answers are frequent."""

AT_ONCE = 2048
"""Copies that are drawn at once: the memory of an audit does not grow with its size."""

MOST_LOOKED_AT = 2**23
"""Votes against the class times sites, up to which the sites with the most say are found from the flips of votes."""


class AuditSize(NamedTuple):
    """How large an audit is.

    Attributes:
        graphs: how many graphs are audited.
        copies: how many copies in all, of the graphs and of attacked ones.
        alone: how many of them are asked about alone.
    """

    graphs: int
    copies: int
    alone: int

    @classmethod
    def of(cls, votes: int, n_graphs: int, classifier: Classifier, *, most: int) -> AuditSize:
        """The size of the audit of a number of votes: half of what may be spent is for beginning, or for copies.

        Args:
            votes: how many votes there are.
            n_graphs: how many graphs they are on.
            classifier: the base classifier.
            most: the most copies.

        Example:
            >>> from starcert.classifiers import from_callable
            >>> base = from_callable(len, on="batch")
            >>> AuditSize.of(101_000, 1, base, most=2 * COPIES)
            AuditSize(graphs=1, copies=1238, alone=102)
            >>> AuditSize.of(10_000_000, 100, base, most=2 * COPIES)
            AuditSize(graphs=100, copies=9206, alone=9206)
        """
        call = classifier.call_cost + 1
        begin = GRAPH_CALLS * max(1, call // GATHERED if classifier.gathers else call)
        budget = votes // SHARE
        graphs = max(1, min(n_graphs, budget // 2 // begin))
        rest = max(0, budget - graphs * begin)
        here = classifier.backend == "cpu"
        copy, least = (COPY_VOTES, max(LEAST_COPIES, call // 16)) if here else (DEVICE_COPY_VOTES, LEAST_COPIES)
        copies = max(least, min(most, rest // 2 // copy))
        alone = max(LEAST_ALONE if here else 1, min(copies, (rest - copies * copy) // call))
        return cls(min(graphs, copies // COMPANY), copies, alone)


def audit_votes(job: Job, votes: Votes, executor: Executor | None = None) -> Audit:
    """Audits the votes of a job, at its graphs and at attacked ones.

    Where the flips of votes against a class are known, the sites with the most say, E[Y·L], are attacked first: as many
    of them as an attack may have, half as many, and so on. All other attacks are at random, among the sites that noise
    may change: every second one as large as an attack may be, the others half as large, a quarter, and so on.

    Args:
        job: what the votes have in common.
        votes: its votes.
        executor: where to ask; None: in this process.

    Raises:
        ClassifierError: an answer depends on company.
    """
    first = np.unique(votes.objects, return_index=True)[1]  # the targets of a graph share its copies
    asked = sum(int(counts[first].sum()) for counts in (votes.counts, votes.selection) if counts is not None)
    size = AuditSize.of(asked, len(job.sites), job.classifier, most=2 * COPIES)
    records = dict(zip(votes.objects[first].tolist(), (votes.records[row] for row in first), strict=True))

    def parts() -> Iterator[_Part]:
        for graph, copies, alone in _shared_out(job, range(len(job.sites)), size):
            attacks = _attacks(job, graph, records.get(graph), -(-(copies // 2) // ATTACK_COPIES))
            yield _Part.of(graph, copies - copies // 2 if attacks else copies, copies // 2, attacks, alone)

    found = _audited(job, parts(), executor)
    return replace(found, independent=found.clean if size.graphs == len(job.sites) else size.graphs)


def audit_attacked(job: Job, own: Mapping[int, Mapping[Attack, int]], votes: int, executor: Executor | None) -> Audit:
    """Audits votes that were drawn at attacked graphs: half at those with the most against the class, half at random.

    Args:
        job: what the votes have in common.
        own: for each graph, by attack, how many votes there were against the class.
        votes: how many there were in all.
        executor: where to ask; None: in this process.

    Raises:
        ClassifierError: an answer depends on company.
    """
    size = AuditSize.of(votes, len(own), job.classifier, most=COPIES)

    def parts() -> Iterator[_Part]:
        for graph, copies, alone in _shared_out(job, sorted(own), size):
            worst = sorted(own[graph], key=lambda attack: (-own[graph][attack], attack))
            number = min(-(-copies // ATTACK_COPIES), len(worst))
            rest = worst[number // 2 :]
            drawn = _order(job.seed, f"own {job.sites[graph].clean.key}", len(rest))[: number - number // 2]
            attacks = [*worst[: number // 2], *(rest[place] for place in drawn)]
            yield _Part.of(graph, 0, copies, attacks, alone)

    return _audited(job, parts(), executor)


class _Part(NamedTuple):
    """What is audited of one graph.

    Attributes:
        graph: its number.
        attacks: for each copy the attack that it is drawn at; none for copies of the graph itself, which come first.
        alone: how many copies are asked about alone.
    """

    graph: int
    attacks: list[Attack]
    alone: int

    @classmethod
    def of(cls, graph: int, clean: int, attacked: int, attacks: Sequence[Attack], alone: int) -> _Part:
        """Copies of the graph itself, and copies at attacks, each of which has its share."""
        shares = zip(attacks, _even(attacked, len(attacks)), strict=True)
        return cls(graph, [()] * clean + [attack for attack, n in shares for _ in range(n)], alone)


def _even(total: int, parts: int) -> list[int]:
    """A number in parts that differ by at most 1."""
    return [total // parts + (i < total % parts) for i in range(parts)]


def _here(job: Job) -> bool:
    """Whether the classifier works on a CPU."""
    return job.classifier.backend == "cpu"


def _shared_out(job: Job, graphs: Sequence[int], size: AuditSize) -> Iterator[tuple[int, int, int]]:
    """The graphs that are audited, chosen at random, each with its copies and how many of them are asked about alone.

    Shared out evenly over all graphs, n copies find no less than n that are drawn one by one: a product is at most the
    power of the mean. Over some graphs, copies of one may all miss the fault of another: each graph counts once.
    """
    chosen = [graphs[place] for place in _order(job.seed, "graphs", len(graphs))[: size.graphs]]
    copies = size.copies if _here(job) else 2 * size.copies  # on a device every second one is company for the others
    shares = zip(_even(copies, len(chosen)), _even(size.alone, len(chosen)), strict=True)
    yield from ((graph, copies, alone) for graph, (copies, alone) in zip(chosen, shares, strict=True))


def _stream(seed: int, purpose: str) -> WordStream:
    """The random words for a purpose of the audit."""
    key = repr((seed, "audit", purpose)).encode()
    return WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))


def _words(seed: int, purpose: str, number: int) -> UInt64s:
    """The first random words for a purpose of the audit."""
    return _stream(seed, purpose).at_least(max(1, number))[:number]


def _order(seed: int, purpose: str, number: int) -> npt.NDArray[np.int64]:
    """So many places in random order."""
    return np.argsort(_words(seed, purpose, number), kind="stable")


def _attacks(job: Job, graph: int, record: FlipRecord | None, number: int) -> list[Attack]:
    """So many attacks on a graph, the most dangerous first; none where there is nothing to attack, or too much.

    They change sites to what noise may show there: a classifier need not be able to answer anything else.
    """
    sites, noise = job.sites[graph], job.noise
    if sites.n_sites > MAX_EVIDENCE_SITES or not number:
        return []
    values, shown = clean_values(sites), np.zeros(sites.n_sites, dtype=np.bool_)
    for name, first, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
        here = slice(first, first + size)
        changes = [bool(_ranks(noise[name], value)) for value in range(int(values[here].max(initial=0)) + 1)]
        shown[here] = np.array(changes)[values[here]]
    open_sites = np.flatnonzero(shown)
    noisy = int(ATTACK_NOISE * expected_flips(sites, noise))
    largest = min(max(SMALL_ATTACK, noisy), (len(open_sites) + 1) // 2)
    if not largest:
        return []
    sizes = [largest // 2**i for i in range(largest.bit_length())]
    picked: list[npt.NDArray[np.int64]] = []
    if record is not None and len(record) * sites.n_sites <= MOST_LOOKED_AT:
        say = influences(record, sites, noise) * shown
        ranked = np.argsort(-say, kind="stable")[: np.count_nonzero(say)]
        picked = [ranked[:size] for size in sizes if size <= len(ranked)][: number - number // 2]
    for i in range(number - len(picked)):
        size = sizes[(i // 2 % len(sizes)) if i % 2 else 0]
        drawn = _words(job.seed, f"attack {i} {sites.clean.key}", 4 * size) % np.uint64(len(open_sites))
        different = np.sort(np.unique(drawn, return_index=True)[1])[:size]
        picked.append(open_sites[drawn[different].astype(np.int64)])
    words = _words(job.seed, f"values {sites.clean.key}", largest)
    return [_attack(positions, words, sites, noise, values) for positions in picked]


def _attack(
    positions: npt.NDArray[np.int64], words: UInt64s, sites: Sites, noise: Noise, values: npt.NDArray[np.uint8]
) -> Attack:
    """The attack on these sites that gives each of them some value that noise may show there."""
    found = []
    regions, clean = np.searchsorted(sites.offsets, positions, side="right") - 1, values[positions]
    for region, value in sorted(set(zip(regions.tolist(), clean.tolist(), strict=True))):
        here, ranks = (regions == region) & (clean == value), np.array(_ranks(noise[sites.regions[region]], value))
        chosen = ranks[(words[: len(here)][here] % np.uint64(len(ranks))).astype(np.int64)]
        found.append(positions[here] + sites.n_sites * chosen)
    return tuple(sorted(np.concatenate(found).tolist()))


def _ranks(law: Law, value: int) -> list[int]:
    """Which other values noise may show at a site, by their ranks: see `AttackAxis.attacked`."""
    if law.alphabet == 2:  # it takes all that is there for 1
        return [0] if law.change(min(value, 1)) else []
    shown = law.transitions(value)
    return [after - (after > value) for after in range(law.alphabet) if after != value and shown[after]]


class _Company(NamedTuple):
    """Copies of one graph that are asked about together.

    Attributes:
        graph: its number.
        batch: the copies.
        attacks: for each copy the attack that it is drawn at.
        others: which copies are asked about again in other company, and in which order: two halves; on a device, where
            a call costs more than its copies, every second one, at once.
        alone: which are asked about alone.
    """

    graph: int
    batch: Copies
    attacks: list[Attack]
    others: tuple[npt.NDArray[np.int64], ...]
    alone: list[int]

    def name(self, place: int) -> str:
        """What a copy is called in a message."""
        attack = self.attacks[place]
        shown = ", ".join(map(str, attack[:4])) + ", …" * (len(attack) > 4)
        where = f" attacked on {len(attack):,} site{'s' * (len(attack) > 1)} ({shown})" if attack else ""
        return f"audited noisy copy {place} of graph {self.graph}{where}"


def _companies(job: Job, sites: Sites, part: _Part) -> Iterator[_Company]:
    """The copies of a part, drawn as for votes, as many together as the classifier sees at once."""
    most, total = fitting_batch_of(job, sites), len(part.attacks)
    clean = part.attacks.count(())
    n_attacked = min(total - clean, max(part.alone - clean, round(ALONE_ATTACKED * part.alone)))
    alone = np.zeros(total, dtype=np.bool_)
    alone[_order(job.seed, f"alone {sites.clean.key}", clean)[: part.alone - n_attacked]] = True
    alone[clean + _order(job.seed, f"alone attacked {sites.clean.key}", total - clean)[:n_attacked]] = True
    draws = sampler_of(job.classifier, sites, job.noise)
    for block in range(0, total, AT_ONCE):
        samples, before = min(AT_ONCE, total - block), block
        for drawn in draws.portions(_stream(job.seed, f"copies {block} {sites.clean.key}"), samples, samples):
            attacks = part.attacks[before : before + len(drawn)]
            stream = _stream(job.seed, f"attacked sites {before} {sites.clean.key}")
            shown = values_at_attacks(attacks, sites, job.noise, stream)
            copies = replace_sites(drawn, *shown) if any(attacks) else drawn
            for first in range(0, len(drawn), most):
                batch = copies[first : first + most]
                order = _order(job.seed, f"company {before + first} {sites.clean.key}", len(batch))
                yield _Company(
                    part.graph,
                    batch,
                    attacks[first : first + most],
                    (order[: len(batch) // 2], order[len(batch) // 2 :]) if _here(job) else (order[order % 2 == 0],),
                    np.flatnonzero(alone[before + first : before + first + len(batch)]).tolist(),
                )
            before += len(drawn)


@staged("auditing")
def _audited(job: Job, parts: Iterable[_Part], executor: Executor | None) -> Audit:
    """Audits all parts, here or on an executor."""
    if executor is not None:
        common = SentOnce(job.without_graphs, executor)
        pieces = ((SentOnce(job.sites[part.graph], executor), part) for part in parts)
        return sum((found for _, found in map_on_workers(executor, _audited_there, common, pieces)), Audit())
    companies = (each for part in parts for each in _companies(job, job.sites[part.graph], part))
    return sum((_compared(job.classifier, group) for group in _gathered(job, companies)), Audit())


def _audited_there(job: Job, sites: Sites, part: _Part) -> Audit:
    return sum((_compared(job.classifier, [company]) for company in _companies(job, sites, part)), Audit())


def _gathered(job: Job, companies: Iterable[_Company]) -> Iterator[list[_Company]]:
    """Companies of several graphs that are asked about at once, where a classifier wants that; otherwise one by one."""
    found, nodes = list[_Company](), 0
    most = job.classifier.gathers if job.batch_size is None else 0
    for company in companies:
        own = len(company.batch) * max(1, company.batch.frame.n_nodes) if most else 1
        if found and nodes + own > most:
            yield found
            found, nodes = [], 0
        found.append(company)
        nodes += own
    if found:
        yield found


def _compared(classifier: Classifier, companies: Sequence[_Company]) -> Audit:
    """Asks about all copies of these companies again, and compares the answers."""
    found = _scored(classifier, [(each, each.batch) for each in companies])
    answered = {id(each): scores for each, scores in zip(companies, found, strict=True)}
    for half in range(max(len(each.others) for each in companies)):
        others = [
            (each, select_copies(each.batch, each.others[half]))
            for each in reversed(companies)
            if len(each.others[half])
        ]
        again = _scored(classifier.as_written, others)
        for (each, other), scores in zip(others, again, strict=True):
            first = answered[id(each)]
            check_company(classifier, each.batch, first, other, scores, each.others[half], name=each.name)
    for each, scores in zip(companies, found, strict=True):
        for place in each.alone:
            check_alone(classifier, each.batch, scores, place, name=each.name(place))
    return sum(map(_counted, companies), Audit())


def _scored(classifier: Classifier, companies: Sequence[tuple[_Company, Copies]]) -> list[Scores]:
    """What a classifier answers on these batches, checked."""
    if not companies:
        return []
    graphs = sorted({each.graph for each, _ in companies})
    several = f"graph {graphs[0]}" if len(graphs) == 1 else f"the graphs {', '.join(map(str, graphs[:8]))}"
    with named_errors(f"audited noisy copies of {several}"):
        batches = [batch for _, batch in companies]
        found = [classifier.scored(batches[0])] if len(batches) == 1 else classifier.scored_each(batches)
        return [checked_scores(scores, classifier, batch) for scores, batch in zip(found, batches, strict=True)]


def _counted(company: _Company) -> Audit:
    again = [bool(company.attacks[place]) for other in company.others for place in other.tolist()]
    alone = [bool(company.attacks[place]) for place in company.alone]
    return Audit(len(again) - sum(again), len(alone) - sum(alone), sum(again), sum(alone))
