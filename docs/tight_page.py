"""Writes the figures of `tight-results.md` from the folder of its study, which a GPU has filled.

    python docs/tight_page.py build/tight

What stands between `<!-- NAME -->` and `<!-- end -->` is written here, and nothing else.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from textwrap import fill

from starcert_studies.outcome import Check
from threats_page import read_table, table, write_between

HERE = Path(__file__).parent
COLUMNS = {
    "verdicts": {
        "data": "data", "kind": "votes", "device": "device", "molecules": "molecules", "certified": "certified",
        "broken": "broken", "open": "open", "votes": "votes on each, mean", "own_votes": "of these at attacked ones",
        "votes_a_second": "votes a second, median", "seconds": "seconds, median", "most_seconds": "seconds, most",
        "needed_tenth": "what theory wants, median",
    },
    "claims": {
        "device": "device", "votes": "votes", "k": "at most differ", "clean_k": "on the clean graph",
        "single_open": "not certified one by one", "by_p_A_open": "by p_A", "votes_a_second": "votes a second",
        "claim_seconds": "weighing, s",
    },
    "links": {
        "why": "link", "k": "k", "differ": "answers that differ", "differ_clearly": "by three standard deviations",
    },
    "abstentions": {
        "votes": "votes", "nodes": "nodes", "counts": "by counts, whole alpha",
        "counts_beside_evidence": "by counts, their share", "evidence": "with evidence",
    },
}  # fmt: skip
"""For each table of the page, columns of the study's table and their titles."""


def write_page(page: Path, folder: Path) -> None:
    """Writes the figures of a finished study into the page, and copies its pictures."""
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    checks = [Check(**each) for each in kept["checks"]]
    claims = [f"- {check.claim}: {check.measured}. {check.verdict.capitalize()}." for check in checks]
    found = {name: table(read_table(folder / "tables" / f"{name}.csv"), columns) for name, columns in COLUMNS.items()}
    found["summary"] = "\n\n".join(fill(each, 120) for each in kept["summary"])
    found["checks"] = "\n".join(fill(each, 120, subsequent_indent="  ") for each in claims)
    write_between(page, found)
    shutil.copyfile(folder / "figures" / "needed_NCI1.png", HERE / "pictures" / "tight.png")


if __name__ == "__main__":
    write_page(HERE / "tight-results.md", Path(sys.argv[1]))
