"""Files of the formats before are read as they are, and continued in the format of today.

Format 1 knew no targets, format 2 neither flips nor attacks, format 3 had a row for each target, format 4 no looks.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from store_worlds import PURPOSES, SETTINGS, check_votes, edit, fill, fill_evidence, graphs_of, opened, votes_of

from starcert.system.errors import StoreError
from starcert.voting.store import VoteStore
from starcert.voting.store.file import FORMAT, SCHEMAS

FORMAT_1 = Path(__file__).with_name("format_1.db")
"""Three graphs with two chunks each, written by version 0.2.0."""

FORMAT_2 = Path(__file__).with_name("format_2.db")
"""The same, as it was written before flips and attacks were kept."""

FORMAT_3 = Path(__file__).with_name("format_3.db")
"""Three graphs with two chunks each, the second with two targets, one of which is missing in a third chunk."""


@pytest.fixture(params=[FORMAT_1, FORMAT_2])
def old(request, path):
    return Path(shutil.copy(request.param, path))


def test_an_old_format_is_read_as_it_is(old):
    before = old.read_bytes()
    with VoteStore.read(old) as store:
        assert store.settings == SETTINGS
        assert store.graphs == tuple(graphs_of(3))
        assert check_votes(store) == 3 * 2 * 2
        assert store.rows == [(0, 0), (1, 0), (2, 0)]
        assert store.flips(1) == {}
        assert store.attacks(1) == store.attack_chunks(1, [3]) == []
    assert old.read_bytes() == before


def test_an_old_format_is_continued_in_the_format_of_today(old):
    with opened(old) as store:
        assert check_votes(store) == 3 * 2 * 2
        fill(store, 4)
        fill_evidence(store, 3)
    with VoteStore.read(old) as store:
        assert check_votes(store) == 3 * 2 * 4
        assert len(store.sessions) == 2
        assert sorted(store.flips(1)) == [0, 1, 2]
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        assert db.execute("SELECT name, sql FROM sqlite_master ORDER BY name DESC").fetchall() == [
            *SCHEMAS[FORMAT].items()
        ]


def test_a_reader_of_an_old_format_reads_on_while_it_is_continued(old):
    with VoteStore.read(old) as reader:
        with opened(old) as store:
            fill(store, 3)
        assert check_votes(reader) == 3 * 2 * 3


def test_a_file_that_says_a_format_must_have_its_schema(old):
    edit(old, f"PRAGMA user_version = {FORMAT}")
    with pytest.raises(StoreError, match=r"its schema is not starcert's: attacks, (chunks, )?flips, records, tallies"):
        VoteStore.read(old)


def test_damage_in_an_old_format_is_found(old):
    edit(old, "UPDATE chunks SET chunk = 7 WHERE chunk = 1 AND graph = 2 AND purpose = 'selection'")
    with pytest.raises(StoreError, match=r"chunk 7 of graph 2 .* does not agree with its digest"):
        VoteStore.read(old)


class TestRowsOfSingleTargets:
    """Format 3: its rows are read, and kept, as rows of all targets of a graph."""

    GRAPHS = (graphs_of(3)[0], replace(graphs_of(3)[1], n_targets=2), graphs_of(3)[2])

    @pytest.fixture
    def third(self, path):
        return Path(shutil.copy(FORMAT_3, path))

    def check(self, store, last=1):
        for purpose in PURPOSES:
            found = store.tallies(1, purpose)
            expected = [votes_of(1, purpose, chunk) for chunk in range(last + 1)]
            assert [(number, samples) for number, samples, _ in found] == [(i, 1000) for i in range(last + 1)]
            assert [counts.tolist() for _, _, counts in found] == [[votes, votes[::-1]] for votes in expected]
            assert store.counts(purpose)[2].tolist() == np.sum(expected, axis=0)[::-1].tolist()
        assert store.chunks(2, "selection")[1][2].tolist() == votes_of(2, "selection", 1)
        assert sorted(store.flips(0)) == [0]
        assert store.attacks(2) == [(3,)]

    def test_they_are_read_as_they_are(self, third):
        before = third.read_bytes()
        with VoteStore.read(third) as store:
            assert store.graphs == self.GRAPHS
            self.check(store)
            assert store.summary().chunks == {"selection": 6, "estimation": 6}
        assert third.read_bytes() == before

    def test_they_are_continued_in_the_format_of_today(self, third):
        with VoteStore.read(third) as reader:
            with VoteStore.open(third, SETTINGS, self.GRAPHS, provenance={}) as store:
                self.check(store)
                for purpose in PURPOSES:
                    votes = votes_of(1, purpose, 2)
                    store.add(1, purpose, 2, [votes, votes[::-1]], samples=1000)
            self.check(reader, last=2)
        with VoteStore.read(third) as store:
            self.check(store, last=2)
        with closing(sqlite3.connect(third)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)
            assert db.execute("SELECT COUNT(*) FROM chunks WHERE graph = 1").fetchone() == (0,)


def as_format_4(path, provenance):
    """A file as it was written before looks were recorded, by a plan that looked where the provenance says so."""
    with VoteStore.open(path, SETTINGS, graphs_of(3), provenance=provenance) as store:
        fill(store, 2)
    edit(
        path,
        "ALTER TABLE records RENAME TO records_5",
        SCHEMAS[4]["records"],
        "INSERT INTO records SELECT * FROM records_5",
        "DROP TABLE records_5",
        "PRAGMA user_version = 4",
    )


@pytest.mark.parametrize(("provenance", "fixed"), [({}, True), ({"plan": "UntilClear"}, False)])
def test_format_4_gets_looks_and_keeps_those_of_plans(path, provenance, fixed):
    as_format_4(path, provenance)
    with VoteStore.read(path) as store:
        assert store.is_fixed(2000) == fixed
    with opened(path) as store:
        assert check_votes(store) == 3 * 2 * 2
        store.note_look(selection=10, estimation=2000, evidence=False)
    with VoteStore.read(path) as store:
        assert store.is_fixed(2000)
        assert store.is_fixed(3000) is False
        assert len(store.looks) == 2 - fixed


LOOK = {"selection": 1, "estimation": 5, "evidence": None, "max_radius": None, "own": False, "drawn": None}


@pytest.mark.parametrize(
    ("look", "complaint"),
    [
        (LOOK | {"selection": -1}, "selection"),
        (LOOK | {"estimation": "many"}, "estimation"),
        (LOOK | {"evidence": 1}, "evidence"),
        (LOOK | {"max_radius": 3}, "is not what it should be"),
        (LOOK | {"own": 1}, "own"),
        (LOOK | {"drawn": 5}, "is not what it should be"),
        (LOOK | {"drawn": [500, -1]}, "drawn"),
        ({"selection": 1, "estimation": 5}, "does not agree"),
    ],
)
def test_a_look_that_cannot_be_believed_is_refused(path, look, complaint):
    with opened(path) as store:
        store.note_look(selection=10, estimation=2000, evidence=False)
    value = json.dumps(look)
    digest = blake2b(f"look 0 {value}".encode(), digest_size=16).digest()
    edit(path, ("UPDATE records SET value = ?, digest = ? WHERE kind = 'look'", (value, digest)))
    with pytest.raises(StoreError, match=f"the record 'look' 0 .*{complaint}"):
        VoteStore.read(path)
