"""The regions of a noise in objects: bound once, by a partition for all graphs or a rule for each.

Votes, certificates, archive and report are all made from the same `Problem`: a rule that is called again may give other
regions, or hide how it came by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import MAX_EVIDENCE_SITES, NO_AXIS, AttackAxis
from starcert.objects import CleanObject, Partition, Sites
from starcert.objects.cells import TABLE, TEXT
from starcert.objects.columns import ColumnRegions
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind, kind_of
from starcert.objects.laws import Law, why_not_alike
from starcert.objects.noise import Noise, attack_axes_of_values
from starcert.objects.rule import READS_EDGES
from starcert.objects.vectors import ROWS
from starcert.system.errors import InvalidParameterError, did_you_mean
from starcert.system.output import quantity

Regions: TypeAlias = Partition | Mapping[str, str] | ColumnRegions | Callable[[Any], Partition | Sites]
"""A partition, if all graphs share their nodes; for each region the name of its layer; for vectors, the columns of each
region; a rule from a graph to its partition; for other objects, a function from an object to its sites."""


OWN_KINDS = (GRAPHS, ROWS, TABLE, TEXT)
"""Starcert's own kinds by name."""


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What is to be certified: objects, a noise, and where its regions lie in each object.

    Make one with `SmoothedClassifier.problem`, and give it to `vote`, `certify` and `predict` in place of the graphs.
    Laws of the noise that left open how many values there are have it filled in.

    Example:
        >>> from starcert.objects import Graph
        >>> problem = bind_all([Graph(3, [(0, 1)]), Graph(4, [])], Noise(all=0.1), None)
        >>> problem, problem.capacities, problem.anchored
        (Problem(2 graphs, Noise(all=0.1)), ((3,), (6,)), ('', ''))
    """

    noise: Noise
    sites: tuple[Sites, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", noise_for_sites(self.noise, self.sites))
        object.__setattr__(self, "sites", tuple(_with_unattacked(each, self.noise) for each in self.sites))

    def __len__(self) -> int:
        return len(self.sites)

    def __repr__(self) -> str:
        return f"Problem({quantity(len(self), self.kind.word)}, {self.noise!r})"

    @property
    def kind(self) -> Kind:
        """The kind of the objects."""
        return kind_of(*self.objects)

    @property
    def objects(self) -> tuple[CleanObject, ...]:
        """The clean objects: graphs, mostly."""
        return tuple(each.clean for each in self.sites)

    @cached_property
    def capacities(self) -> tuple[tuple[int, ...], ...]:
        """For each object, how many sites an attacker can change on each axis."""
        return tuple(each.capacity(self.noise) for each in self.sites)

    @property
    def anchored(self) -> tuple[str, ...]:
        """For each object, why its regions are anchored; "" if they are not."""
        return tuple(each.reason for each in self.sites)

    @cached_property
    def without_evidence(self) -> tuple[str, ...]:
        """For each object, why it has no evidence beyond the counts of its votes; "" if it has."""
        return tuple(why_no_evidence(each.n_sites, self.noise) for each in self.sites)

    def under(self, noise: Noise) -> Problem:
        """The same regions of the same objects under another noise."""
        return replace(self, noise=noise)


def check_noise_and_regions(noise: object, regions: object) -> None:
    """Refuses anything but a noise, and regions that cannot be those of the noise."""
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    if regions is None and len(noise.regions) > 1:
        hint = "Give a Partition, for instance Partition.from_node_sets({...}), or a rule from a graph to one."
        missing = f"is missing: it says where the {len(noise.regions)} regions of the noise are."
        raise InvalidParameterError("regions", f"{missing} {hint}")
    named = isinstance(regions, Mapping) and all(isinstance(sites, Iterable) for sites in regions.values())
    if not (regions is None or isinstance(regions, Partition) or named or callable(regions)):
        hint = 'Or name the layer of each region: {"bonds": "pairs", "atoms": "element"}.'
        raise InvalidParameterError("regions", "be a Partition or a function from a graph to one", regions, hint)


def noise_for_sites(noise: Noise, sites: Sequence[Sites]) -> Noise:
    """The noise with all numbers of values filled in; refuses sites with other regions or other numbers of values."""
    for each in sites:
        if set(each.regions) != set(noise.regions):
            wanted = f"be those of the noise, {', '.join(noise.regions)}"
            hint = "Give every region of the partition a flip law, and no other."
            near = _near_names(noise.regions, each.regions)
            raise InvalidParameterError("regions", wanted, ", ".join(each.regions), f"{near} {hint}".lstrip())
        layers = dict(zip(each.regions, each.layers, strict=True))
        places = ((region, layers[region]) for region in noise)
        laws = {region: noise[region].for_alphabet(of.alphabet, f"noise[{region}]", of.name) for region, of in places}
        if any(laws[region] is not noise[region] for region in noise):
            noise = Noise(laws)
    return noise


def _near_names(laws: Sequence[str], regions: Sequence[str]) -> str:
    """A hint if a law for a missing region may be meant for one that has no law; "" where no name is close."""
    without_law = [region for region in regions if region not in laws]
    for region in laws:
        close = "" if region in regions else did_you_mean(region, without_law)
        if close:
            return f"The noise has a law for {region}. {close}"
    return ""


def sampled_laws(sites: Sites, noise: Noise) -> list[Law]:
    """For each region of the sites the law that is sampled there, with as many values as its sites have."""
    laws = []
    for region, layer in zip(sites.regions, sites.layers, strict=True):
        _, values = sites.clean.nonzero(layer.name)
        laws.append(noise[region].acting(np.bincount(values, minlength=layer.alphabet)[1:].tolist()))
    return laws


def why_no_evidence(n_sites: int, noise: Noise) -> str:
    """The reason why an object of this size has no evidence beyond the counts of its votes; "" if it has."""
    for region in noise:
        if reason := why_not_alike(noise[region]):
            return f"{region}: {reason}"
    if n_sites > MAX_EVIDENCE_SITES:
        return f"it looks at objects of at most {MAX_EVIDENCE_SITES:,} sites"
    return ""


def first_axis_of_sites(sites: Sites, noise: Noise) -> npt.NDArray[np.uint16]:
    """For every site the number of the first axis of `noise.axes` that counts an attack on it, `NO_AXIS` for none."""
    found = np.zeros(sites.n_sites, dtype=np.uint16)
    first = dict(zip(noise, accumulate((len(noise[region].moves) for region in noise), initial=0), strict=False))
    positions, values = sites.nonzero
    for region, offset, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
        law = noise[region]
        axis_of = np.full(law.alphabet, NO_AXIS, dtype=np.uint16)
        for axis in reversed(range(len(law.moves))):
            axis_of[[before for before, _ in law.moves[axis]]] = first[region] + axis
        found[offset : offset + size] = axis_of[0]
        here = slice(*np.searchsorted(positions, [offset, offset + size]))
        # To a law on two values every other value is 1.
        found[positions[here]] = axis_of[np.minimum(values[here], law.alphabet - 1)]
    return found


def attack_axes(sites: Sites, noise: Noise) -> tuple[AttackAxis, ...]:
    """The axes of a noise on these sites, in the order of `noise.axes`."""
    return attack_axes_of_values(noise, first_axis_of_sites(sites, noise), sites.values)


def bind_all(objects: Iterable[CleanObject], noise: Noise, regions: Regions | None) -> Problem:
    """The problem of these objects: each is bound once, in their order."""
    return Problem(noise, anchor_all([bind(each, noise, regions) for each in objects], regions))


def anchor_all(sites: Sequence[Sites], regions: Regions | None) -> tuple[Sites, ...]:
    """The sites from a rule, all of them anchored if the rule has read the edges of any of these graphs.

    A rule that keeps what it has learned may derive from one graph what it returns for another.
    """
    if not callable(regions) or not any(READS_EDGES in each.reason for each in sites):
        return tuple(sites)
    return tuple(each if each.anchored else each.mark_anchored(READS_EDGES) for each in sites)


def bind(clean: CleanObject, noise: Noise, regions: Regions | None) -> Sites:
    """The sites of an object; without `regions`, the one region of the noise is every site."""
    if not isinstance(clean, CleanObject):
        hint = "Convert it first, for instance with Graph.from_networkx(graph) or Bits.rows(X)."
        raise InvalidParameterError("graphs", "be starcert Graphs", type(clean).__name__, hint)
    kind = kind_of(clean)
    if not kind.checked:
        kind.check(clean)
    sites = Sites.everything(clean, noise.regions[0]) if regions is None else kind.sites(clean, regions)
    return _with_unattacked(sites, noise)


def _with_unattacked(sites: Sites, noise: Noise) -> Sites:
    """The sites, anchored if noise draws what attacks do not change, such as types or numbers of edges."""
    for sentence in kind_of(sites.clean).unattacked(sites, noise):
        if sentence not in sites.reason:
            sites = sites.mark_anchored(f"{sites.reason} {sentence}".lstrip())
    return sites
