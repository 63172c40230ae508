"""Writes the figures of `threats-results.md` from the folder of its study; `make pictures` calls it.

    python docs/threats_page.py

What stands between `<!-- NAME -->` and `<!-- end -->` is written here, and nothing else.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from starcert_studies.reproduce import reproduce

HERE = Path(__file__).parent
THREATS = {
    "data": "data", "threat": "threat", "median_attacks": "attacks, median", "attacks": "attacks, all",
    "own_votes": "own votes", "seconds": "CPU s", "by_p_A": "by p_A", "by_evidence": "by evidence, same votes",
    "certified": "with own votes", "broken": "broken", "open": "open",
}  # fmt: skip
ANSWERS = {
    "data": "data", "molecules": "molecules", "votes": "votes on each", "right": "right", "accuracy": "accuracy",
    "majority": "constant answer", "blind": "atoms alone",
}  # fmt: skip
NETWORKS = {"data": "data", "network": "network", "delete": "delete", "add": "add", "right": "right on validation"}
SHARES = ("accuracy", "constant answer", "atoms alone", "right on validation")


def write_page(page: Path, picture: Path, folder: Path = HERE.parent / "build" / "threats") -> None:
    """Runs the study, or continues it, and writes its figures into the page."""
    study = reproduce("threats", folder)
    shutil.copyfile(study.folder / "figures" / "verdicts.png", picture)
    rows, networks = (read_table(study.folder / "tables" / f"{name}.csv") for name in ("threats", "networks"))
    answers = list({row["data"]: row for row in rows}.values())
    kept = json.loads((study.folder / "results.json").read_text("utf-8"))
    claims = [f"- {check.claim}: {check.measured}. {check.verdict.capitalize()}." for check in study.checks]
    found = {
        "answers": table(answers, ANSWERS),
        "threats": table(rows, THREATS),
        "networks": table(networks, NETWORKS),
        "summary": "\n\n".join(fill(each, 120) for each in kept["summary"]),
        "claims": "\n".join(fill(each, 120, subsequent_indent="  ") for each in claims),
    }
    write_between(page, found)


def write_between(page: Path, found: Mapping[str, str]) -> None:
    """Writes each text between the marks of its name."""
    text = page.read_text("utf-8")
    for name, new in found.items():
        begin, end = f"<!-- {name} -->\n\n", "<!-- end -->"
        filled = f"{begin}{new}\n\n{end}".replace("\\", r"\\")
        text, number = re.subn(f"{begin}.*?{end}", filled, text, flags=re.DOTALL)
        assert number == 1, name
    page.write_text(text, encoding="utf-8")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table of the study."""
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def table(rows: Sequence[Mapping[str, str]], columns: Mapping[str, str]) -> str:
    """Some columns as Markdown, numbers to the right."""
    numbers = [name not in ("data", "threat", "network", "kind", "device", "why") for name in columns]
    lines = [list(columns.values()), ["--:" if number else "---" for number in numbers]]
    lines += [[shown(row[name], title) for name, title in columns.items()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: str, title: str) -> str:
    """A number as pages have it: shares in percent, thousands apart."""
    if title in SHARES:
        return f"{float(value):.0%}"
    if re.fullmatch(r"\d{4,}(\.0)?", value):
        return f"{float(value):,.0f}"
    return value.removesuffix(".0") if title == "attacks, median" else value


if __name__ == "__main__":
    write_page(HERE / "threats-results.md", HERE / "pictures" / "threats.png")
