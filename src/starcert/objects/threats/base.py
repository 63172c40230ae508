"""Threats: each lists what an attacker can do to an object. They combine: `a | b`, `a & b`, `a + b`.

A new threat is a subclass of `Threat` with `attacks` and `label`, in any file; all else follows by listing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial, reduce
from operator import and_
from typing import Any, ClassVar, Self
from urllib.parse import quote

from typing_extensions import override

from starcert.math.channels import MAX_RADIUS
from starcert.objects.layers import EDGE_LAYERS, CleanObject, Layer
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import (
    MAX_ATTACKS,
    Attacks,
    Rows,
    UnfitError,
    after,
    attackable,
    levels_of_attacks,
    net_changes,
)
from starcert.system.errors import InvalidParameterError, whole_number

MAX_STEPS = 2**14  # objects between the clean and the attacked one that are looked at, one by one

Find = Callable[[str], object]
"""From `file.py:NAME`, or another reference that a text has, to what it names."""


class Threat:
    """An attacker who does something at most `most` times, in the threat's own unit: flips, rewired edges, nodes.

    **Sizes.** An attack of size r takes r units and could not be made with fewer. Only its net change counts, and an
    attack that changes nothing is none. So the sizes 1 … `most` list every attack once.

    **Both directions.** `attacks` lists every object y to which the attacker can get from the clean object x. A
    certificate says that the answer at x is that at every such y; this is true however the threat reads x. Whoever
    receives an object that may already be attacked asks the opposite: from which x could it come? The `reverse` threat
    lists these at y, and looks at nothing but y. Where no threat does, the list of attacks is *anchored* at the clean
    object, and `anchored` says why: then a certificate of a received object does not speak for the one it came from.

    Candidates may be derived from names and data of nodes, which no attack changes, and also from what is attacked, as
    long as the reverse undoes it: `Deletions` reads which edges there are, `Additions` gets them back.

    **Radii.** Certificates look at every radius within `limits` and `flips` if a threat is `by_radius`: these hold all
    attacks, and no others. They look at the list of attacks of all other threats.

    Subclasses are frozen dataclasses. With a `word` they have a text, `word:most,field=value,…`. Run files and archives
    keep the text, so its meaning never changes.

    Attributes:
        word: what its text begins with; "": it has no text.
        unit: what one unit is called, for a `label` such as "at most 2 deletions"; `units`: several, if not with an s.
        needs: which sites it needs, in words; "": any. `fits` says which layers have them.
        symmetric: whether it leads back by itself, so that `reverse` is the same threat.
        moves_nodes: whether nodes come or go: then nothing that is counted over nodes is left alone.

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

    word: ClassVar[str] = ""
    form: ClassVar[str] = ""  # what follows the word in messages, if not a number and the names of options
    unit: ClassVar[str] = "unit"
    units: ClassVar[str] = ""
    needs: ClassVar[str] = ""
    symmetric: ClassVar[bool] = False
    moves_nodes: ClassVar[bool] = False
    anchor: ClassVar[str] = "It is not known from which clean objects these attacks lead to an attacked one."
    by_radius: ClassVar[bool] = False
    by_reference: ClassVar[bool] = False  # whether its text is the reference to a function, and no number
    most: int
    reference = ""  # what its text begins with instead, where its class was found by that: "file.py:NAME"

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole_number("most", self.most, 1, MAX_RADIUS))

    @property
    def label(self) -> str:
        """Its name in tables and pages."""
        return self.label_of(self.most)

    def label_of(self, size: int) -> str:
        """The name of its attacks of at most this size, in tables and pages."""
        if type(self).label is Threat.label:
            return at_most(size, self.unit, self.units)
        return self.label if size == self.most else f"{self.label}, {at_most(size, 'unit')} of {self.most:,}"

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

    def fits(self, layer: Layer) -> bool:
        """True if sites of a layer can be attacked: only edges, if anything in particular is needed."""
        return not self.needs or layer.name in EDGE_LAYERS

    def prepared(self, objects: Sequence[CleanObject]) -> list[CleanObject]:
        """The objects as the threat attacks them: usually as they are."""
        return list(objects)

    def check(self, sites: Sites) -> None:
        """Raises `UnfitError` if the object is none that the threat can be asked about."""
        if self.needs and not any(map(self.fits, sites.layers)):
            layers = ", ".join(f"{layer.name} ({layer.alphabet} values)" for layer in dict.fromkeys(sites.layers))
            requirement = f"fit the objects: {self.label} needs {self.needs} in the regions"
            got = f"{type(sites.clean).__name__} with sites in {layers or 'no layer'}"
            raise UnfitError("threat", requirement, got)

    def steps(self, sites: Sites) -> Attacks:
        """The attacks of one unit, whatever came before: all that a threat has to define without `attacks`."""
        raise InvalidParameterError("threat", "list its attacks", self.label, "Define its method `attacks`.")

    def attacks(self, sites: Sites, size: int) -> Attacks:
        """All attacks of exactly this size; none beyond `most`."""
        self.check(sites)
        if not 1 <= size <= self.most:
            return Attacks()
        found = earlier = self.steps(sites)
        for _ in range(1, size):
            if not len(found):  # then nothing takes more units either
                break
            found = continue_attacks(self, sites, found, self.steps) - earlier
            earlier |= found
        return found

    def up_to(self, sites: Sites, size: int) -> Attacks:
        """All attacks of at most this size."""
        return Attacks.of(rows for number in range(1, size + 1) for rows in self.attacks(sites, number).blocks)

    def count(self, sites: Sites, size: int) -> int:
        """The number of attacks of this size."""
        return len(self.attacks(sites, size))

    def levels(self, sites: Sites, noise: Noise, size: int) -> set[tuple[int, ...]]:
        """The flips by axis of all attacks of this size, in the order of `noise.axes`: levels that contain them."""
        return levels_of_attacks(self.attacks(attackable(sites, noise), size), sites, noise)

    @property
    def reverse(self) -> Threat | None:
        """The threat that leads from every attacked object back to the clean one, in as many units; None: unknown."""
        return self if self.symmetric else None

    @property
    def anchored(self) -> str:
        """The reason why attacks cannot be read backwards from an attacked object; "" if `reverse` does."""
        return self.anchor if self.reverse is None else ""

    def __or__(self, other: Threat) -> Either:
        return Either.of(self, other) if isinstance(other, Threat) else NotImplemented

    def __and__(self, other: Threat) -> Both:
        return Both.of(self, other) if isinstance(other, Threat) else NotImplemented

    def __add__(self, other: Threat) -> Then:
        return Then.of(self, other) if isinstance(other, Threat) else NotImplemented

    @property
    def options(self) -> dict[str, object]:
        """The fields in its text beside `most`: those that are not at their defaults; functions have no text."""
        named = {each.name: each.default for each in fields(self) if each.name != "most"}  # type: ignore[arg-type]
        given = {name: getattr(self, name) for name in named}
        return {name: value for name, value in given.items() if value != named[name] and not callable(value)}

    @classmethod
    def read(cls, numbers: Sequence[int], options: Mapping[str, Any], find: Find) -> Self:
        """The threat that a text describes, from its number and its options; `find` has what these refer to."""
        (most,) = numbers
        return cls(most=most, **options)  # type: ignore[call-arg]  # fields of a subclass

    def __str__(self) -> str:
        word = quote(self.reference, safe="/:") or self.word
        if not word:
            return repr(self)
        return f"{word}:{self.most}" + "".join(f",{name}={_text(value)}" for name, value in self.options.items())


@dataclass(frozen=True)
class Combined(Threat):
    """Several threats in one."""

    parts: tuple[Threat, ...]
    operator: ClassVar[str]
    joint: ClassVar[str]  # between labels

    def __post_init__(self) -> None:
        """There is no number of its own to check."""

    @classmethod
    def of(cls, one: Threat, other: Threat) -> Self:
        """Both as one: parts of the same sort stand side by side."""
        return cls(sum((each.parts if isinstance(each, cls) else (each,) for each in (one, other)), ()))

    @property
    def most(self) -> int:  # type: ignore[override]  # a number like that of any other
        """The most units that one of them has."""
        return max(each.most for each in self.parts)

    @property
    def moves_nodes(self) -> bool:  # type: ignore[override]  # it depends on the parts
        """True if one of them lets nodes come or go."""
        return any(each.moves_nodes for each in self.parts)

    @override
    def label_of(self, size: int) -> str:
        return self.joint.join(each.label_of(min(size, each.most)) for each in self.parts)

    @override
    def for_noise(self, noise: Noise) -> Threat:
        return type(self)(tuple(each.for_noise(noise) for each in self.parts))

    @override
    def check(self, sites: Sites) -> None:
        for each in self.parts:
            each.check(sites)

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        self.check(sites)
        return self.up_to(sites, size) - self.up_to(sites, size - 1) if 1 <= size <= self.most else Attacks()

    @property
    @override
    def reverse(self) -> Threat | None:
        back = [each.reverse for each in self.parts]
        known = tuple(each for each in back if each is not None)
        return type(self)(known) if len(known) == len(back) else None

    @property
    @override
    def anchored(self) -> str:
        return " ".join(dict.fromkeys(each.anchored for each in self.parts if each.anchored))

    @override
    def __str__(self) -> str:
        parts = (f"({each})" if isinstance(each, Combined) else str(each) for each in self.parts)
        return f" {self.operator} ".join(parts)


@dataclass(frozen=True)
class Either(Combined):
    """`a | b`: what one of several attackers can do, in as few units as one of them needs.

    Example:
        >>> from starcert.objects.threats import Additions, Deletions
        >>> str(Deletions(2) | Additions(1)), (Deletions(2) | Additions(1)).label
        ('deletions:2 | additions:1', 'at most 2 deletions or 1 addition')
    """

    operator, joint = "|", " or "

    @override
    def up_to(self, sites: Sites, size: int) -> Attacks:
        return Attacks.of(rows for each in self.parts for rows in each.up_to(sites, size).blocks)


@dataclass(frozen=True)
class Both(Combined):
    """`a & b`: what several threats all allow, in as many units as the one that needs most.

    Example:
        >>> from starcert.objects.threats import AnyFlips, Deletions
        >>> str(Deletions(2) & AnyFlips(1))
        'deletions:2 & flips:1'
    """

    operator, joint = "&", ", and "

    @property
    def by_radius(self) -> bool:  # type: ignore[override]  # it depends on the parts
        """True if certificates look at radii: where some part lists its attacks, they look at the list."""
        return all(each.by_radius for each in self.parts)

    @override
    def limits(self, noise: Noise) -> tuple[int, ...] | None:
        boxes = [box for each in self.parts if (box := each.limits(noise)) is not None]
        return tuple(map(min, zip(*boxes, strict=True))) if boxes else None

    @property
    @override
    def flips(self) -> int | None:
        return min((each.flips for each in self.parts if each.flips is not None), default=None)

    @override
    def up_to(self, sites: Sites, size: int) -> Attacks:
        return reduce(and_, (each.up_to(sites, size) for each in self.parts))


@dataclass(frozen=True)
class Then(Combined):
    """`a + b`: what the second attacker can do after the first, or one of them alone; units add up.

    The second attacks what the first has left, so its candidates are those of an object that is already attacked.

    Example:
        >>> from starcert.objects.threats import Additions, Deletions
        >>> str(Deletions(1) + Additions(1)), (Deletions(1) + Additions(1)).most
        ('deletions:1 + additions:1', 2)
    """

    operator, joint = "+", ", then "

    @property
    @override
    def most(self) -> int:  # type: ignore[override]
        return sum(each.most for each in self.parts)

    @property
    @override
    def label(self) -> str:
        return self.joint.join(each.label for each in self.parts)

    label_of = Threat.label_of  # which part has which of the units is open

    @property
    @override
    def reverse(self) -> Threat | None:
        back = super().reverse
        return Then(back.parts[::-1]) if isinstance(back, Then) else None

    @override
    def up_to(self, sites: Sites, size: int) -> Attacks:
        *others, last = self.parts
        first = others[0] if len(others) == 1 else Then(tuple(others))
        found = [first.up_to(sites, size), last.up_to(sites, size)]
        for number in range(1, size):
            then = partial(last.up_to, size=size - number)
            found.append(continue_attacks(self, sites, first.attacks(sites, number), then))
        return Attacks.of(rows for each in found for rows in each.blocks)


def continue_attacks(whole: Threat, sites: Sites, first: Attacks, then: Callable[[Sites], Attacks]) -> Attacks:
    """The net changes of attacks that follow each of some others, as part of a threat."""
    if len(first) > MAX_STEPS:
        requirement = f"lead over at most {MAX_STEPS:,} objects in between"
        raise InvalidParameterError("threat", requirement, f"{len(first):,}: {whole.label}", "Ask about fewer units.")
    clean, parts, total = sites.values, list[Rows](), 0
    for attack in (row for block in first.blocks for row in block):
        try:
            second = then(after(sites, attack))
        except UnfitError as error:  # to leave such objects out would list less than the attacker can do
            parameter, requirement, *rest = error.args
            raise UnfitError(parameter, f"{requirement}, also after the first part of {whole.label}", *rest) from None
        for block in second.blocks:
            parts += net_changes(attack, block, clean)
        total += len(second)
        if total > 4 * MAX_ATTACKS:
            refuse_many(whole, whole.most)
    return Attacks.of(parts)


def refuse_many(threat: Threat, size: int, number: int | None = None) -> None:
    """Raises the error for attacks that are too many to list."""
    many = f"{'more than ' + format(MAX_ATTACKS, ',') if number is None else format(number, ',')} of size {size:,}"
    requirement = f"have at most {MAX_ATTACKS:,} attacks of one size to be listed"
    hint = "Ask about fewer units, about a narrower threat, or about radii, which need no list: flips:1, or no threat."
    raise InvalidParameterError("threat", requirement, f"{many}: {threat.label}", hint)


def at_most(number: int, one: str, more: str = "") -> str:
    """A count as labels have it: 1 deletion, at most 2 deletions."""
    return f"1 {one}" if number == 1 else f"at most {number:,} {more or one + 's'}"


def _text(value: object) -> str:
    return "|".join(quote(str(each), safe="/:") for each in (value if isinstance(value, tuple) else (value,)))
