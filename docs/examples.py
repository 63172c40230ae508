"""The examples of the pages: found in their text, and run in order in a folder, as a reader would.

The tests run every page with it, and `pictures.py` the tutorial. A fenced block is handled by its language:

- `python`: run, all blocks of a page in one session. A comment behind an expression, or right below it, is its value
  (or, for a print, what it prints); … stands for any text;
- `bash`: run; must succeed;
- `console`: lines after `$ ` are run, the lines below are what they print; … stands for any text. With the title
  "numbers may differ", digits are not compared: floating point differs between machines;
- any language with a title that is the name of a file: written to that file, for later blocks to use;
- `text`: nothing to run.

A block whose first line is `# Not run by the tests: REASON` is shown, with its reason, and not run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from warm import Warm

__all__ = ["LANGUAGES", "NOT_RUN", "Block", "blocks_of", "run", "show"]

LANGUAGES = ("python", "bash", "console", "toml", "csv", "text")
NOT_RUN = "# Not run by the tests: "
MAY_DIFFER = "numbers may differ"
SETTINGS = {
    "PYTHONWARNINGS": "ignore",  # importing PyTorch Geometric warns about other packages
    "OMP_NUM_THREADS": "1",  # the graphs are small, and other tests run beside these
    "COLUMNS": "100",
    "NO_COLOR": "1",
}

_FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?(?P<rest>[^\n]*)\n(?P<code>.*?)^ *```$',
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: where its code begins, from 1.
        language: what the fence says.
        title: the name of a file, or a remark; empty if there is none.
        code: its text, without the fence.
    """

    line: int
    language: str
    title: str
    code: str

    @property
    def file(self) -> str:
        """The file that it is written to; empty if there is none."""
        return self.title if re.fullmatch(r"[\w/]+\.\w+", self.title) else ""

    @property
    def not_run(self) -> str:
        """Why it is not run; empty if it is."""
        first = self.code.partition("\n")[0]
        return first.removeprefix(NOT_RUN) if first.startswith(NOT_RUN) else ""

    @property
    def runs(self) -> bool:
        """Whether it is a step of the page: run, or written for later steps."""
        return bool(self.file) or (self.language != "text" and not self.not_run)


def blocks_of(text: str) -> list[Block]:
    r"""The fenced blocks of a page, in their order.

    Example:
        >>> blocks_of("Try:\n\n```python\n1 + 1  # 2\n```\n")
        [Block(line=4, language='python', title='', code='1 + 1  # 2\n')]
    """
    found = []
    for match in _FENCE.finditer(text):
        if match["rest"]:
            raise ValueError(f"what does {match['rest']!r} mean, after ```{match['language']}?")
        line = text.count("\n", 0, match.start("code")) + 1
        code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
        found.append(Block(line, match["language"], match["title"] or "", code))
    return found


def run(page: Path, folder: Path, *, src: Path, imports: tuple[str, ...] = ()) -> list[int]:
    """Runs the examples of a page in a folder, with this interpreter; returns the lines of the blocks that ran.

    The page has a process of its own, forked from one that has loaded starcert and the packages in `imports` already.

    Raises:
        RuntimeError: names the page and the line of the first block that does not do what the page says.
    """
    binaries = folder / ".bin"
    binaries.mkdir()
    for name, words in {"starcert": f'"{sys.executable}" -m starcert', "python": f'"{sys.executable}"'}.items():
        script = binaries / name
        script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    environment = os.environ | SETTINGS | {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(src), str(folder)]),
    }  # fmt: skip
    code = f"import examples; examples.show({str(page)!r})"
    done = _ready(src, imports).run(code, folder=folder, environment=environment)
    if done.returncode:
        raise RuntimeError(f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    lines: list[int] = json.loads(done.stdout.splitlines()[-1])
    return lines


@lru_cache
def _ready(src: Path, imports: tuple[str, ...]) -> Warm:
    """A process for the sessions of pages; it has started the one for their commands, too."""
    places = os.pathsep.join([str(src), str(Path(__file__).parent)])
    loads = [f"import {name}" for name in (*imports, "networkx", "starcert", "examples")]
    return Warm("\n".join([*loads, "examples._loaded()"]), os.environ | SETTINGS | {"PYTHONPATH": places})


def show(page: str) -> None:
    """Runs a page here and now, and prints the first line of every block that was run."""
    print(json.dumps(_session(Path(page))))


def _session(page: Path) -> list[int]:
    """The first line of every block of a page, each of which is run."""
    names: dict[str, object] = {"__name__": "__main__"}
    done = []
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if not block.runs:
            continue
        try:
            _step(block, names, f"{page.name}, line {block.line}")
        except Exception as error:
            error.add_note(f"{page.name}, in the block that begins at line {block.line}")
            raise
        done.append(block.line)
    return done


def _step(block: Block, names: dict[str, object], where: str) -> None:
    if block.file:
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(block.code, encoding="utf-8")
    elif block.language == "python":
        _run_python(block, names, where)
    elif block.language == "bash":
        _shell(block.code)
    elif block.language == "console":
        for command, shown in _commands(block.code):
            _compare(shown, _shell(command), masked=block.title == MAY_DIFFER)
    else:
        raise ValueError(f"cannot run {block.language!r}; give it the title of a file, or call it text")


def _run_python(block: Block, names: dict[str, object], where: str) -> None:
    tree = ast.parse(block.code)
    lines = block.code.splitlines()
    for node in tree.body:
        shown = _comment(lines, node.end_lineno or 1)
        if not isinstance(node, ast.Expr) or not shown:
            exec(compile(ast.Module([node], []), where, "exec"), names)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = eval(compile(ast.Expression(node.value), where, "eval"), names)
        _compare(shown, printed.getvalue() if value is None else repr(value), masked=False)


def _comment(lines: list[str], end: int) -> str:
    """The comment behind a statement that ends in this line, or, if there is none, right below it."""
    behind = re.search(r"(?<=  # ).*$", lines[end - 1])
    if behind is not None:
        return behind.group()
    below = takewhile(lambda line: line.startswith("#"), lines[end:])
    return "\n".join(line.removeprefix("#").strip() for line in below)


def _commands(code: str) -> Iterator[tuple[str, str]]:
    """Each command after `$ `, with the output that the page shows."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command += "\n" + more
        yield command, shown


@lru_cache(1)
def _loaded() -> Warm:
    return Warm("import starcert.cli.run_commands, starcert.runs.certification")


def _shell(code: str) -> str:
    """What a script prints; commands of starcert by themselves run in a process that has loaded it already."""
    lines = code.strip().replace("\\\n", " ").splitlines()
    if all(re.fullmatch(r"starcert [^|&;<>$`*?~'\"\\#{}()!]*", line) for line in lines):
        return "".join(_ended(line, _loaded().command(*line.split()[1:])) for line in lines)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True, check=False)
    return _ended(code.strip(), done)


def _ended(code: str, done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise RuntimeError(f"{code}\nended with status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _compare(shown: str, printed: str, *, masked: bool) -> None:
    """Raises an error unless the page shows what was printed, except for blanks and what an … leaves out."""
    if not shown.strip():
        return
    wanted, found = (" ".join(_plain(text, masked).split()) for text in (shown, printed))
    pattern = ".*".join(re.escape(piece.strip()) for piece in wanted.split("…"))
    if not re.fullmatch(pattern.replace(".*", r"\s*.*\s*"), found):
        raise ValueError(f"the page says\n{shown}\nbut this was printed:\n{printed}")


def _plain(text: str, masked: bool) -> str:
    text = re.sub(r"[─-╿]+", "|", text)  # lines of tables are as long as the text between them
    return re.sub(r"\d+(\.\d+)?%?", "#", text) if masked else text
