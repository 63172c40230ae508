"""Files of molecules: a SMILES string a line, or a table with a column of them."""

from __future__ import annotations

from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.runs.data import RunData
from starcert.runs.folder import lines_of, number_labels, table_of

__all__ = ["SUFFIXES", "read_smiles"]

SUFFIXES = (".smi", ".smiles", ".csv")


def read_smiles(path: Path) -> RunData:
    """The molecules of a file, as RDKit reads them, hydrogens left out.

    A file `*.smi` has a SMILES string on each line, and after a blank the molecule's name, if it has one. A file
    `*.csv` names its columns: `smiles`, and `name` and `label` where there are such. Elements become one-hot features
    `x`, a column for each element of the file in the order of the alphabet.
    """
    rows = _table(path) if path.suffix == ".csv" else _list(list(lines_of(path, comments=False)))
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


def _list(lines: list[tuple[int, str]]) -> list[tuple[int, dict[str, str]]]:
    rows = []
    for number, line in lines:
        smiles, _, name = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
        if smiles:
            rows.append((number, {"smiles": smiles, "name": name.strip()}))
    return rows


def _table(path: Path) -> list[tuple[int, dict[str, str]]]:
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
