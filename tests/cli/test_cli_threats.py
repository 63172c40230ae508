"""Threats that list their attacks, as a user asks about them: certify, report, verify, compare, sweep."""

import csv
import json
import shutil

import networkx as nx
import numpy as np
import pytest

from starcert import archive as archives

WEIGHED = ("--evidence", "--noise", "motif=0.06,rest=0.2", "--regions", "node_labels:attribute=part")
FEW = ("certify", "run.toml", "--samples", 1000, *WEIGHED, "--own-samples", 1500)


def rows_of(folder):
    with open(folder / "results.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_listed_threat_goes_all_the_way(project, here):
    status, out, err = here(*FEW, "--threat", "deletions:2", "--out", "cut")
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    kept = archives.read(project / "cut" / "certificates.json").confirmed()
    found = kept.certificates.counts(kept.labels)
    assert [each.label for each in found] == ["1 deletion", "at most 2 deletions"]
    assert f"Attacks to list (at most 2 deletions): {found[-1].n_attacks:,}, " in said
    page, rows = (project / "cut" / "report.html").read_text(encoding="utf-8"), rows_of(project / "cut")
    for each in found:
        shares = (f"{n:,} {n / 6:.1%}" for n in (each.n_by_p_A, each.n_certified, each.n_open, each.n_broken))
        assert " │ ".join([f"{each.n_attacks:,}", "6", str(each.n_right), *shares]) in said
        assert f'<th scope="row">{each.label}</th><td>{each.n_attacks:,}</td>' in page
        told = [row[f"threat_{each.size}"] for row in rows]
        assert told.count("by p_A") == each.n_by_p_A
        assert told.count("by evidence") == each.n_certified - each.n_by_p_A
        assert (told.count("broken"), told.count("open")) == (each.n_broken, each.n_open)
        assert sum(int(row[f"attacks_{size}"]) for row in rows for size in range(1, each.size + 1)) == each.n_attacks
    # A star is one no more without one of its edges, and evidence finds that out.
    assert {row["true_name"] for row in rows if row["threat_1"] == "broken"} == {"star"}
    assert any(row["threat_1"] == "by evidence" for row in rows)
    # What is cut is said in the same words everywhere.
    assert [bool(row["attack"]) for row in rows] == ["broken" in (row["threat_1"], row["threat_2"]) for row in rows]
    for attack in filter(None, (row["attack"] for row in rows)):
        assert attack.startswith("edge ")
        assert attack.endswith(" deleted")
        assert json.dumps(attack.split("; ")[0]) in page
        assert attack.split()[1] in said
    # Evidence about a list says nothing about radii, and no column or picture says so.
    assert not {"any_flips", "any_1", "frontier_by_p_A", "broken"} & set(rows[0])
    assert "What each graph withstands" in said
    assert "  by p_A alone" not in out
    assert 'id="verdict-plot"' not in page
    assert 'id="surface-counted"' not in page
    assert "radii are certified by p_A alone" in page
    for one, alone in zip(kept.certificates, kept.certificates.by_p_A, strict=True):
        assert one.frontier == alone.frontier
    assert here("verify", "cut/certificates.json")[0] == 0
    # The run file has its text and repeats it.
    assert 'threat = "deletions:2"' in (project / "cut" / "run.toml").read_text()
    assert here("certify", "cut/run.toml", "--out", "again", "--store", "cut/votes.db")[0] == 0
    assert (project / "again" / "results.csv").read_text() == (project / "cut" / "results.csv").read_text()


def test_too_many_attacks_are_refused_by_a_dry_run(project, here, monkeypatch):
    monkeypatch.setattr("starcert.runs.forecast.MAX_ATTACKS", 3)
    status, _, err = here("certify", "run.toml", "--dry-run", "--threat", "deletions:1")
    assert status == 2
    assert "to be listed" in err
    assert "radii, which need no list" in err


def test_without_evidence_p_a_answers_and_the_next_step_is_named(project, here):
    status, out, _ = here(*FEW[:4], *WEIGHED[1:], "--threat", "rewire:1 | deletions:1", "--out", "plain")
    assert status == 0
    said = " ".join(out.split())
    assert "Under 1 rewired edge or 1 deletion, p_A leaves" in said
    assert "--evidence --threat 'rewire:1 | deletions:1'" in said
    assert "broken" not in rows_of(project / "plain")[0]
    assert 'threat = "rewire:1 | deletions:1"' in (project / "plain" / "run.toml").read_text()


def test_graphs_that_cannot_be_attacked_are_counted_apart(project, here):
    with open(project / "model.py", "a", encoding="utf-8") as file:
        file.write("\ndef half(frame, u, v):\n    return (u < 5) & (v < 5) & (len(frame.nodes) > 8)\n")
    graph = nx.read_graphml(project / "graphs" / "g1.graphml")
    graph.add_node("more", part="rest")
    nx.write_graphml(graph, project / "graphs" / "g1.graphml")
    threat = "where:1,name=model.py:half"
    status, out, err = here(*FEW[:4], *WEIGHED[1:], "--threat", threat, "--out", "some")
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    assert (
        "5 of 6 graphs have no attack of this kind (1 flip where half). They count as certified, and are left out"
        in said
    )
    kept = archives.read(project / "some" / "certificates.json").confirmed()
    (one,) = kept.certificates.counts(kept.labels)
    assert (one.n_graphs, one.n_without, one.n_attacks) == (1, 5, 10)
    assert [row["threat_1"] != "" for row in rows_of(project / "some")] == [True, *[False] * 5]
    # The file of the function is part of the run, and no folder is in its certificates.
    run = (project / "some" / "run.toml").read_text()
    assert 'threat = "where:1,name=../model.py:half"' in run
    assert "\nthreat = " in run.partition("[expected]")[2]
    assert str(project) not in (project / "some" / "certificates.json").read_text()
    assert kept.settings["threat"] == str(kept.asked[0].threat) == threat
    shutil.copytree(project, project.parent / "elsewhere")
    assert here("certify", project.parent / "elsewhere" / "some" / "run.toml", "--out", "moved")[0] == 0
    assert (project / "moved" / "certificates.json").read_text() == (project / "some" / "certificates.json").read_text()


def test_runs_are_compared_under_the_threat_that_they_were_asked_about(project, here):
    for name, threat in (("a", "deletions:1"), ("b", "deletions:1"), ("c", "flips:1")):
        noise = "motif=0.04,rest=0.2" if name == "b" else "motif=0.06,rest=0.2"
        assert here(*FEW, "--threat", threat, "--noise", noise, "--out", name)[0] == 0
    status, out, _ = here("compare", "a", "b", "--out", "ab.html")
    assert status == 0
    assert "the attacks on the list: 1 deletion" in out
    assert "any 1 flip" not in out
    page = (project / "ab.html").read_text(encoding="utf-8")
    assert "the attacks on the list: 1 deletion" in page
    kept = archives.read(project / "a" / "certificates.json").confirmed()
    (one,) = kept.certificates.counts(kept.labels)
    cells = (one.label, one.n_attacks, 6, one.n_right, one.n_by_p_A, one.n_certified, one.n_broken, one.n_open)
    assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    # Where some run was asked about something else, only flips are left, and evidence about a list is none.
    status, out, _ = here("compare", "a", "c", "--out", "ac.html")
    assert status == 0
    assert "The runs were asked about different attackers." in out
    row = next(line for line in out.splitlines() if line.startswith("│ a ") and "any 1 flip" in line)
    assert [cell.strip() for cell in row.split("│")][6:8] == ["–", "–"]
    status, _, err = here("compare", "a", "c", "--threat", "deletions:1", "--out", "no.html")
    assert status == 2
    assert "'threat' must be what c was asked about, radii. Got 'deletions:1' instead." in err
    assert "Certify it again with --threat deletions:1" in err


def test_a_sweep_looks_for_the_level_that_withstands_the_threat(project, here):
    grid = ("--grid", "motif=0.02,0.06", *WEIGHED)
    words = ("sweep", "run.toml", *grid, "--samples", 300, "--threat", "deletions:1")
    status, out, err = here(*words, "--out", "swept")
    assert (status, err) == (0, "")
    assert "accuracy certified against 1 deletion" in " ".join(out.split())
    with open(project / "swept" / "sweep.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row["accuracy@deletions:1"]) == float(row["threat_1_certified"])
        assert float(row["threat_1_certified"]) + float(row["threat_1_open"]) == pytest.approx(float(row["accuracy"]))
        assert "mean_radius_by_p_A_motif" not in row
    assert np.ptp([float(row["accuracy@deletions:1"]) for row in rows]) > 0
    page = (project / "swept" / "sweep.html").read_text(encoding="utf-8")
    assert "1 deletion: certified" in page
    assert "Under 1 deletion: how many graphs" in page
    assert 'threat = "deletions:1"' in (project / "swept" / "run.toml").read_text()


@pytest.mark.parametrize(
    ("threat", "said"),
    [
        ("valence:1", "'threat' must fit the objects: 1 change that keeps valences needs elements: node data"),
        ("controlled:1,nodes=nobody", "(graph 'g1', threat controlled:1,nodes=nobody)"),
        ("rewire:two", "'--threat' must be written rewire:NUMBER. Got 'rewire:two' instead."),
        ("inject:1", "'spare_node' must have an entry of each spare node for part. Got \"{} for graph 'g1'\" instead."),
    ],
)
def test_a_threat_that_does_not_fit_is_refused_before_the_first_vote(project, here, threat, said):
    status, out, err = here(*FEW, "--threat", threat, "--out", "none")
    assert status == 2
    assert said in err
    assert err.count("\n") == 1
    assert "What each graph" not in out
    assert not (project / "none.partial").exists()


def test_an_injected_node_has_the_data_that_the_run_file_states(project, here):
    run = project / "run.toml"
    run.write_text(run.read_text() + '\n[spare_node]\npart = "rest"\n')
    status, _, err = here(*FEW[:2], "--samples", 500, *WEIGHED[1:], "--threat", "inject:1", "--out", "spare")
    assert (status, err) == (0, "")
    rows = rows_of(project / "spare")
    assert {row["attacks_1"] for row in rows} == {"3"}  # it lies in `rest`, beside three other nodes
    written = (project / "spare" / "run.toml").read_text()
    assert '[spare_node]\npart = "rest"\n' in written
    assert here("certify", "spare/run.toml", "--out", "again")[0] == 0
    assert rows_of(project / "again") == rows
    status, _, err = here("certify", "run.toml", "--threat", "rewire:1", "--out", "no")
    assert status == 2
    assert "'spare_node' needs a threat that injects nodes" in err
    status, _, err = here("certify", "spare/run.toml", "--spare-node", "part=motif", "--out", "motif")
    assert (status, err) == (0, "")
    assert {row["attacks_1"] for row in rows_of(project / "motif")} == {"5"}
