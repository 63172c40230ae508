"""The votes of one run on disk: durable, resumable, self-describing.

One row holds one chunk of a graph, with the votes on all its targets. Votes are a function of the settings, so a chunk
that was lost can be drawn again, but a stored one is never counted twice or in part: rows are written in transactions,
and a kill at any moment loses at most what came in the last half second. Beside the votes of a chunk there may be the
copies that are kept (`Ballots`), and beside the graphs of a run votes at attacked graphs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.math.ballots import Ballots
from starcert.system.errors import InvalidParameterError, StoreError, StoreSettingsError, whole_number
from starcert.system.files import versions
from starcert.voting import PURPOSES
from starcert.voting.store import rows
from starcert.voting.store.file import Contents, StoreFile, create_schema, read_errors, target_file, verify
from starcert.voting.store.rows import Counts, GraphRecord, Look, Row, Session, Stored, StoredVotes, VoteSettings

_LOG = logging.getLogger(__name__)


class VoteStore(StoreFile):
    """The votes of one run in one file; made by `open` for writing and by `read` for reading. Threads may share it.

    Example:
        >>> import tempfile
        >>> settings = VoteSettings({"motif": 0.02}, "gcn", n_classes=2, seed=1, chunk_size=100, backend="cpu")
        >>> graphs = [GraphRecord(0, key="g0", sites="d41d", sizes={"motif": 10})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with VoteStore.open(f"{folder}/votes.db", settings, graphs) as store:
        ...         store.add(0, "estimation", 0, [97, 3], samples=100)
        ...     with VoteStore.read(f"{folder}/votes.db") as store:
        ...         store.counts("estimation"), store.n_chunks
        (array([[97,  3]]), {'selection': 0, 'estimation': 1})
    """

    settings: VoteSettings  # what the votes are a function of
    graphs: tuple[GraphRecord, ...]  # those that this session works on; all that are stored, after `read`
    sessions: tuple[Session, ...]  # every opening for writing
    looks: tuple[Look, ...]  # the certificates that were computed from the votes, and the plans that saw them

    @classmethod
    def open(cls, path: str | os.PathLike[str], settings: VoteSettings, graphs: Sequence[GraphRecord]) -> VoteStore:
        """Creates a store, or continues one that has the same settings and graphs; an empty file counts as new.

        The graphs may be more than those stored, or fewer, if one list begins with the other: else there is a
        StoreSettingsError.
        """
        session = Session(datetime.now(UTC).isoformat(timespec="seconds"), versions())
        with ExitStack() as undo:
            store = undo.enter_context(cls(target_file(path), writing=True))
            with read_errors(store.path):
                new = not store.db.execute("PRAGMA page_count").fetchone()[0]
                if new and store.path.stat().st_size:  # SQLite takes a file of one byte for an empty one
                    raise ValueError("file is not a database")
                contents = Contents(settings) if new else verify(store.db)
            if found := rows.differences((contents.settings, *contents.graphs), (settings, *graphs)):
                raise StoreSettingsError(str(store.path), found)
            store._hold(contents, graphs)
            records = [rows.StoredRecord.of(len(contents.sessions), session)]
            records += [rows.StoredRecord.of(record.graph, record) for record in graphs[len(contents.graphs) :]]
            with store.transaction("create the file" if new else "continue"):
                if new:
                    create_schema(store.db)
                    records.append(rows.StoredRecord.of(0, settings))
                for record in records:
                    rows.write(store.db, record)
            store.sessions = (*contents.sessions, session)
            _LOG.info("%s: %s", store.path, "made" if new else "continued")
            undo.pop_all()
        return store

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> VoteStore:
        """Opens a store for reading, once all of it has been checked; a writer may be at work meanwhile."""
        target = target_file(path)
        if not target.exists():
            raise StoreError(f"{target}: there is no such file. SmoothedClassifier.vote(…, store=FILE) makes one.")
        with ExitStack() as undo, read_errors(target):
            store = undo.enter_context(cls(target, writing=False))
            contents = verify(store.db)
            store._hold(contents, contents.graphs)
            undo.pop_all()
        return store

    def _hold(self, contents: Contents, graphs: Sequence[GraphRecord]) -> None:
        # Of a graph that is stored, the stored record with its name is the one to show.
        self.graphs = (*contents.graphs[: len(graphs)], *graphs[len(contents.graphs) :])
        self.settings, _, self.sessions, self.looks = contents

    @property
    def rows(self) -> list[tuple[int, int]]:
        """The numbers of graph and target of each row of `counts`."""
        return [(record.graph, target) for record in self.graphs for target in range(record.n_targets)]

    def is_fixed(self, estimation: int) -> bool:
        """True if the votes were not looked at before their number was fixed to this one; see `Votes.history`."""
        return rows.is_fixed(estimation, self.looks)

    def check_look(self, **look: Any) -> None:  # noqa: ANN401  (the attributes of a `Look`)
        """Refuses a certificate that would not hold with its alpha after the looks before it."""
        rows.check_look(Look(**look), self.looks)

    def note_look(self, **attributes: Any) -> None:  # noqa: ANN401  (those of a `Look`)
        """Records a look, unless the same one is recorded; it is committed at once."""
        look = Look(**attributes)
        if look not in self.looks:
            self.record(look)
            self.looks = (*self.looks, look)

    def condemn(self, reason: str) -> None:
        """Records why the votes must not be used, so that the store cannot be opened again."""
        self.record(rows.Fault(reason))

    def tallies(self, graph: int, purpose: str) -> list[tuple[int, int, Counts]]:
        """The chunks of a graph in order, committed or not: number, samples, votes on each target for each class."""
        found = self._rows(StoredVotes, self._graph(graph).graph, purpose)
        return [(each.chunk, each.samples, each.votes(self.settings.n_classes)) for each in found]

    def counts(self, purpose: str) -> Counts:
        """The votes for each class, summed over chunks, shape (graphs, classes); one row for each target of a graph."""
        nothing = [np.zeros((record.n_targets, self.settings.n_classes), dtype=np.int64) for record in self.graphs]
        return np.concatenate(
            [sum((votes for *_, votes in self.tallies(i, purpose)), start=each) for i, each in enumerate(nothing)]
        )

    def ballots(self, graph: int) -> dict[int, Ballots]:
        """The ballots of a graph by estimation chunk, committed or not; the last that were added to each."""
        number = self._graph(graph).graph
        with self.turn:
            votes = {each.chunk for each in self._rows(StoredVotes, number, "estimation")}
            return {each.chunk: each.ballots for each in self._rows(rows.StoredBallots, number) if each.chunk in votes}

    def attack_chunks(
        self, graph: int, positions: Iterable[int], *, target: int = 0
    ) -> list[tuple[int, Counts, Counts]]:
        """The chunks at an attacked graph in order: number, votes for each class, flips of those against its class."""
        record = self._graph(graph, target)
        found = self._rows(rows.StoredAttack, record.graph, target, rows.positions_text(positions))
        return [(each.chunk, each.votes, each.flip_numbers(len(record.sizes))) for each in found]

    @property
    def n_chunks(self) -> dict[str, int]:
        """The number of chunks of each purpose."""
        return {each: sum(len(self.tallies(record.graph, each)) for record in self.graphs) for each in PURPOSES}

    def add(
        self,
        graph: int,
        purpose: str,
        chunk: int,
        counts: npt.ArrayLike,
        *,
        samples: int,
        ballots: Ballots | None = None,
    ) -> None:
        """Takes in one chunk of a graph; it is committed within half a second.

        Adding a chunk again changes nothing if its votes are the same. A chunk with fewer samples is the beginning of
        the same chunk with more: the longer one is kept. `counts` has shape (targets, classes); `ballots` replace any
        that are stored for other classes or sites.
        A StoreError says that it is stored with other votes, or that earlier ones cannot be written, and keep waiting.
        """
        self.require_open(writing=True)
        its, samples = self._graph(graph), whole_number("samples", samples, 1, self.settings.chunk_size)
        votes = np.asarray(counts).astype("<i8", casting="safe").reshape(its.n_targets, self.settings.n_classes)
        if (votes < 0).any() or (votes.sum(axis=1) != samples).any():
            raise InvalidParameterError("counts", f"add up to the {samples} samples", votes[:3].tolist())
        stored = StoredVotes(its.graph, purpose, int(chunk), samples, votes.tobytes())
        self._take([stored] if ballots is None else [stored, rows.StoredBallots.of(stored, ballots)])

    def add_attack(
        self,
        graph: int,
        positions: Iterable[int],
        number: int,
        counts: npt.ArrayLike,
        numbers: npt.ArrayLike = (),
        *,
        target: int = 0,
    ) -> None:
        """Takes in a chunk of votes at an attacked graph; `numbers`: flips on each axis in those against its class."""
        self.require_open(writing=True)
        its = self._graph(graph, target)
        votes, flips = (np.asarray(each).astype(dtype).tobytes() for each, dtype in ((counts, "<i8"), (numbers, "<u4")))
        self._take([rows.StoredAttack(its.graph, target, rows.positions_text(positions), int(number), votes, flips)])

    def _take(self, added: Sequence[Stored]) -> None:
        with self.turn:
            self.wait([new for new in added if not self._is_stored(new)])

    def _is_stored(self, new: Any) -> bool:  # noqa: ANN401  (of any kind, and compared with one of the same)
        """True if what waits or is stored makes a row needless; an error if neither begins with the other."""
        kind, key = type(new), rows.key_of(new)
        old: Any = self.waiting.get((kind, key)) or next(iter(self.committed(kind, *key)), None)
        conflict = None if old is None else old.conflict(new, self.settings.n_classes)
        if conflict:
            raise StoreError(
                f"{self.path}: the same settings gave other votes on {conflict}."
                " The classifier has changed, or it is not deterministic: write into another file, or take the old one."
            )
        return conflict is not None and bool(old.samples >= new.samples)

    def _graph(self, graph: int, target: int = 0) -> GraphRecord:
        """The record of a graph, once it and the target are known to be there."""
        self.require_open()
        record = self.graphs[whole_number("graph", graph, 0, len(self.graphs) - 1)]
        whole_number("target", target, 0, record.n_targets - 1)
        return record

    def _rows(self, kind: type[Row], *key: object) -> list[Row]:
        """The rows of a kind whose key begins so, stored or waiting, in order."""
        with self.turn:
            found: dict[Any, Any] = {rows.key_of(row): row for row in self.committed(kind, *key)}
            found |= {its: row for (of, its), row in self.waiting.items() if of is kind and its[: len(key)] == key}
            return [found[each] for each in sorted(found)]
