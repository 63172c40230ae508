"""Where the graphs of a run come from: a TU data set, a folder of files, a file of tensors or of molecules."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.runs.data import RunData
from starcert.runs.graph_files import lines_of, number_labels, read_folder, table_of
from starcert.runs.user_code import TuName

__all__ = ["load_graphs", "read_smiles"]

_MOLECULES = (".smi", ".smiles", ".csv")


def load_graphs(source: Path | str) -> RunData:
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
        if source.suffix in _MOLECULES:
            return read_smiles(source)
        from starcert.runs.tensor_files import read_tensors  # noqa: PLC0415  (torch: only for its files)

        return read_tensors(source)
    raw = _raw_files(source)
    if raw is not None:
        return _tu(raw[0], raw[1])
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


def read_smiles(path: Path) -> RunData:
    """The molecules of a file, as RDKit reads them, hydrogens left out.

    A file `*.smi` has a SMILES string on each line, and after a blank the molecule's name, if it has one. A file
    `*.csv` names its columns: `smiles`, and `name` and `label` where there are such. Elements become one-hot features
    `x`, a column for each element of the file in the order of the alphabet.
    """
    rows = _molecule_table(path) if path.suffix == ".csv" else _listed_molecules(list(lines_of(path, comments=False)))
    if not rows:
        raise StarcertError(f"{path}: has no molecules. Write a SMILES string on each line, or a column `smiles`.")
    molecules = []
    for number, row in rows:
        try:
            molecules.append(Graph.from_smiles(row["smiles"]))
        except InvalidParameterError as error:
            raise StarcertError(f"{path}, line {number}: {error}") from error
    elements = sorted({symbol for molecule in molecules for symbol in _symbols(molecule)})
    graphs = tuple(Graph.from_smiles(row["smiles"], elements=elements) for _, row in rows)
    names = tuple(row.get("name") or row["smiles"] for _, row in rows)
    if "label" not in rows[0][1]:
        return RunData(graphs, names)
    labels, class_names, numbered = number_labels([row["label"] for _, row in rows])
    return RunData(graphs, names, labels, class_names, numbered)


def _listed_molecules(lines: list[tuple[int, str]]) -> list[tuple[int, dict[str, str]]]:
    rows = []
    for number, line in lines:
        smiles, _, name = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
        if smiles:
            rows.append((number, {"smiles": smiles, "name": name.strip()}))
    return rows


def _molecule_table(path: Path) -> list[tuple[int, dict[str, str]]]:
    cells = table_of(path)
    columns = [cell.strip().lower() for cell in cells[0][1]] if cells else []
    if "smiles" not in columns:
        raise StarcertError(f"{path}, line 1: must name a column smiles. It has {', '.join(columns) or 'none'}.")
    rows = []
    for number, row in cells[1:]:
        if len(row) not in (0, len(columns)):
            raise StarcertError(f"{path}, line {number}: has {len(row)} cells, the first line {len(columns)}.")
        if row:
            rows.append((number, dict(zip(columns, (cell.strip() for cell in row), strict=True))))
    return rows


def _symbols(molecule: Graph) -> set[str]:
    from starcert.graphs.molecules import load_rdkit  # noqa: PLC0415

    table = load_rdkit("Chem").GetPeriodicTable()
    numbers: list[int] = molecule.node_data["atomic_number"].tolist()  # type: ignore[attr-defined]
    return {table.GetElementSymbol(number) for number in numbers}
