"""The TU data sets: where a copy lies, or where to get one.

Local copies are read by starcert itself, without torch. PyTorch Geometric only downloads, into the layout that its own
`TUDataset` uses, and what it downloaded is then a local copy like any other.
"""

from __future__ import annotations

import os
import re
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile

from starcert.datasets.dataset import Dataset, Split
from starcert.datasets.tu_files import read
from starcert.errors import InvalidParameterError, StarcertError

__all__ = ["CATALOGUE", "NowhereError", "local_names", "tu"]

CATALOGUE = "https://chrsmrrs.github.io/datasets"


def tu(name: str, *, root: str | os.PathLike[str] | None = None, edge_labels: bool = False) -> Dataset:
    r"""A data set of the TU collection, such as MUTAG or PROTEINS, with its classes numbered from 0.

    Every graph has, as far as the data set does, the node data `label` (whole numbers), `x` (the labels one-hot, in the
    columns of PyTorch Geometric; where labels lie 1,000 or more apart, a column for each that there is) and
    `attributes` (numbers). Data of edges are left out, but for labels that are asked for.

    It is read from `root` if that is given. Otherwise from the first of these that has it: the folder that the
    environment variable STARCERT_DATA names; for MUTAG the copy inside the GraKeL package; starcert's cache, a folder
    of the user. Otherwise PyTorch Geometric downloads it into that cache.

    Args:
        name: its name in the collection, upper and lower case told apart.
        root: a folder that holds NAME_A.txt and the files beside it, or holds them in NAME/raw or in NAME.
        edge_labels: whether to keep the labels of edges, as the anchored data `edge_labels`: for each node the pairs
            (neighbour, label). Regions of molecules can be made from them; noisy copies come without them.

    Raises:
        StarcertError: if it is nowhere to be had, or if its files contradict each other.

    Example:
        >>> files = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "-1\n1"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for kind, text in files.items():
        ...         _ = Path(folder, f"TINY_{kind}.txt").write_text(text)
        ...     data = tu("TINY", root=folder)
        >>> data, data.label_names, data.graphs[0]
        (Dataset(TINY, 2 graphs, 2 classes), (-1, 1), Graph(2 nodes, 1 edges))
    """
    if not (isinstance(name, str) and re.fullmatch(r"\w[\w.+-]*", name)):
        hint = f"The names are listed at {CATALOGUE}."
        raise InvalidParameterError("name", "be the name of a TU data set, such as 'MUTAG'", name, hint)
    graphs, labels, label_names = read(_folder(name, root), name, edge_labels=edge_labels)
    return Dataset(name, Split(graphs, labels), label_names)


def _folder(name: str, root: str | os.PathLike[str] | None) -> Path:
    """The folder of the raw files, downloaded if need be."""
    if root is not None:
        folder = _find(name, Path(root))
        if folder is None:
            raise StarcertError(
                f"There is no {name}_A.txt in {Path(root)}, nor in {Path(name, 'raw')} or {name} below it. Names are "
                f"case-sensitive. Without root, other places are tried, and then a download."
            )
        return folder
    tried = []
    for place, folder_tried in _places(name):
        folder = None if folder_tried is None else _find(name, folder_tried)
        if folder is not None:
            return folder
        tried.append(place)
    try:
        return _download(name)
    except _CannotDownloadError as error:
        tried.append(f"a download with PyTorch Geometric ({error})")
        raise NowhereError(name, "; ".join(tried)) from error


class NowhereError(StarcertError):
    """A TU data set is nowhere to be had.

    Args:
        name: the name that was given.
        tried: where it was looked for.
    """

    def __init__(self, name: str, tried: str) -> None:
        super().__init__(name, tried)
        self.tried = tried

    def __str__(self) -> str:
        name, tried = self.args
        return (
            f"The TU data set {name} is nowhere to be had. Tried: {tried}. Names are case-sensitive and "
            f"listed at {CATALOGUE}. Without a connection, fetch {name}.zip on another machine, unpack it, and "
            f"give the folder that holds {name}_A.txt: tu({name!r}, root=folder)."
        )


def local_names() -> list[str]:
    """The names of the data sets that need no download, in alphabetical order."""
    places = [folder for _, folder in _places("MUTAG") if folder is not None]
    files = [path for place in places for depth in ("", "*/", "*/raw/") for path in place.glob(f"{depth}*_A.txt")]
    return sorted({path.name.removesuffix("_A.txt") for path in files})


def _places(name: str) -> list[tuple[str, Path | None]]:
    """Where a copy may lie, in words for a message and as a folder, if there is one."""
    given = os.environ.get("STARCERT_DATA")
    places = [(f"STARCERT_DATA ({given or 'not set'})", Path(given) if given else None)]
    if name == "MUTAG":
        # Without importing it: GraKeL takes seconds, and only its folder is wanted.
        grakel = find_spec("grakel")
        inside = Path(grakel.origin).parent if grakel is not None and grakel.origin else None
        places.append(
            ("the copy in GraKeL (pip install 'starcert[kernels]')", inside and inside / "tests" / "data" / "MUTAG")
        )
    return [*places, (f"the cache ({_cache()})", _cache())]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~", ".cache")).expanduser() / "starcert" / "TU"


def _find(name: str, root: Path) -> Path | None:
    """The folder under a root that holds the raw files of a data set."""
    root = Path(os.path.expanduser(root))  # somebody who is not known here stays as written
    folders = (root / name / "raw", root / name, root)
    return next((folder for folder in folders if (folder / f"{name}_A.txt").is_file()), None)


class _CannotDownloadError(Exception):
    """A download did not happen; the message says why."""


def _download(name: str) -> Path:
    """Downloads a data set into the cache; the folder of its raw files."""
    try:
        datasets, aiohttp = import_module("torch_geometric.datasets"), import_module("aiohttp")
    except ModuleNotFoundError as error:
        raise _CannotDownloadError("which is not installed. Try: pip install 'starcert[torch]'") from error
    cache = _cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Into a folder of its own first: an interrupted download must not look like a copy.
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            datasets.TUDataset(fresh, name)
            Path(fresh, name).rename(cache / name)
    except (OSError, BadZipFile, aiohttp.ClientError) as error:
        # Another process may have been faster: its copy is as good.
        if _find(name, cache) is None:
            raise _CannotDownloadError(f"which failed: {type(error).__name__}: {error}") from error
    folder = _find(name, cache)
    if folder is None:
        raise _CannotDownloadError(f"which brought no {name}_A.txt")
    return folder
