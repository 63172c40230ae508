"""Writes the pages as plain Markdown: `python docs/plain.py FOLDER`, the first step of `make docs`.

Three things in the pages come from elsewhere: commands (`reference.py`), names of Python (`api.py`) and the scripts of
the gallery. They are filled in here, so what builds the site needs no hook for them. Without a folder only the lists of
names in docs/api-*.md are written again.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import api
import reference

__all__ = ["page", "write"]

HERE = Path(__file__).parent
GALLERY = HERE.parent / "examples" / "gallery"
SCRIPT = re.compile(r"^The script: \[([\w.]+)\]\(.+\)$", re.MULTILINE)
BESIDE = ("pictures", "schemas", "style.css", "iframe-worker.js")
"""What the pages show and link to."""


def page(text: str) -> str:
    """A page with everything filled in."""
    filled = SCRIPT.sub(_script, text)
    return reference.expanded(api.expanded(filled))


def _script(found: re.Match[str]) -> str:
    code = (GALLERY / found[1]).read_text(encoding="utf-8")
    return f'```python title="{found[1]}"\n{code}```'


def write(folder: Path) -> None:
    """All pages, with their pictures, in a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in sorted(HERE.glob("*.md")):
        (folder / source.name).write_text(page(source.read_text(encoding="utf-8")), encoding="utf-8")
    for name in BESIDE:
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copyfile
        copy(HERE / name, folder / name)


if __name__ == "__main__":
    for source in sorted(HERE.glob("api-*.md")):
        source.write_text(api.with_lists(source.read_text(encoding="utf-8")), encoding="utf-8")
    if sys.argv[1:]:
        write(Path(sys.argv[1]))
