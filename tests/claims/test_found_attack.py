"""Attacks that break say what they do in words, the same in every view; the most plausible one is shown first."""

from dataclasses import replace

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive
from starcert.claims.verdict import FoundAttack, most_plausible
from starcert.objects import Sites
from starcert.objects.threats import Attacks, read_threat
from starcert.objects.threats.valence import keep_valences

ELEMENTS = ("C", "N", "O", "F")
REGIONS = {"bonds": "pairs", "atoms": "element"}


def molecule(symbols="CCO", bonds=(("single", 0, 1), ("double", 1, 2))):
    names = ("single", "double", "triple")
    return sc.Graph(
        len(symbols), [bond[1:] for bond in bonds], edge_types=[bond[0] for bond in bonds], type_names=names,
        node_data={"element": tuple(symbols)},
    ).with_categories("element", ELEMENTS)  # fmt: skip


def test_words_are_part_of_an_attack_and_of_what_python_shows():
    sites = molecule().kind.sites(molecule(), REGIONS)
    bare = FoundAttack((1, 5), (0, 1), 0.01, (2, 3))
    told = bare.on(sites)
    assert told == bare  # words are no claim
    assert (told.words, str(told)) == ("bond 0–2 added, double; atom 2: O → F",) * 2
    assert "changes=('bond 0–2 added, double', 'atom 2: O → F')" in repr(told)
    assert bare.words == "site 1: now 2; site 5: now 3"  # of a file, without its objects
    many = FoundAttack(tuple(range(10)), (0, 1), 0.01).on(Sites.everything(sc.Bits([0, 1] * 5), "all"))
    assert str(many) == "; ".join(f"column {i}: {i % 2} → {1 - i % 2}" for i in range(8)) + "; and 2 more"
    assert many.words.endswith("column 8: 0 → 1; column 9: 1 → 0")


def test_the_most_plausible_attack_keeps_valences_then_is_small_then_first():
    sites = molecule().kind.sites(molecule(), REGIONS)
    # C=O with C: a triple bond to C is too much, another oxygen for it is not; F at a double bond is too much.
    triple, oxygen, fluorine = ([(0, 3)], [(3, 2)], [(5, 3)])
    both = [(2, 0), (5, 3)]
    made = [
        FoundAttack(tuple(site for site, _ in each), (), 0.0, tuple(value for _, value in each)).on(sites)
        for each in (triple, fluorine, both, oxygen)
    ]
    assert [each.keeps_valences for each in made] == [False, False, True, True]
    assert most_plausible(made) is made[3]
    assert most_plausible(made[:3]) is made[2]
    assert most_plausible(made[:2]) is made[0]
    assert most_plausible([]) is None
    unknown = sc.Graph(3, [(0, 1)])  # elements are not known: nothing can be said against an attack
    assert FoundAttack((0,), (), 0.0).on(Sites.everything(unknown, "all")).keeps_valences


def strange(graph):
    """Answers 1 as soon as anything is F, or has a triple bond."""
    elements = np.asarray(graph.node_sites["element"].values)
    return int((elements == 3).any() or (graph.edge_types == 3).any())


BASE = sc.classifiers.from_callable(lambda batch: (batch.values == 3).any(axis=1), on="batch", n_classes=2)  # the same


def plain(threat, graphs, **more):
    return sc.ExactClassifier(BASE, regions=REGIONS).certify(graphs, threat=threat, **more)


@pytest.mark.parametrize("threat", ["flips:1", "flips:2", "rewire:1 | flips:1", "valence:2"])
def test_what_is_shown_of_a_molecule_is_the_first_that_keeps_valences(threat):
    """Beside every attack, one by one."""
    kinds = [("CO", (("double", 0, 1),)), ("CCO", (("single", 0, 1), ("double", 1, 2))), ("NC", (("triple", 0, 1),)),
             ("CN", (("double", 0, 1),)), ("OO", (("single", 0, 1),)), ("CC", ())]  # fmt: skip
    graphs, differs = [molecule(*each) for each in kinds], 0
    found, asked = plain(threat, graphs), read_threat(threat)
    for one, graph in zip(found, graphs, strict=True):
        sites, breaking = graph.kind.sites(graph, REGIONS), []
        for size in range(1, asked.most + 1):
            for number, changes in enumerate(asked.attacks(sites, size)):
                values = sites.values.copy()
                for site, value in changes:
                    values[site] = value
                if strange(graph.kind.with_values(sites, values)) != one.label:
                    (keeps,) = keep_valences(sites, Attacks.from_lists([changes]))
                    breaking.append((not keeps, size, number, changes))
        if not breaking:
            assert one.attack() is one.certificates.proof.attacks[one.row] is None
            continue
        pairs = tuple(zip(one.attack().sites, one.attack().values, strict=True))
        best = min(each[:2] for each in breaking)
        assert pairs in [each[3] for each in breaking if each[:2] == best]
        assert one.attack().keeps_valences is not best[0]
        assert one.attack().words == one.certificates.rows()[one.row]["attack"]
        assert one.broken_size == min(each[1] for each in breaking)  # about the first that breaks, whatever is shown
        differs += one.attack() != one.attack(one.certificates.threat)
    assert bool(differs) is (threat != "valence:2")


def test_what_is_shown_changes_no_verdict_and_no_file(tmp_path):
    graphs = [molecule(), molecule("CO", (("double", 0, 1),))]
    found = plain("flips:2", graphs)
    assert any(one.attack() != one.attack(one.certificates.threat) for one in found)
    sc.archive.write(tmp_path / "some.json", Archive.from_result(found))
    sc.archive.write(tmp_path / "first.json", Archive.from_result(replace(found, proof=replace(found.proof, shown=()))))
    assert (tmp_path / "some.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    base = sc.ExactClassifier(BASE, regions=REGIONS)
    again = sc.archive.rerun(tmp_path / "some.json", base, graphs)
    assert again.verdict == "recounted"
    assert [one.attack().sites for one in again.archive.result] == [one.sites for one in found.proof.attacks]


def test_no_attack_beyond_the_budget_is_shown():
    (one,) = plain("flips:1", [molecule()])
    assert one.attack().keeps_valences
    (few,) = plain("flips:1", [molecule()], max_attacks=one.certificates.proof.tried_for(0))
    assert not few.attack("flips:1").keeps_valences
    assert few.attack() == few.attack("flips:1")


def test_smoothed_attacks_have_words_in_every_view():
    graph = molecule("CCO", (("single", 0, 1), ("single", 1, 2)))
    noise = sc.Noise(bonds=sc.Edges(delete=0.01, add=0.01, change=0.01), atoms=sc.Categorical(0.01))
    evidence = sc.Evidence(own_samples=50_000)
    smoothed = sc.SmoothedClassifier(BASE, noise, regions=REGIONS)
    found = smoothed.certify([graph], samples=5_000, seed=1, evidence=evidence)
    (one,), (row,) = found, found.rows()
    shown = one.attack()
    assert row["attack"] == shown.words == found.to_frame()["attack"][0]
    assert shown.changes == shown.on(graph.kind.sites(graph, REGIONS)).changes != ()
    every = [one.attack(level) for level in one.broken]
    assert shown in every
    assert all(shown.keeps_valences or not each.keeps_valences for each in every)
    archive = Archive.from_result(found)
    assert archive.rows()[0]["attack"] == shown.words
    assert "attack" not in found.by_p_A.rows()[0]


def test_an_attack_is_an_explanation_of_pyg(tmp_path):
    pytest.importorskip("torch_geometric")
    graph = sc.Graph(4, [(0, 1), (1, 2)], node_data={"x": [[0], [1], [0], [0]]}).with_bits("x")
    noise = sc.Noise(pairs=0.1, bits=0.1)
    base = sc.classifiers.from_callable(lambda each: int(each.number_of_edges() > 2))
    exact = sc.ExactClassifier(base, noise, {"pairs": "pairs", "bits": "x"})
    (found,) = exact.certify([graph], threat="flips:1")
    explained = found.attack().to_explanation(exact.problem([graph]).sites[0])
    (added,) = {tuple(sorted(pair)) for pair in explained.edge_index.t()[explained.edge_mask > 0].tolist()}
    assert added not in {(0, 1), (1, 2)}
    assert explained.edge_index.shape == (2, 6)
    assert explained.node_mask.sum() == 0
    assert explained.validate(raise_on_error=True)
    attack = FoundAttack((len(exact.problem([graph]).sites[0].values) - 1,), (), 0.0)
    assert attack.to_explanation(exact.problem([graph]).sites[0]).node_mask[:, 0].tolist() == [0, 0, 0, 1]
    pytest.importorskip("matplotlib")
    explained.visualize_graph(str(tmp_path / "attack.png"), backend="networkx")
