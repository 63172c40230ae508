"""Builds the wheel and the source archive, looks into them, and tries each in an empty environment.

    python tests/release.py                   # build, look, and try; what `make release-check` runs
    python tests/release.py --only 'wheel'    # of the environments, this one

All of it happens in a temporary folder outside of the repository; the two archives are left in `dist`. An environment
is right if the example and a first project run in it, and if what needs an optional package says so in one line that
names the extra, or runs where all extras are installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("starcert",)
NEEDED = ("starcert/py.typed", "starcert/benchmark/published.toml", "starcert/report/templates/page.html",
          "starcert/report/page.css", "starcert/runs/examples/function/model.py.txt")  # fmt: skip
"""What is no Python and is found at run time; each must be in the wheel, as must every other file of the packages."""

PROJECTS = {"sklearn": ("certify", "kernels"), "molecule": ("certify", "molecules"), "pyg": ("train", "torch")}
"""Projects of `starcert init` that need an extra: the command that is tried, and the extra."""


class Environment(NamedTuple):
    """What is installed into one empty environment."""

    name: str
    archive: str  # how the name of the file ends
    extras: str = ""
    constrained: bool = False  # by constraints.txt


ENVIRONMENTS = (
    Environment("wheel", ".whl"),
    Environment("source archive", ".tar.gz"),
    Environment("wheel with all extras", ".whl", "[all]", constrained=True),
)


class ReleaseError(Exception):
    """Something that must not be released."""


def version() -> str:
    """The version in the source."""
    text = (ROOT / "src" / "starcert" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def wheel_problems(files: list[str], metadata: Message, version: str, source: Path = ROOT / "src") -> list[str]:
    """What is wrong with the files of a wheel and with what it says of itself; nothing, if it may be released."""
    info = f"starcert-{version}.dist-info/"
    own = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {file for file in files if not file.startswith(info)}
    python = set(metadata.get_all("Classifier", []))
    problems = [f"{file} is missing" for file in sorted((own | set(NEEDED)) - inside)]
    problems += [f"{file} does not belong there" for file in sorted(inside - own)]
    problems += ["the licence is missing"] * (f"{info}licenses/LICENSE" not in files)
    said = {"Name": "starcert", "Version": version, "License-Expression": "MIT", "Requires-Python": ">=3.11"}
    said["Description-Content-Type"] = "text/markdown"
    problems += [f"{key} is {metadata[key]}, not {value}" for key, value in said.items() if metadata[key] != value]
    for each in ("Programming Language :: Python :: 3.11", "Operating System :: POSIX :: Linux", "Typing :: Typed"):
        problems += [f"the classifier {each} is missing"] * (each not in python)
    return problems


def run(*words: str | Path, folder: Path, status: int = 0) -> str:
    """What a command prints; it must end with this status."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(list(map(str, words)), cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode != status:
        said = f"{done.stdout[-2000:]}{done.stderr[-3000:]}"
        raise ReleaseError(f"{' '.join(map(str, words))} ended with {done.returncode}, not {status}:\n{said}")
    return done.stdout + done.stderr


def environment(folder: Path, *packages: str | Path, constraints: Path | None = None) -> Path:
    """The folder of commands of a new, empty environment with these packages."""
    run(sys.executable, "-m", "venv", folder, folder=folder.parent)
    limits = () if constraints is None else ("--constraint", constraints)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *limits, *packages, folder=folder.parent)
    return folder / "bin"


def build(folder: Path) -> list[Path]:
    """The two archives, built and checked: the wheel is made from the source archive, so that this is complete."""
    tools = environment(folder / "tools", "build", "twine")
    run(tools / "python", "-m", "build", "--outdir", folder / "dist", ROOT, folder=folder)
    made = sorted((folder / "dist").iterdir())
    run(tools / "python", "-m", "twine", "check", "--strict", *made, folder=folder)
    (wheel,) = (path for path in made if path.suffix == ".whl")
    (source,) = (path for path in made if path.name.endswith(".tar.gz"))
    with zipfile.ZipFile(wheel) as packed:
        files = packed.namelist()
        metadata = Parser().parsestr(packed.read(f"starcert-{version()}.dist-info/METADATA").decode())
    problems = wheel_problems(files, metadata, version())
    with tarfile.open(source) as packed:
        tops = {name.split("/")[1] for name in packed.getnames() if "/" in name}
    known = {"PKG-INFO", *run("git", "ls-tree", "--name-only", "HEAD", folder=ROOT).split()}
    problems += [f"{name} does not belong in the source archive" for name in sorted(tops - known)]
    if problems:
        raise ReleaseError("\n".join(problems))
    for path in made:
        (ROOT / "dist").mkdir(exist_ok=True)
        shutil.copy(path, ROOT / "dist")
        print(f"{path.name}: {path.stat().st_size:,} bytes; contents, metadata and rendering of the readme are right")
    return made


def attempt(what: Environment, made: list[Path], folder: Path) -> None:
    """Installs an archive in an empty environment and runs the example and the first projects there."""
    start = time.perf_counter()
    folder.mkdir()
    (archive,) = (path for path in made if path.name.endswith(what.archive))
    constraints = ROOT / "constraints.txt" if what.constrained else None
    place = environment(folder / "venv", f"{archive}{what.extras}", constraints=constraints)
    installed = time.perf_counter()
    work = folder / "work"
    work.mkdir()
    where = run(place / "python", "-c", "import starcert; print(starcert.__file__)", folder=work)
    if not Path(where.strip()).is_relative_to(folder):
        raise ReleaseError(f"starcert was imported from {where.strip()}")
    starcert = place / "starcert"
    if run(starcert, "--version", folder=work).split() != ["starcert", version()]:
        raise ReleaseError("starcert --version is another one")
    example = shutil.copy(ROOT / "examples" / "first_certificate.py", work)
    if run(place / "python", example, "votes.db", folder=work).count("answers class") != 2:
        raise ReleaseError("the example prints other than two certificates")
    run(starcert, "init", folder=work)
    run(starcert, "certify", "run.toml", folder=work)
    if ": proved." not in run(starcert, "verify", "results/certificates.json", folder=work):
        raise ReleaseError("the certificates of the first project are not proved")
    for project, (command, extra) in PROJECTS.items():
        run(starcert, "init", project, "--example" if project != "molecule" else "--kind", project, folder=work)
        said = run(starcert, command, "run.toml", folder=work / project, status=0 if what.extras else 2)
        if not what.extras and (said.count("Error: ") != 1 or f"pip install 'starcert[{extra}]'" not in said):
            raise ReleaseError(f"without the extra {extra}, {command} of {project} says:\n{said}")
    extras = "run" if what.extras else "each name the extra to install"
    times = f"installed in {installed - start:.0f} s, tried in {time.perf_counter() - installed:.0f} s"
    print(f"{what.name}: the example and `init`, `certify`, `verify` run; {', '.join(PROJECTS)} {extras} ({times})")


def main() -> int:
    """Builds, looks and tries; 1 if anything must not be released."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=[each.name for each in ENVIRONMENTS], help="try this environment alone")
    only = parser.parse_args().only
    print(f"starcert {version()}, Python {sys.version.split()[0]}, {sys.platform}", flush=True)
    with tempfile.TemporaryDirectory(prefix="starcert-release-") as name:
        folder = Path(name).resolve()
        try:
            made = build(folder)
            for number, what in enumerate(each for each in ENVIRONMENTS if only in (None, each.name)):
                attempt(what, made, folder / f"environment{number}")
        except ReleaseError as error:
            print(f"Not to be released: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
