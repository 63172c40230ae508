import json
from pathlib import Path

import pytest

pytest.importorskip("grakel")
pytest.importorskip("torch_geometric")

from golden import worlds

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("part", worlds.PARTS)
def test_what_was_sound_before_is_the_same_to_the_bit(part):
    pytest.importorskip("rdkit")
    assert json.loads(json.dumps(worlds.PARTS[part]())) == GOLDEN[part]


def test_there_is_something_to_compare():
    assert set(GOLDEN) == set(worlds.PARTS)
    assert sum(map(sum, GOLDEN["mutag"]["pyg"]["votes"]["estimation"])) == 20 * 2_000
    changing = [row for row in GOLDEN["mutag"]["pyg"]["votes"]["estimation"] if min(row) > 0]
    assert len(changing) > 10  # votes that all agree would tell nothing about the noise
