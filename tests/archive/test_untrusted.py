"""Files that are not trusted: each thing that is wrong with one is a sentence, and nothing is waited for."""

import os
import time
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from starcert import archive as archives
from starcert.archive.untrusted import MAX_DEPTH, MalformedError, converted, read_untrusted
from starcert.system.errors import ArchiveError

READERS = [read_untrusted, archives.read, archives.verify]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@pytest.mark.parametrize("what", ["pipe", "link to a pipe", "folder", "/dev/zero", "missing", "a\0b", "\ud800"])
def test_what_is_not_a_plain_file_is_refused_at_once(tmp_path, read, what):
    path = tmp_path / what
    if "pipe" in what:
        os.mkfifo(tmp_path / "a")
        path = tmp_path / "a"
    if "link" in what:
        path = tmp_path / "link"
        path.symlink_to(tmp_path / "a")
    if what == "folder":
        path.mkdir()
    with pytest.raises(ArchiveError, match=r"cannot be read \(.*\)\. Give a ") as caught:
        read(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested too deeply: more than 100 lists and objects"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": Infinity}', "must hold finite numbers. Got Infinity"),
        (b'{"a": NaN}', "must hold finite numbers. Got NaN"),
        (b'{"a": 1e999}', "must hold finite numbers. Got 1e999"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a' stands twice"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not complete JSON"),
        (b'{"a": "\xff"}', "is not UTF-8 text (invalid start byte at byte 7)."),
        (b"{", "not complete JSON"),
        (b"", "not complete JSON"),
    ],
)
def test_json_that_would_fail_later_is_refused_in_one_sentence(tmp_path, content, said):
    path = tmp_path / "method.json"
    path.write_bytes(content)
    with pytest.raises(ArchiveError) as caught:
        read_untrusted(path, "Write it again.")
    assert said in str(caught.value)
    assert str(caught.value).endswith("Write it again.")
    assert str(caught.value).isprintable()


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "method.json"
    with path.open("wb") as file:
        file.truncate(2**29 + 1)
    with pytest.raises(ArchiveError, match="it has 536,870,913 bytes; more than 536,870,912 are not read"):
        read_untrusted(path)


@pytest.mark.parametrize("value", [b"[],", b'{"a":1},'])
def test_a_file_whose_values_take_the_memory_is_refused_before_it_is_parsed(tmp_path, value):
    """Empty lists take thirty times as many bytes as they have in a file, and the time to make them."""
    path = tmp_path / "method.json"
    path.write_bytes(b"[" + value * 10**7 + b"0]")
    began = time.process_time()
    with pytest.raises(ArchiveError, match=r"its values take about [\d,]+ bytes of memory; more than 805,306,368 are"):
        read_untrusted(path)
    assert time.process_time() - began < 2


class Named(Struct, forbid_unknown_fields=True):
    name: str
    whole: Annotated[int, Meta(ge=0, le=10)] | None = None


def test_halves_of_surrogate_pairs_are_read_and_are_no_names_of_members(tmp_path):
    path = tmp_path / "method.json"
    path.write_text(r'{"name": "\ud83d\ude00 \ud800", "\udfff": 1}')
    top = read_untrusted(path)
    assert converted({"name": top["name"]}, Named).name == "😀 \ud800"
    with pytest.raises(MalformedError, match=r"'\\udfff' does not belong there"):
        converted(top, Named)
    (tmp_path / "link.json").symlink_to(path)
    assert read_untrusted(tmp_path / "link.json") == top


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": "a", "whole": 11}, "'in.whole' must be a whole number up to 10. Got 11 instead."),
        ({"name": "a", "whole": -1}, "'in.whole' must be a whole number from 0. Got -1 instead."),
        ({"name": "a", "whole": 10**4000}, "'in.whole' must be a whole number up to 10. Got 1000"),
        ({"name": "a", "whole": 1.0}, "'in.whole' must be a whole number or null. Got 1.0 instead."),
        ({"name": "a", "whole": True}, "'in.whole' must be a whole number or null. Got True instead."),
        ({"name": None}, "'in.name' must be text. Got None instead."),
        ({}, "'in.name' is missing."),
        ({"name": "a", "x" * 500: 1}, "' does not belong there."),
        ({"name": "a", "b\n` - at `$.name`": 1}, "' does not belong there."),
        ([], "'in' must be an object. Got [] instead."),
    ],
)
def test_a_value_of_another_form_is_named_with_its_place(value, said):
    with pytest.raises(MalformedError) as caught:
        converted(value, Named, "in")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200
