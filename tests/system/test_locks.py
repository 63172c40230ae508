import os

import pytest

from starcert.system import locks


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def test_one_has_the_lock_and_the_file_goes_with_it(path):
    mine = locks.take_file(path)
    assert mine is not None
    assert locks.take_file(path) is None
    locks.let_go(mine, path)
    assert not os.path.exists(path)
    again = locks.take_file(path)
    assert again is not None
    locks.let_go(again, path)


def test_a_file_that_is_left_over_means_nothing(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("of a killed process")
    mine = locks.take_file(path)
    assert mine is not None
    locks.let_go(mine, path)


@pytest.mark.parametrize("taken", [True, False])
def test_a_file_that_lost_its_name_meanwhile_does_not_count(path, monkeypatch, taken):
    """Between opening and locking, the one before removes the file, and another takes the lock of the next one."""
    plain, calls = locks.take, []

    def late(handle):
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(path)
            return plain(handle) if taken else False
        return plain(handle)

    monkeypatch.setattr(locks, "take", late)
    mine = locks.take_file(path)
    assert mine is not None
    assert len(calls) == 2
    assert os.path.samestat(os.fstat(mine), os.stat(path))
    locks.let_go(mine, path)


def test_a_file_that_cannot_be_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        locks.take_file(str(tmp_path / "nowhere" / "lock"))
