import os

import pytest

from starcert.system.files import holding_lock, lock_file, unlock_file


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def test_one_has_the_lock_and_the_file_goes_with_it(path):
    for _ in range(2):
        mine = lock_file(path)
        assert mine is not None
        assert lock_file(path) is None
        unlock_file(mine)
        assert not os.path.exists(path)


def test_a_file_that_is_left_over_means_nothing(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("of a killed process")
    with holding_lock(path) as free:
        assert free


def test_a_file_that_was_removed_between_opening_and_locking_does_not_count(path, monkeypatch):
    """The holder removes its file and releases the lock: what a second one has opened before is no lock any more."""
    first, flock = lock_file(path), pytest.importorskip("fcntl").flock

    def late(handle, operation):
        monkeypatch.undo()
        unlock_file(first)
        flock(handle, operation)

    monkeypatch.setattr("fcntl.flock", late)
    assert lock_file(path) is None
    assert not os.path.exists(path)
    again = lock_file(path)
    assert again is not None
    unlock_file(again)


def test_a_file_that_cannot_be_made(tmp_path):
    path = str(tmp_path / "nowhere" / "lock")
    with pytest.raises(FileNotFoundError):
        lock_file(path)
    with holding_lock(path) as free:  # then everybody may go on
        assert free
