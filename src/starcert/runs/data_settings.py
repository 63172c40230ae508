"""Settings that say more about data: which node data are sites, the values of columns, and shares of the parts."""

# ruff: noqa: RUF009  (a setting is a field)

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.runs import setting_values as checks
from starcert.runs.setting_values import setting
from starcert.runs.table_files import TABLE, as_alphabets
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, did_you_mean

PARTS = ("train", "validation", "test")
FORMS = ("bits", "categories")  # what node data are as sites


def as_kind(value: object, base: Path, name: str) -> Reference | str:
    """The word table, or what reads the data."""
    text = checks.as_text(value, base, name)
    return text if text == TABLE else Reference.parse(text, base, name)


def as_node_sites(value: object, _base: Path, name: str) -> dict[str, str]:
    """By node datum, whether its values are bits or categories."""
    if not isinstance(value, Mapping) or not value:
        hint = 'Write a table: [node_sites], and below it a line such as x = "categories".'
        raise InvalidParameterError(name, "map node data to bits or categories", value, hint)
    for datum, form in value.items():
        if form not in FORMS:
            hint = did_you_mean(str(form), FORMS, f'Write {datum} = "categories", or {datum} = "bits" for 0 and 1.')
            raise InvalidParameterError(f"{name}.{datum}", f"be one of {', '.join(FORMS)}", form, hint)
    return dict(value)


def as_fractions(value: Any, _base: Path, name: str) -> dict[str, float]:  # noqa: ANN401  (what a file has)
    """The share of each part: three numbers, or some by name; they add up to 1.

    Example:
        >>> as_fractions([0.6, 0.2, 0.2], Path(), "fractions"), as_fractions({"test": 0.5, "train": 0.5}, Path(), "f")
        ({'train': 0.6, 'validation': 0.2, 'test': 0.2}, {'train': 0.5, 'validation': 0.0, 'test': 0.5})
    """
    hint = "Write fractions = [0.6, 0.2, 0.2] for train, validation and test, or { train = 0.5, test = 0.5 }."
    if isinstance(value, list | tuple) and len(value) == len(PARTS):
        value = dict(zip(PARTS, value, strict=True))
    if not isinstance(value, Mapping):
        raise InvalidParameterError(name, "be a share for each of train, validation and test", value, hint)
    for part in value:
        if part not in PARTS:
            raise InvalidParameterError(
                name, f"be about {', '.join(PARTS)}", part, did_you_mean(str(part), PARTS, hint)
            )
    shares = {part: value.get(part, 0.0) for part in PARTS}
    fine = all(type(share) in (int, float) and 0 <= share <= 1 for share in shares.values())
    if not fine or not math.isclose(sum(shares.values()), 1, abs_tol=1e-9):
        raise InvalidParameterError(name, "be numbers from 0 to 1 that add up to 1", dict(value), hint)
    return {part: float(share) for part, share in shares.items()}


def parse_fractions(text: str, option: str) -> object:
    """Shares from an option: TRAIN/VALIDATION/TEST, or PART=SHARE with commas."""
    try:
        if "=" in text:
            return {part.strip(): float(share) for part, share in (each.split("=") for each in text.split(","))}
        return [float(each) for each in text.split("/")]
    except ValueError:
        hint = f"For example {option} 0.6/0.2/0.2, or {option} train=0.5,test=0.5."
        raise InvalidParameterError(option, "be shares of train, validation and test", text, hint) from None


def parse_alphabets(text: str, option: str) -> dict[str, object]:
    """Values by column from an option: COLUMN=VALUE/VALUE, or COLUMN=NUMBER, with commas."""
    items = checks.parse_items(text, option, "be COLUMN=VALUE/VALUE, separated by commas, such as colour=red/green")
    return {name: int(value) if value.isdecimal() else value.split("/") for name, value in items.items()}


def parse_node_sites(text: str, option: str) -> dict[str, str]:
    """Forms by node datum from an option: DATUM=FORM, with commas."""
    return checks.parse_items(text, option, "be DATUM=bits or DATUM=categories, separated by commas")


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """What the data are, beyond where they come from."""

    node_sites: dict[str, str] | None = setting(
        as_node_sites,
        "Node data that noise and attacks may change, each a layer of sites by its name: x=categories (one-hot rows, "
        "or all values that occur), x=bits (zeros and ones). Other node data that say the same are kept for regions "
        "alone. A region is such a layer: --regions 'functional_groups | layers:atoms=x'.",
        parse=parse_node_sites,
        metavar="DATUM=FORM,…",
        shown="none: node data are fixed",
        in_training=True,
    )
    alphabets: dict[str, list[str] | int] | None = setting(
        as_alphabets,
        "With kind table, all values that a column may have: colour=red/green/blue, or doors=4 for 0 to 3. In a run "
        "file a table. An attacker may set any of them.",
        parse=parse_alphabets,
        metavar="COLUMN=VALUES,…",
        shown="the values that occur in the file",
        in_training=True,
        changes="nothing",
    )
    fractions: dict[str, float] | None = setting(
        as_fractions,
        "The shares of train, validation and test for --split: 0.6/0.2/0.2, or by name, train=0.5,test=0.5. Every "
        "class is divided so, by --split-seed. In a run file [0.6, 0.2, 0.2], or a table.",
        parse=parse_fractions,
        metavar="TRAIN/VALIDATION/TEST",
        shown="0.8/0.1/0.1",
        in_training=True,
        changes="nothing",
    )

    def check_data(self, kind: object, splits: Path | None) -> None:
        """Refuses what does not go together."""
        if self.fractions is not None and splits is not None:
            raise InvalidParameterError(
                "fractions", "be left out beside splits", str(splits), "Take one of the two out."
            )
        if self.alphabets is not None and kind != TABLE:
            hint = 'Say kind = "table" too; the values of node data are those that occur.'
            raise InvalidParameterError("alphabets", "be left out where data are no table", list(self.alphabets), hint)
        if self.node_sites is not None and kind == TABLE:
            raise InvalidParameterError("node_sites", "be left out with kind table", list(self.node_sites))
