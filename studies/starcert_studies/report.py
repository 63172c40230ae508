"""What a study reports: sentences, figures, tables and checks of claims; and its page.

A check has what was published, what is measured here, and whether that is what the project documents. Numbers are
compared by prediction intervals: the machine of the synthetic study depends on two to nine support vectors, so another
draw of the training graphs moves every figure by far more than the votes' own error. The study is therefore repeated on
independent draws of the data, and the published value, from one more draw, must lie where the next draw is expected.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from starcert.report.document import templates
from starcert.system.output import csv_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PREDICTION = 0.999
"""The probability with which a prediction interval holds a true figure of the paper."""


@dataclass(frozen=True)
class Check:
    """One claim, and whether it holds."""

    claim: str  # the claim in words
    published: str  # what the paper has
    measured: str  # what was found here
    holds: bool | None  # whether it holds here; None: this run has too few votes or draws to tell
    documented: bool = True  # whether the project documents that it holds
    note: str = ""  # how it was decided, or why a claim that does not hold fails

    @property
    def as_documented(self) -> bool:
        """Whether the outcome is the documented one; an undecided check contradicts nothing."""
        return self.holds is None or self.holds == self.documented

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        if self.holds is None:
            return "not decided"
        outcome = "holds" if self.holds else "does not hold"
        if not self.as_documented:
            return outcome + ", UNLIKE DOCUMENTED"
        return outcome if self.documented else outcome + ", as documented"


def next_draw(values: Sequence[float], level: float = PREDICTION) -> tuple[float, float]:
    """Where one more value is expected, with probability `level`, if all are normal and independent (Student's t).

    Fewer than three values predict nothing: anywhere.
    """
    from scipy.stats import t  # noqa: PLC0415  (slow to import)

    n = len(values)
    if n < 3:
        return -math.inf, math.inf
    centre, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    reach = float(t.ppf((1 + level) / 2, n - 1)) * deviation * math.sqrt(1 + 1 / n)
    return centre - reach, centre + reach


def within(
    claim: str, value: float, draws: Iterable[float], *, rounding: float = 0.0, digits: int = 3,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Check:  # fmt: skip
    """Checks that a published number lies where the next draw of the data is expected.

    The draws are the same number from independent draws of the data, the study's own first; the published number is
    known up to its `rounding`, half a unit of its last digit, and can only lie within `limits`.
    """
    found = list(draws)
    low, high = (min(max(end, limits[0]), limits[1]) for end in next_draw(found))
    decided = len(found) >= 3
    note = (
        f"{len(found)} draws of the data, the study's own among them, predict {low:.{digits}f} to "
        f"{high:.{digits}f} for the next one ({PREDICTION:.1%} prediction interval); "
        f"{sum(each > value for each in found)} of them are greater than the published one."
        if decided
        else "Fewer than three draws of the data, which predict nothing."
    )
    holds = low - rounding <= value <= high + rounding if decided else None
    return Check(claim, f"{value:.{digits}f}", f"{found[0]:.{digits}f}", holds, True, note)


def failure_within(claim: str, p_lower: float, draws: Sequence[float], *, rounding: float) -> Check:
    """The same for a bound near 1: 1 − p_lower is compared by its logarithm, which is closer to normal."""

    def log(bound: float) -> float:
        return math.log10(1 - bound)

    unit = rounding / (1 - p_lower) / math.log(10)
    check = within(claim, log(p_lower), map(log, draws), rounding=unit, limits=(-math.inf, 0.0))
    note = check.note.replace("them, predict ", "them, predict log10(1 − p_lower) from ")
    return replace(check, published=f"{p_lower:.5f}", measured=f"{draws[0]:.5f}", note=note)


def compare_shares(share: float, of: int, hits: int, n: int) -> tuple[int, float]:
    """How many a published share of some are, and the p-value of Fisher's exact test that `hits` of n are alike."""
    from scipy.stats import fisher_exact  # noqa: PLC0415  (slow to import)

    theirs = round(share * of)
    return theirs, float(fisher_exact([[theirs, of - theirs], [hits, n - hits]]).pvalue)


@cache
def published(study: str) -> dict[str, Any]:
    """What the paper shows of a study, as `published.json` has it."""
    text = resources.files("starcert_studies").joinpath("published.json").read_text("utf-8")
    figures: dict[str, Any] = json.loads(text)[study]
    return figures


@cache
def all_texts() -> dict[str, Any]:
    """`texts.toml`: by study its title, captions and claims."""
    return tomllib.loads(resources.files("starcert_studies").joinpath("texts.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Table:
    """Rows under column names, for a CSV file and the page."""

    name: str  # the name of the file
    caption: str  # what it shows, a sentence or two
    columns: Sequence[str]  # the names of the columns
    rows: list[list[object]]  # the values, one for each column
    shown: bool = True  # whether the page shows it; long tables are linked only

    def to_csv(self) -> str:
        """The table as CSV; floats in the shortest form that reads back exactly."""
        rows = [[float(x) if isinstance(x, float) else x for x in row] for row in self.rows]
        return "".join(map(csv_line, [self.columns, *rows]))


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its files, its caption, and the function that draws it."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass
class Report:
    """All that a study found, in the words of `texts.toml`, which are filled with the values of a run."""

    texts: Mapping[str, Any]
    summary: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)  # more of them for `results.json`

    def sentence(self, *numbers: int, **values: Any) -> None:  # noqa: ANN401
        """Adds sentences to the summary, by default the first."""
        self.summary += [self.texts["summary"][number].format(**values) for number in numbers or (0,)]

    def picture(self, name: str, draw: Callable[..., Figure], /, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        """Adds a figure that a function draws; the option `values`, a mapping, fills its caption."""
        caption = self.texts["pictures"][name].format(**options.pop("values", {}))
        self.pictures.append(Picture(name, caption, partial(draw, *arguments, **options)))

    def table(self, name: str, records: Iterable[Mapping[str, object]], /, **first: object) -> None:
        """Adds rows to a table: the values of `first`, then those of a record, or the columns in `texts.toml`."""
        rows = [{**first, **record} for record in records]
        found = next((table for table in self.tables if table.name == name), None)
        if found is None:
            columns = self.texts.get("columns", {}).get(name) or list(rows[0])
            found = Table(name, self.texts["tables"][name], columns, [], name not in self.texts.get("linked", ()))
            self.tables.append(found)
        found.rows.extend([row[column] for column in found.columns] for row in rows)

    def check(self, name: str, holds: bool, /, *, enough: bool = True, **values: Any) -> None:  # noqa: ANN401
        """Adds a claim with its outcome; undecided where a run has not enough votes, objects or draws."""
        found = {"published": "not in the paper", "note": ""} | self.texts["claims"][name]
        documented, few = found.pop("documented", True), found.pop("few", self.texts.get("few", ""))
        filled = {key: text.format(**values) for key, text in found.items()}
        self._add(Check(holds=bool(holds), documented=documented, **filled), enough, few.format(**values))

    def number(
        self, name: str, value: float, draws: Sequence[float], /, *, rounding: float = 0, enough: bool = True,
        **values: object,
    ) -> None:  # fmt: skip
        """Adds the claim that a published number lies where the next draw is expected; see `within`."""
        how = {"few": self.texts.get("few", ""), "rounding": rounding} | self.texts["claims"][name]
        claim, few = (how.pop(text).format(**values) for text in ("claim", "few"))
        compare = failure_within if how.pop("near_one", False) else within
        self._add(compare(claim, value, draws, **how), enough, few)

    def _add(self, check: Check, enough: bool, few: str) -> None:
        self.checks.append(check if enough else replace(check, holds=None, note=f"{check.note} {few}".strip()))


def cells(columns: Mapping[str, Any], **axes: Sequence[float] | None) -> Iterator[dict[str, Any]]:
    """A record for each place of some grids of one shape: where it is on each axis (None: its index), and values."""
    grids = {name: np.array(grid, dtype=object) for name, grid in columns.items()}
    for place in np.ndindex(*next(iter(grids.values())).shape):
        at = {name: i if scale is None else scale[i] for i, (name, scale) in zip(place, axes.items(), strict=True)}
        yield at | {name: grid[place] for name, grid in grids.items()}


@dataclass(frozen=True)
class Finished:
    """A study that was written to its folder."""

    name: str  # what it is called
    about: str  # what it shows
    folder: Path  # where its `index.html` is
    checks: Sequence[Check]  # the claims
    seconds: float  # how long this run took, without what was there before


def study_page(report: Report, results: dict[str, Any]) -> str:
    """The page of one study: what was found, the claims, the figures and the tables; it opens from disk."""
    made = {name: results[name] for name in ("settings", "seconds", "provenance")}
    return _page(title=report.texts["title"], outcome=report, finished=(), made=json.dumps(made, indent=2))


def all_page(finished: Sequence[Finished]) -> str:
    """The page that leads to several studies."""
    return _page(title="The paper, reproduced", outcome=None, finished=finished)


def _page(**content: object) -> str:
    text = resources.files("starcert_studies").joinpath("page.html").read_text("utf-8")
    return templates().from_string(text).render(content)
