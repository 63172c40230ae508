"""The study of narrow threats, with few molecules and votes: what is asked, what is chosen, what is counted."""

from dataclasses import replace

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert_studies.reproduce import StudyParts

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("grakel")  # brings MUTAG along

from starcert_studies import threats

TINY = threats.Threats(300, 500, 3, 1, 50, nci1=False)
FULL = threats.Threats()
LABELS = [each.label for each in threats.threats_for("MUTAG", 1)]


@pytest.fixture(scope="module", autouse=True)
def _small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threats, "MAX_NODES", 12)  # few attacks
        patch.setattr(threats, "BLOCK", 2)
        for cached in (threats.splits, threats.threats_for, threats.tested, threats.smoothed_network):
            cached.cache_clear()
        yield
    for cached in (threats.splits, threats.threats_for, threats.tested, threats.smoothed_network):
        cached.cache_clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, _small):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("threats"))


def judged(folder):
    return [one for at in (0, 2) for one in worlds.part(folder, f"MUTAG-{at}")]


def test_settings_of_the_command_line(monkeypatch):
    monkeypatch.setattr(threats, "local_names", lambda: ["MUTAG"])
    assert threats.Threats.from_options(None, 1, False) == threats.Threats(nci1=False)
    assert threats.Threats.from_options(500, 2, True) == threats.Threats(500, 5_000, 4, 5, 200, False, 2)
    monkeypatch.setattr(threats, "local_names", lambda: ["MUTAG", "NCI1"])
    assert threats.Threats.from_options(None, 1, False).data == ("MUTAG", "NCI1")


def test_what_was_right_most_often_on_validation_molecules_is_chosen(folder):
    chosen = worlds.part(folder, "chosen-MUTAG")
    tried = worlds.table(folder, "networks")
    assert [(row["network"], row["delete"], row["add"]) for row in tried] == [
        (network, str(delete), str(add)) for network in ("GCN", "GIN") for delete, add in threats.RATES
    ]
    assert chosen["right"] == max(float(row["right"]) for row in tried)
    best = next(row for row in tried if float(row["right"]) == chosen["right"])
    assert (chosen["network"], str(chosen["delete"]), str(chosen["add"])) == tuple(best.values())[1:4]


def test_no_molecule_is_both_learnt_from_and_tested():
    for data in ("MUTAG",):
        parts = [{id(graph) for graph in part.graphs} for part in threats.splits(data, 1)]
        assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]
        assert {id(graph) for graph in threats.tested(TINY, data).graphs} <= parts[2]
        assert all(graph.n_nodes <= 12 for part in threats.splits(data, 1) for graph in part.graphs)


def test_the_table_counts_each_molecule_once(folder):
    rows, found = worlds.table(folder, "threats"), judged(folder)
    assert [row["threat"] for row in rows] == LABELS
    assert len(found) == 3
    for i, row in enumerate(rows):
        right, certified, broken, left = (int(row[name]) for name in ("right", "certified", "broken", "open"))
        assert right == certified + broken + left <= int(row["molecules"]) == 3
        assert int(row["by_evidence"]) <= certified
        assert int(row["attacks"]) == sum(one["attacks"][i] for one in found)
        assert float(row["median_attacks"]) == np.median([one["attacks"][i] for one in found])
        assert int(row["own_votes"]) == round(np.mean([one["own_votes_each"][i] for one in found]))
        assert float(row["accuracy"]) == right / 3


def test_attacks_are_those_that_threats_count(folder):
    graphs = threats.tested(TINY, "MUTAG").graphs
    for graph, one in zip(graphs, judged(folder), strict=True):
        sites = sc.Partition.everything("pairs").sites(graph)
        asked = threats.threats_for("MUTAG", 1)
        counts = [sum(each.count(sites, size) for size in range(1, each.most + 1)) for each in asked]
        assert one["attacks"] == counts


def test_verdicts_are_those_of_certify(folder):
    chosen = worlds.part(folder, "chosen-MUTAG")
    smoothed = threats.smoothed_network(TINY, "MUTAG", (chosen["network"], (chosen["delete"], chosen["add"])))
    graph, one = threats.tested(TINY, "MUTAG").graphs[0], judged(folder)[0]
    for i, threat in enumerate(threats.threats_for("MUTAG", 1)):
        for own, name in ((500, "own"), (0, "shared")):
            how = {"evidence": sc.Evidence(own_samples=own), "voting": sc.Voting(progress=False)}
            found = smoothed.certify([graph], samples=300, alpha=0.01, seed=1, threat=threat, **how)[0]
            assert (found.verdict(threat) == "certified") == (one[name][i] == "certified")
            assert name == "shared" or (found.verdict(threat), found.label) == (one["own"][i], one["class"])
        paper = smoothed.certify([graph], samples=300, alpha=0.01, seed=1, threat=threat, voting=how["voting"])[0]
        assert paper.certified(threat) == one["by_p_A"][i]


def test_it_continues_where_it_was(folder):
    before = {path.name: path.read_bytes() for path in (folder / "parts").iterdir()}
    (folder / "parts" / "MUTAG-2.json").unlink()
    _, found = TINY.votes(StudyParts(folder / "parts"))
    assert set(before) == {path.name for path in (folder / "parts").iterdir()}
    timed = {"seconds", "vote_seconds"}
    kept, again = (
        [{name: value for name, value in one.items() if name not in timed} for one in some]
        for some in (judged(folder), [*found["MUTAG-0"], *found["MUTAG-2"]])
    )
    assert kept == again


def test_what_is_left_out_is_said(folder):
    kept = worlds.results(folder)
    assert kept["summary"][-1].startswith("NCI1 was left out")
    assert {path.stem for path in (folder / "figures").iterdir()} == {"verdicts"}
    assert [check["holds"] for check in kept["checks"]] == [None, True, True]


def test_valences_without_elements_are_those_of_the_training_molecules(monkeypatch):
    def molecule(n, edges, labels):
        return sc.Graph(n, edges, node_data={"label": labels, "x": np.eye(3)[labels]})

    star = molecule(4, [(0, 1), (0, 2), (0, 3)], [2, 1, 1, 1])
    taught = sc.datasets.Dataset([star], np.array([0]))
    fits, exceeds = molecule(3, [(0, 1), (0, 2)], [2, 1, 1]), molecule(3, [(0, 1), (1, 2)], [2, 1, 1])
    others = sc.datasets.Dataset([fits, exceeds], np.array([0, 1]))
    monkeypatch.setattr(threats, "splits", lambda data, seed: (taught, others, others))
    sites = [sc.Partition.everything("pairs").sites(graph) for graph in (star, fits)]
    valence = threats.threats_for("NCI1", 7)[1]
    assert [valence.count(each, 1) for each in sites] == [3, 2]  # no bond can be added, as label 1 has one at most
    assert threats.tested(replace(TINY, seed=7), "NCI1").graphs == (fits,)


def test_small_molecules_of_both_classes_are_as_many(monkeypatch):
    mutag = sc.datasets.tu("MUTAG")
    monkeypatch.setattr(threats, "tu", lambda _: mutag)
    drawn = np.concatenate([part.labels for part in threats.splits("NCI1", 5)])
    small = [label for graph, label in zip(mutag.graphs, mutag.labels, strict=True) if graph.n_nodes <= 12]
    assert np.bincount(drawn).tolist() == [np.bincount(small).min()] * 2


def test_claims_fail_where_they_are_not_so():
    def entry(own, attacks=(5, 4, 900, 3, 100)):
        return worlds.judged_entry(own=own, attacks=list(attacks))

    def held(*some, study=FULL):
        report = threats.Report(study.texts)
        study.check_claims(report, {"MUTAG": list(some)})
        return [check.holds for check in report.checks]

    fine, weak = ["certified"] * 5, ["open", "certified", "open", "certified", "certified"]
    broken = ["certified", "certified", "broken", "broken", "certified"]
    assert held(entry(fine), entry(fine)) == [True, True, True]
    assert held(entry(fine), entry(weak)) == [False, True, True]
    assert held(entry(fine), entry(broken)) == [False, True, False]
    assert held(entry(fine, (5, 4, 900, 100, 100))) == [True, False, True]
    assert held(entry(weak), study=TINY) == [None, True, True]
