"""The audit of a run: noisy copies are classified again, in another batch and alone, and must get the same answer.

A certificate is about a base classifier that is a function of one noisy copy; its votes come from batches. So copies
are drawn at random, from streams of their own: half of them of the graphs, half of *attacked* graphs, where what is
rare under the noise of the clean graph may be frequent. Every copy is classified

- in a batch, as for votes: the answers that the others are compared with;
- in another batch, of half as many copies in another order, by the classifier as it is written (`as_written`). This
  shows answers that depend on the other copies or on the place among them, and shortcuts that are wrong;
- alone, as many of them as can be afforded. This also shows answers that any other copy in the batch changes.

An answer that is wrong in the same way in all three, and one that changes with time, goes unseen: that answers depend
on the graph alone is the author's promise. `Audit` states how rare a dependence would have been found.

The number of copies follows from the number of votes and the classifier's `call_cost`, never from a clock, a batch
size, the workers or an interruption. Nothing is taken from an earlier audit of stored votes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier, check_alone, check_regrouped
from starcert.math.attacked_sites import MAX_EVIDENCE_SITES
from starcert.math.ballots import Ballots
from starcert.math.choices import influences
from starcert.math.votes import COPIES, Audit, Votes
from starcert.objects import Sites
from starcert.objects.binding import attack_axes
from starcert.objects.laws import Law
from starcert.objects.noise import Noise
from starcert.sampling.attacked import Attack, values_at_attacks
from starcert.sampling.batch import Copies, replace_sites, select_copies
from starcert.sampling.draws import UInt64s
from starcert.sampling.sampler import expected_flips
from starcert.sampling.streams import WordStream
from starcert.voting.ask import Asking, Batch, ask, check_kept, fitting_batch_of, sampler_of
from starcert.voting.plans import Job

# How many copies. A graph costs calls: its sampler, a batch, and two other batches. A copy costs votes: it is drawn,
# classified twice, and compared; on a device a vote takes a fraction of a microsecond.
SHARE = 5  # an audit costs at most one in this many votes
GRAPH_CALLS, COPY_VOTES, DEVICE_COPY_VOTES = 4, 8, 512
SHARED_CALLS = 4  # where a call is about several graphs, each of them costs one in this many calls
MIN_COPIES, MIN_ALONE = 16, 2  # however few votes there are, and at least one copy alone on a device
MIN_CALL_SHARE = 16  # on a CPU at least as many copies as add one in this many to the cost of a call
MIN_OF_GRAPH = 16  # the fewest copies of a graph that is audited at all
AT_ONCE = 2048  # copies that are drawn at once: the memory of an audit does not grow with its size
ALONE_ATTACKED = 3 / 4  # the share of attacked graphs, where rare answers are frequent, in copies classified alone

# Which attacks. Those at random change at most ATTACK_NOISE times as many sites as the noise does, or SMALL_ATTACK, and
# at most half of all: copies stay of the kind that the classifier meets.
ATTACK_NOISE, SMALL_ATTACK = 4, 8
ATTACK_COPIES = 4  # the most copies of an attacked graph: many attacks show more than many copies of one
MAX_INFLUENCES = 2**23  # votes against the class times sites, up to which influences are computed from flips


class AuditSize(NamedTuple):
    """The numbers of audited graphs, of their copies and of copies of attacked graphs, and of copies alone."""

    graphs: int
    copies: int
    alone: int

    @classmethod
    def of(cls, votes: int, n_graphs: int, classifier: Classifier, *, most: int) -> AuditSize:
        """The size of the audit of this many votes: half of what may be spent is for beginning, or for copies.

        Example:
            >>> from starcert.classifiers import from_callable
            >>> base = from_callable(len, on="batch")
            >>> AuditSize.of(101_000, 1, base, most=2 * COPIES)
            AuditSize(graphs=1, copies=1238, alone=102)
            >>> AuditSize.of(10_000_000, 100, base, most=2 * COPIES)
            AuditSize(graphs=100, copies=9206, alone=9206)
        """
        call = classifier.call_cost + 1
        begin = GRAPH_CALLS * max(1, call // SHARED_CALLS if classifier.max_batch_nodes else call)
        budget = votes // SHARE
        graphs = max(1, min(n_graphs, budget // 2 // begin))
        rest = max(0, budget - graphs * begin)
        on_cpu = _on_cpu(classifier)
        copy, least = (COPY_VOTES, call // MIN_CALL_SHARE) if on_cpu else (DEVICE_COPY_VOTES, 0)
        copies = max(MIN_COPIES, least, min(most, rest // 2 // copy))
        alone = max(MIN_ALONE if on_cpu else 1, min(copies, (rest - copies * copy) // call))
        return cls(min(graphs, copies // MIN_OF_GRAPH), copies, alone)


def audit_votes(job: Job, votes: Votes, executor: Executor | None = None) -> Audit:
    """Audits the votes of a job, at its graphs and at attacked ones; refuses a classifier whose answers differ.

    Where the flips of votes against a class are known, the most influential sites (by E[Y·L]) are attacked first: as
    many of them as an attack may have, half as many, and so on. All other attacks are at random, among the sites that
    noise may change: every second one as large as an attack may be, the others half as large, a quarter, and so on.
    """
    first = np.unique(votes.objects, return_index=True)[1]  # the targets of a graph share its copies
    n_votes = sum(int(counts[first].sum()) for counts in (votes.counts, votes.selection) if counts is not None)
    size = AuditSize.of(n_votes, len(job.sites), job.classifier, most=2 * COPIES)
    records = dict(zip(votes.objects[first].tolist(), (votes.records[row] for row in first), strict=True))

    def parts() -> Iterator[AuditedCopies]:
        for graph, copies, alone in _shared_out(job, range(len(job.sites)), size):
            attacks = _attacks(job, graph, records.get(graph), -(-(copies // 2) // ATTACK_COPIES))
            clean = copies - copies // 2 if attacks else copies
            yield AuditedCopies(graph, [()] * clean + _repeated(attacks, copies // 2), alone)

    found = _audit(job, parts(), executor)
    return replace(found, independent=found.clean if size.graphs == len(job.sites) else size.graphs)


def audit_attacked(job: Job, own: Mapping[int, Mapping[Attack, int]], votes: int, executor: Executor | None) -> Audit:
    """Audits votes that were drawn at attacked graphs: half at those with the most against the class, half at random.

    `own` has for each graph, by attack, how many votes there were against the class; `votes` were drawn in all.
    """
    size = AuditSize.of(votes, len(own), job.classifier, most=COPIES)
    size = size._replace(alone=max(size.alone, MIN_COPIES))  # a score of votes settles an attack: few are not enough

    def parts() -> Iterator[AuditedCopies]:
        for graph, copies, alone in _shared_out(job, sorted(own), size):
            worst = sorted(own[graph], key=lambda attack: (-own[graph][attack], attack))
            number = min(copies, len(worst))
            rest = worst[number // 2 :]
            drawn = _order(job.seed, f"own {job.sites[graph].clean.key}", len(rest))[: number - number // 2]
            attacks = [*worst[: number // 2], *(rest[place] for place in drawn)]
            yield AuditedCopies(graph, _repeated(attacks, copies), alone)

    return _audit(job, parts(), executor)


class AuditedCopies(NamedTuple):
    """A piece: audited copies of one graph. For each its attack, none for the first ones; and how many alone, too."""

    graph: int
    attacks: list[Attack]
    alone: int

    @property
    def n_copies(self) -> int:
        """The number of copies."""
        return len(self.attacks)

    def ask(self, job: Job, sites: Sites) -> Asking[Audit]:
        """Compares the answers on all copies, and counts the copies."""
        audit, name = Audit(), f"audited noisy copies of graph {self.graph}"
        for batch in _batches(job, sites, self):
            asked = Batch(batch.copies, name, scored=True)
            found = yield asked
            check_kept(job, sites, asked, found)
            for places in filter(len, batch.regrouped):
                others = select_copies(batch.copies, places)
                again = yield Batch(others, name, scored=True, as_written=True)
                check_regrouped(job.classifier, batch.copies, found, others, again, places, name=batch.name)
            for place in batch.alone:
                check_alone(job.classifier, batch.copies, found, place, name=batch.name(place))
            is_attacked = np.array([bool(attack) for attack in batch.attacks], dtype=np.bool_)
            again_at, alone_at = is_attacked[np.concatenate(batch.regrouped)], is_attacked[batch.alone]
            audit += Audit(int((~again_at).sum()), int((~alone_at).sum()), int(again_at.sum()), int(alone_at.sum()))
        return audit


def _repeated(attacks: Sequence[Attack], copies: int) -> list[Attack]:
    """Each attack as often as it has copies; none without attacks."""
    shares = zip(attacks, _even(copies, len(attacks)), strict=True)
    return [attack for attack, number in shares for _ in range(number)]


def _even(total: int, parts: int) -> list[int]:
    return [total // parts + (i < total % parts) for i in range(parts)]


def _on_cpu(classifier: Classifier) -> bool:
    return classifier.backend == "cpu"


def _shared_out(job: Job, graphs: Sequence[int], size: AuditSize) -> Iterator[tuple[int, int, int]]:
    """The graphs that are audited, chosen at random, each with its copies and how many of them are classified alone.

    Shared out evenly over all graphs, n copies find no less than n that are drawn one by one: a product is at most the
    power of the mean. Over some graphs, copies of one may all miss the fault of another: each graph counts once.
    """
    chosen = [graphs[place] for place in _order(job.seed, "graphs", len(graphs))[: size.graphs]]
    # On a device only every second copy is classified again.
    copies = size.copies if _on_cpu(job.classifier) else 2 * size.copies
    yield from zip(chosen, _even(copies, len(chosen)), _even(size.alone, len(chosen)), strict=True)


def _stream(seed: int, purpose: str) -> WordStream:
    key = repr((seed, "audit", purpose)).encode()
    return WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))


def _words(seed: int, purpose: str, number: int) -> UInt64s:
    return _stream(seed, purpose).at_least(max(1, number))[:number]


def _order(seed: int, purpose: str, number: int) -> npt.NDArray[np.int64]:
    return np.argsort(_words(seed, purpose, number), kind="stable")


def _attacks(job: Job, graph: int, record: Ballots | None, number: int) -> list[Attack]:
    """This many attacks on a graph, the most dangerous first; none where there is nothing to attack, or too much.

    They change sites to what noise may show there: a classifier need not be able to answer anything else.
    """
    sites, noise = job.sites[graph], job.noise
    if sites.n_sites > MAX_EVIDENCE_SITES or not number:
        return []
    values, shown = sites.values, np.zeros(sites.n_sites, dtype=np.bool_)
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
    if record is not None and len(record) * sites.n_sites <= MAX_INFLUENCES:
        influence = influences(record, attack_axes(sites, noise)) * shown
        ranked = np.argsort(-influence, kind="stable")[: np.count_nonzero(influence)]
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


class _AuditedBatch(NamedTuple):
    """Copies of one graph that are classified in one batch, with the attack that each is drawn at.

    `regrouped` are the places of those that are classified again in other batches, in this order: two halves; on a
    device, where a call costs more than its copies, every second one, at once. `alone` are those classified alone.
    """

    graph: int
    copies: Copies
    attacks: list[Attack]
    regrouped: tuple[npt.NDArray[np.int64], ...]
    alone: list[int]

    def name(self, place: int) -> str:
        attack = self.attacks[place]
        shown = ", ".join(map(str, attack[:4])) + ", …" * (len(attack) > 4)
        where = f" attacked on {len(attack):,} site{'s' * (len(attack) > 1)} ({shown})" if attack else ""
        return f"audited noisy copy {place} of graph {self.graph}{where}"


def _batches(job: Job, sites: Sites, part: AuditedCopies) -> Iterator[_AuditedBatch]:
    """The copies of a part, drawn as for votes, in batches as large as the classifier takes."""
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
            copies = drawn
            if any(attacks):
                copies = replace_sites(drawn, *values_at_attacks(attacks, sites, job.noise, stream))
            for first in range(0, len(drawn), most):
                batch = copies[first : first + most]
                order = _order(job.seed, f"company {before + first} {sites.clean.key}", len(batch))
                halves = (order[: len(batch) // 2], order[len(batch) // 2 :])
                regrouped = halves if _on_cpu(job.classifier) else (order[order % 2 == 0],)
                is_alone = np.flatnonzero(alone[before + first : before + first + len(batch)])
                yield _AuditedBatch(part.graph, batch, attacks[first : first + most], regrouped, is_alone.tolist())
            before += len(drawn)


def _audit(job: Job, parts: Iterable[AuditedCopies], executor: Executor | None) -> Audit:
    """Audits all parts, here or on an executor."""
    return sum((found for _, found in ask(job, parts, executor)), Audit())
