"""The settings of a sweep, and its grid of noise levels.

A grid is a product of factors. A factor is a region with the laws it may have, or one axis of a region (`bonds.delete`)
with the probabilities it may have; a level is a noise that takes one value of each, and all else from the run's noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcert.objects.content import digest
from starcert.objects.laws import Law, law_from_json, law_from_text, law_to_text, probability
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Threat
from starcert.runs.declaration import MissingSettingError, renaming
from starcert.runs.setting_values import law_finder
from starcert.runs.settings import SWEEP_SAMPLES, RunSettings, run_settings
from starcert.system.errors import InvalidParameterError, did_you_mean

if TYPE_CHECKING:
    from starcert.runs.run_file import RunFile

MAX_LEVELS = 1_000
_CERTIFYING = ("samples", "selection_samples", "own_samples", "collective")  # in a run file: for `certify`
_FLIPS = ("delete", "add", "change")
_HINT = (
    "Write motif = [0.02, 0.05], bonds = [{ delete = 0.04, add = 0.2 }], or bonds = { delete = [0.04], add = [0.2] }."
)


def noise_text(noise: Noise) -> str:
    """A noise as `--noise` takes it, such as motif=0.02,bonds=0.04/0.2."""
    return ",".join(f"{region}={law_to_text(noise[region])}" for region in noise.regions)


@dataclass(frozen=True)
class Factor:
    """One thing that a grid varies."""

    name: str  # a region, or an axis `region.delete`, `region.add` or `region.change`
    values: tuple[Law | float, ...]  # the laws of the region; of an axis the probabilities

    def __post_init__(self) -> None:
        if not self.values:
            raise InvalidParameterError(self.name, "have at least one level", [], _HINT)
        listed = ", ".join(self.texts)
        if len(set(self.texts)) < len(self.texts):
            raise InvalidParameterError(self.name, "name each level once", listed)
        if len({(type(law), law.suffixes) for law in self.values if isinstance(law, Law)}) > 1:
            hint = "Count deletions and additions (and changes) apart in all of them, 0.1 as 0.1/0.1, or in none."
            raise InvalidParameterError(self.name, "have levels of one kind", listed, hint)

    @property
    def region(self) -> str:
        """The region that it varies."""
        return self.name.partition(".")[0]

    @property
    def flip(self) -> str:
        """The kind of flips that it varies, "delete", "add" or "change"; "" if it varies the whole law."""
        return self.name.partition(".")[2]

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as a command line has them."""
        return tuple(law_to_text(value) if isinstance(value, Law) else repr(value) for value in self.values)


@dataclass(frozen=True)
class Grid:
    """The factors of a sweep; its levels are all their combinations, the last factor changing fastest.

    Example:
        >>> grid = Grid.of({"motif": [0.02, 0.05], "random": [0.45]})
        >>> [noise_text(noise) for noise in grid.levels()]
        ['motif=0.02,random=0.45', 'motif=0.05,random=0.45']
    """

    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        names = [factor.name for factor in self.factors]
        if not names:
            raise InvalidParameterError("grid", "name a region and its levels", None, _HINT)
        for factor in self.factors:
            if factor.flip and factor.flip not in _FLIPS:
                requirement = "name a region, or its axis with .delete, .add or .change"
                raise InvalidParameterError("grid", requirement, factor.name)
            if names.count(factor.name) > 1 or (factor.flip and factor.region in names):
                raise InvalidParameterError("grid", f"give the levels of {factor.region!r} once", ", ".join(names))
        n_levels = prod(len(factor.values) for factor in self.factors)
        if n_levels > MAX_LEVELS:
            hint = "Try a coarse grid first, and a finer one around its best levels."
            raise InvalidParameterError("grid", f"have at most {MAX_LEVELS:,} levels", f"{n_levels:,}", hint)

    @classmethod
    def of(cls, table: object, name: str = "grid", base: Path = Path()) -> Grid:
        """A grid from plain values, as a run file has them; messages call it `name`.

        A region has a probability or a list of them, a list of tables with delete and add (and change, for edges of
        several types), or a table with a list for some of these, all of whose combinations are tried.
        """
        if not isinstance(table, Mapping):
            raise InvalidParameterError(name, "be a table of regions and their levels", table, _HINT)
        return cls(tuple(factor for region, given in table.items() for factor in _factors(region, given, name, base)))

    def to_table(self) -> dict[str, object]:
        """The plain values that `of` takes."""
        table: dict[str, Any] = {}
        for factor in self.factors:
            values = [value.to_json() if isinstance(value, Law) else value for value in factor.values]
            if factor.flip:
                table.setdefault(factor.region, {})[factor.flip] = values
            else:
                table[factor.region] = values
        return table

    def __str__(self) -> str:
        return ",".join(f"{factor.name}={','.join(factor.texts)}" for factor in self.factors)

    def levels(self, fixed: Noise | None = None) -> tuple[Noise, ...]:
        """The noise levels; `fixed` has the laws of what the grid does not vary.

        A fixed noise without any of the grid's regions is about other regions, and left out.
        """
        regions = tuple(dict.fromkeys(factor.region for factor in self.factors))
        if fixed is not None and set(regions).isdisjoint(fixed.regions):
            fixed = None
        if fixed is not None:
            for region in regions:
                if region not in fixed.regions:
                    requirement = f"name regions of the noise, {', '.join(fixed.regions)}"
                    hint = did_you_mean(region, fixed.regions, "Or give the levels of all regions.")
                    raise InvalidParameterError("grid", requirement, region, hint)
            regions = fixed.regions
        return tuple(
            Noise({region: self._law(region, values, fixed) for region in regions})
            for values in product(*(factor.values for factor in self.factors))
        )

    def _law(self, region: str, values: Sequence[Law | float], fixed: Noise | None) -> Law:
        """The law of a region when the factors have these values."""
        varied: dict[str, float] = {}
        for factor, value in zip(self.factors, values, strict=True):
            if factor.region == region:
                if isinstance(value, Law):
                    return value
                varied[factor.flip] = value
        if fixed is not None and not varied:
            return fixed[region]
        written = None if fixed is None else fixed[region].to_json()
        whole = {**(written if isinstance(written, dict) and "delete" in written else {}), **varied}
        for flip in ("delete", "add"):
            if flip not in whole:
                hint = f"Add {region}.{flip}=… to the grid."
                raise InvalidParameterError("grid", f"needs both {region}.delete and {region}.add. {hint}")
        return law_from_json(whole)


def parse_grid(texts: Sequence[str]) -> Grid:
    """A grid from REGION=P,P,… with commas between regions too; P may be DELETE/ADD or DELETE/ADD/CHANGE.

    REGION.delete=P,P,…, REGION.add=P,P,… and REGION.change=P,P,… vary them apart.
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
        laws = [law_from_text(value, f"--grid {name}", law_finder(Path.cwd(), "--grid")) for value in values]
        if "." in name and not all("flip" in law.numbers for law in laws):
            hint = f"Write {name}=0.04,0.1, or {name.partition('.')[0]}=0.04/0.2 for both."
            raise InvalidParameterError(f"--grid {name}", "be probabilities", ", ".join(values), hint)
        with renaming(f"--grid {name}"):
            factors.append(Factor(name, tuple(law.numbers["flip"] if "." in name else law for law in laws)))
    with renaming("--grid"):
        return Grid(tuple(factors))


def _factors(region: object, given: object, name: str, base: Path) -> Iterator[Factor]:
    """The factor of a region, or those of its axes where they are given apart."""
    if not isinstance(region, str) or "." in region:
        raise InvalidParameterError(name, "name regions without dots", region, _HINT)
    apart = isinstance(given, Mapping)
    table: Mapping[str, Any] = given if isinstance(given, Mapping) else {"": given}
    with renaming(f"{name}.{region}"):
        if apart and not (table and set(table) <= set(_FLIPS)):
            raise InvalidParameterError(name, "have lists for delete, add or change", given, _HINT)
        for flip in (flip for flip in ("", *_FLIPS) if flip in table):
            values: Sequence[object] = table[flip] if isinstance(table[flip], list | tuple) else [table[flip]]
            numbers = [_probability(each) if apart else _law(each, base) for each in values]
            yield Factor(f"{region}.{flip}" if flip else region, tuple(numbers))


def _law(value: object, base: Path) -> Law:
    if isinstance(value, Mapping) and "law" in value:
        return law_from_json(value, law_finder(base, "grid"))
    if isinstance(value, Mapping) and {"delete", "add"} <= set(value) <= set(_FLIPS):
        return law_from_json({flip: _probability(number) for flip, number in value.items()})
    return law_from_json(_probability(value))


def _probability(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParameterError("grid", "have probabilities", value, _HINT)
    return probability(value, "p")


@dataclass(frozen=True)
class SweepSettings:
    """The settings of a sweep: those of a run, and a grid of noise levels instead of one noise."""

    run: RunSettings  # what all levels share; its noise is that of the first level
    grid: Grid
    own_noise: Noise  # the noise that the user gave; that of the first level if none was given, or one with other axes
    certifying: Mapping[str, object] = field(default_factory=dict)  # what the run file says for certifying alone

    @cached_property
    def levels(self) -> tuple[Noise, ...]:
        """The noise levels."""
        return self.grid.levels(self.run.noise)

    @property
    def counted(self) -> Threat | None:
        """Under which threat results are counted: the run's, or as many flips as it has; two with evidence."""
        threat = self.run.threat
        if threat is not None and not threat.by_radius:
            return threat
        flips = 2 * self.run.evidence if threat is None or threat.flips is None else threat.flips
        return AnyFlips(flips) if flips else None

    @property
    def seed(self) -> int:
        """The seed of the votes: never that of a certification, whose noise must not be chosen on its own votes."""
        return int(digest("sweep", self.run.seed)[:15], 16)


def sweep_settings(file: RunFile, options: Mapping[str, object], grid: Grid | None) -> SweepSettings:
    """The settings of a sweep from a run file and from options and grid, which override it.

    How many samples there are, where the output goes and which part of the data is used, the file says in its table
    [sweep]: what it says elsewhere is for certifying. Of data that are divided the validation part is used.
    """
    grid = grid or file.grid
    if grid is None:
        hint = "For example --grid motif=0.02,0.05,0.1,random=0.2,0.45, or a table [sweep.grid] in a run file."
        raise MissingSettingError("grid", hint)
    noise = options.get("noise", file.values.get("noise"))
    levels = grid.levels(noise if isinstance(noise, Noise) else None)
    chosen = options.get("split", file.sweep.get("split"))
    if chosen == "test":
        hint = "Levels that are chosen on the graphs they are then judged on look better than they are: use validation."
        raise InvalidParameterError("split", f"cannot be test in a sweep. {hint}")
    divided = file.values.get("split", "all") != "all"
    shared = {key: value for key, value in file.values.items() if key not in (*_CERTIFYING, "store", "out")}
    values = {**shared, "samples": SWEEP_SAMPLES, "out": file.folder / "sweep", **file.sweep}
    if options.get("evidence", shared.get("evidence", False)):
        values = {"own_samples": 0, **values}
    part = chosen or ("validation" if divided else "all")
    run = run_settings(values, {**options, "noise": levels[0], "split": part})
    has_parts = run.splits is not None or "part" in (run.columns or {})
    undecided = chosen is None and not divided
    if undecided and (has_parts or any(run.model.asks_for(part) for part in ("train", "validation"))):
        run = run.changed(split="validation")
    own = noise if isinstance(noise, Noise) and noise.axes == levels[0].axes else levels[0]
    kept = {key: file.values[key] for key in (*_CERTIFYING, "limit") if key in file.values}
    return SweepSettings(run, grid, own, kept)
