import os

import pytest

from starcert.system import files


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


def test_one_has_the_lock_and_the_file_goes_with_it(path):
    mine = files.lock_file(path)
    assert mine is not None
    assert files.lock_file(path) is None
    files.unlock_file(mine, path)
    assert not os.path.exists(path)
    again = files.lock_file(path)
    assert again is not None
    files.unlock_file(again, path)


def test_a_file_that_is_left_over_means_nothing(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("of a killed process")
    mine = files.lock_file(path)
    assert mine is not None
    files.unlock_file(mine, path)


@pytest.mark.parametrize("taken", [True, False])
def test_a_file_that_lost_its_name_meanwhile_does_not_count(path, monkeypatch, taken):
    """Between opening and locking, the one before removes the file, and another takes the lock of the next one."""
    plain, calls = files.try_lock, []

    def late(handle):
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(path)
            return plain(handle) if taken else False
        return plain(handle)

    monkeypatch.setattr(files, "try_lock", late)
    mine = files.lock_file(path)
    assert mine is not None
    assert len(calls) == 2
    assert os.path.samestat(os.fstat(mine), os.stat(path))
    files.unlock_file(mine, path)


def test_a_file_that_cannot_be_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.lock_file(str(tmp_path / "nowhere" / "lock"))
