"""The golden set: small runs of which every number stays the same, to the bit, from version to version.

Votes, bounds, frontiers, verdicts, sampled copies, and the numbers in files are pinned; texts and version fields are
not. `expected/` holds the numbers, one file for each part, and `archives/` files of certificates that `verify` goes on
proving. Where a change is meant to change numbers, write the parts that it concerns again and read the difference:

    PYTHONPATH=tests python -m golden.parts evidence archives

Base classifiers compare whole numbers, so that no answer depends on how a machine adds floats.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import starcert as sc
from golden import files, kinds, verdicts, worlds

EXPECTED = Path(__file__).with_name("expected")

PARTS: dict[str, Callable[[], dict[str, object]]] = worlds.PARTS | kinds.PARTS | verdicts.PARTS | files.PARTS


def write(part: str) -> None:
    """Writes what is pinned of a part, a line for each entry; with the part of archives, the archives too."""
    entries = (
        f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in PARTS[part]().items()
    )
    EXPECTED.joinpath(f"{part}.json").write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    if part == "archives":
        for name, make in files.WRITTEN.items():
            sc.archive.write(files.ARCHIVES / f"{name}.json", make())


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        write(part)
