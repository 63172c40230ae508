"""The threat of a run: from its text, with the user's files, on the graphs that it fits."""

import os
import sys
from pathlib import Path

import pytest

import starcert as sc
from starcert.datasets import Dataset
from starcert.objects.binding import bind_all
from starcert.runs.folder import plain_value
from starcert.runs.inputs import check_threat, with_spares
from starcert.runs.run_file import read_run_file
from starcert.runs.setting_values import as_threat, digest_of_files, threat_text, without_folders
from starcert.runs.user_code import UserCodeError
from starcert.system.errors import InvalidParameterError

MINE = """
from dataclasses import dataclass
import starcert as sc

def near(frame, u, v):
    return abs(u - v) == 1

@dataclass(frozen=True)
class First(sc.Threat):
    most: int
    label = "the first pair"
    def attacks(self, sites, size):
        return sc.threats.Attacks.from_lists([[(0, 1 - int(sites.clean.n_edges > 0))]] if size == 1 else [])
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "my files").mkdir()
    file = tmp_path / "my files" / "mine.py"
    file.write_text(MINE)
    return file


@pytest.mark.parametrize("text", ["mine.py:First:1", "where:2,name=mine.py:near", "rewire:1 | mine.py:First:1"])
def test_files_in_a_text_are_found_from_a_folder_and_leave_no_folder_behind(mine, text):
    threat = as_threat(text, mine.parent, "threat")
    assert as_threat(threat, Path(), "threat") is threat
    assert str(mine.parent.name) not in str(without_folders(threat))
    assert str(without_folders(threat)) == threat_text(threat, lambda file: file.name) == text
    sites = bind_all([sc.Graph(4, [(0, 1)])], sc.Noise(all=0.1), None).sites[0]
    for size in (1, 2):
        one, other = (each.attacks(sites, size) for each in (threat, without_folders(threat)))
        assert len(one) == len(other) > 0 or size == 2
    before = digest_of_files(threat)
    mine.write_text(MINE + "\n# other content\n")
    assert digest_of_files(threat) != before
    assert as_threat(threat_text(threat, str), Path.cwd(), "threat").label == threat.label


def test_threats_of_starcert_have_no_files():
    threat = as_threat("rewire:1 | flips:2", Path(), "threat")
    assert digest_of_files(threat) is None
    assert digest_of_files(None) is None
    assert without_folders(threat) is threat
    assert without_folders(None) is None


def test_files_of_one_name_keep_their_folders(mine, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    text = f"mine.py:First:1 | {tmp_path}/mine.py:First:1"
    threat = as_threat(text, mine.parent, "threat")
    assert without_folders(threat) is threat


LABELLED = [
    sc.Graph(3, [(0, 1)], node_data={"element": ["C", "N", "O"]}),
    sc.Graph(2, [], node_data={"element": ["C", "C"]}),
]
DATA = Dataset(LABELLED, [0, 1], names=("a", "b"))


def test_spare_nodes_come_with_their_data():
    threat = sc.threats.InjectNode(edges=1) | sc.threats.InjectNode(["b", "c"], edges=1)
    found = with_spares(DATA, threat, {"element": "F"})
    for before, after in zip(LABELLED, found.graphs, strict=True):
        assert after.nodes == (*before.nodes, "spare", "b", "c")
        assert after.node_data["element"] == (*before.node_data["element"], "F", "F", "F")
    again = with_spares(found, sc.threats.InjectNode(edges=2), {"element": "F"})
    assert [each.n_nodes for each in again.graphs] == [each.n_nodes for each in found.graphs]
    assert with_spares(DATA, sc.threats.Rewire(1), {}) is DATA
    plain = with_spares(Dataset([sc.Graph(2, [])], [0], names=["c"]), sc.threats.InjectNode(edges=1), {})
    assert plain.graphs[0].n_nodes == 3


@pytest.mark.parametrize(
    ("data", "threat", "entries", "said"),
    [
        (
            DATA,
            "inject:1",
            {},
            "'spare_node' must have an entry of each spare node for element.",
        ),
        (DATA, "inject:1", {"element": "C", "charge": 0}, "for graph 'a'"),
        (
            DATA,
            "rewire:1",
            {"element": "C"},
            "'spare_node' needs a threat that injects nodes",
        ),
        (Dataset([sc.Bits([0, 1])], [0]), "inject:1", {}, "'threat' injects nodes, so graphs must be classified"),
        (
            Dataset(LABELLED[0], [0, 1, 0]),
            "inject:1",
            {"element": "C"},
            "'threat' injects nodes, so graphs must be classified",
        ),
    ],
)
def test_spare_nodes_that_cannot_be_made_are_one_message(data, threat, entries, said):
    with pytest.raises(InvalidParameterError) as caught:
        with_spares(data, as_threat(threat, Path(), "threat"), entries)
    assert said in str(caught.value)


def test_a_threat_that_does_not_fit_is_refused_by_name():
    data = Dataset([sc.Bits([0, 1]), sc.Bits([1, 1])], [0, 1], names=("one", "two"))
    problem = bind_all(data.graphs, sc.Noise(all=0.1), None)
    for threat in (None, sc.threats.AnyFlips(2), sc.threats.Deletions(1)):
        check_threat(threat, problem, data)
    with pytest.raises(InvalidParameterError) as caught:
        check_threat(sc.threats.Rewire(1), problem, data)
    said = str(caught.value)
    assert said.startswith("'threat' must fit the objects: 1 rewired edge needs ")
    assert "(row 'one', threat rewire:1)" in said
    assert said.endswith("Ask about another threat: any flips, such as flips:1, fit everything.")


def test_a_threat_may_be_in_a_module(mine, monkeypatch):
    monkeypatch.syspath_prepend(str(mine.parent))
    found = as_threat("mine:First:1 | rewire:1", mine.parent, "threat")
    assert (str(found), found.label) == ("mine:First:1 | rewire:1", "the first pair or 1 rewired edge")
    assert isinstance(as_threat("where:2,name=mine:near", mine.parent, "threat"), sc.threats.Where)
    del sys.modules["mine"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mine.py:Second:1", "defines no 'Second'. It defines First"),
        ("absent.py:First:1", "name a Python file that exists"),
        ("mine.py:near:1", "is not a class derived from starcert.Threat"),
        ("absent:First:1", "a module that can be imported"),
        ("mine.py:First:0", "must be a whole number"),
        ("where:2,name=near", "name a Python file and a function in it"),
        ("where:2", "name a Python file and a function in it"),
        ("first:1", "be a threat with its number"),
    ],
)
def test_a_threat_that_is_not_there_is_one_message(mine, text, why):
    with pytest.raises((InvalidParameterError, UserCodeError)) as refused:
        as_threat(text, mine.parent, "--threat")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_imports_nothing_by_itself(tmp_path, monkeypatch):
    """The text of an archive may come from anywhere."""
    (tmp_path / "harmful.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    for text in ("harmful:Thing:1", "harmful.py:Thing:1", "where:1,name=harmful:thing"):
        with pytest.raises(InvalidParameterError, match="must refer to what is known here"):
            sc.threats.read_threat(text)
    assert "harmful" not in sys.modules


def test_a_run_file_names_the_file_of_a_threat_from_its_own_folder(mine, tmp_path):
    run = mine.parent / "run.toml"
    run.write_text('threat = "mine.py:First:1"\n', encoding="utf-8")
    threat = read_run_file(run).values["threat"]
    (tmp_path / "out").mkdir()
    assert plain_value(threat, lambda file: os.path.relpath(file, tmp_path / "out")) == "../my%20files/mine.py:First:1"
