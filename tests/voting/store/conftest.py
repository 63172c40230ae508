import pytest
from store_worlds import fill, fill_evidence, opened


@pytest.fixture
def path(tmp_path):
    return tmp_path / "votes.db"


@pytest.fixture
def full(path):
    with opened(path) as store:
        fill(store, 4)
        fill_evidence(store, 4)
    return path
