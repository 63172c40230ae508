import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from starcert.runs.run_file import rewritten, toml_item

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.one_of(PLAIN, st.lists(st.integers(0, 99)), st.dictionaries(TEXTS, PLAIN, max_size=3))


@given(VALUES)
def test_values_come_back_to_the_last_bit(value):
    document = tomlkit.document()
    document.add("item", toml_item(value))
    text = tomlkit.dumps(document)
    # The escape character is written as of TOML 1.1, which the standard library does not read yet.
    for back in [tomlkit.parse(text).unwrap()["item"], *([] if "\\e" in text else [tomllib.loads(text)["item"]])]:
        assert back == value
        assert type(back) is type(value)
        assert repr(back) == repr(value)


MINE = """# my best run
seed = 1  # lucky

# as many as there are cores
workers = 2
out = "elsewhere"

[noise]  # little
motif = 0.02  # where the answer lies
rest = {delete = 0.3, add = 0.2}

[expected]
model = "1"
"""


def test_what_is_the_same_stays_to_the_letter():
    plain = "".join(line.partition("#")[0].rstrip() + "\n" for line in MINE.splitlines())
    assert rewritten(MINE, plain) == MINE
    assert rewritten(MINE, MINE) == MINE


@pytest.mark.parametrize(
    ("line", "by"), [("workers = 2", "workers = 3"), ("motif = 0.02 ", "motif = 0.5 "), ('model = "1"', 'model = "2"')]
)
def test_comments_outlive_the_values_beside_them(line, by):
    assert rewritten(MINE, MINE.replace(line, by)) == MINE.replace(line, by)


def test_what_is_gone_goes_and_what_is_new_comes():
    new = 'seed = 1\nsplit = "test"\n[noise]\nmotif = 0.02\nother = 0.1\n[expected]\nmodel = "1"\ndata = "2"\n'
    back = tomllib.loads(text := rewritten(MINE, new))
    assert back == tomllib.loads(new) | {"out": "elsewhere"}  # a run file that is written never says where to
    assert "# lucky" in text
    assert "# where the answer lies" in text


def test_the_head_is_that_of_the_last_run():
    head = "# A run of starcert certify, made by starcert {}. …\n# Paths are relative to the folder of this file.\n"
    assert rewritten(head.format(1) + MINE, head.format(2) + MINE) == head.format(2) + MINE


@pytest.mark.parametrize(
    "there",
    [
        "seed = 1  # lucky\nnoise.motif = 0.5\nnoise.rest.delete = 0.3\nnoise.rest.add = 0.1\n",
        "seed = 1\n[noise]\nmotif = 0.02\n[expected]\nmodel = '1'\n[noise.rest]\ndelete = 0.3\nadd = 0.2\n",
        "noise = { motif = 0.02, rest = { delete = 0.3, add = 0.1 } }  # on one line\nexpected = {}\n",
        "noise = 3\nexpected = [1]\n",
        "[[noise]]\nmotif = 1\n",
    ],
)
def test_whatever_way_it_is_written_it_says_what_it_should(there):
    assert tomllib.loads(rewritten(there, MINE)) == tomllib.loads(MINE)


def test_a_file_that_is_none_is_replaced():
    assert rewritten("seed = ", "seed = 1\n") == "seed = 1\n"
