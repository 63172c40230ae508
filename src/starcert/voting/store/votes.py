"""Votes on disk: durable, resumable, self-describing.

A run votes on graphs 0..G−1 (or on targets 0, 1, 2, … of each), for two purposes, in chunks 0, 1, 2, …; one row holds
one chunk of a graph, with the votes on all its targets. Votes are a function of the settings, so a chunk that was lost
can be drawn again, but a stored one is never counted twice or in part: rows are written in transactions, and a kill at
any moment loses at most what came in the last half second.

Beside the votes of a chunk there may be a record of the flips in those against a class (`FlipRecord`), and beside the
graphs of a run votes at attacked graphs: those that come from them by flipping some sites.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from starcert.math.flips import FlipRecord
from starcert.system.errors import InvalidParameterError, StoreError, StoreSettingsError
from starcert.system.processes import in_words
from starcert.system.stages import staged
from starcert.voting.store.evidence import StoredAttack, StoredFlips, attacked
from starcert.voting.store.file import (
    FORMAT,
    TALLIED,
    Contents,
    chunk_columns,
    connect,
    create_schema,
    evidence_columns,
    lock,
    read_errors,
    target_file,
    transaction,
    upgrade,
    verify,
)
from starcert.voting.store.looks import check_look, is_fixed
from starcert.voting.store.records import (
    MAX_COUNT,
    PURPOSES,
    Fault,
    GraphRecord,
    Look,
    Record,
    Session,
    StoredChunk,
    VoteSettings,
    differences,
    record_row,
    whole,
)
from starcert.voting.store.tallies import StoredTally, joined

__all__ = ["GraphRecord", "Session", "StoreSummary", "VoteSettings", "VoteStore"]

Counts = npt.NDArray[np.int64]
Stored: TypeAlias = StoredChunk | StoredTally | StoredFlips | StoredAttack
Row = TypeVar("Row", StoredChunk, StoredTally, StoredFlips, StoredAttack)

KEPT_PLACES = 64
"""Of so many graphs, by purpose and target, a writer knows which chunks are stored."""

TABLES: dict[object, tuple[str, ...]] = {
    StoredChunk: ("chunks", "graph", "target", "purpose", "chunk"),
    StoredTally: ("tallies", "graph", "purpose", "chunk"),
    StoredFlips: ("flips", "graph", "target", "chunk"),
    StoredAttack: ("attacks", "graph", "target", "flips", "size", "chunk"),
}
"""Where each kind of row is, and the columns of its key."""

SINCE = {StoredFlips: 3, StoredAttack: 3, StoredTally: TALLIED}
"""The first format that has a kind of row, where it is not the first of all."""

COMMIT_SECONDS = 0.5
COMMIT_ROWS = 4096
COMMIT_BYTES = 2**26

MOST_BYTES = 2**31
"""Counts of all graphs and classes together may take so much: a foreign file can name as many as it likes."""


@dataclass(frozen=True)
class StoreSummary:
    """What a store holds, in a few numbers.

    Attributes:
        chunks: how many chunks there are, by purpose.
        samples: how many votes there are, by purpose.
        samples_by_graph: votes of each graph, by purpose.
        file_bytes: the size of the file.
        integrity: "good", or the reason why not; the numbers then stop where the damage was met.
    """

    chunks: Mapping[str, int]
    samples: Mapping[str, int]
    samples_by_graph: Mapping[str, tuple[int, ...]]
    file_bytes: int
    integrity: str


class VoteStore:
    """The votes of one run in one file; made by `open` for writing and by `read` for reading. Threads may share it.

    Attributes:
        path: the file.
        settings: what the votes are a function of.
        graphs: the graphs this session works on; all that are stored, after `read`.
        sessions: every opening for writing, with its time and provenance.
        looks: the certificates that were computed from the votes, and the plans that saw them.

    Example:
        >>> import tempfile
        >>> settings = VoteSettings({"motif": 0.02}, "gcn", n_classes=2, seed=1, chunk_size=100, backend="cpu")
        >>> graphs = [GraphRecord(0, key="g0", sites="d41d", sizes={"motif": 10})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with VoteStore.open(f"{folder}/votes.db", settings, graphs, provenance={"starcert": "1.0"}) as store:
        ...         store.add(0, "estimation", 0, [97, 3], samples=100)
        ...     with VoteStore.read(f"{folder}/votes.db") as store:
        ...         store.done(0, "estimation"), store.counts("estimation")
        ({0: 100}, array([[97,  3]]))
    """

    def __init__(self, path: Path, resources: ExitStack, *, writing: bool) -> None:
        self.path = path
        self.settings: VoteSettings
        self.graphs: tuple[GraphRecord, ...] = ()
        self.sessions: tuple[Session, ...] = ()
        self.looks: tuple[Look, ...] = ()
        self._writing = writing
        self._open = True
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._db = connect(path, resources, writing=writing)
        self._resources = resources
        self._file = path.stat()
        self._n_committed = 0
        self._tried = False  # whether what waits was to be committed before
        self._waiting: dict[tuple[type[Stored], tuple[object, ...]], Stored] = {}
        self._waiting_since, self._waiting_bytes = 0.0, 0
        self._alarm: threading.Timer | None = None
        self._numbers: OrderedDict[tuple[object, ...], set[object]] = OrderedDict()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        settings: VoteSettings,
        graphs: Sequence[GraphRecord],
        *,
        provenance: Mapping[str, str],
    ) -> VoteStore:
        """Creates a store, or continues one that has the same settings and graphs.

        The graphs may be more than those stored, or fewer, if one list begins with the other.

        Args:
            path: the file; an empty one counts as new.
            settings: what the votes are a function of.
            graphs: the graphs of the run, numbered from 0.
            provenance: versions, commit, and what else shall be remembered; it may differ from session to session.

        Raises:
            StoreSettingsError: the file belongs to another run.
            StoreError: the file is not a good store, cannot be written, or has a writer already.
        """
        graphs = tuple(graphs)
        for number, record in enumerate(graphs):
            if record.graph != number:
                raise InvalidParameterError(f"graphs[{number}].graph", f"be {number}, its place", record.graph)
        session = Session(datetime.now(UTC).isoformat(timespec="seconds"), provenance)
        target = target_file(path)
        with ExitStack() as resources:
            lock(target, resources)
            store = cls(target, resources, writing=True)
            with read_errors(target):
                new = not store._db.execute("PRAGMA page_count").fetchone()[0]
                if new and target.stat().st_size:  # SQLite takes a file of one byte for an empty one
                    raise ValueError("file is not a database")
                contents = Contents(settings, (), (), 0) if new else verify(store._db)
            if found := differences((contents.settings, *contents.graphs), (settings, *graphs)):
                raise StoreSettingsError(str(target), found)
            store._adopt(contents, graphs)
            records = [record_row("session", len(contents.sessions), session)]
            records += [record_row("graph", record.graph, record) for record in graphs[len(contents.graphs) :]]
            with transaction(store._db, target, "create the file" if new else "continue", store._kept):
                if contents.format != FORMAT:
                    upgrade(store._db, contents)
                if new:
                    create_schema(store._db)
                    records.append(record_row("settings", 0, settings))
                store._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", records)
            store.sessions = (*contents.sessions, session)
            store._resources = resources.pop_all()
        return store

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> VoteStore:
        """Opens a store for reading, once all of it has been checked; a writer may be at work meanwhile.

        Raises:
            StoreError: there is no such file, or it is not a good store.
        """
        target = target_file(path)
        if not target.exists():
            raise StoreError(f"{target}: there is no such file. SmoothedClassifier.vote(…, store=FILE) makes one.")
        with ExitStack() as resources:
            store = cls(target, resources, writing=False)
            with read_errors(target):
                contents = verify(store._db)
            store._adopt(contents, contents.graphs)
            store._resources = resources.pop_all()
        return store

    @property
    def provenance(self) -> Mapping[str, str]:
        """The provenance of the first session; `sessions` has them all."""
        return self.sessions[0].provenance

    @property
    def rows(self) -> list[tuple[int, int]]:
        """The numbers of graph and target of each row of `counts`."""
        return [(record.graph, target) for record in self.graphs for target in range(record.n_targets)]

    def is_fixed(self, estimation: int) -> bool:
        """Whether nobody looked at the votes before their number was to be this one; see `Votes.stopped`."""
        return is_fixed(estimation, self.looks)

    def check_look(self, **look: Any) -> None:  # noqa: ANN401  (the attributes of a `Look`)
        """Refuses a certificate that would not hold with its alpha after the looks before it."""
        check_look(Look(**look), self.looks)

    def note_look(self, **attributes: Any) -> None:  # noqa: ANN401  (those of a `Look`)
        """Records a look, unless the same one is recorded; it is committed at once."""
        look = Look(**attributes)
        if look not in self.looks:
            self._record("look", look)
            self.looks = (*self.looks, look)

    def condemn(self, reason: str) -> None:
        """Records why the votes must not be used, so that nobody can open the store again."""
        self._record("fault", Fault(reason))

    def _record(self, kind: str, record: Record) -> None:
        self._require_writer()
        with self._turn:
            self.flush()
            with transaction(self._db, self.path, f"record a {kind}", self._kept):
                (number,) = self._db.execute("SELECT COUNT(*) FROM records WHERE kind = ?", (kind,)).fetchone()
                self._db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", record_row(kind, number, record))

    def done(self, graph: int, purpose: str, target: int = 0) -> dict[int, int]:
        """The chunks that need not be drawn again, with their samples; those not yet committed are among them."""
        self._place(graph, purpose, target)
        return {number: samples for number, samples, _ in self.tallies(graph, purpose)}

    def chunks(self, graph: int, purpose: str, target: int = 0) -> list[tuple[int, int, Counts]]:
        """The chunks of a target in order: number, samples, votes for each class."""
        self._place(graph, purpose, target)
        return [(number, samples, counts[target]) for number, samples, counts in self.tallies(graph, purpose)]

    def tallies(self, graph: int, purpose: str) -> list[tuple[int, int, Counts]]:
        """The chunks of a graph in order: number, samples, votes on each target for each class."""
        graph, _, purpose = self._place(graph, purpose, 0)
        if self.graphs[graph].n_targets > 1:
            found = self._found(StoredTally, graph, purpose)
            return [(tally.chunk, tally.samples, tally.counts(self.settings)) for tally in found]
        chunks = self._found(StoredChunk, graph, 0, purpose)
        return [(chunk.chunk, chunk.samples, np.array([chunk.counts], dtype=np.int64)) for chunk in chunks]

    def counts(self, purpose: str, *, limit: Mapping[int, int] | None = None) -> Counts:
        """The votes for each class, summed over chunks, shape (graphs, classes); one row for each target of a graph.

        Args:
            purpose: "selection" or "estimation".
            limit: how many chunks of a graph to count, the first ones; a graph that is not named is counted whole.
        """
        purpose = _purpose(purpose)
        self.flush()
        firsts = np.cumsum([0, *(record.n_targets for record in self.graphs)])
        needed = 8 * int(firsts[-1]) * self.settings.n_classes
        if needed > MOST_BYTES:
            raise StoreError(
                f"{self.path}: the votes on {len(self.graphs):,} graphs for {self.settings.n_classes:,} classes would "
                f"take {in_words(needed)}. Read it graph by graph: VoteStore.chunks."
            )
        totals = np.zeros((int(firsts[-1]), self.settings.n_classes), dtype=np.int64)
        first = {graph: whole(chunks, f"limit[{graph}]", MAX_COUNT) for graph, chunks in (limit or {}).items()}
        for chunk in self._select(StoredChunk, "purpose = ?", purpose):
            if chunk.chunk < first.get(chunk.graph, MAX_COUNT) and self.graphs[chunk.graph].n_targets == 1:
                totals[firsts[chunk.graph]] += chunk.counts
        for tally in self._select(StoredTally, "purpose = ?", purpose):
            if tally.chunk < first.get(tally.graph, MAX_COUNT):
                totals[firsts[tally.graph] : firsts[tally.graph + 1]] += tally.counts(self.settings)
        return totals

    def flips(self, graph: int, target: int = 0) -> dict[int, FlipRecord]:
        """The recorded flips of a target, by the number of their estimation chunk; those not yet committed among them.

        Of a chunk those against one class are there, the one last asked for (`FlipRecord.label`).
        """
        graph, target, _ = self._place(graph, "estimation", target)
        with self._turn:
            found = self._found(StoredFlips, graph, target)
            votes = self.chunks(graph, "estimation", target) if found else []
            chunks = {
                number: StoredChunk(graph, target, "estimation", number, samples, tuple(counts.tolist()))
                for number, samples, counts in votes
            }
            with read_errors(self.path):
                return {flips.chunk: flips.record(chunks.get(flips.chunk)) for flips in found}

    def attacks(self, graph: int, target: int = 0) -> list[tuple[int, ...]]:
        """The attacks on a graph that votes on a target are there of: the positions that each of them flips."""
        graph, target, _ = self._place(graph, "estimation", target)
        return sorted({attack.flips for attack in self._found(StoredAttack, graph, target)})

    def attack_chunks(
        self, graph: int, positions: Iterable[int], *, target: int = 0, chunk_size: int | None = None
    ) -> list[tuple[int, int, Counts, Counts]]:
        """The chunks at an attacked graph in order: number, samples, votes for each class, flips of those against.

        Args:
            graph: the number of the clean graph.
            positions: the positions of the sites that the attack flips, in any order.
            target: the number of the target.
            chunk_size: samples that are drawn for a chunk; by default as the settings say.
        """
        size = self.settings.chunk_size if chunk_size is None else chunk_size
        place = *self._place(graph, "estimation", target)[:2], json.dumps(attacked(positions)), size
        n_axes = len(self.graphs[place[0]].sizes)
        return [
            (chunk.chunk, chunk.samples, np.array(chunk.counts, dtype=np.int64), chunk.flip_numbers(n_axes))
            for chunk in self._found(StoredAttack, *place)
        ]

    def summary(self) -> StoreSummary:
        """Numbers about the store, after checking all of it once more."""
        self._require_open()
        self.flush()
        chunks = dict.fromkeys(PURPOSES, 0)
        by_graph = {purpose: [0] * len(self.graphs) for purpose in PURPOSES}
        integrity, file_bytes = "good", 0
        try:
            with self._turn, read_errors(self.path):
                file_bytes = self.path.stat().st_size
                verify(self._db)
            alone = (each for each in self._select(StoredChunk, "1") if self.graphs[each.graph].n_targets == 1)
            each: StoredChunk | StoredTally
            for each in chain[StoredChunk | StoredTally](alone, self._select(StoredTally, "1")):
                chunks[each.purpose] += 1
                by_graph[each.purpose][each.graph] += each.samples * self.graphs[each.graph].n_targets
        except OSError as error:  # a StoreError is one
            integrity = str(error)
        samples = {purpose: sum(each) for purpose, each in by_graph.items()}
        each_graph = {purpose: tuple(each) for purpose, each in by_graph.items()}
        return StoreSummary(chunks, samples, each_graph, file_bytes, integrity)

    @staged("storing")
    def add(
        self,
        graph: int,
        purpose: str,
        chunk: int,
        counts: npt.ArrayLike,
        *,
        samples: int,
        record: FlipRecord | None = None,
        records: Sequence[FlipRecord | None] = (),
    ) -> None:
        """Takes in one chunk of a graph; it is committed within half a second.

        Adding a chunk again changes nothing if its votes are the same. A chunk with fewer samples is the beginning of
        the same chunk with more: the longer one is kept.

        Args:
            graph: the number of the graph.
            purpose: "selection" or "estimation".
            chunk: the number of the chunk.
            counts: votes for each class; of a graph with several targets, shape (targets, classes).
            samples: how many they are, on each target.
            record: the flips of those against a class; in the place of any that are stored of another class.
            records: the same for each target of a graph that has several.

        Raises:
            StoreError: the chunk is stored with other votes; or chunks that came before cannot be written, in which
                case they are kept and tried again by the next `add`, `flush` or `close`.
        """
        self._require_writer()
        place = self._place(graph, purpose, 0)
        n_targets = self.graphs[place[0]].n_targets
        given = records or (record,) + (None,) * (n_targets - 1)
        if len(given) != n_targets or (n_targets > 1 and record is not None):
            must = f"be of estimation votes on one target, and one of each target where there are {n_targets}"
            raise InvalidParameterError("records" if records else "record", must, purpose)
        if n_targets > 1:
            tally = StoredTally.from_caller(self.settings, self.graphs[place[0]], place[2], chunk, counts, samples)
            pairs = zip(tally.chunks(self.settings), given, strict=True) if any(given) else ()
            self._take(tally, [StoredFlips.from_caller(votes, each) for votes, each in pairs if each is not None])
            return
        new = StoredChunk.from_caller(self.settings, place, chunk, counts, samples)
        self._take(new, [StoredFlips.from_caller(new, each) for each in given if each is not None])

    @staged("storing")
    def add_attack(
        self,
        graph: int,
        positions: Iterable[int],
        number: int,
        counts: npt.ArrayLike,
        samples: int,
        numbers: npt.ArrayLike = (),
        *,
        target: int = 0,
        chunk_size: int | None = None,
    ) -> None:
        """Takes in one chunk of votes at an attacked graph, as `add` does.

        Args:
            graph: the number of the clean graph.
            positions: the positions of the sites that the attack flips, in any order.
            number: the number of the chunk at that attacked graph.
            counts: votes for each class.
            samples: how many they are.
            numbers: of each vote against the graph's class how many sites of each axis flipped, shape (votes, axes).
            target: the number of the target.
            chunk_size: samples that are drawn for a chunk; by default as the settings say.
        """
        self._require_writer()
        graph, target, _ = self._place(graph, "estimation", target)
        size = self.settings.chunk_size if chunk_size is None else chunk_size
        place = graph, target, positions, size
        self._take(StoredAttack.from_caller(self.settings, place, number, counts, samples, numbers))

    def _take(self, votes: StoredChunk | StoredTally | StoredAttack, flips: Sequence[StoredFlips] = ()) -> None:
        """Has votes, and flips of theirs, wait for the next commit, unless what is there serves as well."""
        with self._turn:
            old = self._old(votes)
            if old is None or not self._serves(old, votes):
                self._wait(votes)
                self._waiting_bytes += len(votes.blob) if isinstance(votes, StoredTally) else 0
            for each in flips:
                recorded = None if old is None else self._old(each)  # no flips are there without their votes
                if recorded is None or not self._serves(recorded, each):
                    self._wait(each)
                    self._waiting_bytes += len(each.content)
            many = len(self._waiting) >= COMMIT_ROWS or self._waiting_bytes >= COMMIT_BYTES
            if self._waiting and (many or time.monotonic() - self._waiting_since >= COMMIT_SECONDS):
                self.flush()

    def _wait(self, new: Stored) -> None:
        if not self._waiting:
            self._waiting_since, self._waiting_bytes = time.monotonic(), 0
            self._set_alarm()
        self._waiting[type(new), new.key] = new

    @staged("storing")
    def flush(self) -> None:
        """Commits what was added."""
        if not self._waiting:
            return
        self._require_writer()
        with self._turn:
            if not self._waiting:  # another thread was faster
                return
            number = sum(not isinstance(row, StoredFlips) for row in self._waiting.values())
            doing = f"write {number} chunk{'s' * (number != 1)}"
            # A commit that reported a failure may have succeeded: look what is there. Flips are written anyway.
            tried, self._tried = self._tried, True
            with transaction(self._db, self.path, doing, self._kept):
                for new in self._waiting.values():
                    if not tried or isinstance(new, StoredFlips) or not self._is_stored(new):
                        row = new.row
                        values = ", ".join("?" * len(row))
                        self._db.execute(f"INSERT OR REPLACE INTO {TABLES[type(new)][0]} VALUES ({values})", row)
            self._tried = False
            self._n_committed += number
            for new in self._waiting.values():
                if isinstance(new, StoredChunk) and new.key[:3] in self._numbers:
                    self._numbers[new.key[:3]].add(new.chunk)
            self._waiting.clear()
            self._stop_alarm()

    @staged("storing")
    def close(self) -> None:
        """Commits what was added, and lets go of the file."""
        if self._process != os.getpid():
            return  # a forked copy: the file and what waits belong to the process that opened it
        with self._turn:
            try:
                self.flush()
            finally:
                self._open = False
                self._waiting.clear()
                self._stop_alarm()
                self._resources.close()

    def __enter__(self) -> VoteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError as second:
            if error is None:
                raise
            error.add_note(f"Then the store could not be closed in order either: {second}")
        else:
            if error is not None and self._writing and self._n_committed and not self._in_place():
                error.add_note(f"{self.path}: {self._kept()}")

    def __repr__(self) -> str:
        return f"VoteStore({str(self.path)!r}, {len(self.graphs)} graphs, {self._n_committed} chunks committed)"

    def _in_place(self) -> bool:
        """Whether the file that was opened is still the one that has its name."""
        try:
            return os.path.samestat(self._file, self.path.stat())
        except OSError:
            return False

    def _kept(self) -> str:
        """What is kept of the votes in the file, as a sentence; "" if there never were any."""
        if not self._n_committed:
            return ""
        number = f"{self._n_committed:,} chunk{'s' * (self._n_committed != 1)}"
        if not self._in_place():
            return f"The file that held {number} has been deleted, moved or replaced."
        return f"What was committed before is safe: {number}."

    def _adopt(self, contents: Contents, graphs: Sequence[GraphRecord]) -> None:
        # Of a graph that is stored, the stored record with its name is the one to show.
        self.graphs = (*contents.graphs[: len(graphs)], *graphs[len(contents.graphs) :])
        self.settings, self.sessions, self._n_committed = contents.settings, contents.sessions, contents.n_chunks
        self.looks = contents.looks

    def _require_open(self) -> None:
        if not self._open or self._process != os.getpid():
            problem = "is closed" if self._process == os.getpid() else "was opened by another process"
            raise StoreError(f"{self.path}: this store {problem}. Open it again.")

    def _require_writer(self) -> None:
        self._require_open()
        if not self._writing:
            raise StoreError(f"{self.path}: was opened for reading. VoteStore.open opens it for writing.")

    def _select(self, kind: type[Row], condition: str, *values: object) -> Iterator[Row]:
        """Stored rows of a kind, each checked again: the file may have changed since it was opened."""
        self._require_open()
        with self._turn, read_errors(self.path):
            version = self._db.execute("PRAGMA user_version").fetchone()[0]  # it may have been continued meanwhile
            if version < SINCE.get(kind, 1):
                if kind is StoredTally:
                    old: Iterator[Any] = joined(self._targets(version, condition, *values), self.graphs)
                    yield from old
                return
            table = TABLES[kind][0]
            columns = chunk_columns(version) if kind is StoredChunk else "*"
            if table in ("flips", "attacks"):
                columns = evidence_columns(table, version)
            query = f"SELECT {columns} FROM {table} WHERE graph < ? AND {condition}"
            for row in self._db.execute(query, (len(self.graphs), *values)):
                yield self._checked(kind, row)

    def _checked(self, kind: type[Row], row: Sequence[object]) -> Row:
        found = kind.from_row(row, self.settings)
        if isinstance(found, StoredTally):
            found.check_place(self.settings, self.graphs)
        if isinstance(found, StoredChunk) and found.target >= self.graphs[found.graph].n_targets:
            raise ValueError(f"there are votes on target {found.target} of graph {found.graph}, which has none")
        return found

    def _targets(self, version: int, condition: str, *values: object) -> Iterator[StoredChunk]:
        """The rows of graphs with several targets in an old format, in the order of graph, purpose and chunk."""
        query = f"SELECT {chunk_columns(version)} FROM chunks WHERE graph < ? AND {condition} ORDER BY 1, 3, 4"
        for row in self._db.execute(query, (len(self.graphs), *values)):
            chunk = self._checked(StoredChunk, row)
            if self.graphs[chunk.graph].n_targets > 1:
                yield chunk

    def _committed(self, kind: type[Row], *key: object) -> list[Row]:
        """The stored rows of a kind whose key begins so."""
        condition = " AND ".join(f"{column} = ?" for column in TABLES[kind][1 : 1 + len(key)])
        return list(self._select(kind, condition, *key))

    def _found(self, kind: type[Row], *key: object) -> list[Row]:
        """The rows of a kind whose key begins so, stored or waiting, in order."""
        with self._turn:
            found: dict[Any, Row] = {row.key: row for row in self._committed(kind, *key)}
            for row in self._waiting.values():
                if isinstance(row, kind) and row.key[: len(key)] == key:
                    found[row.key] = row
            return [found[each] for each in sorted(found)]

    def _place(self, graph: int, purpose: str, target: int) -> tuple[int, int, str]:
        self._require_open()
        graph = whole(graph, "graph", len(self.graphs) - 1)
        return graph, whole(target, "target", self.graphs[graph].n_targets - 1), _purpose(purpose)

    def _old(self, new: Stored) -> Stored | None:
        """What waits or is stored in the place of a new row."""
        kind: Any = type(new)
        waiting = self._waiting.get((kind, new.key))
        if waiting is not None or (isinstance(new, StoredChunk) and new.chunk not in self._numbers_of(new)):
            return waiting
        return next(iter(self._committed(kind, *new.key)), None)

    def _numbers_of(self, new: StoredChunk) -> set[object]:
        """The numbers of the stored chunks of its graph, target and purpose: nobody else writes while this one does.

        Chunks of a graph come together, so that they are looked up once and not one by one.
        """
        place = new.key[:3]
        if place not in self._numbers:
            table, *columns, number = TABLES[StoredChunk]
            condition = " AND ".join(f"{column} = ?" for column in columns)
            with read_errors(self.path):
                found = self._db.execute(f"SELECT {number} FROM {table} WHERE {condition}", place)
                self._numbers[place] = {each for (each,) in found}
            if len(self._numbers) > KEPT_PLACES:
                self._numbers.popitem(last=False)
        return self._numbers[place]

    def _is_stored(self, new: Stored) -> bool:
        """Whether what is stored already makes the new row needless."""
        kind: Any = type(new)
        return any(self._serves(old, new) for old in self._committed(kind, *new.key))  # there is one at most

    def _serves(self, old: Stored, new: Stored) -> bool:
        """Whether the old row makes the new one needless; an error if one is not the beginning of the other."""
        where = self._where(new)
        if isinstance(old, StoredFlips) and isinstance(new, StoredFlips):
            if not old.is_alike(new):  # against another class: the one that is asked for is kept
                return False
            differ, stored, now = not old.agrees_with(new), f"{old.votes} votes", f"{new.votes} votes with other flips"
        elif isinstance(old, StoredTally) and isinstance(new, StoredTally):
            found = old.difference(new, self.settings)
            differ = found is not None
            target, stored, now = (0, "", "") if found is None else (found[0], str(found[1]), str(found[2]))
            where = f"graph {new.graph}, target {target}, {new.purpose}, chunk {new.chunk}"
        else:
            assert not isinstance(old, StoredFlips | StoredTally)
            assert not isinstance(new, StoredFlips | StoredTally)
            shorter, longer = sorted((old, new), key=lambda chunk: chunk.samples)
            begins = all(few <= many for few, many in zip(shorter.counts, longer.counts, strict=True))
            differ = not begins or (old.samples == new.samples and old != new)
            stored, now = str(list(old.counts)), str(list(new.counts))
        if differ:
            raise StoreError(
                f"{self.path}: the same settings gave other votes on {where}: stored {stored}, now {now}."
                " The classifier has changed, or it is not deterministic: write into another file, or take the old one."
            )
        return old.samples >= new.samples

    def _where(self, row: Stored) -> str:
        if isinstance(row, StoredAttack):
            return f"graph {row.graph} attacked at {list(row.flips)}, chunk {row.chunk}"
        if isinstance(row, StoredFlips):
            return f"graph {row.graph}, estimation, chunk {row.chunk}"
        return f"graph {row.graph}, {row.purpose}, chunk {row.chunk}"

    def _set_alarm(self) -> None:
        """Has what waits now committed in time, even if nothing more is added."""
        self._alarm = threading.Timer(COMMIT_SECONDS, self._on_alarm)
        self._alarm.daemon = True
        with suppress(RuntimeError):  # no thread to be had: the next call commits
            self._alarm.start()

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _on_alarm(self) -> None:
        with suppress(StoreError):  # what could not be written waits on, and the next call tries again and says so
            self.flush()


def _purpose(purpose: str) -> str:
    if purpose not in PURPOSES:
        raise InvalidParameterError("purpose", f"be one of {', '.join(PURPOSES)}", purpose)
    return purpose
