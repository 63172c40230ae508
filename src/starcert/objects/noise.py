"""The noise: a law for every region."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from starcert.math.channels import MAX_RADIUS, Product
from starcert.objects.laws import Flip, Law, law_from_json, real_number
from starcert.system.errors import InvalidParameterError
from starcert.system.output import html_table

__all__ = ["MAX_SITES", "Noise", "RadiusLike"]

MAX_SITES = 2**63 - 1
"""The most sites an axis can have: the position of a site is a 64-bit integer."""

RadiusLike: TypeAlias = Sequence[float] | Mapping[str, float] | float
"""A radius as users write it: in the order of `noise.axes`, by axis name, or a number if there is one axis."""


class Noise:
    """A law for every region.

    One region with `Flip(p)` is isotropic noise, several are the paper's anisotropic noise, one region with
    `Flip(delete, add)` is sparsity-aware noise, and several of those are that noise region by region. `Categorical`
    is noise on sites with more than two values.

    Args:
        laws: regions and their laws as a mapping, for names that are no Python words.
        regions: the same as keywords. A number p means `Flip(p)`.

    Example:
        >>> noise = Noise(motif=0.02, random=0.45)
        >>> noise.axes, noise.radius({"random": 45, "motif": 1})
        (('motif', 'random'), (1, 45))
        >>> Noise(bonds=Flip(delete=0.04, add=0.2)).axes
        ('bonds.delete', 'bonds.add')
    """

    def __init__(self, laws: Mapping[str, Law | float] | None = None, /, **regions: Law | float) -> None:
        if not isinstance(laws, Mapping | None):
            raise InvalidParameterError(
                "noise", "map regions to flip laws", laws, "Write Noise(all=0.1) for one region."
            )
        given = {**(laws or {}), **regions}
        if laws is not None and len(given) < len(laws) + len(regions):
            twice = sorted(set(laws) & set(regions))
            raise InvalidParameterError("noise", "name each region once", twice)
        if not given:
            raise InvalidParameterError(
                "noise", "have at least one region", given, "Write Noise(all=0.1) for one region."
            )
        self._laws: dict[str, Law] = {}
        for region, law in given.items():
            if not (isinstance(region, str) and re.fullmatch(r"[^\s.,=/]+", region)):
                raise InvalidParameterError(
                    "noise", "have region names without spaces and without any of . , = /", region
                )
            try:
                self._laws[region] = law if isinstance(law, Law) else Flip(law)
            except InvalidParameterError as error:
                _, requirement, got, hint = error.args
                if isinstance(law, Sequence) and len(law) == 2:
                    hint = f"For deletions and additions apart write Flip(delete={law[0]!r}, add={law[1]!r})."
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
        """The coordinates of a radius: `region` under `Flip(p)`, `region.delete` and `region.add` under two chances."""
        return tuple(region + suffix for region, law in self._laws.items() for suffix in law.suffixes)

    @cached_property
    def product(self) -> Product:
        """The channels of the axes, for certifying."""
        return Product(channel for law in self._laws.values() for channel in law.channels)

    def radius(self, value: RadiusLike, name: str = "radius") -> tuple[int, ...]:
        """A radius as a tuple in the order of `axes`, checked: whole numbers from 0 to a billion, all axes given."""
        return self._counts(value, name, "flips", MAX_RADIUS)

    def capacity(self, value: RadiusLike, name: str = "capacity") -> tuple[int, ...]:
        """How many sites each axis has, as a tuple in the order of `axes`, checked. It may be more than any radius.

        Example:
            >>> Noise(motif=0.02, random=0.45).capacity({"random": 10**12, "motif": 36})
            (36, 1000000000000)
        """
        return self._counts(value, name, "sites", MAX_SITES)

    def _counts(self, value: RadiusLike, name: str, unit: str, most: int) -> tuple[int, ...]:
        if isinstance(value, Mapping):
            unknown = [axis for axis in value if axis not in self.axes]
            missing = [axis for axis in self.axes if axis not in value]
            if unknown or missing:
                split = [axis for axis in unknown if axis in self._laws]
                hint = f"Missing: {', '.join(missing)}. Give 0 where nothing is flipped." if missing else ""
                if split:
                    apart = " and ".join(split[0] + suffix for suffix in self._laws[split[0]].suffixes)
                    hint = f"{split[0]!r} counts attacks apart: {apart}."
                elif unknown:
                    hint = f"Unknown: {', '.join(map(str, unknown))}."
                raise InvalidParameterError(name, f"have the axes {', '.join(self.axes)}", dict(value), hint)
            counts: Sequence[object] = [value[axis] for axis in self.axes]
        else:
            listed = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
            counts = list(value) if listed else [value] if isinstance(value, numbers.Real) else []  # type: ignore[arg-type]
            if len(counts) != len(self.axes):
                raise InvalidParameterError(
                    name, f"have {len(self.axes)} counts, one for each of {', '.join(self.axes)}", value
                )
        named = zip(self.axes, counts, strict=True)
        return tuple(_count(count, f"{name}[{axis}]", unit, most) for axis, count in named)

    def filled(self, layers: Mapping[str, tuple[str, int]]) -> Noise:
        """The noise whose laws know how many values their sites have; those that are made for others are refused.

        Args:
            layers: for each region the name of its layer and how many values that has.

        Example:
            >>> from starcert.objects.laws import Categorical
            >>> Noise(atoms=Categorical(0.05)).filled({"atoms": ("element", 4)})
            Noise(atoms=Categorical(0.05, 4))
        """
        laws = {
            region: law.filled(layers[region][1], f"noise[{region}]", layers[region][0])
            for region, law in self._laws.items()
        }
        return self if all(laws[region] is law for region, law in self._laws.items()) else Noise(laws)

    def to_dict(self) -> dict[str, float | dict[str, Any]]:
        """Regions and their laws as plain numbers, p, or delete and add for instance. `Noise.from_dict` reads it back.

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
        """What a notebook shows: a row for each region."""
        return html_table(
            [
                {"region": name, "noise": law.words(), "axes": ", ".join(name + each for each in law.suffixes)}
                for name, law in self._laws.items()
            ]
        )

    def __repr__(self) -> str:
        return f"Noise({', '.join(f'{region}={law.argument()}' for region, law in self._laws.items())})"


def _count(value: Any, name: str, unit: str, most: int) -> int:  # noqa: ANN401  (whatever a user wrote)
    if not (real_number(value).is_integer() and 0 <= value <= most):
        raise InvalidParameterError(name, f"be a whole number of {unit} from 0 to {most:,}", value)
    return int(value)
