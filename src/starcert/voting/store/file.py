"""The open file of a vote store: its lock, its transactions, the rows that wait for a commit, and its verification.

SQLite keeps a rollback journal rather than a write-ahead log: the store is then one file whenever no commit is under
way, and it works in a read-only folder and on a network disk that has locks. Many may read while one writes. The writer
holds the lock of a file beside the store (`…-lock`), which the operating system releases however the process ends.

Rows are committed together, half a second after the first of them. What could not be written keeps waiting, and the
next call tries again.

A store is the cache of a run, and what is shared are archives. Before it is used, its format, SQLite's own
`quick_check` and the digest of every row are checked (`verify`): damage is found, and leads to one sentence.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from starcert.system.errors import InvalidParameterError, StoreError
from starcert.system.files import lock_file, unlock_file
from starcert.voting.store import rows
from starcert.voting.store.rows import Record, Row, Stored, StoredRecord

APPLICATION_ID = int.from_bytes(b"star", "big")
FORMAT = 13

COMMIT_SECONDS = 0.5

WRITER_PATIENCE = 60.0  # seconds: a reader checks a large file in one go, and a commit waits for it
READER_PATIENCE = 10.0

_PERMISSION = "See that the file and its folder may be read and written and stay in place, then run the same again."
_ADVICE = {
    sqlite3.SQLITE_FULL: "Free some space, then run the same again: it continues.",
    sqlite3.SQLITE_BUSY: "Another process holds the file: let it finish, then run the same again: it continues.",
    sqlite3.SQLITE_READONLY: _PERMISSION,
    sqlite3.SQLITE_CANTOPEN: _PERMISSION,
}


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


class StoreFile:
    """An open store: a connection `db` that waits for others. Threads may share it."""

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path, self._writing, self._process = path, writing, os.getpid()
        self.turn = threading.RLock()  # held by the thread that uses the connection
        self.waiting: dict[tuple[type[Stored], tuple[object, ...]], Stored] = {}  # to be committed, by kind and key
        self._alarm = threading.Timer(0, self._on_alarm)
        with ExitStack() as resources:
            if writing:
                self._lock(resources)
            self.db = self._connect(resources)
            self._resources: ExitStack | None = resources.pop_all()

    def _lock(self, resources: ExitStack) -> None:
        beside = f"{self.path}-lock"
        try:
            held = lock_file(beside)
        except OSError as error:
            doing = f"lock the file (by {beside}): {error.strerror or error}"
            raise StoreError(f"{self.path}: could not {doing}. {_PERMISSION}") from error
        if held is None:
            raise StoreError(
                f"{self.path}: another process is writing votes into it. Wait for its end or stop it, or write into"
                " another file; VoteStore.read works meanwhile."
            )
        resources.callback(unlock_file, held)

    def _connect(self, resources: ExitStack) -> sqlite3.Connection:
        # A reader may write to the file in one way: what a killed writer left half done is rolled back first.
        mode, patience = ("rwc", WRITER_PATIENCE) if self._writing else ("rw", READER_PATIENCE)
        uri = f"{self.path.as_uri()}?mode={mode}"
        try:
            db = sqlite3.connect(uri, timeout=patience, isolation_level=None, check_same_thread=False, uri=True)
        except sqlite3.Error as error:
            raise self._write_error(error, "open the file") from error
        resources.callback(db.close)
        with read_errors(self.path):
            # EXTRA: a commit that has returned survives a loss of power too.
            db.execute("PRAGMA synchronous = EXTRA" if self._writing else "PRAGMA query_only = ON")
        return db

    def require_open(self, *, writing: bool = False) -> None:
        """Raises a StoreError if it is closed, was opened by another process (this is a fork of it), or for reading."""
        problem = "was opened for reading" if writing and not self._writing else ""
        if self._resources is None or self._process != os.getpid():
            problem = "is closed" if self._process == os.getpid() else "was opened by another process"
        if problem:
            raise StoreError(f"{self.path}: this store {problem}. VoteStore.open opens it again, for writing.")

    @contextmanager
    def transaction(self, doing: str) -> Iterator[None]:
        """All of what is written inside, or nothing and a StoreError: "could not", and what was being done."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield
            self.db.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):  # SQLite has rolled back already, or will when the file is opened next
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._write_error(error, doing) from error
            raise

    def _write_error(self, error: sqlite3.Error, doing: str) -> StoreError:
        advice = _ADVICE.get(_error_code(error), "Check the disk, then run the same again: it continues.")
        return StoreError(f"{self.path}: could not {doing}: {error}. {advice}")

    def committed(self, kind: type[Row], *key: object) -> list[Row]:
        """The committed rows of a kind whose key begins so, each checked again: the file may have changed meanwhile."""
        self.require_open()
        columns: Sequence[str] = kind._fields[: len(key)]
        conditions = " AND ".join(["1", *(f"{column} = ?" for column in columns)])
        with self.turn, read_errors(self.path):
            found = self.db.execute(f"SELECT * FROM {rows.TABLES[kind][0]} WHERE {conditions}", key).fetchall()
            return [rows.checked_row(kind, row) for row in found]

    def record(self, record: Record) -> None:
        """Adds a record, and commits it at once."""
        self.require_open(writing=True)
        kind = StoredRecord.of(0, record).kind
        with self.turn:
            self.flush()
            with self.transaction(f"record a {kind}"):
                (number,) = self.db.execute("SELECT COUNT(*) FROM records WHERE kind = ?", (kind,)).fetchone()
                rows.write(self.db, StoredRecord.of(number, record))

    def wait(self, new: Sequence[Stored]) -> None:
        """Lets rows wait for the next commit."""
        if new and not self.waiting:
            self._alarm = threading.Timer(COMMIT_SECONDS, self._on_alarm)
            self._alarm.daemon = True
            with suppress(RuntimeError):  # no thread to be had: each call commits
                self._alarm.start()
        for row in new:
            self.waiting[type(row), rows.key_of(row)] = row
        if not self._alarm.is_alive():  # the commit in the background has failed: this one reports why
            self.flush()

    def _on_alarm(self) -> None:
        with suppress(StoreError):  # the next call tries again, and reports it
            self.flush()

    def flush(self) -> None:
        """Commits what waits."""
        if not self.waiting:
            return
        self.require_open(writing=True)
        with self.turn:
            if not self.waiting:  # another thread was faster
                return
            number = sum(not isinstance(row, rows.StoredBallots) for row in self.waiting.values())
            # A commit that reported a failure may have succeeded: then the same rows are written once more.
            with self.transaction(f"write {number} chunk{'s' * (number != 1)}"):
                for new in self.waiting.values():
                    rows.write(self.db, new, replace=True)
            self.waiting.clear()
            self._alarm.cancel()

    def close(self) -> None:
        """Commits what waits, and closes the file; not in a forked copy of the process that opened it."""
        if self._process != os.getpid() or self._resources is None:
            return
        with self.turn:
            try:
                self.flush()
            finally:
                self.waiting.clear()
                self._alarm.cancel()
                self._resources.close()
                self._resources = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except StoreError as second:
            if error is None:
                raise
            error.add_note(f"Then the store could not be closed in order either: {second}")


def create_schema(db: sqlite3.Connection) -> None:
    """Writes the tables of a new store; inside a transaction, so that all of them are there or nothing."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    for kind in rows.TABLES:
        db.execute(rows.schema_of(kind))


def _error_code(error: sqlite3.Error) -> int:
    """The primary result code of SQLite."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turns whatever a bad file can cause while it is read into a StoreError that gives the reason."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
        if isinstance(error, sqlite3.Error) and _error_code(error) == sqlite3.SQLITE_BUSY:
            raise StoreError(f"{path}: is being written just now. Try again in a moment.") from error
        reason = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
        advice = "Take a good copy of the file, or write into another one: votes can be drawn again."
        raise StoreError(f"{path}: cannot be used: {reason}. {advice}") from error


class Contents(NamedTuple):
    """The contents of a store, apart from its votes."""

    settings: rows.VoteSettings
    graphs: tuple[rows.GraphRecord, ...] = ()
    sessions: tuple[rows.Session, ...] = ()
    looks: tuple[rows.Look, ...] = ()


def verify(db: sqlite3.Connection) -> Contents:
    """The contents of the file, once all of it is checked; a ValueError or sqlite3.Error says why it cannot be used."""

    def pragma(name: str) -> object:
        return db.execute(f"PRAGMA {name}").fetchone()[0]

    db.execute("BEGIN")  # one snapshot, even while another process writes
    try:
        if not pragma("page_count"):
            raise ValueError("nothing was stored in it yet")
        if pragma("application_id") != APPLICATION_ID:
            raise ValueError("it is an SQLite database, but not one of starcert's")
        if (version := pragma("user_version")) != FORMAT:
            raise ValueError(f"its format is {version}, this starcert reads format {FORMAT}: use the one that wrote it")
        if (verdict := pragma("quick_check(1)")) != "ok":
            raise ValueError(f"it is damaged: {' '.join(str(verdict).split())}")
        contents = _read_records(db)
        for kind, (table, _) in rows.TABLES.items():
            for row in db.execute(f"SELECT * FROM {table}"):
                rows.checked_row(kind, row)
        return contents
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _read_records(db: sqlite3.Connection) -> Contents:
    found: dict[str, list[Any]] = {kind: [] for kind in rows.RECORDS}
    for row in db.execute("SELECT * FROM records ORDER BY kind, number"):
        kind, number, value = rows.checked_row(StoredRecord, row)
        if number != len(found[kind]):
            raise ValueError(f"the record {kind!r} {number!r} is not the next one")
        found[kind].append(rows.RECORDS[kind](**json.loads(value)))
    for fault in found["fault"]:
        raise ValueError(fault.reason)
    if len(found["settings"]) != 1:
        raise ValueError("its settings are missing")
    graphs, sessions, looks = (tuple(found[kind]) for kind in ("graph", "session", "look"))
    return Contents(found["settings"][0], graphs, sessions, looks)
