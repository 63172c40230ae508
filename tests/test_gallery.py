"""The gallery: the page shows every script unchanged; a script prints what the page shows, and draws its picture."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import pytest

import examples

ROOT = Path(__file__).parent.parent
SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "gallery").glob("*.py"))}
PICTURES = ROOT / "docs" / "pictures"
BLOCKS = examples.blocks_of((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"))
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


def test_the_page_shows_every_script_as_it_is():
    shown = {Path(block.file).stem: block.code for block in BLOCKS if block.file}
    assert shown == {name: f'--8<-- "{name}.py"\n' for name in NAMES}  # mkdocs puts the file in its place
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
    shown = (replace(block_of(name), title=f"{SHARED}.py"), *blocks_about(name))
    page.write_text("".join(map(fenced, shown)), encoding="utf-8")
    assert len(examples.run(page, tmp_path, src=ROOT / "src")) == 3
    drawn, kept = (size_of(folder / f"gallery_{name}.png") for folder in (tmp_path, PICTURES))
    assert drawn == kept


def folder_of(file: str, above: int) -> Path:
    given = Path(os.environ.get("STARCERT_DATA", ROOT.parent / "shared" / "data"))
    found = sorted(given.rglob(file))
    if not found:
        pytest.skip(f"needs {file} in the folder that STARCERT_DATA names")
    return found[0].parents[above]


def block_of(name: str) -> examples.Block:
    (block,) = (block for block in BLOCKS if block.file == f"{name}.py")
    return block


def blocks_about(name: str) -> list[examples.Block]:
    """The script and, right below it, how it is called and what it prints."""
    place = BLOCKS.index(block_of(name))
    script, said = BLOCKS[place : place + 2]
    command, *lines = said.code.splitlines()
    assert command == f"$ python {name}.py"
    assert lines
    return [script, said]


def fenced(block: examples.Block) -> str:
    title = f' title="{block.title}"' if block.title else ""
    code = SCRIPTS[Path(block.file).stem] if block.file else block.code
    return f"```{block.language}{title}\n{code}```\n\n"


def size_of(picture: Path) -> tuple[int, int]:
    image = pytest.importorskip("PIL.Image")
    with image.open(picture) as opened:
        return opened.size
