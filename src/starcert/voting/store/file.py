"""The file of a vote store: how it is opened, and the checks before any of it is believed.

A store is an SQLite database with five tables, whose definitions carry their own explanation (`SCHEMAS`). It may come
from anywhere, so nothing in it is taken on trust: who wrote it, its format, the exact text of its schema, SQLite's own
`quick_check`, and the types, ranges and digest of every row are checked first. Nothing in it is ever unpickled or run.

SQLite keeps a rollback journal rather than a write-ahead log: the store is then one file whenever no commit is under
way, it works in a read-only folder and on a network disk that has locks, and at two commits a second a log's speed buys
nothing. Many may read while one writes. The writer holds the lock of a file beside the store (`…-lock`), which the
operating system takes back however the process ends; such a file that is left over means nothing.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from starcert.system.errors import InvalidParameterError, StoreError
from starcert.system.files import lock_file, unlock_file
from starcert.voting.store.evidence import StoredAttack, StoredFlips
from starcert.voting.store.records import (
    MAX_TARGETS,
    Fault,
    GraphRecord,
    Look,
    Record,
    Session,
    StoredChunk,
    VoteSettings,
    record_row,
)
from starcert.voting.store.tallies import StoredTally, joined

__all__ = [
    "FORMAT",
    "TALLIED",
    "Contents",
    "chunk_columns",
    "connect",
    "create_schema",
    "evidence_columns",
    "lock",
    "read_errors",
    "target_file",
    "transaction",
    "upgrade",
    "verify",
]

APPLICATION_ID = int.from_bytes(b"star", "big")
FORMAT = 5
TALLIED = 4  # the first format with tallies
RECORDS = """CREATE TABLE records (
  kind TEXT NOT NULL, -- settings, graph, session, look or fault
  number INTEGER NOT NULL, -- 0, 1, 2, ... within a kind
  value TEXT NOT NULL, -- JSON
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (kind, number)
) WITHOUT ROWID"""
CHUNKS = """CREATE TABLE chunks (
  graph INTEGER NOT NULL, -- number of the graph's record
  target INTEGER NOT NULL, -- 0, 1, 2, ... within the graph; 0 where the graph itself is classified
  purpose TEXT NOT NULL, -- selection or estimation
  chunk INTEGER NOT NULL, -- 0, 1, 2, ...
  samples INTEGER NOT NULL, -- votes in the chunk
  counts BLOB NOT NULL, -- votes for each class, little-endian 64-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, target, purpose, chunk)
) WITHOUT ROWID"""
TALLIES = """CREATE TABLE tallies (
  graph INTEGER NOT NULL, -- number of the record of a graph with several targets
  purpose TEXT NOT NULL, -- selection or estimation
  chunk INTEGER NOT NULL, -- 0, 1, 2, ...
  samples INTEGER NOT NULL, -- votes in the chunk, on each target
  counts BLOB NOT NULL, -- votes for each class, target after target, little-endian 64-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, purpose, chunk)
) WITHOUT ROWID"""
FLIPS = """CREATE TABLE flips (
  graph INTEGER NOT NULL, -- number of the graph's record
  target INTEGER NOT NULL, -- 0, 1, 2, ... within the graph; 0 where the graph itself is classified
  chunk INTEGER NOT NULL, -- number of the estimation chunk
  samples INTEGER NOT NULL, -- its first votes, so many
  label INTEGER NOT NULL, -- a class: what follows is of the votes against it, in the order of the noisy copies
  sites INTEGER NOT NULL, -- how many sites the graph has
  votes INTEGER NOT NULL, -- how many votes are against the class
  form TEXT NOT NULL, -- which sites flipped, as bits or positions, or how many on each axis, as numbers
  entries INTEGER NOT NULL, -- how many positions, axes, or values with bits; 0 for bits
  content BLOB NOT NULL, -- zlib, little-endian: the class of each vote (16 bits each); then for
  -- bits: for each vote a bit for each site, site s being bit s % 8 of byte s / 8
  -- positions: how many sites flipped in each vote, then which, ascending in each vote (32 bits each)
  -- numbers: how many sites each axis has (64 bits each), then for each vote the flips on each axis (32 bits each)
  -- bits, shown; positions, shown: the same, then the value that each flip shows, vote by vote (8 bits each)
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, target, chunk)
) WITHOUT ROWID"""
ATTACKS = """CREATE TABLE attacks (
  graph INTEGER NOT NULL, -- number of the graph's record
  target INTEGER NOT NULL, -- 0, 1, 2, ... within the graph; 0 where the graph itself is classified
  flips TEXT NOT NULL, -- the sites of the graph that are flipped before noise is drawn: ascending positions, JSON
  -- (with more than two values: position + sites * rank of the new value among the others, from 0)
  size INTEGER NOT NULL, -- samples that are drawn for a chunk
  chunk INTEGER NOT NULL, -- 0, 1, 2, ... at the attacked graph
  samples INTEGER NOT NULL, -- votes in the chunk
  counts BLOB NOT NULL, -- votes for each class, little-endian 64-bit integers
  numbers BLOB NOT NULL, -- of each vote against the graph's class: flips on each axis, little-endian 32-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, target, flips, size, chunk)
) WITHOUT ROWID"""
# Format 1 knew no targets, format 2 neither flips nor attacks, format 3 had a row for each target in place of tallies,
# and flips and attacks of graphs that are one target alone, format 4 neither looks nor faults. Such a file is read as
# it is, and gets the format of today when it is continued.
_RECORDS_4 = RECORDS.replace("graph, session, look or fault", "graph or session")
_CHUNKS_1 = re.sub(r"  target .*\n", "", CHUNKS).replace("target, ", "")
_FLIPS_3 = re.sub(r"  (target|-- bits, shown) .*\n|  -- bits, shown.*\n", "", FLIPS).replace("target, ", "")
_FLIPS_3 = _FLIPS_3.replace("positions, axes, or values with bits;", "positions, or how many axes;")
_ATTACKS_3 = re.sub(r"  target .*\n|  -- \(with more .*\n", "", ATTACKS).replace("target, ", "")
SCHEMAS = {
    1: {"records": _RECORDS_4, "chunks": _CHUNKS_1},
    2: {"records": _RECORDS_4, "chunks": CHUNKS},
    3: {"records": _RECORDS_4, "flips": _FLIPS_3, "chunks": CHUNKS, "attacks": _ATTACKS_3},
    4: {"tallies": TALLIES, "records": _RECORDS_4, "flips": FLIPS, "chunks": CHUNKS, "attacks": ATTACKS},
    FORMAT: {"tallies": TALLIES, "records": RECORDS, "flips": FLIPS, "chunks": CHUNKS, "attacks": ATTACKS},
}

LONGEST_VALUE = 2**26  # bytes of one value: no row of a foreign file can ask for more memory
WRITER_PATIENCE = 60.0  # seconds: a reader checks a large file in one go, and a commit waits for it
READER_PATIENCE = 10.0

_PERMISSION = "See that the file and its folder may be read and written and stay in place, then run the same again."
_ADVICE = {
    sqlite3.SQLITE_FULL: "Free some space, then run the same again: it continues.",
    sqlite3.SQLITE_BUSY: "Another process holds the file: let it finish, then run the same again: it continues.",
    sqlite3.SQLITE_READONLY: _PERMISSION,
    sqlite3.SQLITE_CANTOPEN: _PERMISSION,
}


class Contents(NamedTuple):
    """What a store holds, its votes apart."""

    settings: VoteSettings
    graphs: tuple[GraphRecord, ...]
    sessions: tuple[Session, ...]
    n_chunks: int
    format: int = FORMAT
    looks: tuple[Look, ...] = ()


def target_file(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to, links followed, in a folder that exists."""
    try:
        target = Path(path).resolve()
    except (TypeError, ValueError, OSError, RuntimeError):
        raise InvalidParameterError("path", "name a file", path) from None
    if not os.path.isdir(target.parent):
        raise StoreError(f"{target}: the folder {target.parent} does not exist. Make it first, or name another file.")
    if os.path.exists(target) and not os.path.isfile(target):
        raise StoreError(f"{target}: is a folder or a device. Name a file.")
    return target


def lock(path: Path, resources: ExitStack) -> None:
    """Becomes the one writer until `resources` are closed, or the process ends in whatever way."""
    beside = f"{path}-lock"
    try:
        handle = lock_file(beside)
    except OSError as error:
        doing = f"lock the file (by {beside}): {error.strerror or error}"
        raise StoreError(f"{path}: could not {doing}. {_PERMISSION}") from error
    if handle is None:
        raise StoreError(
            f"{path}: another process is writing votes into it. Wait for its end or stop it, or write into another"
            " file; VoteStore.read works meanwhile."
        )
    resources.callback(unlock_file, handle, beside)


def connect(path: Path, resources: ExitStack, *, writing: bool) -> sqlite3.Connection:
    """A connection that runs nothing from the file and waits for others; closed with `resources`."""
    # A reader may write to the file in one way: what a killed writer left half done is rolled back before it is read.
    mode, patience = ("rwc", WRITER_PATIENCE) if writing else ("rw", READER_PATIENCE)
    try:
        db = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", timeout=patience, isolation_level=None, check_same_thread=False, uri=True
        )
    except sqlite3.Error as error:
        raise write_error(path, error, "open the file") from error
    resources.callback(db.close)
    with read_errors(path):
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        for setting in ("trusted_schema = OFF", "cell_size_check = ON"):
            db.execute(f"PRAGMA {setting}")
        # EXTRA: a commit that has returned survives a loss of power too.
        db.execute("PRAGMA synchronous = EXTRA" if writing else "PRAGMA query_only = ON")
    return db


def create_schema(db: sqlite3.Connection) -> None:
    """Writes the frame of a new store; inside a transaction, so that all of it is there or nothing."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    for text in SCHEMAS[FORMAT].values():
        db.execute(text)


def upgrade(db: sqlite3.Connection, contents: Contents) -> None:
    """Gives a file of an older format the tables of this one; inside a transaction, like `create_schema`."""
    version = contents.format
    db.execute("ALTER TABLE records RENAME TO records_4")
    db.execute(RECORDS)
    db.execute("INSERT INTO records SELECT * FROM records_4")
    db.execute("DROP TABLE records_4")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    if version == 4:
        return
    if version == 1:
        db.execute("ALTER TABLE chunks RENAME TO chunks_1")
        db.execute(CHUNKS)
        db.execute(f"INSERT INTO chunks SELECT {chunk_columns(1)} FROM chunks_1")
        db.execute("DROP TABLE chunks_1")
    for name, text in (("flips", FLIPS), ("attacks", ATTACKS)):
        if version == 3:
            db.execute(f"ALTER TABLE {name} RENAME TO {name}_3")
        db.execute(text)
        if version == 3:
            db.execute(f"INSERT INTO {name} SELECT {evidence_columns(name, 3)} FROM {name}_3")
            db.execute(f"DROP TABLE {name}_3")
    db.execute(TALLIES)
    rows = db.execute(f"SELECT {chunk_columns(FORMAT)} FROM chunks ORDER BY graph, purpose, chunk")
    several = [graph.graph for graph in contents.graphs if graph.n_targets > 1]
    chunks = (StoredChunk.from_row(row, contents.settings) for row in rows if row[0] in several)
    tallies = [tally.row for tally in joined(chunks, contents.graphs)]
    db.executemany("INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?)", tallies)
    db.executemany("DELETE FROM chunks WHERE graph = ?", [(graph,) for graph in several])


def chunk_columns(version: int) -> str:
    """The columns of `StoredChunk.row` in a file of this format; votes of format 1 are all on target 0."""
    return f"graph, {'0 AS target' if version == 1 else 'target'}, purpose, chunk, samples, counts, digest"


def evidence_columns(table: str, version: int) -> str:
    """The columns of flips or attacks in a file of this format; those of format 3 are all of target 0."""
    others = {
        "flips": "chunk, samples, label, sites, votes, form, entries, content, digest",
        "attacks": "flips, size, chunk, samples, counts, numbers, digest",
    }[table]
    return f"graph, {'0 AS target' if version == 3 else 'target'}, {others}"


def write_error(path: Path, error: sqlite3.Error, doing: str, kept: str = "") -> StoreError:
    """What to say when SQLite could not do something to the file, and what is kept of it, as a sentence."""
    advice = _ADVICE.get(_code(error), "Look after the disk, then run the same again: it continues.")
    return StoreError(" ".join(part for part in (f"{path}: could not {doing}: {error}.", kept, advice) if part))


@contextmanager
def transaction(db: sqlite3.Connection, path: Path, doing: str, kept: Callable[[], str]) -> Iterator[None]:
    """All of what is written inside, or nothing and a StoreError.

    Args:
        db: the connection.
        path: its file.
        doing: what is written, to be read after "could not".
        kept: says, after a failure, what is kept of what was committed before.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except BaseException as error:
        with suppress(sqlite3.Error):  # SQLite has rolled back already, or will when the file is opened next
            if db.in_transaction:
                db.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise write_error(path, error, doing, kept()) from error
        raise


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turns whatever a bad file can bring about while it is read into a StoreError that gives the reason."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, RecursionError, MemoryError) as error:
        if isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY:
            raise StoreError(f"{path}: is being written just now. Try again in a moment.") from error
        words = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
        # The message may quote the file: on one line, not too long, and nothing that a terminal would obey.
        reason = "".join(letter if letter.isprintable() else "?" for letter in words[:300])
        advice = "Take a good copy of the file, or write into another one: votes can be drawn again."
        raise StoreError(f"{path}: cannot be used: {reason}. {advice}") from error


def verify(db: sqlite3.Connection) -> Contents:
    """What the file holds, once all of it has been checked; to be called inside `read_errors`.

    Raises:
        ValueError: the reason why the file cannot be used; sqlite3.Error where SQLite itself finds it.
    """
    db.execute("BEGIN")  # one snapshot, even while another process writes
    try:
        version = _verify_frame(db)
        contents = _read_records(db)
        n_chunks = 0
        for row in db.execute(f"SELECT {chunk_columns(version)} FROM chunks"):
            chunk = StoredChunk.from_row(row, contents.settings)
            if chunk.graph >= len(contents.graphs):
                raise ValueError(f"there are votes on graph {chunk.graph}, but only {len(contents.graphs)} graphs")
            if chunk.target >= (n_targets := contents.graphs[chunk.graph].n_targets):
                name = f"target {chunk.target} of graph {chunk.graph}"
                raise ValueError(f"there are votes on {name}, which has only {n_targets}")
            if version >= TALLIED and n_targets > 1:
                raise ValueError(f"there are votes on single targets of graph {chunk.graph}, which has {n_targets}")
            n_chunks += 1
        if version >= TALLIED:
            for row in db.execute("SELECT * FROM tallies"):
                StoredTally.from_row(row, contents.settings).check_place(contents.settings, contents.graphs)
                n_chunks += 1
        if version >= 3:
            _verify_evidence(db, contents._replace(format=version))
        return contents._replace(n_chunks=n_chunks, format=version)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _verify_evidence(db: sqlite3.Connection, contents: Contents) -> None:
    """Checks recorded flips, which are of votes that are there, and votes at attacked graphs; all chunks are good."""
    settings, graphs, version = contents.settings, contents.graphs, contents.format
    last: tuple[tuple[int, int], list[StoredChunk]] = (-1, -1), []  # the votes of the chunk that was asked for last
    order = "ORDER BY graph, chunk, target"
    for row in db.execute(f"SELECT {evidence_columns('flips', version)} FROM flips {order}"):
        flips = StoredFlips.from_row(row, settings)
        if last[0] != (flips.graph, flips.chunk):
            last = (flips.graph, flips.chunk), _recorded_votes(db, contents, flips.graph, flips.chunk)
        flips.record(last[1][flips.target] if flips.target < len(last[1]) else None)
        if not _is_there(flips, contents):
            raise ValueError(f"flips are recorded on {_target(flips)}, which is not there or has several targets")
    for row in db.execute(f"SELECT {evidence_columns('attacks', version)} FROM attacks"):
        attack = StoredAttack.from_row(row, settings)
        if not _is_there(attack, contents):
            raise ValueError(f"there is an attack on {_target(attack)}, which is not there or has several targets")
        attack.flip_numbers(len(graphs[attack.graph].sizes))


def _is_there(row: StoredFlips | StoredAttack, contents: Contents) -> bool:
    """Whether there is such a target; format 3 has flips and attacks of graphs that are one target alone."""
    n_targets = contents.graphs[row.graph].n_targets if row.graph < len(contents.graphs) else 0
    return row.target < n_targets and (n_targets == 1 or contents.format >= TALLIED)


def _target(row: StoredFlips | StoredAttack) -> str:
    return f"target {row.target} of graph {row.graph}" if row.target else f"graph {row.graph}"


def _recorded_votes(db: sqlite3.Connection, contents: Contents, graph: int, chunk: int) -> list[StoredChunk]:
    """The votes of an estimation chunk on each target of a graph; none if it is not there."""
    where = "WHERE graph = ? AND purpose = 'estimation' AND chunk = ?"
    if graph >= len(contents.graphs):
        return []
    if contents.graphs[graph].n_targets > 1 and contents.format >= TALLIED:
        tallies = db.execute(f"SELECT * FROM tallies {where}", (graph, chunk)).fetchall()
        return [
            each for row in tallies for each in StoredTally.from_row(row, contents.settings).chunks(contents.settings)
        ]
    rows = db.execute(f"SELECT {chunk_columns(contents.format)} FROM chunks {where} AND target = 0", (graph, chunk))
    return [StoredChunk.from_row(row, contents.settings) for row in rows]


def _verify_frame(db: sqlite3.Connection) -> int:
    """The format of the file, once its frame is known to be ours."""

    def pragma(name: str) -> object:
        return db.execute(f"PRAGMA {name}").fetchone()[0]

    if not pragma("page_count"):
        raise ValueError("nothing was stored in it yet")
    if pragma("application_id") != APPLICATION_ID:
        raise ValueError("it is an SQLite database, but not one of starcert's")
    version = pragma("user_version")
    if not isinstance(version, int) or version not in SCHEMAS:
        raise ValueError(
            f"its format is {version}, this starcert reads format {FORMAT}: use the starcert that wrote it"
        )
    if pragma("journal_mode") != "delete":
        raise ValueError("its journal mode is not the one that starcert uses")
    # Nothing may stand there that SQLite would run on its own, a trigger, a view or a check: the text must be ours.
    found = {tuple(row) for row in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")}
    expected = {("table", name, name, text) for name, text in SCHEMAS[version].items()}
    if found != expected:
        names = sorted({str(row[1]) for row in found ^ expected})
        raise ValueError(f"its schema is not starcert's: {', '.join(names)} does not belong there, or is otherwise")
    if (verdict := pragma("quick_check(1)")) != "ok":
        raise ValueError(f"it is damaged: {' '.join(str(verdict).split())}")
    return version


def _read_records(db: sqlite3.Connection) -> Contents:
    makers: dict[str, type[Record]] = {
        "settings": VoteSettings,
        "graph": GraphRecord,
        "session": Session,
        "look": Look,
        "fault": Fault,
    }
    found: dict[str, list[Record]] = {kind: [] for kind in makers}
    for kind, number, value, digest in db.execute("SELECT kind, number, value, digest FROM records ORDER BY 1, 2"):
        name = f"the record {kind!r} {number!r}"
        if kind not in makers or number != len(found[kind]):
            raise ValueError(f"{name} does not belong there, or one before it is missing")
        try:
            record = makers[kind](**json.loads(value))
            again = record_row(kind, number, record)
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{name} is not what it should be: {error}") from error
        # Written again it must be the same text: no other types, no names twice, nothing left out.
        if again != (kind, number, value, digest) or number != getattr(record, "graph", number):
            raise ValueError(f"{name} does not agree with its digest or its number")
        found[kind].append(record)
    settings = [record for record in found["settings"] if isinstance(record, VoteSettings)]
    graphs = tuple(record for record in found["graph"] if isinstance(record, GraphRecord))
    sessions = tuple(record for record in found["session"] if isinstance(record, Session))
    looks = tuple(record for record in found["look"] if isinstance(record, Look))
    for fault in found["fault"]:
        if isinstance(fault, Fault):
            raise ValueError(fault.reason)
    if any("plan" in session.provenance for session in sessions):  # how format 4 named a plan that looked
        looks = (Look(0, None), *looks)
    if sum(record.n_targets - 1 for record in graphs) > MAX_TARGETS:
        raise ValueError(f"its graphs have more than {MAX_TARGETS:,} targets together")
    if len(settings) != 1 or not sessions:
        raise ValueError("its settings are missing or there twice, or it has no session")
    return Contents(settings[0], graphs, sessions, 0, looks=looks)
