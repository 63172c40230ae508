"""The gallery: the page names every script; a script prints what the page shows, and draws its picture."""

import importlib.util
import os
from pathlib import Path

import pytest

import examples
import plain

ROOT = Path(__file__).parent.parent
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "gallery").glob("*.py"))}
PICTURES = ROOT / "docs" / "pictures"
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
BLOCKS = examples.blocks_of(PAGE)
SHARED = "picture"
NAMES = sorted(SCRIPTS.keys() - {SHARED})

NEEDS = {
    "citations": ("torch_geometric",),
    "groups": ("rdkit",),
    "network": (),
    "program": (),
    "protein": ("sklearn",),
    "rings": ("rdkit",),
}
"""What each script needs besides matplotlib."""

FILES = {"citations": ("cora_ml.npz", 0), "protein": ("PROTEINS_A.txt", 2)}
"""A data file that a script reads, and how many folders above it the folder is that STARCERT_DATA must name."""


def test_the_page_names_every_script_and_the_site_shows_it():
    whole = plain.page(PAGE)
    for name in NAMES:
        assert f"\nThe script: [{name}.py](../examples/gallery/{name}.py)\n" in PAGE
        assert f'\n```python title="{name}.py"\n{SCRIPTS[name]}```\n' in whole
    assert len(NAMES) == 6 == len(NEEDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_short_and_has_its_picture(name):
    assert len(SCRIPTS[name].splitlines()) <= 50
    assert (PICTURES / f"gallery_{name}.png").stat().st_size <= 80_000
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert text.count(f"(pictures/gallery_{name}.png)") == 1


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in FILES else name for name in NAMES]
)
def test_a_script_prints_what_the_page_shows_and_draws_its_picture(name, tmp_path, monkeypatch):
    for package in ("matplotlib", *NEEDS[name]):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    if name in FILES:
        monkeypatch.setenv("STARCERT_DATA", str(folder_of(*FILES[name])))
    page = tmp_path / "page.md"
    scripts = "".join(f'```python title="{each}.py"\n{SCRIPTS[each]}```\n\n' for each in (SHARED, name))
    said = said_by(name)
    title = f' title="{said.title}"' if said.title else ""
    page.write_text(f"{scripts}```{said.language}{title}\n{said.code}```\n", encoding="utf-8")
    assert len(examples.run(page, tmp_path, src=ROOT / "src")) == 3
    drawn, kept = (size_of(folder / f"gallery_{name}.png") for folder in (tmp_path, PICTURES))
    assert drawn == kept


def folder_of(file: str, above: int) -> Path:
    given = Path(os.environ.get("STARCERT_DATA", ROOT.parent / "shared" / "data"))
    found = sorted(given.rglob(file))
    if not found:
        pytest.skip(f"needs {file} in the folder that STARCERT_DATA names")
    return found[0].parents[above]


def said_by(name: str) -> examples.Block:
    """How a script is called and what it prints."""
    (said,) = (block for block in BLOCKS if block.code.startswith(f"$ python {name}.py\n"))
    assert len(said.code.splitlines()) > 1
    return said


def size_of(picture: Path) -> tuple[int, int]:
    image = pytest.importorskip("PIL.Image")
    with image.open(picture) as opened:
        return opened.size
