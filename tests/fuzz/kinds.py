"""One generator for each kind of input: a valid example of it, changed, and the entry point that it goes through.

An outcome is right if the input is taken, or refused in one message: a StarcertError of a reader, status 2 of the
command. Everything else is raised.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import runs_worlds

from fuzz.mutation import NUMBERS, PIECES, mutate, mutate_bytes
from starcert.cli import main
from starcert.system.errors import StarcertError


class Kind(NamedTuple):
    """What is fuzzed.

    Attributes:
        prepare: writes what all inputs share into the folder that the process works in, which is the first argument.
        try_one: makes an input from the generator's state and sends it through; true if it was taken.
    """

    prepare: Callable[[Path], None]
    try_one: Callable[[Random, Path], bool]


def taken(read: Callable[..., object], *arguments: object) -> bool:
    """Whether a reader takes something, or refuses it as it should."""
    try:
        read(*arguments)
    except StarcertError as error:
        if not str(error).strip():
            raise AssertionError("an empty message") from error
        return False
    return True


def command(*words: str, allowed: tuple[int, ...] = (0, 2)) -> bool:
    """Whether the command takes its words, or refuses them as it should: one message, no traceback, status 2."""
    said, complaint = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["starcert", *words]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
            main()
    except SystemExit as ended:
        status = ended.code
    finally:
        sys.argv = before
    text = complaint.getvalue()
    assert status in allowed, f"status {status}: {text[-500:]}"
    assert "Traceback" not in text, text[-500:]
    assert "fault in starcert" not in text, text[-500:]
    assert (status == 2) <= bool(text.strip()), "refused without a word"
    assert sum(line.startswith("Error: ") for line in text.splitlines()) <= 1, text[-500:]
    return status == 0


def nothing(_folder: Path) -> None:
    """Some kinds need no preparation."""


# Command lines

COMMANDS = (
    ("radius", "--noise", "motif=0.02,random=0.45", "--max-radius", "motif=3,random=9", "--p-lower", "0.9995"),
    (
        "radius",
        "--noise",
        "bonds=0.04/0.2",
        "--votes",
        "99950,50",
        "--selection",
        "995,5",
        "--alpha",
        "0.01",
        "--json",
    ),
    ("radius", "--noise", "a=0.1,b=0.2,c=0.3", "--p-lower", "0.99"),
    ("radius", "--noise", "motif=0.02,random=0.45", "--radius", "motif=1,random=45"),
    ("radius", "--noise", "bonds=0.04/0.2", "--radius", "2,3", "--json"),
    ("verify", "certificates.json", "--json"),
    ("certify", "run.toml", "--data", "missing", "--noise", "a=0.1", "--seed", "1", "--alpha", "0.01"),
    ("certify", "--model", "model.py:nothing", "--data", "graphs", "--noise", "hub=0.1", "--split", "test"),
    ("certify", "run.toml", "--model", "model.py:missing", "--regions", "communities:resolution=1.5", "--limit", "1"),
    ("sweep", "run.toml", "--grid", "motif=0.02,0.05,random=0.2", "--data", "missing", "--samples", "10"),
    ("reproduce", "nothing", "--quick"),
    ("init", "example/there", "--example", "nothing"),
)


def prepare_commands(folder: Path) -> None:
    """A project, a store and certificates; nothing is downloaded."""
    runs_worlds.project(folder / "project", n=2)
    os.chdir(folder / "project")
    import_module("starcert.datasets.tu_files")._download = _offline
    write_store(Path("votes.db"))
    write_certificates(Path("certificates.json"))


def _offline(_name: str) -> Path:
    raise import_module("starcert.datasets.tu_files")._CannotDownloadError("which is not tried here")


def try_command(rng: Random, _folder: Path) -> bool:
    """Words of an example lost, doubled, exchanged or changed; what would begin a long run is left alone."""
    words = list(rng.choice(COMMANDS))
    fixed = {"certify": 3, "sweep": 5, "reproduce": 2, "init": 2}.get(words[0], 1)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(fixed, len(words)) if len(words) > fixed else len(words)
        kind = rng.randrange(6)
        if kind == 0:
            del words[at : at + 1]
        elif kind == 1:
            words[at:at] = words[at : at + rng.choice((1, 2))]
        elif kind == 2:
            words[at : at + 1] = [rng.choice(NUMBERS + PIECES)]
        elif at < len(words):
            words[at] = mutate(rng, words[at])
    allowed = {"verify": (0, 1, 2)}.get(words[0], (0, 2))
    return command(*(word.replace("\x00", "").encode("utf-8", "replace").decode() for word in words), allowed=allowed)


# Run files

SWEEP = """
[sweep]
samples = 10
limit = 2

[sweep.grid]
hub = [0.02, 0.05]
motif = [0.1]
rest = [{ delete = 0.1, add = 0.2 }]
bridge = [0.4, 0.45]

[expected]
model = "00"
"""


def prepare_run_files(folder: Path) -> None:
    """A project."""
    runs_worlds.project(folder / "project", n=2)


def try_run_file(rng: Random, folder: Path) -> bool:
    """A run file, read and completed."""
    from starcert.runs.run_file import read_run_file  # noqa: PLC0415
    from starcert.runs.settings import run_settings  # noqa: PLC0415

    path = folder / "project" / "fuzzed.toml"
    text = mutate(rng, runs_worlds.RUN + rng.choice(("", SWEEP)))
    path.write_bytes(mutate_bytes(rng, _encoded(text)) if rng.random() < 0.1 else _encoded(text))
    return taken(lambda: run_settings(read_run_file(path).values))


# Archives

KEPT = Path(__file__).parents[1] / "archive" / "kept"
EXTREMES: tuple[Any, ...] = (
    *(0, 1, 2, -1, 3, 57, 255, 10**5, 10**9, 2**31, 2**62, 2**63, 10**400, 10**4000, 0.5, 0.49999999999999994, 1.0),
    *(5e-324, 1e-310, 1e-160, 1e-20, 1e300, True, None, "", "flips:2\u200b", "any 30 flips", "\ud800", "a\0b", [], {}),
    *([0] * 10**4, [1] * 10**5, list(range(300)), "x" * 10**5, "(" * 50_000),
)


@cache
def kept(kind: str) -> tuple[Path, ...]:
    """The kept archives of a kind, by how their names begin."""
    found = sorted(KEPT.rglob("*.json"))
    others = ("exact", "intervals")
    return tuple(
        path
        for path in found
        if path.stem.split("_")[0] == kind or (kind not in others and path.stem.split("_")[0] not in others)
    )


def write_certificates(path: Path) -> None:
    """A file of certificates."""
    path.write_bytes((KEPT / "version_0_2_0" / "counts.json").read_bytes())


def try_archive(kind: str, rng: Random, folder: Path) -> bool:
    """An archive with changed text, values or arrays, whose digests are right again, verified."""
    from starcert import archive  # noqa: PLC0415

    old, path = rng.choice(kept(kind)), folder / "archive.json"
    text = old.read_text(encoding="utf-8")
    if rng.random() < 0.4:
        text = mutate(rng, text)
    else:
        whole = json.loads(text)
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            _replace_value(rng, whole)
        if rng.random() < 0.1:
            _make_extreme(rng, whole)
        for place, side in (("", "evidence"), ("collective", "evidence"), ("drawn", "counts")):
            entry = whole.get(place) if place else whole
            if isinstance(entry, dict) and isinstance(entry.get(side), dict):
                _forge_side(rng, entry[side], old.parent, folder)
        text = json.dumps(whole)
        if rng.random() < 0.05:
            text = text.replace('"settings":', '"settings": ' + "[" * rng.choice((99, 101, 10**5)) + ",", 1)
    path.write_bytes(_encoded(text))
    return taken(archive.verify, path)


def _replace_value(rng: Random, whole: Any) -> None:
    """One value, wherever it is, is another, or one of its own digits is."""
    inside = whole
    while True:
        key = rng.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        value = inside[key]
        if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
            near = type(value) is int and rng.random() < 0.6
            inside[key] = value + rng.choice((-2, -1, 1, 2, 100)) if near else rng.choice(EXTREMES)
            return
        inside = value


def _make_extreme(rng: Random, whole: Any) -> None:
    """All probabilities of the noise are the same extreme one, exactly."""
    p = rng.choice((5e-324, 1e-310, 1e-160, 1e-101, 1e-100, 1e-99, 1e-50, 1 - 2.0**-53, 0.5, 0.0, 1.0))
    laws = whole.get("noise")
    for law in (each for each in laws if isinstance(each, dict)) if isinstance(laws, list) else ():
        exact = law.get("exact", {})
        for name in exact if isinstance(exact, dict) else ():
            law[name], exact[name] = p, str(Fraction(p))


def _forge_side(rng: Random, entry: dict[str, Any], source: Path, folder: Path) -> None:
    """The side file, sometimes with other arrays, headers or bytes."""
    import numpy as np  # noqa: PLC0415

    name = entry.get("file")
    if not isinstance(name, str) or name not in {each.name for each in source.iterdir()}:
        return
    data = (source / name).read_bytes()
    if rng.random() < 0.1:
        data = mutate_bytes(rng, data)
    elif rng.random() < 0.5:
        with np.load(io.BytesIO(data)) as file:
            arrays = dict(file)
        chosen, packed = rng.choice(sorted(arrays)), io.BytesIO()
        array = arrays[chosen]
        if len(array) and rng.random() < 0.6:
            array[rng.randrange(len(array))] = rng.choice((0, 1, 2, 7, np.iinfo(array.dtype).max))
        else:
            array = np.zeros(rng.choice((0, 1, 10**4, 2**21, 2**25)), dtype=array.dtype)
        arrays[chosen], long = array, rng.random() < 0.05
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
            for each, content in arrays.items():
                header = str({"descr": content.dtype.str, "fortran_order": False, "shape": content.shape})
                header = header.ljust(2**24 if long else 127) + "\n"
                begin = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little")
                out.writestr(f"{each}.npy", begin + header.encode() + content.tobytes())
        data = packed.getvalue()
    (folder / name).write_bytes(data)
    entry |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}


# Stores


@cache
def stored() -> bytes:
    """A file of votes as starcert writes it."""
    with tempfile.TemporaryDirectory() as folder:
        write_store(Path(folder, "votes.db"))
        return Path(folder, "votes.db").read_bytes()


def write_store(path: Path) -> None:
    """Votes on two graphs."""
    import numpy as np  # noqa: PLC0415

    from starcert.voting.store import GraphRecord, VoteSettings, VoteStore  # noqa: PLC0415

    settings = VoteSettings({"a": 0.1}, "none", n_classes=2, seed=1, chunk_size=10, backend="cpu")
    records = [GraphRecord(i, f"0{i}", "0", {"a": 6}, name=f"graph {i}", n_targets=1 + i // 2) for i in range(3)]
    with VoteStore.open(path, settings, records) as store:
        for graph in range(2):
            store.add(graph, "selection", 0, np.array([9, 1]), samples=10)
            store.add(graph, "estimation", 0, np.array([10, 0]), samples=10)
        for purpose in ("selection", "estimation"):
            store.add(2, purpose, 0, np.array([[9, 1], [0, 10]]), samples=10)


def try_store(rng: Random, folder: Path) -> bool:
    """A store with changed bytes, or with changed rows."""
    import sqlite3  # noqa: PLC0415

    from starcert.voting.store import VoteStore  # noqa: PLC0415

    path = folder / "votes.db"
    for left in folder.glob("votes.db*"):
        left.unlink()
    path.write_bytes(stored() if rng.random() < 0.5 else mutate_bytes(rng, stored()))
    with contextlib.suppress(sqlite3.Error, UnicodeError), contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        _damage(rng, db)
        db.commit()

    def read() -> None:
        with VoteStore.read(path) as store:
            store.counts("estimation")
            store.n_chunks  # noqa: B018

    return taken(read)


def _damage(rng: Random, db: Any) -> None:
    """Changes a row, and leaves its digest."""
    if rng.random() < 0.6:
        kind, number, value = rng.choice(db.execute("SELECT kind, number, value FROM records").fetchall())
        value = mutate(rng, str(value)).encode("utf-8", "replace").decode()
        db.execute("UPDATE records SET value = ? WHERE kind = ? AND number = ?", (value, kind, number))
    else:
        column = rng.choice(("graph", "purpose", "chunk", "samples", "counts", "digest"))
        new: object = rng.choice((0, -1, 1, 2**31, 2**63 - 1, "selection", "x", None, b"", bytes(16), bytes(1000), 1.5))
        db.execute(f"UPDATE chunks SET {column} = ?", (new,))


# TU data sets

TU = {
    "A": "1, 2\n2, 1\n2,3\n3,2\n5, 4\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "7\n-3\n7\n",
    "node_labels": "4\n2\n2\n5\n4\n2\n",
    "node_attributes": "0.5, 1\n1e-3, 2\n 3, 3\n4, 4\n5, 5\n6, 6\n",
    "edge_labels": "0\n0\n1\n1\n2\n2\n",
}


def prepare_tu(folder: Path) -> None:
    """A small data set."""
    for kind, text in TU.items():
        (folder / f"TINY_{kind}.txt").write_text(text, encoding="utf-8")


def try_tu(rng: Random, folder: Path) -> bool:
    """One file of a data set changed, the others as they were."""

    from starcert.datasets.tu_files import read  # noqa: PLC0415

    kind = rng.choice(list(TU))
    path = folder / f"TINY_{kind}.txt"
    path.write_bytes(_encoded(mutate(rng, TU[kind])))
    try:
        return taken(lambda: read(folder, "TINY", edge_labels=kind == "edge_labels"))
    finally:
        path.write_text(TU[kind], encoding="utf-8")


# GraphML, edge lists, and the labels beside them

GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="part" attr.type="string"/>
<key id="d1" for="node" attr.name="size" attr.type="double"/>
<key id="d2" for="edge" attr.name="weight" attr.type="int"/>
<graph edgedefault="undirected">
<node id="0"><data key="d0">left</data><data key="d1">1.5</data></node>
<node id="1"><data key="d0">left</data><data key="d1">2</data></node>
<node id="n"><data key="d0">right</data><data key="d1">1e3</data></node>
<edge source="0" target="1"><data key="d2">1</data></edge><edge source="1" target="n"/>
</graph></graphml>
"""
EDGES = "# a comment\n0 1\n1,2 1\n2 3 1.0\nlonely\n"
LABELS = "name,label\na,ring\nb,star\n"


def try_graphml(rng: Random, folder: Path) -> bool:
    """A folder with a GraphML file, an edge list and labels, one of them changed."""
    from starcert.datasets.graph_files import read_folder  # noqa: PLC0415

    texts = {"a.graphml": GRAPHML, "b.edges": EDGES, "labels.csv": LABELS}
    name = rng.choice(("a.graphml", "a.graphml", "a.graphml", "b.edges", "labels.csv"))
    texts[name] = mutate(rng, texts[name])
    for each, text in texts.items():
        (folder / each).write_bytes(_encoded(text))
    return taken(read_folder, folder)


# Files of tensors


def _tensor(rng: Random) -> Any:
    import torch  # noqa: PLC0415

    ring = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    return rng.choice(
        (
            *(
                ring,
                ring.float(),
                ring + 0.5,
                ring.to(torch.complex64),
                ring.bool(),
                ring.to_sparse(),
                ring[:1],
                ring.T,
            ),
            *(ring - 1, ring * 10**9, ring * 2**61, ring[:, :0], ring[:, :3], ring[:, [0, 0, 1]], ring.to(torch.int8)),
            *(torch.tensor(1), torch.tensor([2]), torch.tensor([]), torch.tensor(float("nan")), torch.ones(3, 2)),
            *(torch.ones(1).expand(3, 2), torch.ones(1).expand(10**12), torch.ones(2, 2), torch.zeros(3, 0)),
            *(
                torch.ones(3, 2, dtype=torch.bfloat16),
                torch.tensor([10**11]),
                torch.tensor([-1]),
                torch.eye(3).to_sparse(),
            ),
        )
    )


def _value(rng: Random, depth: int = 0) -> Any:
    kind = rng.randrange(6 if depth < 2 else 4)
    if kind <= 1:
        return _tensor(rng)
    if kind == 2:
        return rng.choice((None, True, 0, 1, -1, 3, 10**8, 10**11, 10**30, 1.5, float("nan"), float("inf"), 1j))
    if kind == 3:
        return rng.choice((*PIECES[:30], b"", bytes(8), ()))
    values = [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return values if kind == 4 else dict(zip(("x", "edge_index", 1), values, strict=False))


def try_tensors(rng: Random, folder: Path) -> bool:
    """Graphs as dictionaries, as `Data` or as collated, with changed entries or changed bytes."""
    import torch  # noqa: PLC0415
    from torch_geometric.data import Data  # noqa: PLC0415

    from starcert.datasets.tensor_files import read_tensors  # noqa: PLC0415

    ring = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    graph: dict[str, Any] = {"x": torch.ones(3, 2), "edge_index": ring, "y": torch.tensor([1]), "num_nodes": 3}
    for _ in range(rng.choice((0, 1, 1, 2))):
        graph[rng.choice(("x", "edge_index", "y", "num_nodes", "edge_weight", "pos", "edge_attr", "other"))] = _value(
            rng
        )
    whole: Any = [graph, {**graph, "y": 0}]
    form = rng.randrange(5)
    if form == 0:
        whole = [Data.from_dict(graph)]
    elif form == 1:
        slices = {key: torch.tensor([0, rng.randrange(8), rng.randrange(8)]) for key in graph}
        whole = (graph, slices if rng.random() < 0.7 else _value(rng))
    elif form == 2 and rng.random() < 0.3:
        whole = _value(rng)
    path = folder / "graphs.pt"
    torch.save(whole, path)
    if rng.random() < 0.2:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG's, about files without a number of nodes
        return taken(read_tensors, path)


# Molecules

MOLECULES = "c1ccccc1N aniline\nCC(=O)Oc1ccccc1C(=O)O\taspirin\nCl\n[Na+].[Cl-]\nN#CC1CC1\nC[C@H](N)C(=O)O\n"
TABLE = "id,smiles,label\n1,CCO,toxic\n2,c1ccncc1,\n3,[13CH4],harmless\n"
ATOMS = (
    "[#6]",
    "[#500]",
    "[*]",
    "[Fe+2]",
    "[nH]",
    "%11",
    "->",
    "$",
    "~",
    ":",
    "[2H]",
    "[C-9]",
    "c",
    "C1",
    "=",
    "#",
    "/",
    ".",
)


def try_molecules(rng: Random, folder: Path) -> bool:
    """A list of molecules, or a table of them, changed."""
    from starcert.datasets.graph_files import read_smiles  # noqa: PLC0415

    suffix, text = rng.choice(((".smi", MOLECULES), (".csv", TABLE)))
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(ATOMS) + text[at:]
    path = folder / f"molecules{suffix}"
    path.write_bytes(_encoded(mutate(rng, text) if rng.random() < 0.7 else text))
    return taken(read_smiles, path)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


KINDS = {
    "commands": Kind(prepare_commands, try_command),
    "run_files": Kind(prepare_run_files, try_run_file),
    **{each: Kind(nothing, partial(try_archive, each)) for each in ("certificates", "exact", "intervals")},
    "stores": Kind(nothing, try_store),
    "tu": Kind(prepare_tu, try_tu),
    "graphml": Kind(nothing, try_graphml),
    "tensors": Kind(nothing, try_tensors),
    "molecules": Kind(nothing, try_molecules),
}
