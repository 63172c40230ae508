"""What a threat is: it lists what an attacker can do to an object. Threats combine: `a | b`, `a & b`, `a + b`.

A new threat is a subclass of `Threat` with `attacks` and `label`, in any file; all else follows by listing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar, Self
from urllib.parse import quote

from typing_extensions import override

from starcert.math.channels import MAX_RADIUS
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import (
    MAX_ATTACKS,
    Attacks,
    Rows,
    after,
    attackable,
    ground_of,
    net_changes,
)
from starcert.objects.threats.levels import by_level
from starcert.system.errors import InvalidParameterError, whole_number

_KINDS: dict[str, type[Threat]] = {}  # those that certificates look at by radius, by the word before the colon
MAX_STEPS = 2**14  # objects between the clean and the attacked one that are looked at, one by one


class UnfitError(InvalidParameterError):
    """A threat was asked about an object that it does not fit: rewired edges of a vector, say."""


class Threat(ABC):
    """What an attacker can do, at most `most` times, in a unit of the threat's own: flips, rewired edges, nodes.

    **Sizes.** An attack of size r takes r units and could not be made with fewer. Only its net change counts, and an
    attack that changes nothing is none. So the sizes 1 … `most` list every attack once.

    **Both directions.** `attacks` lists every object y to which the attacker can get from the clean object x. A
    certificate says that the answer at x is that at every such y; this is true however the threat reads x. Whoever
    receives an object that may already be attacked asks the opposite: from which x could it come? The `reverse` threat
    lists these at y, and looks at nothing but y. Where no threat does, the list of attacks is *anchored* at the clean
    object, and `anchored` says why: then a certificate of a received object does not speak for the one it came from.

    Candidates may be read off the frame (names and data of nodes), which no attack changes, with no such caveat. They
    may also be read off what is attacked, as long as the reverse undoes it: `Deletions` reads which edges there are,
    `Additions` gets them back.

    **Radii.** A certificate looks at every radius within `limits` and `flips`, which hold all attacks.

    Subclasses are frozen dataclasses. With a `word` they have a text, `word:most,field=value,…`. Run files and archives
    keep the text, so its meaning never changes.

    Attributes:
        form: what its text looks like, such as "flips:K", where certificates look at its radii; "": it has none.
        by_radius: whether certificates look at its radii; those that only list attacks are refused there.

    Example:
        >>> from dataclasses import dataclass
        >>> from starcert.objects import Bits
        >>> @dataclass(frozen=True)
        ... class Neighbours(Threat):  # two bits that stand side by side
        ...     most: int = 1
        ...     label = "two bits side by side"
        ...     def attacks(self, sites, size):
        ...         new = list(enumerate(1 - sites.clean.row))
        ...         return Attacks.from_lists(zip(new, new[1:]) if size == 1 else [])
        >>> sites, threat = Sites.everything(Bits([0, 1, 1]), "all"), Neighbours()
        >>> threat.count(sites, 1), threat.levels(sites, Noise(all=0.1), 1), threat.anchored[:20]
        (2, {(2,)}, 'It is not known from')
    """

    form: ClassVar[str] = ""
    by_radius: ClassVar[bool] = True
    word: ClassVar[str] = ""
    most: int

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

    def attacks(self, sites: Sites, size: int) -> Attacks:
        """All attacks of exactly this size; none beyond `most`."""
        raise InvalidParameterError("threat", "list its attacks", self.label, "Define its method `attacks`.")

    @property
    @abstractmethod
    def label(self) -> str:
        """What tables and pages call it."""

    def label_of(self, size: int) -> str:
        """What tables and pages call its attacks of at most this size."""
        return self.label if size == self.most else f"{self.label}, {at_most(size, 'unit')} of {self.most:,}"

    def check(self, sites: Sites) -> None:  # noqa: B027  (most threats fit every object)
        """Raises `UnfitError` if the object is none that the threat can be asked about."""

    def count(self, sites: Sites, size: int) -> int:
        """How many attacks of this size there are."""
        return len(self.attacks(sites, size))

    def levels(self, sites: Sites, noise: Noise, size: int) -> set[tuple[int, ...]]:
        """The flips by axis of all attacks of this size, in the order of `noise.axes`: levels that contain them."""
        return set(by_level(self.attacks(attackable(sites, noise), size), sites, noise))

    @property
    def reverse(self) -> Threat | None:
        """The threat that leads from every attacked object back to the clean one, in as many units; None: unknown."""
        return None

    @property
    def anchored(self) -> str:
        """Why attacks cannot be read backwards from an attacked object; "" if `reverse` does."""
        return "" if self.reverse is not None else _UNKNOWN

    def __or__(self, other: Threat) -> Either:
        return Either(self, other) if isinstance(other, Threat) else NotImplemented

    def __and__(self, other: Threat) -> Both:
        return Both((*parts_of(self), *parts_of(other))) if isinstance(other, Threat) else NotImplemented

    def __add__(self, other: Threat) -> Then:
        return Then(self, other) if isinstance(other, Threat) else NotImplemented

    @property
    def options(self) -> dict[str, object]:
        """What its text says beside `most`: the fields that are not at their defaults."""
        named = [each for each in fields(self) if each.init and each.name != "most"]  # type: ignore[arg-type]
        given = {each.name: getattr(self, each.name) for each in named}
        return {
            each.name: given[each.name] for each in named if each.default is MISSING or given[each.name] != each.default
        }

    @classmethod
    def read(cls, most: int | None, options: Mapping[str, Any]) -> Self:
        """The threat that a text describes, from its number and its options."""
        return cls(most=most, **options)  # type: ignore[call-arg]  # fields of a subclass

    def __str__(self) -> str:
        if not self.word:
            return repr(self)
        return f"{self.word}:{self.most}" + "".join(f",{name}={_text(value)}" for name, value in self.options.items())


class CountedThreat(Threat):
    """A threat that is called by its unit: 1 deletion, at most 2 deletions."""

    by_radius = False
    unit: ClassVar[str]
    units: ClassVar[str] = ""  # several of them, if it is not enough to add an s
    symmetric: ClassVar[bool] = True  # whether its reverse is itself

    def __post_init__(self) -> None:
        check_most(self)

    @property
    @override
    def label(self) -> str:
        return at_most(self.most, self.unit, self.units)

    @override
    def label_of(self, size: int) -> str:
        return replace(self, most=size).label  # type: ignore[type-var]  # a dataclass

    @property
    @override
    def reverse(self) -> Threat | None:
        return self if self.symmetric else None


_UNKNOWN = "It is not known from which clean objects these attacks lead to an attacked one."


@dataclass(frozen=True)
class _Combined(Threat):
    left: Threat
    right: Threat
    most: int = field(init=False, repr=False, compare=False)
    by_radius = False
    operator: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", max(self.left.most, self.right.most))

    @override
    def check(self, sites: Sites) -> None:
        self.left.check(sites)
        self.right.check(sites)

    @property
    @override
    def reverse(self) -> Threat | None:
        left, right = self.left.reverse, self.right.reverse
        return None if left is None or right is None else type(self)(left, right)

    @property
    @override
    def anchored(self) -> str:
        return " ".join(dict.fromkeys(each for each in (self.left.anchored, self.right.anchored) if each))

    @override
    def __str__(self) -> str:
        return f" {self.operator} ".join(map(_part_text, (self.left, self.right)))


@dataclass(frozen=True)
class Either(_Combined):
    """`a | b`: what one of two attackers can do, in as few units as one of them needs."""

    operator = "|"

    @property
    @override
    def label(self) -> str:
        return f"{self.left.label} or {self.right.label}"

    @override
    def label_of(self, size: int) -> str:
        return " or ".join(each.label_of(min(size, each.most)) for each in (self.left, self.right))

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        found = self.left.attacks(sites, size) | self.right.attacks(sites, size)
        for smaller in range(1, size if len(found) else 1):
            found = found - self.left.attacks(sites, smaller) - self.right.attacks(sites, smaller)
        return found


@dataclass(frozen=True)
class Both(Threat):
    """`a & b`: what several threats all allow, in as many units as the one that needs most."""

    parts: tuple[Threat, ...]

    @property
    def by_radius(self) -> bool:  # type: ignore[override]  # it depends on the parts
        """Whether certificates look at radii: where some part lists its attacks, they look at the list."""
        return all(each.by_radius for each in self.parts)

    def __str__(self) -> str:
        return " & ".join(map(_part_text, self.parts))

    @property
    def most(self) -> int:  # type: ignore[override]  # a number like that of any other
        """The most units that one of them has."""
        return max(each.most for each in self.parts)

    @property
    @override
    def label(self) -> str:
        return ", and ".join(each.label for each in self.parts)

    @override
    def label_of(self, size: int) -> str:
        return ", and ".join(each.label_of(min(size, each.most)) for each in self.parts)

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

    @override
    def check(self, sites: Sites) -> None:
        for each in self.parts:
            each.check(sites)

    @property
    @override
    def reverse(self) -> Threat | None:
        back = [each.reverse for each in self.parts]
        parts = [each for each in back if each is not None]
        return Both(tuple(parts)) if len(parts) == len(back) else None

    @property
    @override
    def anchored(self) -> str:
        return " ".join(dict.fromkeys(each.anchored for each in self.parts if each.anchored))

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        if not 1 <= size <= self.most:
            return Attacks()
        within, smaller = list[Attacks](), list[Attacks]()
        for each in self.parts:
            smaller.append(reduce(or_, (each.attacks(sites, number) for number in range(1, size)), Attacks()))
            within.append(smaller[-1] | each.attacks(sites, size))
        return reduce(and_, within) - reduce(and_, smaller)


def parts_of(threat: Threat) -> tuple[Threat, ...]:
    """The threats that have to allow an attack."""
    return threat.parts if isinstance(threat, Both) else (threat,)


def _part_text(threat: Threat) -> str:
    return f"({threat})" if isinstance(threat, _Combined | Both) else str(threat)


@dataclass(frozen=True)
class Then(_Combined):
    """`a + b`: what the second attacker can do after the first, or one of them alone; units add up.

    The second attacks what the first has left, so its candidates are those of an object that is already attacked.
    """

    operator = "+"

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "most", self.left.most + self.right.most)

    @property
    @override
    def label(self) -> str:
        return f"{self.left.label}, then {self.right.label}"

    @property
    @override
    def reverse(self) -> Threat | None:
        left, right = self.left.reverse, self.right.reverse
        return None if left is None or right is None else Then(right, left)

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        self.check(sites)
        found = earlier = Attacks()
        for number in range(1, size + 1 if size <= self.most else 1):
            found = self.left.attacks(sites, number) | self.right.attacks(sites, number)
            for first in range(1, number):
                found |= continue_attacks(self, sites, self.left.attacks(sites, first), self.right, number - first)
            found = found - earlier
            earlier |= found
        return found


def continue_attacks(whole: Threat, sites: Sites, first: Attacks, then: Threat, size: int) -> Attacks:
    """What attacks of one threat after each of some others change in all, as part of a threat."""
    if len(first) > MAX_STEPS:
        requirement = f"lead over at most {MAX_STEPS:,} objects in between"
        raise InvalidParameterError("threat", requirement, f"{len(first):,}: {whole.label}", "Ask about fewer units.")
    clean, parts, total = ground_of(sites).values, list[Rows](), 0
    for attack in (row for block in first.blocks for row in block):
        try:
            second = then.attacks(after(sites, attack), size)
        except UnfitError as error:  # to leave such objects out would list less than the attacker can do
            parameter, requirement, *rest = error.args
            raise UnfitError(parameter, f"{requirement}, also after the first part of {whole.label}", *rest) from None
        for block in second.blocks:
            parts += net_changes(attack, block, clean)
        total += len(second)
        if total > 4 * MAX_ATTACKS:
            refuse_many(whole, size)
    return Attacks.of(parts)


def check_most(threat: Threat, name: str = "most") -> None:
    """Checks how many units a threat has."""
    object.__setattr__(threat, name, whole_number(name, getattr(threat, name), 1, MAX_RADIUS))


def refuse_many(threat: Threat, size: int, number: int | None = None) -> None:
    """Raises the error for attacks that are too many to list."""
    many = f"more than {MAX_ATTACKS:,}" if number is None else f"{number:,}"
    requirement = f"have at most {MAX_ATTACKS:,} attacks of one size to be listed"
    raise InvalidParameterError(
        "threat",
        requirement,
        f"{many} of size {size:,}: {threat.label}",
        "Ask about fewer units, or about a narrower threat.",
    )


def at_most(number: int, one: str, more: str = "") -> str:
    """A count as labels have it: 1 deletion, at most 2 deletions."""
    return f"1 {one}" if number == 1 else f"at most {number:,} {more or one + 's'}"


def _text(value: object) -> str:
    return "|".join(quote(str(each), safe="") for each in (value if isinstance(value, tuple) else (value,)))
