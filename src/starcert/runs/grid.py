"""The grid of a sweep: which noise levels are tried.

A grid is a product of factors. A factor is a region with the laws it may have, or one axis of a region (`bonds.delete`)
with the probabilities it may have; a level is a noise that takes one value of each, and all else from the run's noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from starcert.objects.laws import Law, law_from_json, law_from_text, probability
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError, did_you_mean

__all__ = ["MOST_LEVELS", "Factor", "Grid", "noise_text", "parse_grid"]

MOST_LEVELS = 1_000
_WAYS = ("delete", "add", "change")
_HINT = (
    "Write motif = [0.02, 0.05], bonds = [{ delete = 0.04, add = 0.2 }], or bonds = { delete = [0.04], add = [0.2] }."
)


def noise_text(noise: Noise) -> str:
    """A noise as `--noise` takes it.

    Example:
        >>> from starcert.objects.laws import Flip
        >>> noise_text(Noise(motif=0.02, bonds=Flip(delete=0.04, add=0.2)))
        'motif=0.02,bonds=0.04/0.2'
    """
    return ",".join(f"{region}={noise[region].to_text()}" for region in noise.regions)


@dataclass(frozen=True)
class Factor:
    """One thing that a grid varies.

    Attributes:
        name: a region, or an axis `region.delete`, `region.add` or `region.change`.
        values: the laws of the region; of an axis the probabilities.
    """

    name: str
    values: tuple[Law | float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidParameterError(self.name, "have at least one level", [], _HINT)
        laws = [value for value in self.values if isinstance(value, Law)]
        texts = self.texts
        if len(set(texts)) < len(texts):
            raise InvalidParameterError(self.name, "name each level once", ", ".join(texts))
        if len({(type(law), law.suffixes) for law in laws}) > 1:
            hint = "Count deletions and additions (and changes) apart in all of them, 0.1 as 0.1/0.1, or in none."
            raise InvalidParameterError(self.name, "have levels of one kind", ", ".join(texts), hint)

    @property
    def region(self) -> str:
        """The region that it varies."""
        return self.name.partition(".")[0]

    @property
    def way(self) -> str:
        """Which axis of the region it varies alone, "delete", "add" or "change"; "" if it varies the whole law."""
        return self.name.partition(".")[2]

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as a command line has them."""
        return tuple(value.to_text() if isinstance(value, Law) else repr(value) for value in self.values)


@dataclass(frozen=True)
class Grid:
    """The factors of a sweep; its levels are all their combinations, the last factor changing fastest.

    Example:
        >>> grid = Grid.of({"motif": [0.02, 0.05], "random": [0.45]})
        >>> [noise_text(noise) for noise in grid.levels()]
        ['motif=0.02,random=0.45', 'motif=0.05,random=0.45']
        >>> [noise_text(noise) for noise in Grid.of({"bonds": {"delete": [0.1], "add": [0.0, 0.2]}}).levels()]
        ['bonds=0.1/0.0', 'bonds=0.1/0.2']
    """

    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        names = [factor.name for factor in self.factors]
        if not names:
            raise InvalidParameterError("grid", "name a region and its levels", None, _HINT)
        for factor in self.factors:
            if factor.way and factor.way not in _WAYS:
                requirement = "name a region, or its axis with .delete, .add or .change"
                raise InvalidParameterError("grid", requirement, factor.name)
            if names.count(factor.name) > 1 or (factor.way and factor.region in names):
                raise InvalidParameterError("grid", f"give the levels of {factor.region!r} once", ", ".join(names))
        n_levels = prod(len(factor.values) for factor in self.factors)
        if n_levels > MOST_LEVELS:
            hint = "Try a coarse grid first, and a finer one around its best levels."
            raise InvalidParameterError("grid", f"have at most {MOST_LEVELS:,} levels", f"{n_levels:,}", hint)

    @classmethod
    def of(cls, table: object, name: str = "grid") -> Grid:
        """A grid from plain values, as a run file has them.

        Args:
            table: for each region a probability or a list of them, a list of tables with delete and add (and change,
                for edges of several types), or a table with a list for some of these, all of whose combinations are
                tried.
            name: what messages call it.
        """
        if not isinstance(table, Mapping):
            raise InvalidParameterError(name, "be a table of regions and their levels", table, _HINT)
        return cls(tuple(factor for region, given in table.items() for factor in _factors(region, given, name)))

    def to_table(self) -> dict[str, object]:
        """The plain values that `of` takes."""
        table: dict[str, object] = {}
        for factor in self.factors:
            values = [value.to_json() if isinstance(value, Law) else value for value in factor.values]
            if factor.way:
                both = table.setdefault(factor.region, {})
                assert isinstance(both, dict)
                both[factor.way] = values
            else:
                table[factor.region] = values
        return table

    def __str__(self) -> str:
        return ",".join(f"{factor.name}={','.join(factor.texts)}" for factor in self.factors)

    def levels(self, fixed: Noise | None = None) -> tuple[Noise, ...]:
        """The noise levels.

        Args:
            fixed: the laws of what the grid does not vary. It plays no part if it has none of the grid's regions: the
                grid is then about other regions, and stands alone.
        """
        regions = dict.fromkeys(factor.region for factor in self.factors)
        if fixed is None or not set(regions) & set(fixed.regions):
            fixed = None
        else:
            _check_known(regions, fixed)
            regions = dict.fromkeys(fixed.regions)
        return tuple(
            Noise({region: self._law(region, values, fixed) for region in regions})
            for values in product(*(factor.values for factor in self.factors))
        )

    def fixed(self, noise: Noise) -> dict[str, str]:
        """What the grid does not vary, a region or an axis, and its noise there as `--noise` takes it.

        Example:
            >>> grid = Grid.of({"motif": [0.02, 0.05]})
            >>> from starcert.objects.laws import Flip
            >>> grid.fixed(Noise(motif=0.02, bonds=Flip(delete=0.04, add=0.2)))
            {'bonds': '0.04/0.2'}
        """
        found = {}
        for region in noise.regions:
            ways = {factor.way for factor in self.factors if factor.region == region}
            if not ways:
                found[region] = noise[region].to_text()
            elif "" not in ways:
                numbers = noise[region].numbers
                left = [way for way in _WAYS if way in numbers and way not in ways]
                found |= {f"{region}.{way}": repr(numbers[way]) for way in left}
        return found

    def _law(self, region: str, values: Sequence[Law | float], fixed: Noise | None) -> Law:
        """The law of a region when the factors have these values."""
        ways: dict[str, float] = {}
        for factor, value in zip(self.factors, values, strict=True):
            if factor.region == region:
                if isinstance(value, Law):
                    return value
                ways[factor.way] = value
        known = None if fixed is None else fixed[region]
        if not ways:
            assert known is not None
            return known
        written = known.to_json() if known is not None else None
        whole = {**(written if isinstance(written, dict) and "delete" in written else {}), **ways}
        for way in ("delete", "add"):
            if way not in whole:
                hint = f"Add {region}.{way}=… to the grid."
                got = ", ".join(f"{region}.{each}" for each in ways)
                raise InvalidParameterError("grid", f"say both {region}.delete and {region}.add", got, hint)
        return law_from_json(whole)


def parse_grid(texts: Sequence[str]) -> Grid:
    """A grid from REGION=P,P,… with commas between regions too; P may be DELETE/ADD or DELETE/ADD/CHANGE.

    REGION.delete=P,P,…, REGION.add=P,P,… and REGION.change=P,P,… vary them apart. A part without = is one more level of
    what was named last.
    """
    levels: list[tuple[str, list[str]]] = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        if equals and name and "=" not in name:
            levels.append((name, [value]))
        elif levels and not equals:
            levels[-1][1].append(value)
        else:
            hint = "For example motif=0.02,0.05,0.1,random=0.2,0.45 or bonds=0.04/0.2,0.1/0.3."
            raise InvalidParameterError("--grid", "be REGION=P,P,… for each region", ", ".join(texts), hint)
    factors = []
    for name, values in levels:
        laws = [law_from_text(value, f"--grid {name}") for value in values]
        if "." in name and not all("flip" in law.numbers for law in laws):
            hint = f"Write {name}=0.04,0.1, or {name.partition('.')[0]}=0.04/0.2 for both."
            raise InvalidParameterError(f"--grid {name}", "be probabilities", ", ".join(values), hint)
        try:
            factors.append(Factor(name, tuple(law.numbers["flip"] if "." in name else law for law in laws)))
        except InvalidParameterError as error:
            raise InvalidParameterError(f"--grid {name}", *error.args[1:]) from None
    try:
        return Grid(tuple(factors))
    except InvalidParameterError as error:
        raise InvalidParameterError("--grid", *error.args[1:]) from None


def _check_known(regions: Mapping[str, None], fixed: Noise) -> None:
    for region in regions:
        if region not in fixed.regions:
            hint = did_you_mean(region, fixed.regions, "Or give the levels of all regions.")
            raise InvalidParameterError("grid", f"name regions of the noise, {', '.join(fixed.regions)}", region, hint)


def _factors(region: object, given: object, name: str) -> Iterator[Factor]:
    called = f"{name}.{region}"
    if not isinstance(region, str) or "." in region:
        raise InvalidParameterError(name, "name regions without dots", region, _HINT)
    try:
        if isinstance(given, Mapping):
            if not given or not set(given) <= set(_WAYS):
                raise InvalidParameterError(called, "have lists for delete, add or change", given, _HINT)
            for way in (way for way in _WAYS if way in given):
                yield Factor(f"{region}.{way}", tuple(_probability(value) for value in _listed(given[way])))
        else:
            yield Factor(region, tuple(_law(value) for value in _listed(given)))
    except InvalidParameterError as error:
        raise InvalidParameterError(called, *error.args[1:]) from None


def _listed(given: object) -> Sequence[object]:
    return given if isinstance(given, list | tuple) else [given]


def _law(value: object) -> Law:
    if isinstance(value, Mapping) and {"delete", "add"} <= set(value) <= set(_WAYS):
        return law_from_json({way: _probability(number) for way, number in value.items()})
    return law_from_json(_probability(value))


def _probability(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParameterError("grid", "have probabilities", value, _HINT)
    return probability(value, "p")
