"""A file that is no store, or a damaged one: one sentence, the file stays as it is, and nothing good is lost."""

import os
import random

import pytest
from store_worlds import edit, everything, fill, fill_evidence, opened

from starcert.system.errors import StoreError
from starcert.voting.store import VoteStore
from starcert.voting.store.file import FORMAT


def refused(path, reason):
    """Both ways of opening refuse the file, give the reason in one line, and leave it as it is."""
    before = path.read_bytes()
    for way in (VoteStore.read, opened):
        with pytest.raises(StoreError, match=reason) as caught:
            way(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("content", [b"x", b"graph,votes\n" * 5000, random.Random(1).randbytes(20_000), bytes(8192)])
def test_what_is_no_database_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "file is not a database|nothing was stored")


def test_a_foreign_database_is_refused(path):
    edit(path, "CREATE TABLE chunks (x)", "INSERT INTO chunks VALUES (1)")
    refused(path, "not one of starcert's")


@pytest.mark.parametrize("version", [1, FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused_with_the_next_step(full, version):
    edit(full, f"PRAGMA user_version = {version}")
    refused(
        full,
        rf"cannot be used: its format is {version}, this starcert reads format {FORMAT}: use the one that wrote it\. "
        r"Take a good copy of the file, or write into another one: votes can be drawn again\.$",
    )


def test_a_truncated_file_is_refused(full):
    content = full.read_bytes()
    for size in (1, 50, 100, 4096, len(content) - 4096, len(content) - 1):
        full.write_bytes(content[:size])
        refused(full, "cannot be used")


def test_a_row_that_vanished_from_its_page_is_noticed(full):
    """All rows that are left are good; only the bookkeeping of the page tells."""
    content = full.read_bytes()
    starts = range(0, len(content), 4096)
    leaves = [start for start in starts if content[start] == 10 and any(content[start + 3 : start + 5])]
    assert leaves
    for start in leaves:
        cells = int.from_bytes(content[start + 3 : start + 5], "big") - 1
        full.write_bytes(content[: start + 3] + cells.to_bytes(2, "big") + content[start + 5 :])
        refused(full, "it is damaged")


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE chunks SET counts = zeroblob(24) WHERE graph = 1 AND chunk = 2", "graph 1, estimation, chunk 2"),
        ("UPDATE chunks SET samples = 999 WHERE graph = 1 AND chunk = 2", "graph 1, estimation, chunk 2"),
        ("UPDATE chunks SET digest = zeroblob(16) WHERE graph = 0", "graph 0, estimation, chunk 0"),
        ("UPDATE ballots SET content = x'00' WHERE graph = 1 AND chunk = 2", "graph 1, estimation, chunk 2"),
        ("UPDATE ballots SET chunk = 77 WHERE graph = 1 AND chunk = 2", "graph 1, estimation, chunk 77"),
        ("UPDATE attacks SET flips = '[4]' WHERE graph = 1 AND flips = '[3]'", "graph 1 attacked at .4., chunk 0"),
        ("UPDATE attacks SET numbers = x'01' WHERE graph = 2", "graph 2 attacked at .0, 19., chunk 0"),
        ("UPDATE records SET value = replace(value, '0.04', '0.05')", "the record 'settings' 0"),
        ("UPDATE records SET value = replace(value, 'key1', 'key9')", "the record 'graph' 1"),
        ("DELETE FROM records WHERE kind = 'graph' AND number = 1", "the record 'graph' 2"),
        ("DELETE FROM records WHERE kind = 'settings'", "its settings are missing"),
        ("UPDATE records SET kind = 'look' WHERE kind = 'session'", "the record 'look' 0"),
        ("DROP TABLE chunks", "no such table: chunks"),
    ],
)
def test_a_row_that_is_not_what_was_written_is_refused(full, statement, where):
    edit(full, statement)
    refused(full, where)


def test_flips_that_have_lost_their_votes_serve_nobody(full):
    edit(full, "DELETE FROM chunks WHERE graph = 1 AND chunk = 2")
    with VoteStore.read(full) as store:
        assert sorted(store.ballots(1)) == [0, 1, 3]


def test_damage_anywhere_is_found_or_does_not_matter(full, tmp_path):
    """Bits flipped, bytes changed, blocks wiped, ends cut off: an error, or exactly the original votes."""
    with opened(full) as store:
        fill(store, 12)
        fill_evidence(store, 5)
    with VoteStore.read(full) as store:
        expected = everything(store)
    content = full.read_bytes()
    rng = random.Random(2024)
    refusals = 0
    for trial in range(60):
        damaged = bytearray(content)
        place = (
            rng.randrange(len(content))
            if trial % 2
            else rng.randrange(200) + 4096 * rng.randrange(len(content) // 4096)
        )
        place = min(place, len(content) - 1)
        match trial % 5:
            case 0 | 1:
                damaged[place] ^= 1 << rng.randrange(8)
            case 2:
                damaged[place] ^= rng.randrange(1, 256)
            case 3:
                damaged[place : place + 64] = bytes(64)
            case 4:
                del damaged[max(place, 1) :]
        target = tmp_path / f"{trial}.db"
        target.write_bytes(damaged)
        for way in (VoteStore.read, opened):
            try:
                with way(target) as store:
                    settings, graphs, sessions, votes = everything(store)
                    assert (settings, graphs, sessions[:2], votes) == expected, (trial, place)
            except StoreError:
                refusals += 1
    assert refusals > 60
