"""The tables of a vote store, and the checks before any of it is believed.

A store is an SQLite database with four tables, whose definitions carry their own explanation (`SCHEMA`). It may come
from anywhere, so nothing in it is taken on trust: who wrote it, its format, the exact text of its schema, SQLite's own
`quick_check`, and the types, ranges and digest of every row are checked first. Nothing in it is ever unpickled or run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from starcert.system.errors import StoreError
from starcert.voting.store.records import (
    MAX_TARGETS,
    Fault,
    GraphRecord,
    Look,
    Record,
    Session,
    VoteSettings,
    record_row,
)
from starcert.voting.store.rows import StoredAttack, StoredFlips, StoredVotes, key_of

__all__ = ["FORMAT", "SCHEMA", "Contents", "create_schema", "error_code", "read_errors", "verify"]

APPLICATION_ID = int.from_bytes(b"star", "big")
FORMAT = 6
SCHEMA = {
    "records": """CREATE TABLE records (
  kind TEXT NOT NULL, -- settings, graph, session, look or fault
  number INTEGER NOT NULL, -- 0, 1, 2, ... within a kind
  value TEXT NOT NULL, -- JSON
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (kind, number)
) WITHOUT ROWID""",
    "chunks": """CREATE TABLE chunks (
  graph INTEGER NOT NULL, -- number of the graph's record
  purpose TEXT NOT NULL, -- selection or estimation
  chunk INTEGER NOT NULL, -- 0, 1, 2, ...
  samples INTEGER NOT NULL, -- votes in the chunk, on each target
  counts BLOB NOT NULL, -- votes for each class, target after target, little-endian 64-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, purpose, chunk)
) WITHOUT ROWID""",
    "flips": """CREATE TABLE flips (
  graph INTEGER NOT NULL, -- number of the graph's record
  target INTEGER NOT NULL, -- 0, 1, 2, ... within the graph; 0 where the graph itself is classified
  chunk INTEGER NOT NULL, -- number of the estimation chunk
  samples INTEGER NOT NULL, -- how many of its first votes are recorded
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
) WITHOUT ROWID""",
    "attacks": """CREATE TABLE attacks (
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
) WITHOUT ROWID""",
}

Kind = TypeVar("Kind", VoteSettings, GraphRecord, Session, Look, Fault)


class Contents(NamedTuple):
    """What a store holds, apart from its votes."""

    settings: VoteSettings
    graphs: tuple[GraphRecord, ...] = ()
    sessions: tuple[Session, ...] = ()
    looks: tuple[Look, ...] = ()
    n_chunks: int = 0


def create_schema(db: sqlite3.Connection) -> None:
    """Writes the tables of a new store; inside a transaction, so that all of them are there or nothing."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    for text in SCHEMA.values():
        db.execute(text)


def error_code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turns whatever a bad file can cause while it is read into a StoreError that gives the reason."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, RecursionError, MemoryError) as error:
        if isinstance(error, sqlite3.Error) and error_code(error) == sqlite3.SQLITE_BUSY:
            raise StoreError(f"{path}: is being written just now. Try again in a moment.") from error
        text = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
        # The message may quote the file: on one line, not too long, and nothing that a terminal would obey.
        reason = "".join(letter if letter.isprintable() else "?" for letter in text[:300])
        advice = "Take a good copy of the file, or write into another one: votes can be drawn again."
        if isinstance(error, _OldFormatError):
            advice = "Count the votes again into a new store."
        raise StoreError(f"{path}: cannot be used: {reason}. {advice}") from error


class _OldFormatError(ValueError):
    """A file in a format that is no longer read."""


def verify(db: sqlite3.Connection) -> Contents:
    """What the file holds, once all of it has been checked; to be called inside `read_errors`.

    Raises:
        ValueError: the reason why the file cannot be used; sqlite3.Error where SQLite itself finds it.
    """
    db.execute("BEGIN")  # one snapshot, even while another process writes
    try:
        _verify_frame(db)
        contents = _read_records(db)
        n_chunks = 0
        for row in db.execute("SELECT * FROM chunks"):
            StoredVotes.from_row(row, contents.settings, contents.graphs)
            n_chunks += 1
        for row in db.execute("SELECT * FROM attacks"):
            StoredAttack.from_row(row, contents.settings, contents.graphs)
        _verify_flips(db, contents)
        return contents._replace(n_chunks=n_chunks)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _verify_flips(db: sqlite3.Connection, contents: Contents) -> None:
    """Checks recorded flips, which must be of votes that are there."""
    last: StoredVotes | None = None
    for row in db.execute("SELECT * FROM flips ORDER BY graph, chunk, target"):
        flips = StoredFlips.from_row(row, contents.settings, contents.graphs)
        key = flips.graph, "estimation", flips.chunk
        if last is None or key_of(last) != key:
            query = "SELECT * FROM chunks WHERE graph = ? AND purpose = ? AND chunk = ?"
            found = db.execute(query, key).fetchone()
            last = None if found is None else StoredVotes.from_row(found, contents.settings, contents.graphs)
            votes = [] if last is None else last.counts(contents.settings.n_classes).tolist()
        flips.record(-1 if last is None else last.samples, votes[flips.target] if votes else ())


def _verify_frame(db: sqlite3.Connection) -> None:
    """Checks that the file is a store, with our tables and nothing else."""

    def pragma(name: str) -> object:
        return db.execute(f"PRAGMA {name}").fetchone()[0]

    if not pragma("page_count"):
        raise ValueError("nothing was stored in it yet")
    if pragma("application_id") != APPLICATION_ID:
        raise ValueError("it is an SQLite database, but not one of starcert's")
    version = pragma("user_version")
    if isinstance(version, int) and 0 < version < FORMAT:
        raise _OldFormatError(f"its format is {version}, this starcert reads format {FORMAT} only")
    if version != FORMAT:
        raise ValueError(f"its format is {version}, this starcert reads format {FORMAT}: use the one that wrote it")
    if pragma("journal_mode") != "delete":
        raise ValueError("its journal mode is not the one that starcert uses")
    # Nothing may be there that SQLite would run on its own, a trigger, a view or a check: the text must be ours.
    found = {tuple(row) for row in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")}
    expected = {("table", name, name, text) for name, text in SCHEMA.items()}
    if found != expected:
        names = sorted({str(row[1]) for row in found ^ expected})
        raise ValueError(f"its schema is not starcert's: {', '.join(names)} does not belong there, or is different")
    if (verdict := pragma("quick_check(1)")) != "ok":
        raise ValueError(f"it is damaged: {' '.join(str(verdict).split())}")


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

    def all_of(kind: type[Kind]) -> tuple[Kind, ...]:
        return tuple(record for records in found.values() for record in records if isinstance(record, kind))

    settings, graphs, sessions = all_of(VoteSettings), all_of(GraphRecord), all_of(Session)
    for fault in all_of(Fault):
        raise ValueError(fault.reason)
    if sum(record.n_targets - 1 for record in graphs) > MAX_TARGETS:
        raise ValueError(f"its graphs have more than {MAX_TARGETS:,} targets together")
    if len(settings) != 1 or not sessions:
        raise ValueError("its settings are missing or there twice, or it has no session")
    return Contents(settings[0], graphs, sessions, all_of(Look))
