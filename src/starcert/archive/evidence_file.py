"""The evidence of certificates, and the side file that keeps it: plain arrays of whole numbers, nothing pickled.

The file is an `.npz`. The evidence of all graphs lies one after the other in the same few arrays (`ARRAYS`); `heads`
says how much of each belongs to a graph. Equal evidence makes equal bytes. Where graphs have several targets, each
target has a place as if it were a graph; the sites of a graph are there once.

It may be broken or hostile: no more of it is unpacked than the votes that the certificates count can take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, BinaryIO, overload

import numpy as np
import numpy.typing as npt

from starcert.archive.listed_attacks import LISTED, attack_parts, take_attacks
from starcert.archive.side_arrays import PackedArrays, pack_arrays
from starcert.archive.untrusted import MalformedError
from starcert.math.attacked_sites import (
    MAX_EVIDENCE_SITES,
    NO_AXIS,
    AttackAxis,
    AttackList,
    changed_sites,
    describe_attack,
    sites_by_pool,
)
from starcert.math.ballots import Ballots, OwnTally
from starcert.math.flips import as_positions
from starcert.objects.laws import axis_moves
from starcert.objects.noise import Noise, attack_axes_of_values, first_axis_of_axes
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.claims.verdict import Verdicts

ARRAYS = {
    "graphs": "<i8",  # the numbers of the graphs that have evidence
    "heads": "<i8",  # for each of them: HEAD
    "axes": "<u2",  # the axis of every site, the first if it is on several; NO_AXIS: it is on none
    "samples": "<i8",  # votes in each chunk
    "against": "<i8",  # of these, votes against the class
    "classes": "<u2",  # what each vote against the class was for
    "bits": "|u1",  # flips, form 0: a bit for every site, as `Ballots` keeps them
    "lengths": "<i8",  # forms 1 and 3: how many sites flipped in each vote; in 3, of those that listed attacks change
    "positions": "<u4",  # and which
    "by_axis": "<u4",  # form 2: how many sites of each axis flipped in each vote
    "own_sizes": "<i8",  # how many sites each attack with votes of its own has
    "own_sites": "<u4",  # and which, with the rank of the new value: see `AttackAxis.attacked`
    "own_chunks": "<i8",  # how many chunks of votes it has
    "own_counts": "|u1",  # for each chunk the votes for each class
    "own_numbers": "<u4",  # for each vote against the class, how many sites of each axis flipped
}
SIDE = ".evidence.npz"  # how the name of its file ends
VALUED = {
    "values": "|u1",  # the clean value of every site
    "shown": "|u1",  # forms 0, 1 and 3: the value that each flip shows
}
"""Further arrays of a file with graphs whose sites have more than two values. Files of other graphs have none."""

JOINT = {"answers": "<u2"}  # of each copy what all targets but the first answered
"""A further array of a file with the copies of graphs, on which all their targets answer: those on which at least one
disagrees with its class; all of them in files of 0.2, and where outputs are numbers."""

NO_CLASS = 2**16 - 1  # the label of a graph there

OWN_VOTES = 8, 64  # at least and at most in a chunk at an attacked graph: see `sampler.own_chunk`

FORMS = ("bits", "positions", "by_axis")  # the array of `Ballots` that tells each form of flips
AT_LISTED = len(FORMS)  # the form of positions of sites that listed attacks change, alone
SITES = ("axes", "values", *LISTED)  # the arrays that all targets of a graph share

HEAD = ("label", "n_sites", "chunks", "votes", "form", "most", "attacks", "max_flips")
"""Class, sites, chunks, votes against the class, form of the flips, own votes at most (−1: none), attacks with some,
the most flips of a level that was looked at (−1: any)."""

Attack = tuple[int, ...]
Whole = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class GraphEvidence:
    """The data, besides the counts of its votes, from which the verdicts on one graph are proved."""

    record: Ballots  # the votes against the class, and which sites flipped in each
    sites: tuple[Whole, ...]  # the flat positions of the sites of each axis, in the order of `noise.axes`
    most: int | None  # the most votes at attacked graphs that were allowed; None: none were requested
    own: Mapping[Attack, Sequence[OwnTally]]  # the votes at attacked graphs, by attack, chunk by chunk
    max_flips: int | None = None  # levels of more flips in all were not looked at; None: all were
    values: Bytes | None = None  # the clean value of every site, where some have more than two
    attacks: AttackList | None = None  # those of a threat, size after size; None: levels were looked at
    joint: bool = False  # whether the record is that of all targets

    @classmethod
    def of(cls, record: Ballots | None, verdicts: Verdicts | None) -> GraphEvidence | None:
        """The data that verdicts rest on; None if there are none."""
        if record is None or verdicts is None or verdicts.grounds is None:
            return None
        axes, most, own, max_flips, attacks = verdicts.grounds
        values, valued = np.zeros(record.n_sites, dtype=np.uint8), [axis for axis in axes if axis.moves is not None]
        for axis in valued:
            values[axis.sites] = axis.values
        sites = tuple(axis.sites for axis in axes)
        return cls(record, sites, most, own, max_flips, values if valued else None, attacks)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sites on each axis."""
        return tuple(map(len, self.sites))

    def axes(self, noise: Noise) -> tuple[AttackAxis, ...]:
        """The axes of the noise on the graph."""
        axes = zip(attack_axes_of_values(noise, self._first_axes, self.values), self.sites, strict=True)
        return tuple(axis._replace(sites=sites) for axis, sites in axes)  # once in memory, for all targets of a graph

    @property
    def _first_axes(self) -> npt.NDArray[np.uint16]:
        """The number of the first axis of every site."""
        axes = np.full(self.record.n_sites, NO_AXIS, dtype=np.uint16)
        for axis in reversed(range(len(self.sites))):
            axes[self.sites[axis]] = axis
        return axes

    def check(self, name: str, labels: Sequence[int] | None, counts: Whole, noise: Noise) -> None:
        """Refuses what does not fit the votes: the classes and the counts of all targets, and the axes of the noise."""
        record, n_classes, n_axes = self.record, counts.shape[1], len(noise.axes)
        if (record.samples > counts[0].sum()).any():  # so that their sum is one
            raise InvalidParameterError(name, f"be of {counts[0].sum()} votes in all", record.samples.max())
        if record.answers.max(initial=0) >= n_classes or record.labels != (None if labels is None else tuple(labels)):
            raise InvalidParameterError(name, f"be of votes against the classes {labels} of {n_classes}", record)
        seen = np.array([np.bincount(answers, minlength=n_classes) for answers in record.answers.T])
        if labels is not None:
            seen[np.arange(len(labels)), list(labels)] += record.n_copies - len(record)
        if not np.array_equal(seen, counts):
            raise InvalidParameterError(name, f"be of the votes {counts.tolist()}", seen.tolist())
        if len(self.sites) != n_axes:
            raise InvalidParameterError(name, f"have the {n_axes} axes of the noise", len(self.sites))
        axes = self._checked_axes(name, noise)
        counted = np.array([len(sites) for sites in sites_by_pool(axes)])
        if not record.complete and record.axis_sizes.tolist() != counted.tolist():
            raise InvalidParameterError(name, f"count flips on axes of {counted} sites", record.axis_sizes.tolist())
        if self.own:
            self._check_own(name, 0 if labels is None else labels[0], n_classes, axes, counted)

    def _check_own(self, name: str, label: int, n_classes: int, axes: Sequence[AttackAxis], counted: Whole) -> None:
        """Refuses votes at attacked graphs that the axes do not have, or that do not add up."""
        attackable: set[int] = set()
        for axis in axes:
            attackable.update(axis.attacked(range(axis.n_choices)).tolist())
        for attack, tallies in self.own.items():
            sites = describe_attack(axes, attack)[0]
            if not attackable.issuperset(attack) or any(left >= right for left, right in pairwise(attack)):
                raise InvalidParameterError(name, "attack sites of the axes, in ascending order", attack)
            if len(set(sites)) < len(sites):
                raise InvalidParameterError(name, "attack each site once", attack)
            for votes, numbers in tallies:
                lost = int(votes.sum() - votes[label])
                known = votes.shape == (n_classes,) and OWN_VOTES[0] <= votes.sum() <= OWN_VOTES[1]
                if not known or numbers.shape != (lost, len(axes)):
                    must = "have {} to {} votes in each chunk at an attacked graph, with flip numbers".format(
                        *OWN_VOTES
                    )
                    raise InvalidParameterError(name, must, votes.tolist())
                if (numbers > counted).any():
                    raise InvalidParameterError(name, f"count flips on axes of {counted} sites", numbers.max())

    def _checked_axes(self, name: str, noise: Noise) -> tuple[AttackAxis, ...]:
        """The axes, once clean values and those that flips show are known to be such as the laws have."""
        record, valued = self.record, noise.is_valued
        if (self.values is not None) != valued or (valued and record.complete) != (record.shown is not None):
            raise InvalidParameterError(name, "say what sites show where they have more than two values", record)
        moves = [axis for region in noise for axis in axis_moves(noise[region])]
        for sites, axis in zip(self.sites, moves, strict=True):
            if self.values is not None and axis.alphabet > 2 and not np.isin(self.values[sites], axis.starts).all():
                raise InvalidParameterError(name, f"have the clean values {axis.starts} there", self.values[sites])
        if record.shown is not None:
            alphabets = np.array([*(axis.alphabet for axis in moves), 256])
            most = alphabets[np.minimum(self._first_axes, len(moves))][record.flipped]
            if (record.shown >= np.where(most > 2, most, 256)).any():
                raise InvalidParameterError(name, "show values that their sites have", record.shown)
        return self.axes(noise)

    def __eq__(self, other: object) -> bool:
        """True if both would be written as the same numbers."""
        if not isinstance(other, GraphEvidence):
            return NotImplemented
        pairs = zip_longest(_parts(self), _parts(other), fillvalue=("", ()))
        return all(mine[0] == its[0] and np.array_equal(mine[1], its[1]) for mine, its in pairs)

    __hash__ = None  # type: ignore[assignment]


def pack(evidence: Sequence[GraphEvidence | None], objects: Sequence[int] | None = None) -> bytes:
    """The side file of graphs, or of targets; `objects` are then the numbers of their graphs."""
    found = [graph for graph in evidence if graph is not None]
    arrays = ARRAYS | (VALUED if any(graph.values is not None for graph in found) else {})
    arrays |= LISTED if any(graph.attacks is not None for graph in found) else {}
    arrays |= JOINT if any(graph.joint for graph in found) else {}
    parts: dict[str, list[npt.ArrayLike]] = {name: [] for name in arrays}
    written: set[int] = set()
    for number, graph in enumerate(evidence):
        if graph is not None:
            parts["graphs"].append([number])
            of_object = number if objects is None else objects[number]
            for name, part in _parts(graph):
                if of_object not in written or name not in SITES:
                    parts[name].append(part)
            written.add(of_object)
    return pack_arrays(arrays, parts)


def _parts(graph: GraphEvidence) -> list[tuple[str, npt.ArrayLike]]:
    """The numbers of a graph and the arrays that they belong to."""
    record = graph.record
    arrays = record.to_arrays()
    if record.sites is None:
        form = next(number for number, name in enumerate(FORMS) if name in arrays)
    else:
        arrays["starts"], arrays["positions"], form = as_positions(record.places).starts, record.flipped, AT_LISTED
        arrays = {name: array for name, array in arrays.items() if name not in ("sites", "bits")}
    if (starts := arrays.pop("starts", None)) is not None:
        arrays["lengths"] = np.diff(starts)
    arrays["against"], answers = arrays.pop("kept"), arrays.pop("answers")
    arrays["classes"] = answers[:, 0]
    label = NO_CLASS if graph.joint or record.labels is None else record.labels[0]
    most, flips = (-1 if number is None else number for number in (graph.most, graph.max_flips))
    head = (label, record.n_sites, len(record.samples), len(record), form, most, len(graph.own), flips)
    parts: list[tuple[str, npt.ArrayLike]] = [("heads", head), ("axes", graph._first_axes)]
    parts += [(name, array) for name, array in arrays.items() if name in ARRAYS or name in VALUED]
    parts += [] if graph.values is None else [("values", graph.values)]
    parts += [] if graph.attacks is None else attack_parts(graph.attacks)
    parts += [("answers", answers[:, 1:])] if graph.joint else []
    for attack, tallies in graph.own.items():
        parts += [("own_sizes", [len(attack)]), ("own_sites", attack), ("own_chunks", [len(tallies)])]
        for tally in tallies:
            parts += [("own_counts", tally.counts), ("own_numbers", tally.numbers)]
    return parts


def unpack(
    side: BinaryIO,
    *,
    counts: Sequence[Sequence[int]],
    noise: Noise,
    objects: Sequence[int] | None = None,
    listed: Sequence[Sequence[int]] | None = None,
    n_targets: Sequence[int] | None = None,
) -> list[GraphEvidence | None]:
    """Reads the result of `pack`, as far as the votes for each class allow; `GraphEvidence.check` checks that it fits.

    `listed` is how many attacks of each size a threat lists, for each object. With `n_targets`, those of each graph,
    all votes are there.
    """
    wanted = ARRAYS | (VALUED if noise.is_valued else {}) | ({} if listed is None else LISTED)
    wanted |= {} if n_targets is None else JOINT
    arrays = PackedArrays(side, wanted)
    n_graphs = len(counts)
    numbers = arrays.take("graphs", min(arrays.left["graphs"], n_graphs)).tolist()
    if arrays.left["graphs"] or any(left >= right for left, right in pairwise([-1, *numbers, n_graphs])):
        raise MalformedError(f"'graphs' must be numbers of graphs below {n_graphs}, in ascending order.")
    found: list[GraphEvidence | None] = [None] * n_graphs
    by_object: dict[int, GraphEvidence] = {}
    for number in numbers:
        of_object = number if objects is None else objects[number]
        try:
            sizes = None if listed is None else listed[of_object]
            same, joint = by_object.get(of_object), None if n_targets is None else n_targets[number]
            graph = found[number] = _graph(arrays, noise, counts[number], same, sizes, joint)
        except InvalidParameterError as error:
            raise MalformedError(f"the evidence of graph {number} is malformed: {error}") from None
        by_object.setdefault(of_object, graph)
    arrays.check_empty()
    return found


def _graph(
    unread: PackedArrays,
    noise: Noise,
    counts: Sequence[int],
    same: GraphEvidence | None,
    listed: Sequence[int] | None,
    n_targets: int | None,
) -> GraphEvidence:
    """The evidence that comes next; sites and listed attacks are those of another target of the same graph, if any."""
    n_axes = len(noise.axes)
    head = dict(zip(HEAD, unread.take("heads", len(HEAD)).tolist(), strict=True))
    label, n_sites, votes, form = head["label"], head["n_sites"], head["votes"], head["form"]
    known = 0 <= n_sites <= MAX_EVIDENCE_SITES and form in range(len(FORMS) + (listed is not None))
    if not known or min(head["most"], head["max_flips"]) < -1:
        raise InvalidParameterError("heads", f"be {', '.join(HEAD)}", head)
    total = sum(counts)
    if n_targets is None:
        known = 0 <= label < len(counts) and votes == total - counts[label]
    else:
        known = label == NO_CLASS and 0 <= votes <= total
    if not (known and 0 <= head["chunks"] <= total):
        raise InvalidParameterError("heads", f"be of the votes {list(counts)}", head)
    sites, values = _sites(unread, noise, n_sites) if same is None else (same.sites, same.values)
    if same is not None and n_sites != same.record.n_sites:
        raise InvalidParameterError("heads", f"have the {same.record.n_sites} sites of the graph", n_sites)
    attacks = None if same is None else same.attacks
    if same is None and listed is not None:
        attacks = take_attacks(unread, listed, n_sites)
    record = _record(unread, head, sites, attacks, noise, n_targets)
    most, flips = (None if head[name] < 0 else head[name] for name in ("most", "max_flips"))
    own = _own_votes(unread, head["attacks"], most or 0, label=label, n_classes=len(counts), n_axes=n_axes)
    return GraphEvidence(record, sites, most, own, flips, values, attacks, n_targets is not None)


def _record(
    unread: PackedArrays,
    head: Mapping[str, int],
    sites: Sequence[Whole],
    attacks: AttackList | None,
    noise: Noise,
    n_targets: int | None,
) -> Ballots:
    """The ballots that come next: against one class, or those of all targets."""
    label, n_sites, votes, form = head["label"], head["n_sites"], head["votes"], head["form"]
    arrays = {"n_sites": np.array(n_sites)} | ({} if n_targets is not None else {"labels": np.array([label])})
    arrays |= {new: unread.take(name, head["chunks"]) for new, name in (("samples", "samples"), ("kept", "against"))}
    arrays["answers"] = unread.take("classes", votes)[:, None]
    if form == 0:
        width = -(-n_sites // 8)
        arrays["bits"] = unread.take("bits", votes * width).reshape(votes, width)
    elif form == FORMS.index("by_axis"):
        arrays["by_axis"] = unread.take("by_axis", votes * len(sites)).reshape(votes, len(sites))
        arrays["sizes"] = np.array([len(each) * (first_axis_of_axes(noise)[i] == i) for i, each in enumerate(sites)])
    else:
        lengths = unread.take("lengths", votes)
        if (lengths < 0).any() or (lengths > n_sites).any():
            raise InvalidParameterError("lengths", f"be numbers of sites from 0 to {n_sites}", lengths)
        arrays["starts"] = np.concatenate([[0], np.cumsum(lengths)])
        arrays["positions"] = unread.take("positions", int(lengths.sum()))
    if noise.is_valued and "by_axis" not in arrays:
        arrays["shown"] = unread.take("shown", Ballots.from_arrays(arrays).n_flips)
    if n_targets is not None:
        others = unread.take("answers", votes * (n_targets - 1)).reshape(votes, n_targets - 1)
        arrays["answers"] = np.column_stack([arrays["answers"], others])
    record = Ballots.from_arrays(arrays)
    return record.at(changed_sites(attacks or (), n_sites)) if form == AT_LISTED else record


def _sites(unread: PackedArrays, noise: Noise, n_sites: int) -> tuple[tuple[Whole, ...], Bytes | None]:
    """The sites of each axis of a graph, and the clean values of all, where some have more than two."""
    axes, n_axes, firsts = unread.take("axes", n_sites), len(noise.axes), first_axis_of_axes(noise)
    if ((axes >= n_axes) & (axes != NO_AXIS)).any():
        raise InvalidParameterError("axes", f"be the numbers of {n_axes} axes", int(axes[axes != NO_AXIS].max()))
    by_first = {first: np.flatnonzero(axes == first) for first in set(firsts)}
    return tuple(by_first[first] for first in firsts), unread.take("values", n_sites) if noise.is_valued else None


def _own_votes(
    unread: PackedArrays, attacks: int, most: int, *, label: int, n_classes: int, n_axes: int
) -> dict[Attack, _Tallies]:
    """The votes at attacked graphs, at most `most` in all."""
    least, left = OWN_VOTES[0], most
    if not 0 <= attacks <= left // least:
        raise InvalidParameterError("heads", f"have at most {left // least} attacks with votes of their own", attacks)
    own: dict[Attack, _Tallies] = {}
    for _ in range(attacks):
        size, chunks = (int(unread.take(name, 1)[0]) for name in ("own_sizes", "own_chunks"))
        attack = tuple(unread.take("own_sites", size).tolist())
        if attack in own:
            raise InvalidParameterError("own_sites", "name each attack once", attack)
        if not 1 <= chunks <= left // least:
            raise InvalidParameterError("own_chunks", f"be 1 or more, for at most {most} votes in all", chunks)
        counts = unread.take("own_counts", chunks * n_classes).reshape(chunks, n_classes)
        votes = counts.sum(axis=1, dtype=np.int64)
        left, lost = left - int(votes.sum()), votes - counts[:, label]
        if left < 0:
            raise InvalidParameterError("own_counts", f"be at most {most} votes in all", most - left)
        own[attack] = _Tallies(counts, unread.take("own_numbers", int(lost.sum()) * n_axes).reshape(-1, n_axes), lost)
    return own


class _Tallies(Sequence[OwnTally]):
    """The votes at one attacked graph, chunk by chunk, in as little memory as the file has them in."""

    def __init__(self, counts: Bytes, numbers: npt.NDArray[np.uint32], lost: Whole) -> None:
        self._counts, self._numbers, self._ends = counts, numbers, np.cumsum(lost, dtype=np.uint32)

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, index: int) -> OwnTally: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[OwnTally]: ...
    def __getitem__(self, index: int | slice) -> OwnTally | Sequence[OwnTally]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        numbers = self._numbers[int(self._ends[row - 1]) if row else 0 : int(self._ends[row])]
        return OwnTally(self._counts[row].astype(np.int64), numbers.astype(np.int64))
