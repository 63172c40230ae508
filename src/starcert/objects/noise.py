"""The noise: a law for every region."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.math.channels import MAX_RADIUS, Product
from starcert.objects.laws import LAWS, LEAST, Flip, Law, axis_moves, channels_of, law_from_json, real_number
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import html_table

MAX_SITES = 2**63 - 1  # the most sites an axis can have: the position of a site is a 64-bit integer
RadiusLike: TypeAlias = Sequence[float] | Mapping[str, float] | float
"""A radius as users write it: in the order of `noise.axes`, by axis name, or a number if there is one axis."""

_ONE_REGION = "Write Noise(all=0.1) for one region."


class Noise:
    """A law for every region.

    One region with `Flip(p)` is isotropic noise, several are the paper's anisotropic noise, and one region with
    `Flip(delete, add)` is sparsity-aware noise. `Categorical` is noise on sites with more than two values.

    Regions and their laws are given as keywords, or as a mapping; a number p means `Flip(p)`.

    Example:
        >>> noise = Noise(motif=0.02, random=0.45)
        >>> noise.axes, noise.radius({"random": 45, "motif": 1})
        (('motif', 'random'), (1, 45))
        >>> Noise(bonds=Flip(delete=0.04, add=0.2)).axes
        ('bonds.delete', 'bonds.add')
    """

    def __init__(self, laws: Mapping[str, Law | float] | None = None, /, **regions: Law | float) -> None:
        if not isinstance(laws, Mapping | None):
            raise InvalidParameterError("noise", "map regions to flip laws", laws, _ONE_REGION)
        given = {**(laws or {}), **regions}
        if laws is not None and len(given) < len(laws) + len(regions):
            twice = sorted(set(laws) & set(regions))
            raise InvalidParameterError("noise", "name each region once", twice)
        if not given:
            raise InvalidParameterError("noise", "have at least one region", given, _ONE_REGION)
        self._laws: dict[str, Law] = {}
        for region, law in given.items():
            if not (isinstance(region, str) and re.fullmatch(r"[^\s.,=/]+", region)):
                wanted = "have region names without spaces and without any of . , = /"
                raise InvalidParameterError("noise", wanted, region)
            try:
                self._laws[region] = law if isinstance(law, Law) else Flip(law)
            except InvalidParameterError as error:
                _, requirement, got, hint = error.args
                if isinstance(law, Sequence) and len(law) == 2:
                    hint = f"For separate deletions and additions write Flip(delete={law[0]!r}, add={law[1]!r})."
                raise InvalidParameterError(f"noise[{region}]", requirement, got, hint) from None

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the regions."""
        return tuple(self._laws)

    def __getitem__(self, region: str) -> Law:
        return self._laws[region]

    def __iter__(self) -> Iterator[str]:
        return iter(self._laws)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The coordinates of a radius: `region` under `Flip(p)`, `region.delete` and `region.add` for instance."""
        return tuple(region + suffix for region, law in self._laws.items() for suffix in law.suffixes)

    @property
    def is_valued(self) -> bool:
        """True if some law is on more than two values: which value a flip shows then matters."""
        return any(law.alphabet > 2 for law in self._laws.values())

    @property
    def invisible(self) -> tuple[str, ...]:
        """The regions of which noisy copies show nothing: any number of attacks there changes nothing.

        Example:
            >>> Noise(alike=Flip(delete=0.8, add=0), unlike=Flip(delete=1, add=0)).invisible
            ('unlike',)
        """
        shown = {region: map(law.transitions, range(law.alphabet)) for region, law in self._laws.items()}
        return tuple(region for region, of_values in shown.items() if len(set(of_values)) == 1)

    def sites_of(self, region: str, capacity: Sequence[int]) -> int:
        """The number of sites of a region, from the capacity of each axis: axes may share their sites."""
        law, first = self._laws[region], self.axes.index(region + self._laws[region].suffixes[0])
        own = zip(law.moves, capacity[first : first + len(law.moves)], strict=True)
        return sum({frozenset(before for before, _ in moves): count for moves, count in own}.values())

    @property
    def outside(self) -> tuple[str, ...]:
        """The names of its laws that are not starcert's own: what they state about noise cannot be proved here."""
        return tuple({law.name: None for law in self._laws.values() if type(law) not in LAWS})

    @property
    def stated(self) -> dict[str, str]:
        """By region, a digest of what a law that is not starcert's own now says about noise."""
        laws = {region: law for region, law in self._laws.items() if type(law) not in LAWS}
        from starcert.objects.content import digest  # noqa: PLC0415  (what graphs contain, which proofs do not need)

        return {region: digest(*map(law.transitions, range(law.alphabet))) for region, law in laws.items()}

    @cached_property
    def product(self) -> Product:
        """The channels of the axes, for certifying."""
        for law in self._laws.values():
            if type(law) not in LAWS and law.channels != channels_of(law):  # what is drawn must be what is certified
                must, hint = "have laws whose channels are those of their transitions", "Leave out its channels."
                raise InvalidParameterError("noise", must, law, hint)
            masses = (mass for value in range(law.alphabet) for mass in law.transitions(value))
            if type(law) not in LAWS and any(0 < mass < LEAST for mass in masses):
                raise InvalidParameterError("noise", f"have probabilities that are 0 or at least {LEAST:g}", law)
        return Product(channel for law in self._laws.values() for channel in law.channels)

    def radius(self, value: RadiusLike, name: str = "radius") -> tuple[int, ...]:
        """A radius as a tuple in the order of `axes`, checked: whole numbers from 0 to a billion, all axes given."""
        return self._counts(value, name, "flips", MAX_RADIUS)

    def capacity(self, value: RadiusLike, name: str = "capacity") -> tuple[int, ...]:
        """The number of sites of each axis, as a tuple in the order of `axes`, checked."""
        return self._counts(value, name, "sites", MAX_SITES)

    def _counts(self, value: RadiusLike, name: str, unit: str, maximum: int) -> tuple[int, ...]:
        if isinstance(value, Mapping):
            unknown = [axis for axis in value if axis not in self.axes]
            missing = [axis for axis in self.axes if axis not in value]
            if unknown or missing:
                hint = f"Missing: {', '.join(missing)}. Give 0 where nothing is flipped."
                if unknown:
                    hint = f"Unknown: {', '.join(map(str, unknown))}."
                for region in (axis for axis in unknown if axis in self._laws):
                    axes = " and ".join(region + suffix for suffix in self._laws[region].suffixes)
                    hint = f"{region!r} has separate axes: {axes}."
                raise InvalidParameterError(name, f"have the axes {', '.join(self.axes)}", dict(value), hint)
            value = [value[axis] for axis in self.axes]
        return counts_of(value, name, self.axes, unit, maximum)

    def to_dict(self) -> dict[str, float | dict[str, Any]]:
        """Regions and their laws as plain numbers. `Noise.from_dict` reads it back.

        Example:
            >>> Noise(a=0.1, b=Flip(delete=0.04, add=0.2)).to_dict()
            {'a': 0.1, 'b': {'delete': 0.04, 'add': 0.2}}
        """
        return {region: law.to_json() for region, law in self._laws.items()}

    @classmethod
    def from_dict(cls, laws: Mapping[str, float | Mapping[str, float]]) -> Noise:
        """The noise that `to_dict` wrote down."""
        return cls({region: law_from_json(law) for region, law in laws.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noise) and list(self._laws.items()) == list(other._laws.items())

    def __hash__(self) -> int:
        return hash(tuple(self._laws.items()))

    def _repr_html_(self) -> str:
        rows = [
            {"region": name, "noise": law.describe(), "axes": ", ".join(name + each for each in law.suffixes)}
            for name, law in self._laws.items()
        ]
        return html_table(rows)

    def __repr__(self) -> str:
        plain = {region for region, law in self._laws.items() if isinstance(law, Flip) and law == Flip(law.delete)}
        shown = {region: law.to_json() if region in plain else law for region, law in self._laws.items()}
        return f"Noise({', '.join(f'{region}={each!r}' for region, each in shown.items())})"


def counts_of(
    value: object, name: str, axes: Sequence[str] | None = None, unit: str = "flips", maximum: int = MAX_RADIUS
) -> tuple[int, ...]:
    """Whole numbers, checked: one for each of these axes; None: any number of axes."""
    listed = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
    counts = list(value) if listed else [value] if isinstance(value, numbers.Real) else []  # type: ignore[call-overload]
    if not counts or (axes is not None and len(counts) != len(axes)):
        each = "a count for each axis" if axes is None else f"{len(axes)} counts, one for each of {', '.join(axes)}"
        raise InvalidParameterError(name, f"have {each}", value)
    found = []
    for position, count in enumerate(counts):
        if not (real_number(count).is_integer() and 0 <= count <= maximum):
            place = position if axes is None else axes[position]
            raise InvalidParameterError(f"{name}[{place}]", f"be a whole number of {unit} from 0 to {maximum:,}", count)
        found.append(int(count))
    return tuple(found)


def attack_axes_of_values(
    noise: Noise, numbers: npt.NDArray[np.uint16], values: npt.NDArray[np.uint8] | None
) -> tuple[AttackAxis, ...]:
    """The axes of a noise, from the number of the first axis of every site (`first_axis_of_sites`) and its clean value.

    No values are needed where no law has more than two.
    """
    found: list[AttackAxis] = []
    axes = [axis for region in noise for axis in axis_moves(noise[region])]
    for first, axis in zip(first_axis_of_axes(noise), axes, strict=True):
        there = np.flatnonzero(numbers == first)
        if axis.alphabet == 2:
            found.append(AttackAxis(axis.law, there))
            continue
        assert values is not None
        found.append(AttackAxis(axis.law, there, axis, values[there], len(numbers)))
    return tuple(found)


def first_axis_of_axes(noise: Noise) -> tuple[int, ...]:
    """For each axis of a noise the number of the first one that has the same sites."""
    found: list[int] = []
    for region in noise:
        starts = [frozenset(axis.starts) for axis in axis_moves(noise[region])]
        found += [len(found) + starts.index(one) for one in starts]
    return tuple(found)
