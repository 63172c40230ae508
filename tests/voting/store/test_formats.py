"""What a store holds has a number: a change of one needs a change of the other."""

import json
from dataclasses import fields
from hashlib import blake2b

from starcert.voting.store.file import FORMAT
from starcert.voting.store.rows import RECORDS, TABLES, schema_of


def test_another_content_needs_another_format():
    held = [*map(schema_of, TABLES)], {kind: [each.name for each in fields(record)] for kind, record in RECORDS.items()}
    found = blake2b(json.dumps(held).encode(), digest_size=8).hexdigest()
    assert (FORMAT, found) == (13, "67870a6a5f346bea"), "a store holds something else: raise FORMAT, and pin both again"
