"""A store of an earlier format is refused, with what to do; a look that cannot be believed is refused too."""

import json
from dataclasses import fields
from hashlib import blake2b

import pytest
from store_worlds import edit, opened

from starcert.system.errors import StoreError
from starcert.voting.store import VoteStore
from starcert.voting.store.file import FORMAT
from starcert.voting.store.records import RECORDS
from starcert.voting.store.rows import SCHEMA


@pytest.mark.parametrize("version", range(1, FORMAT))
@pytest.mark.parametrize("way", [VoteStore.read, opened])
def test_an_old_format_is_refused_in_one_sentence_with_the_next_step(full, version, way):
    edit(full, f"PRAGMA user_version = {version}")
    before = full.read_bytes()
    with pytest.raises(StoreError) as caught:
        way(full)
    assert str(caught.value) == (
        f"{full}: cannot be used: its format is {version}, this starcert reads format {FORMAT}: use the one that wrote "
        "it. Take a good copy of the file, or write into another one: votes can be drawn again."
    )
    assert full.read_bytes() == before


def test_another_content_needs_another_format():
    held = SCHEMA, {kind: [each.name for each in fields(record)] for kind, record in RECORDS.items()}
    found = blake2b(json.dumps(held).encode(), digest_size=8).hexdigest()
    assert (FORMAT, found) == (12, "08475bb356d83d50"), "a store holds something else: raise FORMAT, and pin both again"


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
