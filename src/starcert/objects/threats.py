"""Threats: what an attacker can do, and so what is asked of a certificate.

`AnyFlips(2)` is the text "flips:2", `Box({"motif": 3, "random": 45})` is "box:motif=3,random=45", and
`Box((3, 45)) & AnyFlips(2)`, what both allow, is "box:3,45 & flips:2".

To write one, derive a frozen dataclass from `Threat`: `threat_of` then reads its text, `certify` looks at its limits.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from starcert.math.channels import MAX_RADIUS
from starcert.objects.noise import Noise, RadiusLike, counts_of
from starcert.system.errors import InvalidParameterError, whole_number

_KINDS: dict[str, type[Threat]] = {}  # by the word before the colon


class Threat(ABC):
    """A set of attacks; a certificate looks at every radius within its `limits` and `flips`, which hold all of them.

    Attributes:
        form: what its text looks like, such as "flips:K"; "": it has no word of its own. Run files and archives keep
            the text, so its meaning never changes.
    """

    form: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "form" in vars(cls):
            there = _KINDS.setdefault(cls.form.partition(":")[0], cls)
            if (there.__module__, there.__qualname__) != (cls.__module__, cls.__qualname__):
                raise InvalidParameterError("form", f"have a word of its own, as {there.__name__} has", cls.form)
            _KINDS[cls.form.partition(":")[0]] = cls  # a dataclass with slots is made twice

    @classmethod
    def parse(cls, text: str) -> Threat | None:
        """The threat from what follows the colon of its text; None if that is not its form."""
        return None

    @abstractmethod
    def __str__(self) -> str:
        """Its text, which `threat_of` reads."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What tables and pages call it."""

    def limits(self, noise: Noise) -> tuple[int, ...] | None:
        """The smallest box of radii that holds all of it; None: no axis has a limit."""
        return None

    @property
    def flips(self) -> int | None:
        """The most flips of an attack, wherever they are; None: there is no limit."""
        return None

    def for_noise(self, noise: Noise) -> Threat:
        """The same threat, with the axes of a noise named and checked."""
        return self

    def __and__(self, other: Threat) -> Threat:
        return Both((*_parts(self), *_parts(other))) if isinstance(other, Threat) else NotImplemented


@dataclass(frozen=True, slots=True)
class AnyFlips(Threat):
    """An attacker who flips at most `most` sites, wherever in the regions they are.

    Example:
        >>> str(AnyFlips(2)), AnyFlips(1).label
        ('flips:2', 'any 1 flip')
    """

    form: ClassVar[str] = "flips:K"
    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole_number("most", self.most, 1, MAX_RADIUS))

    @classmethod
    @override
    def parse(cls, text: str) -> Threat | None:
        return cls(int(text)) if re.fullmatch(r"[1-9][0-9]{0,8}", text) else None

    def __str__(self) -> str:
        return f"flips:{self.most}"

    @property
    @override
    def label(self) -> str:
        return f"any {self.most:,} flip{'s' * (self.most > 1)}"

    @property
    @override
    def flips(self) -> int:
        return self.most


@dataclass(frozen=True, slots=True, init=False)
class Box(Threat):
    """An attacker with a number of flips on each axis of the noise.

    Args:
        radius: in the order of `noise.axes`, by axis name, or a number if there is one axis.

    Example:
        >>> box = Box({"motif": 3, "random": 45})
        >>> str(box), box.label, box.limits(Noise(motif=0.02, random=0.45))
        ('box:motif=3,random=45', 'at most 3 in motif, 45 in random', (3, 45))
    """

    form: ClassVar[str] = "box:AXIS=COUNT,…"
    radius: tuple[int, ...]
    axes: tuple[str, ...]  # in the order of the radius; none: that of the noise

    def __init__(self, radius: RadiusLike) -> None:
        axes = tuple(map(str, radius)) if isinstance(radius, Mapping) else ()
        counts = counts_of(list(radius.values()) if isinstance(radius, Mapping) else radius, "radius", axes or None)
        object.__setattr__(self, "radius", counts)
        object.__setattr__(self, "axes", axes)

    @classmethod
    @override
    def parse(cls, text: str) -> Threat | None:
        items = [item.strip().rpartition("=") for item in text.split(",")]
        axes = [axis for axis, _, _ in items]
        if any(axes) and len(set(filter(None, axes))) < len(axes):
            return None
        if not all(re.fullmatch(r"[0-9]{1,10}", count) for _, _, count in items):
            return None
        counts = [int(count) for _, _, count in items]
        return cls(dict(zip(axes, counts, strict=True)) if any(axes) else counts)

    def __str__(self) -> str:
        counts = map(str, self.radius)
        return f"box:{','.join(map('='.join, zip(self.axes, counts, strict=True)) if self.axes else counts)}"

    @property
    @override
    def label(self) -> str:
        counts = [f"{count:,}" for count in self.radius]
        if not self.axes:
            return f"at most {', '.join(counts)} by axis"
        return f"at most {', '.join(map(' in '.join, zip(counts, self.axes, strict=True)))}"

    @override
    def limits(self, noise: Noise) -> tuple[int, ...]:
        counts = dict(zip(self.axes, self.radius, strict=True)) if self.axes else self.radius
        return noise.radius(counts, "threat")

    @override
    def for_noise(self, noise: Noise) -> Threat:
        return Box(dict(zip(noise.axes, self.limits(noise), strict=True)))


@dataclass(frozen=True, slots=True)
class Both(Threat):
    """What several threats all allow: `a & b`."""

    parts: tuple[Threat, ...]

    def __str__(self) -> str:
        return " & ".join(map(str, self.parts))

    @property
    @override
    def label(self) -> str:
        return ", and ".join(each.label for each in self.parts)

    @override
    def limits(self, noise: Noise) -> tuple[int, ...] | None:
        boxes = [box for each in self.parts if (box := each.limits(noise)) is not None]
        return tuple(map(min, zip(*boxes, strict=True))) if boxes else None

    @property
    @override
    def flips(self) -> int | None:
        return min((each.flips for each in self.parts if each.flips is not None), default=None)

    @override
    def for_noise(self, noise: Noise) -> Threat:
        return Both(tuple(each.for_noise(noise) for each in self.parts))


def _parts(threat: Threat) -> tuple[Threat, ...]:
    return threat.parts if isinstance(threat, Both) else (threat,)


def threat_of(given: object, name: str = "threat") -> Threat:
    """The threat that a text describes; a threat stays as it is. Errors call the parameter `name`.

    Example:
        >>> threat_of("flips:2")
        AnyFlips(most=2)
    """
    if isinstance(given, Threat):
        return given
    texts = re.split(r"\s+&\s+", given.strip()) if isinstance(given, str) else []  # a region's name has no spaces
    found = [
        _KINDS[word].parse(rest.strip()) if word in _KINDS else None
        for word, _, rest in (text.partition(":") for text in texts)
    ]
    threats = [each for each in found if each is not None]
    if not threats or len(threats) < len(found):
        forms = ", ".join(kind.form for kind in _KINDS.values())
        hint = 'For example "flips:2", or "box:motif=3,random=45 & flips:2" for what both allow.'
        raise InvalidParameterError(name, f"be {forms}, or several with & between them", given, hint)
    first, *others = threats
    for other in others:
        first &= other
    return first
