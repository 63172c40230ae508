import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from starcert.objects.content import digest, frozen_copy
from starcert.system.errors import InvalidParameterError

DIFFERENT = [
    1,
    1.0,
    True,
    "1",
    b"1",
    None,
    (),
    (1,),
    (1, 2),
    ((1, 2),),
    ((1,), 2),
    (12,),
    {},
    {"a": 1},
    {"a": 2},
    {"b": 1},
    frozenset(),
    frozenset({1}),
    np.array([1, 2]),
    np.array([1, 2], dtype=np.int32),
    np.array([1.0, 2.0]),
    np.array([[1, 2]]),
    np.array([[1], [2]]),
    np.array([1, None], dtype=object),
    np.array([1, 2], dtype=object),
    np.zeros(2, dtype=[("a", "i4"), ("b", "i4")]),
    np.zeros(2, dtype=[("a", "i4"), ("c", "i4")]),
]


def test_different_content_has_different_digests():
    assert len({digest(value) for value in DIFFERENT}) == len(DIFFERENT)
    assert digest("a", "b") != digest("ab") != digest(("a", "b"))


def test_equal_content_has_equal_digests():
    assert digest([1, 2]) == digest((1, 2))
    assert digest(np.int64(3)) == digest(3)
    assert digest(np.arange(6).reshape(2, 3).T) == digest(np.array([[0, 3], [1, 4], [2, 5]]))
    assert len(digest(1)) == 32


def test_long_arrays_inside_sequences_are_read_whole():
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    assert repr(one) == repr(other)  # numpy shortens
    assert digest([one]) != digest([other])


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_digest_is_the_same_in_another_process(hash_seed):
    value = "[frozenset('abcdef'), {'x': {'p', 'q', 'r'}}, np.array(['u', None], dtype=object)]"
    code = f"import numpy as np; from starcert.objects.content import digest; print(digest({value}))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    here = digest([frozenset("abcdef"), {"x": {"p", "q", "r"}}, np.array(["u", None], dtype=object)])
    assert printed.stdout.strip() == here


def test_tensors_count_as_the_arrays_they_convert_to():
    torch = pytest.importorskip("torch")
    assert digest(torch.arange(3)) == digest(np.arange(3))
    assert digest(torch.ones(2, requires_grad=True)) == digest(np.ones(2, dtype=np.float32))
    assert digest(torch.eye(2).to_sparse()) == digest(torch.eye(2))
    assert digest(torch.tensor([1.5, 2], dtype=torch.bfloat16)) != digest(torch.tensor([1.5, 3], dtype=torch.bfloat16))


def test_copies_do_not_follow_the_original():
    array, listed = np.arange(2), [1, 2]
    frozen, held = frozen_copy(array, 2, "a"), frozen_copy(listed, 2, "a")
    array[0], listed[0] = 9, 9
    assert frozen.tolist() == [0, 1]
    assert held == (1, 2)
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 9


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1, 2], "each of the 3 nodes. Got '2 entries'"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.float64(1), r"shape \(\)"),
        ("CNO", "a sequence or an array"),
        (3, "a sequence or an array"),
        ({1, 2, 3}, "a sequence or an array"),
        (sparse.eye_array(3), "made dense"),
    ],
)
def test_what_is_not_one_entry_a_node_is_refused(values, problem):
    with pytest.raises(InvalidParameterError, match=problem) as caught:
        frozen_copy(values, 3, "node_data[x]")
    assert "node_data[x]" in str(caught.value)
