"""An object and others that it may be instead, as one object with a single site: value 0 is itself, value k the k-th.

So what tries attacks on sites tries any list of objects, of any kinds and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.columns import VectorFrame
from starcert.objects.content import digest
from starcert.objects.kinds import Kind, kind_of
from starcert.objects.layers import CleanObject, Layer
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.vectors import MAX_VALUES, RowKind, Vector
from starcert.system.errors import InvalidParameterError

MOST = MAX_VALUES - 1  # other objects of one


class Alternatives(list[Any]):
    """Objects in a list, and why it may not have all: `cut`, a sentence.

    Example:
        >>> Alternatives([1, 2], cut="RDKit stopped.").cut
        'RDKit stopped.'
    """

    def __init__(self, objects: Iterable[Any] = (), *, cut: str = "") -> None:
        super().__init__(objects)
        self.cut = cut


class Choice(Vector):
    """An object, and others that it may be instead, in their order, each once."""

    options: tuple[CleanObject, ...]  # the object itself first
    cut: str

    @classmethod
    def of(cls, clean: CleanObject, others: Iterable[Any]) -> Choice:
        """The choice between an object and these others; those equal to it or to one before are left out."""
        cut, options = getattr(others, "cut", ""), {clean.key: clean}
        for number, each in enumerate(others):
            found = each if isinstance(each, CleanObject) else kind_of(clean).convert(each)
            if found is None or isinstance(found, Choice):
                wanted = "return objects of the kind that it is given"
                raise InvalidParameterError("function", wanted, f"{type(each).__name__} in place {number}")
            options.setdefault(found.key, found)
        if len(options) > MOST + 1:
            cut = f"{cut} Of {len(options) - 1:,} variants the first {MOST} are tried.".lstrip()
        return cls._chosen(tuple(options.values())[: MOST + 1], cut)

    @classmethod
    def _chosen(cls, options: tuple[CleanObject, ...], cut: str) -> Choice:
        made = cls._of(np.zeros(1, dtype=np.uint8), VectorFrame(1, ("variant",), MAX_VALUES))
        vars(made).update(options=options, cut=cut)
        return made

    @override
    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._chosen, (self.options, self.cut)

    @cached_property
    @override
    def key(self) -> str:
        return digest("choice", [each.key for each in self.options], self.cut)


class ChoiceKind(RowKind):
    """The kind of a choice: in words and drawings it is its object."""

    word, of_objects = "object", True

    @override
    def as_copies(self, clean: Any, values: npt.NDArray[np.uint8], *, estimator: bool = False) -> Any:
        return [clean.options[value] for value in values[:, 0].tolist()]

    @override
    def unattacked(self, sites: Sites, noise: Noise) -> Iterable[str]:
        clean: Any = sites.clean
        return [clean.cut] if clean.cut else []

    @override
    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> Vector:
        clean: Any = sites.clean
        itself = clean.options[int(values[0])]
        return Choice._chosen((itself, *(each for each in clean.options if each is not itself)), clean.cut)

    @override
    def site_noun(self, clean: CleanObject, layer: Layer) -> str:
        return "variant"

    @override
    def site_name(self, clean: Any, layer: Layer, place: Sequence[int], value: int | None) -> str:
        found = clean.options[value or 0]
        return f"variant {value}: {kind_of(found).short(found)}"

    @override
    def describe(self, clean: Any) -> str:
        itself = clean.options[0]
        return f"{kind_of(itself).describe(itself)}; {len(clean.options) - 1:,} variants"

    @override
    def drawing(self, clean: Any) -> Any:
        return kind_of(clean.options[0]).drawing(clean.options[0])


CHOICES: Kind = ChoiceKind()
Choice.kind = CHOICES


def choices(objects: Sequence[CleanObject], function: Callable[[Any], Iterable[Any]]) -> list[CleanObject]:
    """Each object beside what a function says it may be instead; choices stay as they are."""
    return [each if isinstance(each, Choice) else Choice.of(each, function(each)) for each in objects]
