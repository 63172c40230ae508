"""Is this starcert as fast as the last release? Ratios of a new run next to those that the release had.

    python benchmarks/compare.py              # the quick benchmarks; --all: every one that the release has figures of
    python benchmarks/compare.py --store      # at a release: the results become releases/VERSION.json

Seconds of two machines cannot be compared. What can is how many times as fast as the obvious loop, or as the floor, a
piece of work is in one run on one machine. A change of more than 20% in either direction is a warning. On a busy
machine, measure again before you believe it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import starcert as sc
from table import RESULTS, RESULTS_VARIABLE

RELEASES = Path(__file__).parent / "releases"
QUICK = ("engine", "sampling", "gnn", "recording")
CHANGE = 0.2

Speeds = dict[str, dict[str, float]]
"""By table and work, how many times as fast as the loop it is, or as the floor where there is no loop."""


def results(folder: Path) -> dict[str, Any]:
    """The tables in a folder, by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def speeds(folder: Path) -> Speeds:
    """The speeds in a folder of results; work that has neither loop nor floor is left out."""
    found: Speeds = {}
    for table, works in ((name, each["works"]) for name, each in results(folder).items()):
        both = {each["work"]: each["ratio"] or (each["distance"] and 1 / each["distance"]) for each in works}
        found[table] = {name: float(f"{speed:.4g}") for name, speed in both.items() if speed}
    return found


def changes(old: Speeds, new: Speeds) -> Iterator[str]:
    """A line about each piece of work that is faster or slower by more than `CHANGE`, or is gone."""
    for table in sorted(old.keys() & new.keys()):
        for work, before in old[table].items():
            if (now := new[table].get(work)) is None:
                yield f"{table}: {work}: not measured now"
            elif abs(now / before - 1) > CHANGE:
                direction = "faster" if now > before else "SLOWER"
                yield f"{table}: {work}: {before:.3g} × before, {now:.3g} × now ({now / before - 1:+.0%}, {direction})"


def last_release(folder: Path = RELEASES) -> Path:
    """The file of the highest version."""
    return max(folder.glob("*.json"), key=lambda path: [int(part) for part in path.stem.split(".")])


def measure(names: list[str], folder: Path) -> None:
    """Runs benchmarks; their results go to a folder, and `benchmarks/results` stays as it is."""
    for name in names:
        script = Path(__file__).with_name(f"{name}.py")
        subprocess.run([sys.executable, str(script)], env=os.environ | {RESULTS_VARIABLE: str(folder)}, check=True)


def main(words: list[str] | None = None) -> int:
    """Measures and compares; 1 with --strict if there is a warning."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every benchmark on a CPU that the release has figures of")
    parser.add_argument("--new", type=Path, help="compare the results in this folder, and measure nothing")
    parser.add_argument("--against", type=Path, help="figures to compare with; by default those of the last release")
    parser.add_argument("--strict", action="store_true", help="end with status 1 if there is a warning")
    parser.add_argument("--store", action="store_true", help="keep benchmarks/results as the figures of this release")
    given = parser.parse_args(words)
    if given.store:
        kept = ("machine", "versions", "load_before")
        measured = {name: {key: each[key] for key in kept} for name, each in results(RESULTS).items()}
        text = json.dumps({"speeds": speeds(RESULTS), "measured": measured}, indent=1, ensure_ascii=False)
        (RELEASES / f"{sc.__version__}.json").write_text(f"{text}\n", encoding="utf-8")
        return 0
    file = given.against or last_release()
    old: Speeds = json.loads(file.read_text(encoding="utf-8"))["speeds"]
    with tempfile.TemporaryDirectory() as name:
        folder = given.new or Path(name)
        if given.new is None:
            print(f"Load of this machine: {os.getloadavg()[0]:.1f}. On a busy one, expect warnings about nothing.\n")
            known = [table.removesuffix("-cpu") for table in old if table.endswith("-cpu")]
            measure(known if given.all else list(QUICK), folder)
        new = speeds(folder)
    found = list(changes(old, new))
    number = sum(len(old[table]) for table in old.keys() & new.keys())
    print(f"{number} pieces of work next to starcert {file.stem}: {len(found)} changed by more than {CHANGE:.0%}")
    for line in found:
        print(f"Warning: {line}")
    return int(bool(found) and given.strict)


if __name__ == "__main__":
    sys.exit(main())
