"""Where the graphs of a run come from: a TU data set, a folder of files, a file of tensors or of molecules."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.runs.data import RunData
from starcert.runs.reference import TuName
from starcert.runs.smiles import SUFFIXES, read_smiles

__all__ = ["load"]


def load(source: Path | str) -> RunData:
    """The graphs of a TU data set, a folder of GraphML files or edge lists, a PyG file of tensors, or SMILES strings.

    Args:
        source: a file or a folder, or the name of a TU data set.
    """
    if isinstance(source, str):
        return _named(source)
    if source.is_file():
        if source.suffix == ".py":
            hint = "Give --model file.py:function and --data separately."
            raise InvalidParameterError("data", "be graphs, not code", str(source), hint)
        if source.suffix in SUFFIXES:
            return read_smiles(source)
        from starcert.runs.tensors import read_tensors  # noqa: PLC0415  (torch: only for its files)

        return read_tensors(source)
    raw = _raw_files(source)
    if raw is not None:
        return _tu(raw[0], raw[1])
    from starcert.runs.folder import read_folder  # noqa: PLC0415  (networkx: only for its files)

    return read_folder(source)


def _raw_files(folder: Path) -> tuple[str, Path] | None:
    """The name of the TU data set in a folder, and the folder of its raw files."""
    for place in (folder, folder / "raw", folder / folder.name / "raw", folder / folder.name):
        names = sorted(path.name.removesuffix("_A.txt") for path in place.glob("*_A.txt"))
        if len(names) > 1:
            hint = "Give the folder of one of them."
            raise InvalidParameterError("data", "be the folder of one data set", f"{place} with {names}", hint)
        if names and re.fullmatch(r"\w[\w.+-]*", names[0]):
            return names[0], place
    return None


def _named(name: str) -> RunData:
    """The TU data set of a name, or a message for who meant a folder."""
    from starcert.datasets.tu import CATALOGUE, NowhereError, local_names  # noqa: PLC0415

    try:
        return _tu(name, None)
    except NowhereError as error:
        path = name.path if isinstance(name, TuName) else Path(name).absolute()
        near = {each.lower(): each for each in local_names()} | {
            each.name.lower(): str(each) for each in (path.parent.iterdir() if os.path.isdir(path.parent) else ())
        }
        close = get_close_matches(name.lower(), near, n=1)
        meant = f" Did you mean {near[close[0]]}?" if close else ""
        raise StarcertError(
            f"There is no file or folder {path}, and {name} is no TU data set that could be had.{meant} Tried: "
            f"{error.tried}. TU data sets are listed at {CATALOGUE}, upper and lower case told apart. Without a "
            f"connection, fetch {name}.zip on another machine, unpack it, and give its folder: --data {name}."
        ) from error


def _tu(name: str, root: Path | None) -> RunData:
    from starcert.datasets import tu  # noqa: PLC0415

    found = tu(name, root=root)
    digits = len(str(len(found)))
    names = tuple(f"{name} {number:0{digits}d}" for number in range(1, len(found) + 1))
    return RunData(found.graphs, names, tuple(found.labels.tolist()), tuple(map(str, found.label_names)))
