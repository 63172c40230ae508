"""Two axes of a noise to draw, all others at 0: which they are, radii on them, and tables cut along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError, did_you_mean


@dataclass(frozen=True)
class Plane:
    """The numbers of two axes of a noise: the first is the y axis of a map.

    Example:
        >>> plane = Plane.of(Noise(ring=0.02, rest=0.1, between=0.05), ("between", "ring"))
        >>> plane.names, plane.radius((2, 9)), plane.note
        (('between', 'ring'), (9, 0, 2), 'no flips in rest')
    """

    noise: Noise
    places: tuple[int, int]

    @classmethod
    def of(cls, noise: Noise, axes: Sequence[str] | None = None) -> Plane:
        """The plane of two axes by name; without names, that of a noise which has just two."""
        known = ", ".join(noise.axes)
        if axes is None:
            if len(noise.axes) == 2:
                return cls(noise, (0, 1))
            more = len(noise.axes) > 2
            hint = f"Choose two, the others stay at 0: axes={noise.axes[:2]!r}." if more else "Use accuracy_curves."
            raise InvalidParameterError("axes", f"be two of {known}" if more else "be two", f"{known} alone", hint)
        chosen = [axes] if isinstance(axes, str) else list(axes)
        for axis in chosen:
            if axis not in noise.axes:
                hint = did_you_mean(str(axis), noise.axes)
                raise InvalidParameterError("axes", f"be two of {known}", axis, hint)
        if len(chosen) != 2 or chosen[0] == chosen[1]:
            raise InvalidParameterError("axes", f"be two different ones of {known}", axes)
        return cls(noise, (noise.axes.index(chosen[0]), noise.axes.index(chosen[1])))

    @property
    def names(self) -> tuple[str, str]:
        """The names of both axes."""
        return self.noise.axes[self.places[0]], self.noise.axes[self.places[1]]

    @property
    def note(self) -> str:
        """The part of a title about all other axes; "" if there are none."""
        others = [axis for axis in self.noise.axes if axis not in self.names]
        shown = ", ".join(others) if len(others) <= 3 else f"{len(others)} other axes"
        return f"no flips in {shown}" if others else ""

    def radius(self, given: RadiusLike, parameter: str = "max_radius") -> tuple[int, ...]:
        """A radius on these axes, by name or in their order, with 0 on all others."""
        pair = dict(given) if isinstance(given, Mapping) else given
        if not isinstance(pair, dict):
            counts = list(pair) if isinstance(pair, Sequence) else [pair, pair]
            if len(counts) != 2:
                raise InvalidParameterError(parameter, f"have two counts, of {' and '.join(self.names)}", given)
            pair = dict(zip(self.names, counts, strict=True))
        for axis in pair:
            if axis not in self.names:
                raise InvalidParameterError(parameter, f"be about {' and '.join(self.names)}, which are drawn", axis)
        return self.noise.radius(dict.fromkeys(self.noise.axes, 0) | pair, parameter)

    def cut(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table with a dimension for each axis, at 0 of all others, in the order of these two."""
        here = tuple(slice(None) if place in self.places else 0 for place in range(table.ndim))
        return table[here] if self.places[0] < self.places[1] else table[here].T

    def project(self, radii: Sequence[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
        """The part of this plane that radii cover: all of it up to their counts on both axes."""
        return tuple((radius[self.places[0]], radius[self.places[1]]) for radius in radii)

    def inside(self, levels: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """The levels that lie in this plane: without flips on other axes."""
        others = [place for place in range(len(self.noise.axes)) if place not in self.places]
        return list(self.project([level for level in levels if not any(np.array(level)[others])]))
