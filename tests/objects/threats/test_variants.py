"""Variants: lists of other objects, tried one by one on the plain model, and voted on under a smoothed one."""

import pickle
from itertools import permutations

import numpy as np
import pytest

import starcert as sc
from starcert.objects.vectors import MOST, Choice

SYNONYMS = {"good": ["fine", "great"], "bad": ["poor"]}


def synonyms(text):
    """Every text with one word replaced by a synonym of it."""
    words = list(text.contents)
    for place, word in enumerate(words):
        for other in SYNONYMS.get(word, ()):
            yield sc.Tokens([*words[:place], other, *words[place + 1 :]])


def reorders(graph):
    """The same edges under every numbering of the nodes: an equivalence class."""
    for order in permutations(range(graph.n_nodes)):
        yield sc.Graph(graph.n_nodes, [(order[u], order[v]) for u, v in graph.edges.tolist()])


reorders.equivalence = True


@pytest.mark.parametrize("seed", range(5))
def test_trying_variants_is_brute_force(seed):
    rng = np.random.default_rng(seed)
    vocabulary = ["good", "fine", "great", "bad", "poor", "film"]
    weights = dict(zip(vocabulary, rng.normal(size=6), strict=True))

    def answer(texts):
        return [int(sum(weights[word] for word in text) > 0) for text in texts]

    base = sc.classifiers.from_callable(answer, on="vectors")
    texts = [" ".join(rng.choice(vocabulary, 4)) for _ in range(20)]
    found = sc.ExactClassifier(base).certify(texts, threat=sc.threats.Variants(synonyms))
    for text, one in zip(map(sc.Tokens, texts), found, strict=True):
        (own,) = answer([text.contents])
        others = [each for each in dict.fromkeys(synonyms(text)) if each != text]
        differ = [place for place, each in enumerate(others, start=1) if answer([each.contents]) != [own]]
        assert one.label == own
        assert one.verdict() == ("broken" if differ else "certified")
        if differ:
            assert one.attack().words == f"variant {differ[0]}: {others[differ[0] - 1]!r}"
            assert one.anchored == ""


def test_graphs_of_other_sizes_are_variants_and_their_archive_verifies(tmp_path):
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_nodes() > 3))
    bigger = sc.threats.Variants(lambda graph: [sc.Graph(graph.n_nodes + 1, graph.edges)], name="bigger")
    found = sc.ExactClassifier(base).certify([sc.Graph(2, [(0, 1)]), sc.Graph(3, [(0, 1)])], threat=bigger)
    assert [one.verdict() for one in found] == ["certified", "broken"]
    sc.archive.write(tmp_path / "found.json", sc.archive.Archive.from_result(found))
    assert not sc.archive.verify(tmp_path / "found.json").refuted
    assert "not known" in found.threat.anchored


def test_an_equivalence_class_is_not_anchored():
    base = sc.classifiers.from_callable(lambda graph: int((0, 1) in graph.edges))
    found = sc.ExactClassifier(base).certify(
        [sc.Graph(3, [(0, 1)]), sc.Graph(3, [])], threat=sc.threats.Variants(reorders, equivalence=True)
    )
    assert found.threat.anchored == ""
    assert [one.verdict() for one in found] == ["broken", "certified"]


def test_every_variant_has_votes_of_its_own_and_all_of_alpha():
    base = sc.classifiers.from_callable(
        lambda texts: [int("good" in text or "fine" in text) for text in texts], on="vectors"
    )
    smoothed = sc.SmoothedClassifier(base, sc.Noise(words=sc.Mask(0.2)), samples=400)
    found = smoothed.certify(["a good film", "a bad film"], threat=sc.threats.Variants(synonyms))
    assert [one.verdict() for one in found] == ["open", "certified"]  # "great" is another answer
    assert found[1].why() == "by votes on all 1 variant"
    assert found.proof.alpha == smoothed.alpha
    assert found.certified_accuracy([1, 0], 1) == 0.5
    alone = smoothed.certify(["a bad film", "a poor film"])
    assert found.labels[1] == alone.labels[0] == alone.labels[1]


def test_a_list_that_was_cut_short_is_stated():
    base = sc.classifiers.from_callable(lambda texts: [0] * len(texts), on="vectors")
    cut = sc.threats.Variants(lambda text: sc.threats.Alternatives([sc.Tokens("b")], cut="There may be more."))
    found = sc.ExactClassifier(base).certify(["a"], threat=cut)
    assert found[0].anchored == "There may be more."
    many = sc.threats.Variants(lambda text: [sc.Tokens(str(each)) for each in range(300)])
    found = sc.ExactClassifier(base).certify(["a"], threat=many)
    assert found[0].anchored == f"Of 300 variants the first {MOST} are tried."
    assert found.outcomes()[0].attacks == (MOST,)


def test_choices_travel_and_know_their_objects():
    made = Choice.of(sc.Tokens("a b"), [sc.Tokens("a c"), sc.Tokens("a b"), sc.Tokens("a c")])
    assert len(made.options) == 2
    assert pickle.loads(pickle.dumps(made)) == made


def test_variants_are_refused_as_sites_and_as_numbers():
    with pytest.raises(sc.InvalidParameterError, match="function from an object"):
        sc.threats.Variants(3)
    with pytest.raises(sc.InvalidParameterError, match="refer to what is known here"):
        sc.threats.read_threat("variants:rules.py:near")
    base = sc.classifiers.from_callable(lambda texts: [0] * len(texts), on="vectors")
    with pytest.raises(sc.InvalidParameterError, match="return objects"):
        sc.ExactClassifier(base).certify(["a"], threat=sc.threats.Variants(lambda text: [3]))


def test_tautomers_of_molecules():
    pytest.importorskip("rdkit")
    keto = sc.Graph.from_smiles("CC(=O)CC(=O)C", bond_types=True)
    base = sc.classifiers.from_callable(
        lambda graph: int(any(kind == "double" for *_, kind in graph.edges(data="type")))
    )
    pyridone = sc.Graph.from_smiles("Oc1ccccn1", bond_types=True)
    found = sc.ExactClassifier(base).certify([keto, pyridone], threat=sc.threats.Variants(sc.threats.tautomers))
    assert [one.verdict() for one in found] == ["certified", "broken"]
    assert found.outcomes()[0].attacks == (len(sc.threats.tautomers(keto)),)
    assert "=" in found[1].attack().words
