"""`starcert certify --method links`: no model and no noise, masks or a draw, files, page, `verify`, and refusals."""

import csv
import json

import numpy as np
import pytest

import starcert as sc
from starcert.archive import read
from starcert.baselines.blind_model import node_scores
from starcert.benchmark.archives import Proved
from starcert.datasets import npz
from starcert.datasets.parts import split_nodes
from starcert.system.errors import StarcertError

pytest.importorskip("sklearn")
N = 90
COMMAND = "certify", "--method", "links", "--data", "net.npz", "--set", "of_a_class=8"
MINE = """
import numpy as np
import starcert as sc

def votes(data):
    labels = np.eye(2, dtype=int)[data.labels]
    return sc.models.LinkVotes(3 * labels, labels)

def other():
    return lambda graph: [0] * len(graph)
"""


def arrays(**masks):
    """Nodes of two classes, with words and links that tell them apart."""
    rng = np.random.default_rng(3)
    labels = np.arange(N) % 2
    words = rng.random((N, 30)) < np.where(labels[:, None] == (np.arange(30) >= 15), 0.1, 0.3)
    linked = rng.random((N, N)) < np.where(labels[:, None] == labels, 0.12, 0.01)
    linked = np.triu(linked, 1) | np.triu(linked, 1).T
    found = {"labels": labels, **masks}
    for name, matrix in (("adj", linked), ("attr", words)):
        rows, columns = np.nonzero(matrix)
        starts = np.searchsorted(rows, np.arange(N + 1))
        parts = {"data": np.ones(len(rows)), "indices": columns, "indptr": starts, "shape": matrix.shape}
        found |= {f"{name}_{part}": array for part, array in parts.items()}
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "net.npz", **arrays())
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def rows_of(place):
    return list(csv.DictReader((place / "results.csv").read_text().splitlines()))


def test_one_command_certifies_the_nodes_that_nothing_was_learned_from(folder, here):
    status, said, notes = here(*COMMAND, "--threat", "flips:3", "--out", "results")
    assert status == 0, notes
    assert (
        "16 nodes to learn from and 16 to choose by (8 nodes a class each, drawn by --split-seed); 58 to test." in notes
    )
    assert "votes of weight" in notes
    assert "alpha = 0" in said
    rows, out = rows_of(folder / "results"), folder / "results"
    train, validation, test = split_nodes(np.arange(N) % 2, 0, 8)
    assert [int(row["node"]) for row in rows] == test.tolist()
    assert not {*train, *validation} & {*test}
    broken = [row for row in rows if row["any_3"] == "broken"]
    assert broken
    assert all("edge " in row["attack"] and int(row["broken_size"]) <= 3 for row in broken)
    assert {row["attack"] for row in rows if row["any_3"] == "certified"} == {""}
    assert np.mean([row["true"] == row["answer"] for row in rows]) > 0.6
    assert {row["blind_class"] for row in rows} == {"0", "1"}
    archive = read(out / "certificates.json")
    assert (archive.kind, archive.certificates.alpha, len(archive)) == ("links", 0, 58)
    assert not {"samples", "noise", "seed"} & archive.settings.keys()
    assert "votes of weight" in archive.settings["link_votes"]
    page = (out / "report.html").read_text()
    assert "closed form" in page
    assert "votes of weight" in page
    assert "forward passes" not in page + said
    assert "attacks left" not in page
    status, said, _ = here("verify", out)
    assert (status, "proved" in said) == (0, True)
    assert json.loads(here("verify", out, "--json")[1])["verdict"] == "proved"
    assert here("show", out)[0] == here("show", out, rows[0]["name"])[0] == 0


def test_the_run_file_repeats_the_run_and_programs_read_the_same(folder, here):
    assert here(*COMMAND, "--threat", "rewire:1", "--out", "a")[0] == 0
    text = (folder / "a" / "run.toml").read_text()
    assert 'method = "links"' in text
    assert "[noise]" not in text
    assert '\nmodel = "starcert' not in text
    status, said, _ = here("certify", "a/run.toml", "--out", "b", "--json")
    found = json.loads(said)
    assert status == 0
    assert (found["alpha"], found["threat"], found["method"]) == (0, "rewire:1", "votes of links, alpha = 0")
    assert (folder / "a" / "certificates.json").read_bytes() == (folder / "b" / "certificates.json").read_bytes()
    assert here("compare", "a", "b")[0] == 0


def test_a_finished_run_is_repeated_shown_and_built_again_and_no_other_takes_its_place(folder, here):
    words = (*COMMAND, "--threat", "flips:2", "--out", "a")
    assert here(*words)[0] == 0
    before = {each.name: each.read_bytes() for each in (folder / "a").iterdir()}
    assert here(*words)[0] == here("show", "a", "--rebuild")[0] == 0
    assert {each.name: each.read_bytes() for each in (folder / "a").iterdir()} == before
    status, _, notes = here(*COMMAND, "--threat", "flips:3", "--out", "a")
    assert (status, "holds another run" in notes) == (2, True)


def test_masks_in_the_file_and_fractions_decide_the_parts(folder, here):
    masks = np.zeros((3, N), dtype=bool)
    masks[0, :20], masks[1, 20:40], masks[2, 50:60] = True, True, True
    np.savez(folder / "net.npz", **arrays(train_mask=masks[0], val_mask=masks[1]))
    _, _, notes = here(*COMMAND, "--out", "masks")
    assert "20 nodes to learn from and 20 to choose by (as its masks say); 50 to test." in notes
    assert [int(row["node"]) for row in rows_of(folder / "masks")] == list(range(40, N))
    np.savez(folder / "net.npz", **arrays(**dict(zip(("train_mask", "val_mask", "test_mask"), masks, strict=True))))
    assert "10 to test" in here(*COMMAND, "--out", "three")[2]
    assert here(*COMMAND, "--out", "all", "--set", "nodes=val_mask")[0] == 0
    assert [int(row["node"]) for row in rows_of(folder / "all")] == list(range(20, 40))
    np.savez(folder / "net.npz", **arrays())
    status, _, notes = here(*COMMAND, "--out", "shares", "--set", "fractions=[0.5, 0.2, 0.3]")
    assert (status, "45 nodes to learn from and 18 to choose by" in notes) == (0, True)
    np.savez(folder / "net.npz", **arrays(train_mask=masks[0], val_mask=masks[0]))
    status, _, notes = here(*COMMAND, "--out", "both")
    assert (status, "no node in both train_mask and val_mask" in notes) == (2, True)


def test_votes_of_ones_own_are_a_model(folder, here):
    words = (*COMMAND, "--threat", "additions:2", "--out", "mine")
    status, _, notes = here(*words, "--model", "mine.py:votes")
    assert status == 0, notes
    assert read(folder / "mine" / "certificates.json").certificates.labels.tolist() == [
        int(row["true"]) for row in rows_of(folder / "mine")
    ]
    status, _, notes = here(*words, "--model", "mine.py:other")
    assert (status, "starcert has its own" in notes) == (2, True)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--evidence",), "evidence"),
        (("--exact",), "exact"),
        (("--set", "targets=graphs"), "targets"),
        (("--threat", "delete_node:1"), "not one that link votes are certified under"),
        (("--threat", "swap:1"), "not one that link votes are certified under"),
        (("--set", "fractions=[0.5, 0.0, 0.5]"), "val_mask"),
    ],
)
def test_what_does_not_go_with_it_is_refused(folder, here, more, says):
    status, _, notes = here(*COMMAND, *more, "--out", "none")
    assert (status, says in notes) == (2, True), notes
    assert not (folder / "none").exists()


def test_rerun_says_that_verify_proves_all_of_it(folder, here):
    assert here(*COMMAND, "--out", "results")[0] == 0
    status, _, notes = here("verify", "results", "--rerun", "3")
    assert (status, "verify proves all of it" in notes) == (2, True)


def test_a_file_that_says_more_is_refuted(folder, here):
    assert here(*COMMAND, "--threat", "flips:3", "--out", "results")[0] == 0
    file = folder / "results" / "certificates.json"
    told = json.loads(file.read_text())
    one = next(each for each in told["graphs"] if each["broken_size"])
    one.update(certified_size=3, broken_size=None, attack=None)
    file.write_text(json.dumps(told))
    status, said, _ = here("verify", "results")
    assert (status, one["name"] in said, "certified_size" in said) == (1, True, True)
    with pytest.raises(StarcertError, match="1 of its claims are false"):
        Proved.of(file)
    one.update(certified_size=0)
    file.write_text(json.dumps(told))
    with pytest.raises(StarcertError, match="a method of the benchmark itself"):
        Proved.of(file)


def test_a_dry_run_and_the_lists_know_it(folder, here):
    status, said, _ = here(*COMMAND, "--dry-run")
    assert (status, "58 nodes under any 1 flip: nothing is sampled, alpha = 0." in said) == (0, True)
    assert "--method links" in here("list", "methods")[1]
    assert "--method" in here("certify", "--help")[1]


def test_exact_is_a_method_too(folder, here):
    (folder / "g.py").write_text("import starcert as sc\ndef rows():\n    return sc.Bits.rows([[0, 1, 1]]), ['a']\n"
                                 "def most():\n    return lambda rows: rows.sum(axis=1) > 1\n")  # fmt: skip
    words = "certify", "--model", "g.py:most", "--data", "g.py:rows", "--noise", "all=0.1"
    (folder / "h.py").write_text((folder / "g.py").read_text().replace("['a']", "['0']"))
    texts = []
    for number, how in enumerate((("--exact",), ("--method", "exact"))):
        status, _, notes = here(*words, *how, "--out", f"x{number}")
        texts.append((status, (folder / f"x{number}" / "run.toml").read_text() if not status else notes))
    assert texts[0] == texts[1]


def test_the_blind_model_sees_no_link(folder):
    """Its scores, and so own scores and votes, are the same whatever the links are."""
    graph = npz(folder / "net.npz").graph
    train, *_ = split_nodes(np.arange(N) % 2, 0, 8)
    scores = node_scores(graph, train, train % 2, 2)
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(N, size=(300, 2)).tolist() if pair[0] != pair[1]}
    for edges in ([], sorted(pairs)):
        other = node_scores(sc.Graph(N, edges, node_data=dict(graph.node_data)), train, train % 2, 2)
        assert {name: each.tolist() for name, each in other.items()} == {n: each.tolist() for n, each in scores.items()}
    assert len(scores) > 3
