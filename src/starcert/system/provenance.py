"""How a result was made: the versions of what computes, and apart from them the commit of the work it belongs to.

A run that is repeated gives the same files byte by byte as long as `versions` are the same: they are all that its files
say about where and when it was made. The commit, which changes with every note that is taken beside a run, stands only
where the time stands too: in the sessions of a file of votes, and beside the seconds that a study took.
"""

from __future__ import annotations

import os
import platform
import re
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["commit", "provenance", "versions"]

_COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"
_LONGEST_FILE = 2**24  # bytes: a repository with so many references goes without


def versions() -> dict[str, str]:
    """Versions of what computes."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in (
        "starcert",
        "numpy",
        "scipy",
        "numba",
        "python-flint",
        "networkx",
        "torch",
        "torch-geometric",
        "grakel",
        "scikit-learn",
    ):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def provenance() -> dict[str, str]:
    """Versions of what computes, and the commit of the folder that the run was started in ("" if there is none)."""
    return versions() | {"commit": commit()}


def commit(folder: Path | None = None) -> str:
    """The commit that is checked out in a folder (this one) or above it; "" where none can be found.

    Read from the repository's files: `git` itself would run whatever programs the repository's own settings name
    (`core.fsmonitor`, filters), and the folder may come from anybody. Whether files were changed since the commit is
    not looked at.
    """
    try:
        here = Path.cwd() if folder is None else folder
        repository = next(found for each in (here, *here.parents) if os.path.lexists(found := each / ".git"))
        if not repository.is_dir():  # of a linked worktree or a submodule: a file that says where it is
            repository = repository.parent / _text(repository).removeprefix("gitdir: ")
        head = _text(repository / "HEAD")
        return _checked(head) or _referenced(repository, head.removeprefix("ref: "))
    except (StopIteration, OSError, ValueError):
        return ""


def _referenced(repository: Path, name: str) -> str:
    """The commit of a branch: in a file of its own, or in the list of all of them."""
    if not re.fullmatch(r"refs/[\w./+@-]+", name) or ".." in name:
        return ""
    shared = repository / "commondir"
    places = (repository, repository / _text(shared)) if shared.exists() else (repository,)
    for place in places:
        if (place / name).exists():
            return _checked(_text(place / name))
        if (place / "packed-refs").exists():
            lines = (line.split(" ") for line in _text(place / "packed-refs").splitlines())
            return next((_checked(line[0]) for line in lines if line[1:] == [name]), "")
    return ""


def _checked(text: str) -> str:
    return text if re.fullmatch(_COMMIT, text) else ""


def _text(path: Path) -> str:
    """A small plain file; never one that keeps its reader waiting."""
    with open(path, encoding="utf-8", opener=_at_once) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LONGEST_FILE:
            raise OSError(f"{path}: is no small file")
        return file.read().strip()


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
