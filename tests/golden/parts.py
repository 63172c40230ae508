"""The golden set: small runs of which every number stays the same, to the bit, from version to version.

Votes, bounds, frontiers, verdicts, attacks, sampled copies, and the numbers in files are pinned; version fields are
not. Texts are pinned in the parts of `views` alone: tables of runs, `--json`, the words of pages, and the benchmark.
`expected/` holds all this, one file for each part, and `archives/` files of certificates that `verify` goes on
proving. Where a change is meant to change numbers or texts, write the parts that it concerns again and read the
difference:

    PYTHONPATH=tests:tests/support python -m golden.parts results json pages benchmark

Base classifiers compare whole numbers, so that no answer depends on how a machine adds floats.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import starcert as sc
from golden import files, kinds, methods, verdicts, views, worlds

EXPECTED = Path(__file__).with_name("expected")

PARTS: dict[str, Callable[[], dict[str, object]]] = (
    worlds.PARTS | kinds.PARTS | verdicts.PARTS | files.PARTS | methods.PARTS | views.PARTS
)


def write(part: str) -> None:
    """Writes what is pinned of a part, a line for each entry; with the part of archives, the archives too."""
    entries = (f"{json.dumps(name)}:{_text(value)}" for name, value in PARTS[part]().items())
    EXPECTED.joinpath(f"{part}.json").write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    if part == "archives":
        for name, make in files.WRITTEN.items():
            sc.archive.write(files.ARCHIVES / f"{name}.json", make())


def _text(value: object) -> str:
    """An entry as JSON; of a page, a line for each of its lines."""
    are_lines = isinstance(value, list) and len(value) > 1 and all(isinstance(each, str) for each in value)
    return json.dumps(value, ensure_ascii=False, indent=0 if are_lines else None, separators=(",", ":"))


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        write(part)
