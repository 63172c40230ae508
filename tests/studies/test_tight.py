"""The study of small noise and of all nodes at once, with few molecules, votes and a small graph."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert_studies.reproduce import StudyParts

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("grakel")  # brings MUTAG along
pytest.importorskip("scipy.sparse")

from starcert_studies import changed_links, cora, small_noise, tight

FULL = tight.Tight()
TINY = tight.Tight(
    300, 6_000, 1_200, mutag_molecules=2, plain=1, on_cores=0, epochs=1, node_samples=200, few=(60,),
    attacked_samples=40, links=2, node_epochs=5, nci1=False,
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _world(tmp_path_factory):
    """Small molecules; 135 papers of three fields in Cora-ML's layout; and threads in place of worker processes."""
    where = tmp_path_factory.mktemp("data")
    worlds.write_papers(where / "cora_ml.npz", of_a_field=45, links=(0.12, 0.01))
    caches = (cora.cora, small_noise.splits, small_noise.smoothed_network, changed_links.smoothed_nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STARCERT_DATA", str(where))
        patch.setattr(tight, "MAX_NODES", 12)
        patch.setattr(changed_links, "worker_processes", lambda cores, _: ThreadPoolExecutor(cores))
        for cached in caches:
            cached.cache_clear()
        yield
    for cached in caches:
        cached.cache_clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, _world):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("tight"))


def test_settings_of_the_command_line(monkeypatch, tmp_path):
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path))
    monkeypatch.setattr(tight, "local_names", lambda: ["MUTAG", "NCI1"])
    assert tight.Tight.from_options(None, 1, False) == replace(FULL, cora=False)
    (tmp_path / "CORA_ML").mkdir()
    (tmp_path / "CORA_ML" / "cora_ml.npz").touch()
    assert tight.Tight.from_options(None, 1, False) == FULL
    quick = tight.Tight.from_options(500, 2, True)
    assert (quick.samples, quick.molecules, quick.few, quick.seed) == (500, 2, (60,), 2)


def test_votes_stay_within_the_goal():
    large, small = FULL.settings["NCI1"], FULL.settings["MUTAG"]
    assert 2e6 < large.samples + large.deep_samples + large.own_samples < 3.5e6
    assert (large.delete, large.add, large.molecules) == (0.05, 0.003, 30)
    assert (small.delete, small.add, small.molecules) == (0.01, 0.01, 24)
    samples, plain = small.evidence(deep=False)
    assert (samples, plain.deep_samples) == (small.samples + small.deep_samples, 0)


def test_verdicts_are_those_of_certify(folder):
    setting, network = TINY.settings["MUTAG"], worlds.part(folder, "network-MUTAG")
    smoothed = small_noise.smoothed_network(setting, network["features"], network["weights"], "cpu")
    graphs = small_noise.splits(setting)[2].graphs
    assert all(graph.n_nodes <= 12 for graph in graphs)
    for number, graph in enumerate(graphs):
        row = worlds.part(folder, f"MUTAG-{number}")
        evidence = sc.Evidence(own_samples=setting.own_samples, deep_samples=setting.deep_samples)
        found = smoothed.certify([graph], samples=300, seed=1, threat="flips:2", evidence=evidence)[0]
        assert (row["verdict"], row["why"], row["class"]) == (
            found.verdict("flips:2"),
            found.why("flips:2"),
            found.label,
        )
        n = graph.n_nodes * (graph.n_nodes - 1) // 2
        assert (row["sites"], row["attacks"]) == (n, n * (n + 1) // 2)
        assert row["needed_never"] <= row["needed_tenth"] <= row["needed_third"]


def test_tables_count_each_molecule_once(folder):
    deep, plain = worlds.table(folder, "verdicts")
    assert (deep["kind"], plain["kind"]) == ("deep", "plain")
    for row, n in ((deep, 2), (plain, 1)):
        assert int(row["certified"]) + int(row["broken"]) + int(row["open"]) == int(row["molecules"]) == n
    assert [(row["kind"], row["number"]) for row in worlds.table(folder, "molecules")] == [
        ("deep", "0"), ("deep", "1"), ("plain", "0")
    ]  # fmt: skip


def test_the_claim_about_all_nodes_stands_beside_single_ones(folder):
    claim, again = worlds.part(folder, "Cora-claim"), worlds.part(folder, "Cora-claim-cores")
    assert (claim["votes"], again["votes"]) == (200, 20)  # cores have a tenth of the votes, and show less
    assert claim["k"] <= again["k"]
    network = worlds.part(folder, "network-Cora")
    smoothed, evidence = changed_links.smoothed_nodes(TINY.nodes, network["weights"], "cpu"), sc.Evidence(0, True)
    how = {"threat": "deletions:1", "evidence": evidence, "voting": sc.Voting(selection_samples=20)}
    public = smoothed.certify([cora.cora().graph], samples=200, seed=1, **how)
    assert str(public.at_most_changed("deletions:1")) == claim["claim"]
    assert claim["clean_k"] <= claim["k"] <= claim["single_open"] <= claim["nodes"]
    assert claim["links"] == len(cora.cora().graph.edges)
    assert max(k for _, k, _ in claim["tried"]) == claim["k"]  # the link with the largest k decides
    assert [why for _, _, why in claim["tried"]] == ["largest k", "at random"]
    rows = worlds.table(folder, "links")
    assert [row["why"] for row in rows] == ["no link deleted", "largest k", "at random"]
    assert all(int(row["differ_clearly"]) <= int(row["differ"]) for row in rows)


def test_a_deleted_link_is_gone(folder):
    network, link = worlds.part(folder, "network-Cora"), worlds.part(folder, "Cora-claim")["tried"][0][0]
    sites = changed_links.smoothed_nodes(TINY.nodes, network["weights"], "cpu").sites(cora.cora().graph)
    left = changed_links.after(sites, np.array([link * changed_links.VALUES])).clean
    assert len(left.edges) == len(cora.cora().graph.edges) - 1


def test_answers_that_differ_are_counted(folder):
    """Where all stated answers are wrong, the clean graph differs nearly everywhere."""
    network, claim = worlds.part(folder, "network-Cora"), worlds.part(folder, "Cora-claim")
    wrong = [(label + 1) % 3 for label in claim["labels"]]
    row = changed_links.delete_link(TINY.nodes, network, wrong, None)
    assert row["differ"] > 0.8 * claim["nodes"] > worlds.part(folder, "Cora-link-0")["differ"]


def test_it_continues_where_it_was(folder):
    (folder / "parts" / "MUTAG-1.json").unlink()
    kept = (folder / "parts" / "MUTAG-0.json").read_bytes()
    found = TINY.on_device(StudyParts(folder / "parts"))
    assert (folder / "parts" / "MUTAG-0.json").read_bytes() == kept
    assert found["MUTAG-1"]["number"] == 1
    assert "Cora-claim-cores" not in found


def test_what_is_left_out_is_said(folder):
    kept = worlds.results(folder)
    assert any(sentence.startswith("NCI1 was left out") for sentence in kept["summary"])
    assert {path.stem for path in (folder / "figures").iterdir()} == {"needed_MUTAG"}


def judged(number, verdict, device="GPU"):
    return {"number": number, "verdict": verdict, "truth": 1, "class": 1, "abstained": False, "votes": 10, "own": 0,
            "seconds": 1.0, "device": device, "sites": 10, "votes_a_second": 5.0,
            **dict.fromkeys(small_noise.FAILURES, 1.0)}  # fmt: skip


@pytest.mark.parametrize(
    ("plain", "deep", "held"),
    [
        ("open", ["certified"] * 20, [True, True, True]),
        ("open", ["open"] + ["certified"] * 19, [True, True, True]),
        ("open", ["open"] * 2 + ["certified"] * 18, [False, True, True]),
        ("certified", ["open"] + ["broken"] * 19, [True, False, True]),
        ("broken", ["certified"] * 20, [True, True, False]),
    ],
)
def test_claims_fail_where_they_are_not_so(plain, deep, held):
    kinds = {"deep": [judged(i, each) for i, each in enumerate(deep)], "plain": [judged(0, plain)]}
    report = tight.Report(FULL.texts)
    FULL.check_molecules(report, FULL.settings["NCI1"], kinds, {"blind": [1] * 20}, True)
    assert [check.holds for check in report.checks] == held


def test_claims_about_nodes_fail_where_they_are_not_so():
    claim = {"k": 5, "clean_k": 1, "single_open": 9, "nodes": 50, "links": 3, "votes": 10, "by_p_A_open": 20,
             "tried": [(3, 5, "largest k")], "right": 0.9, "device": "GPU", "vote_seconds": 1.0, "votes_a_second": 1.0,
             "claim_seconds": 1.0}  # fmt: skip
    few = {"votes": 200, "nodes": 50, "counts": 8, "counts_beside_evidence": 9, "evidence": 6}
    link = {"link": 3, "differ": 6, "differ_clearly": 4}

    def held(claim=claim, few=few, link=link):
        report, study = tight.Report(FULL.texts), replace(FULL, few=(200,))
        parts = {"Cora-claim": claim, "Cora-claim-cores": claim, "network-Cora": {"majority": 0.3, "blind": 0.6},
                 "Cora-few-200": few, "Cora-link-0": link | {"link": None}, "Cora-link-1": link}  # fmt: skip
        study.report_nodes(report, parts, True)
        return [check.holds for check in report.checks]

    assert held() == [True, True, True]
    assert held(claim=claim | {"single_open": 4}) == [False, True, True]
    assert held(link=link | {"differ_clearly": 6}) == [True, False, True]
    assert held(few=few | {"evidence": 8}) == [True, True, False]
