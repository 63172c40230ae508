"""Files from anywhere: nothing in one is believed before it is checked."""

import dataclasses
import json
import os
import random
import sqlite3
import struct
import zlib
from hashlib import blake2b

import numpy as np
import pytest
from store_worlds import AXES, SETTINGS, edit, everything, fill, fill_evidence, flips_of, graphs_of, opened, votes_of

from starcert.system.errors import StoreError
from starcert.voting.store import VoteStore
from starcert.voting.store.file import FORMAT
from starcert.voting.store.rows import StoredAttack, StoredFlips, StoredVotes, row_of


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


@pytest.mark.parametrize(
    "content",
    [b"x", b"hello, world\n", b"\n" * 511, b"graph,votes\n" * 5000, random.Random(1).randbytes(20_000), bytes(8192)],
)
def test_what_is_no_database_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "file is not a database|nothing was stored")


def test_a_foreign_database_is_refused(path):
    edit(path, "CREATE TABLE chunks (x)", "INSERT INTO chunks VALUES (1)")
    refused(path, "not one of starcert's")


@pytest.mark.parametrize("version", [0, FORMAT + 1, -1])
def test_another_format_is_refused(full, version):
    edit(full, f"PRAGMA user_version = {version}")
    refused(full, f"its format is {version}, this starcert reads format {FORMAT}")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TRIGGER trap AFTER INSERT ON chunks BEGIN DELETE FROM chunks; END", "trap"),
        ("CREATE VIEW look AS SELECT * FROM chunks", "look"),
        ("CREATE TABLE more (x)", "more"),
        ("CREATE INDEX quick ON chunks (samples)", "quick"),
        ("ALTER TABLE chunks ADD COLUMN weight INTEGER", "chunks"),
        ("ALTER TABLE records RENAME TO notes", "notes, records"),
        ("DROP TABLE chunks", "chunks"),
        ("ANALYZE", "sqlite_stat1"),
    ],
)
def test_another_schema_is_refused(full, statement, name):
    edit(full, statement)
    refused(full, f"its schema is not starcert's: {name}")


def test_a_view_in_the_place_of_a_table_is_refused_and_not_run(full):
    edit(full, "ALTER TABLE chunks RENAME TO kept", "CREATE VIEW chunks AS SELECT * FROM kept, json_each(zeroblob(9))")
    refused(full, "its schema is not starcert's: chunks, kept")


def test_a_schema_that_sqlite_cannot_parse_is_refused(full):
    edit(
        full,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE chunks ((' WHERE name='chunks'",
    )
    refused(full, "malformed database schema")


def test_a_write_ahead_log_is_refused(full):
    edit(full, "PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match="journal mode"):
        VoteStore.read(full)


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


def counts_blob(*counts):
    return struct.pack(f"<{len(counts)}q", *counts)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("counts", counts_blob(1, 2, 3), "'counts' must add up to the 1000 samples"),
        ("counts", counts_blob(1001, -1, 0), "'counts' must be 3 whole numbers of votes, 0 or more"),
        ("counts", counts_blob(2**62, 2**62, 1000), "'counts' must be 3 whole numbers"),
        ("counts", counts_blob(500, 500), "'counts' must be 3 whole numbers"),
        ("counts", counts_blob(500, 500, 0, 0), "'counts' must be 3 whole numbers"),
        ("counts", b"", "'counts' must be 3 whole numbers"),
        ("counts", "[500, 500, 0]", "'counts' must be 3 whole numbers"),
        ("counts", counts_blob(0, 0, 1000), "does not agree with its digest"),
        ("samples", 2**60, "'samples' must be a whole number from 1 to 1,000"),
        ("samples", 0, "'samples' must be a whole number from 1 to 1,000"),
        ("samples", "many", "'samples' must be a whole number from 1 to 1,000"),
        ("samples", 1000.5, "'samples' must be a whole number from 1 to 1,000"),
        ("samples", 999, "'counts' must add up to the 999"),
        ("chunk", 77, "does not agree with its digest"),
        ("chunk", -1, "'chunk' must be a whole number"),
        ("chunk", "x", "'chunk' must be a whole number"),
        ("chunk", 2**40, "'chunk' must be a whole number"),
        ("graph", 2**40, "'graph' must be a whole number"),
        ("graph", "x", "'graph' must be a whole number"),
        ("purpose", "training\x1b[2J", "'purpose' must be one of"),
        ("purpose", 7, "'purpose' must be one of"),
        ("digest", b"0" * 16, "does not agree with its digest"),
    ],
)
def test_votes_that_cannot_be_are_refused(full, column, value, reason):
    query = f"UPDATE chunks SET {column} = ? WHERE graph = 1 AND purpose = 'estimation' AND chunk = 2"
    edit(full, (query, (value,)))
    refused(full, reason)


INSERT = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)"


def test_huge_counts_that_add_up_are_refused(full):
    row = row_of(StoredVotes(0, "selection", 9, 2**55, counts_blob(2**55, 0, 0)))
    edit(full, (INSERT, row))
    refused(full, "'samples' must be a whole number from 1 to 1,000")


def test_votes_on_a_graph_that_is_not_there_are_refused(full):
    row = row_of(StoredVotes(3, "selection", 0, 1, counts_blob(1, 0, 0)))
    edit(full, (INSERT, row))
    refused(full, "'graph' must be a whole number from 0 to 2")


@pytest.mark.parametrize(
    ("claimed", "reason"),
    [
        (2**22, "more than 4,194,304 targets together"),
        (2**23, "'n_targets' must be a whole number"),
        (0, "'n_targets'"),
    ],
)
def test_more_targets_than_anybody_has_are_refused(full, claimed, reason):
    """The digests are right: a few bytes must not claim tables of any size."""
    for record in graphs_of(3):
        fields = dataclasses.asdict(record) | {"n_targets": claimed}
        text = json.dumps(fields)
        digest = blake2b(f"graph {record.graph} {text}".encode(), digest_size=16).digest()
        edit(
            full,
            (
                "UPDATE records SET value = ?, digest = ? WHERE kind = 'graph' AND number = ?",
                (text, digest, record.graph),
            ),
        )
    refused(full, reason)


SEVERAL = [dataclasses.replace(record, n_targets=2) for record in graphs_of(2)]
ON_TWO = "3 whole numbers of votes, 0 or more, on each of 2 targets"
VOTES = StoredVotes(1, "estimation", 2, 1000, counts_blob(1000, 0, 0, 300, 300, 400))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (VOTES._replace(graph=2), "'graph' must be a whole number from 0 to 1"),
        (
            VOTES._replace(blob=counts_blob(1000, 0, 0)),
            ON_TWO,
        ),
        (
            VOTES._replace(blob=counts_blob(*[500, 500, 0] * 3)),
            ON_TWO,
        ),
        (
            VOTES._replace(blob=counts_blob(1000, 0, 0, 300)),
            ON_TWO,
        ),
        (VOTES._replace(blob=b""), ON_TWO),
        (VOTES._replace(blob="x"), ON_TWO),
        (VOTES._replace(blob=counts_blob(1000, 0, 0, 300, 300, 300)), "must add up to the 1000 samples"),
        (VOTES._replace(blob=counts_blob(1001, -1, 0, 300, 300, 400)), "0 or more, on each of 2 targets"),
        (VOTES._replace(blob=counts_blob(2**62, 2**62, 1000, 0, 0, 1000)), "0 or more, on each of 2 targets"),
        (VOTES._replace(samples=1001), "'samples' must be .* 1 to 1,000. Got 1001"),
        (VOTES._replace(samples=10.5), "'samples' must be .* 1 to 1,000. Got 10.5"),
        (VOTES._replace(chunk=-1), "'chunk' must be a whole number"),
        (VOTES._replace(graph=2**40), "'graph' must be a whole number"),
        (VOTES._replace(purpose="training"), "'purpose' must be one of"),
    ],
)
def test_votes_on_targets_that_cannot_be_are_refused(path, row, reason):
    """The digests are right."""
    with VoteStore.open(path, SETTINGS, SEVERAL, provenance={}) as store:
        store.add(1, "estimation", 0, [[1000, 0, 0], [300, 300, 400]], samples=1000)
        assert store.tallies(1, "estimation")[0][2].tolist() == [[1000, 0, 0], [300, 300, 400]]
    edit(path, (INSERT, row_of(row)))
    with pytest.raises(StoreError, match=reason):
        VoteStore.read(path)


def test_damaged_votes_on_targets_are_refused(path):
    with VoteStore.open(path, SETTINGS, SEVERAL, provenance={}) as store:
        store.add(1, "estimation", 0, [[1000, 0, 0], [300, 300, 400]], samples=1000)
    edit(path, "UPDATE chunks SET chunk = 5")
    with pytest.raises(StoreError, match=r"graph 1, estimation, chunk 5: it does not agree with its digest"):
        VoteStore.read(path)


FLIPS = "INSERT OR REPLACE INTO flips VALUES (?, ?, ?, ?, ?, ?)"


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("graph", 2**40, "'graph' must be a whole number"),
        ("graph", "x", "'graph' must be a whole number"),
        ("chunk", -1, "'chunk' must be a whole number"),
        ("chunk", 77, "does not agree with its digest"),
        ("target", 1, "'target' must be a whole number from 0 to 0"),
        ("samples", 1001, "'samples' must be a whole number"),
        ("samples", 999, "does not agree with its digest"),
        ("content", "text", "'content' must be bytes"),
        ("content", b"", "does not agree with its digest"),
        ("digest", b"0" * 16, "does not agree with its digest"),
    ],
)
def test_flips_that_cannot_be_are_refused(full, column, value, reason):
    edit(full, (f"UPDATE flips SET {column} = ? WHERE graph = 1 AND chunk = 2", (value,)))
    refused(full, reason)


def flips_row(chunk, record):
    counts = counts_blob(*votes_of(1, "estimation", chunk))
    return StoredFlips.of(StoredVotes(1, "estimation", chunk, 1000, counts), 0, 3, record)


def packed(arrays):
    """The content of a row of flips with these arrays, whatever they hold."""
    header = json.dumps({name: (array.dtype.str, array.shape) for name, array in arrays.items()})
    return zlib.compress(header.encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values()))


def changed(chunk, /, **arrays):
    """The flips of a chunk of graph 1 with some of their arrays changed, and a digest that agrees with them."""
    record = flips_of(1, chunk)
    return flips_row(chunk, record)._replace(content=packed(record.to_arrays() | arrays))


def first_class_is(label):
    classes = flips_of(1, 2).classes.copy()
    classes[0] = label if label >= 0 else 3 - classes[0]
    return changed(2, classes=classes)


def bits_beyond_the_sites():
    bits = flips_of(1, 2).bits.copy()
    bits[0, 50] |= 1 << 3  # site 403 of 403
    return changed(2, bits=bits)


def positions_out_of_order():
    record = flips_of(1, 1)
    first = int(record.starts[np.argmax(np.diff(record.starts) > 1)])
    positions = record.positions.copy()
    positions[[first, first + 1]] = positions[[first + 1, first]]
    return changed(1, positions=positions)


def a_position_beyond():
    positions = flips_of(1, 1).positions.copy()
    positions[-1] = 403
    return changed(1, positions=positions)


def numbers_beyond_the_axes():
    arrays = flips_of(1, 2).by_numbers(AXES).to_arrays()
    arrays["by_axis"] = arrays["by_axis"].copy()
    arrays["by_axis"][-1, -1] = 399
    return flips_row(2, flips_of(1, 2))._replace(content=packed(arrays))


def raw(content):
    return flips_row(2, flips_of(1, 2))._replace(content=content)


def with_header(header):
    return raw(zlib.compress(json.dumps(header).encode() + b"\n" + bytes(100)))


N = len(flips_of(1, 2))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (bits_beyond_the_sites, "'bits' must be 0 beyond the 403 sites"),
        (lambda: first_class_is(0), "'classes' must be other classes than 0"),
        (lambda: first_class_is(-1), "'records' must be of the votes"),
        (lambda: first_class_is(7), "'records' must be of the votes"),
        (positions_out_of_order, "'positions' must be sites that ascend in each vote"),
        (a_position_beyond, "'positions' must be from 0 to 402"),
        (numbers_beyond_the_axes, "'by_axis' must have"),
        (lambda: raw(zlib.compress(zlib.decompress(changed(2).content) + b"0")), "bytes, and .* are there"),
        (lambda: raw(zlib.compress(bytes(2**20))), "it is not one packed record"),
        (lambda: raw(zlib.compress(b"{}\n" + bytes(2**22))), "it is not one packed record"),
        (lambda: raw(changed(2).content + b"more"), "it is not one packed record"),
        (lambda: raw(changed(2).content[:-9]), "it is not one packed record"),
        (lambda: raw(b"no zlib"), "cannot be read"),
        (lambda: with_header({"bits": ["|O8", [1]]}), "numbers of the type"),
        (lambda: with_header({"bits": ["|u1", [-1, -100]]}), "cannot be read"),
        (lambda: with_header({"bits": ["|u1", [0, 10**30]]}), "cannot be read"),
        (lambda: with_header({"bits": ["|u1", 100]}), "cannot be read"),
        (lambda: with_header({"bits": 7}), "cannot be read"),
        (lambda: with_header([1, 2]), "cannot be read"),
        (lambda: with_header({"bits": ["|u1", [100]]}), "'arrays' must be label, n_sites"),
        (lambda: changed(2, more=np.zeros(3, np.uint8)), "'arrays' must be label, n_sites"),
        (lambda: changed(2, n_sites=np.array(2**32)), "cannot be read"),
        (lambda: changed(2, n_sites=np.array(2**40)), "'n_sites' must be"),
        (lambda: changed(2, n_sites=np.array(500)), "'bits' must"),
        (lambda: changed(2, against=np.array([N - 1])), "'classes' must be other classes than 0, one for each"),
        (lambda: changed(2, samples=np.array([N - 1])), "'against' must be at most the samples"),
        (lambda: changed(2, samples=np.array([999])), "'records' must be of the votes"),
        (lambda: changed(2, label=np.array(1)), "'classes' must be other classes than 1"),
        (lambda: changed(2, label=np.array(3)), "'records' must be of the votes"),
        (lambda: changed(2)._replace(chunk=9), "its flips are of votes that are not there"),
        (lambda: changed(2)._replace(graph=3), "'graph' must be a whole number"),
    ],
)
def test_flips_with_a_good_digest_that_cannot_be_are_refused(full, monkeypatch, make, reason):
    monkeypatch.setattr("starcert.voting.store.rows.MAX_CONTENT", 2**22)  # bombs are larger, records smaller
    edit(full, (FLIPS, row_of(make())))
    refused(full, reason)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("flips", "[3, 2]", "'flips' must be JSON of ascending positions"),
        ("flips", "[2, 2]", "'positions' must be 1 to 65,536 different sites"),
        ("flips", "[]", "'positions' must be 1 to 65,536 different sites"),
        ("flips", "[-1]", "'positions' must be a whole number"),
        ("flips", "[1e3]", "'positions' must be a whole number"),
        ("flips", "[" * 100_000, "recursion"),
        ("flips", "7", "not iterable"),
        ("flips", b"[3]", "'flips' must be JSON of ascending positions"),
        ("flips", "[4]", "does not agree with its digest"),
        ("graph", 7, "'graph' must be a whole number"),
        ("graph", "x", "'graph' must be a whole number"),
        ("chunk", -1, "'chunk' must be a whole number"),
        ("counts", counts_blob(0, 0, 0), "'counts' must be a whole number from 1"),
        ("counts", counts_blob(1, 2, 2**40), "'counts' must be 3 whole numbers"),
        ("counts", counts_blob(1, 2, 3), "does not agree with its digest"),
        ("numbers", "x", "'numbers' must be flips on each of 2 axes"),
        ("numbers", bytes(7), "'numbers' must be flips on each of 2 axes"),
        ("numbers", bytes(8 * 1001), "'numbers' must be flips on each of 2 axes"),
        ("counts", counts_blob(1000), "'counts' must be 3 whole numbers"),
        ("digest", None, "NOT NULL"),
    ],
)
def test_attacks_that_cannot_be_are_refused(full, column, value, reason):
    query = f"UPDATE attacks SET {column} = ? WHERE graph = 1 AND flips = '[3]' AND chunk = 2"
    if value is None:
        with pytest.raises(sqlite3.IntegrityError):
            edit(full, (query, (value,)))
        return
    edit(full, (query, (value,)))
    refused(full, reason)


def test_an_attack_on_a_graph_that_is_not_there_is_refused(full):
    attacks = "INSERT INTO attacks VALUES (?, ?, ?, ?, ?, ?, ?)"
    attack = StoredAttack(3, 0, "[1]", 0, counts_blob(10, 0, 0), b"")
    edit(full, (attacks, row_of(attack)))
    refused(full, "graph 3 attacked at .1., chunk 0: 'graph' must be a whole number")
    edit(full, "DELETE FROM attacks WHERE graph = 3", (attacks, row_of(attack._replace(graph=1, target=1))))
    refused(full, "graph 1 attacked at .1., chunk 0: 'target' must be a whole number")


SETTINGS_TEXT = json.dumps(dataclasses.asdict(SETTINGS))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SETTINGS_TEXT.replace("0.04", "NaN"), r"noise\[bonds\]\[delete\].* must be a probability"),
        (SETTINGS_TEXT.replace("0.04", "1e999"), "must be a probability"),
        (SETTINGS_TEXT.replace("0.04", '"0.04"'), "must be a probability"),
        (SETTINGS_TEXT.replace("0.04", "0.05"), "does not agree with its digest"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 3.0'), "'n_classes' must be a whole number"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 99999999999'), "'n_classes' must be a whole number"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": ' + "9" * 5000), "is not what it should be"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": true'), "'n_classes'"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 2, "n_classes": 3'), "digest"),
        (SETTINGS_TEXT.replace('"cpu"', "7"), "'backend' must be a string"),
        (SETTINGS_TEXT.replace('"backend"', '"front"'), "is not what it should be"),
        ("[" * 100_000, "is not what it should be"),
        ("[1, 2]", "is not what it should be"),
        ("{", "is not what it should be"),
        ("7", "is not what it should be"),
        (b"\xff\xfe\x00", "is not what it should be"),
        (7, "is not what it should be"),
    ],
)
def test_settings_that_cannot_be_are_refused(full, text, reason):
    edit(full, ("UPDATE records SET value = ? WHERE kind = 'settings'", (text,)))
    refused(full, reason)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM records WHERE kind = 'settings'", "settings are missing"),
        ("DELETE FROM records WHERE kind = 'session'", "no session"),
        ("DELETE FROM records WHERE kind = 'graph' AND number = 1", "one before it is missing"),
        ("DELETE FROM records WHERE kind = 'graph' AND number = 2", "'graph' must be a whole number from 0 to 1"),
        ("UPDATE records SET kind = 'code' WHERE kind = 'session'", "'code' 0 does not belong there"),
        ("UPDATE records SET number = 5 WHERE kind = 'graph' AND number = 2", "'graph' 5 does not belong"),
        ("UPDATE records SET value = replace(value, 'key1', 'key9') WHERE kind = 'graph'", "'graph' 1 does not agree"),
    ],
)
def test_records_that_cannot_be_are_refused(full, statement, reason):
    edit(full, statement)
    refused(full, reason)


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
