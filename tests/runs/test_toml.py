import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.errors import InvalidParameterError
from starcert.runs import toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.one_of(PLAIN, st.lists(st.integers(0, 99)), st.dictionaries(TEXTS, PLAIN, max_size=3))


@given(VALUES)
def test_values_come_back_to_the_last_bit(value):
    back = tomllib.loads(f"item = {toml.value(value)}")["item"]
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@given(st.dictionaries(TEXTS, PLAIN), st.dictionaries(TEXTS, PLAIN))
def test_documents_come_back_with_their_tables_and_order(top, table):
    top.pop("noise", None)
    text = toml.document(["# a comment", "", *top.items(), ("noise", table)])
    back = tomllib.loads(text)
    assert list(back.pop("noise").items()) == list(table.items())
    assert list(back.items()) == list(top.items())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, object(), {1}])
def test_what_toml_cannot_say_is_refused(value):
    with pytest.raises(InvalidParameterError, match="text, a finite number"):
        toml.value(value)
