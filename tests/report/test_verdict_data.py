"""What the page shows of evidence: the same as the certificates say."""

import json
from itertools import product

import pytest
from browsing import open_page, texts
from report_worlds import FOUR, HOSTILE, ONE, STARS, weighed

import starcert as sc
from starcert.archive import Archive
from starcert.claims.metrics import radii_of_flips
from starcert.objects.words import AttackWords, Words
from starcert.report import write_report
from starcert.report.findings import verdict_rows
from starcert.report.page_data import page_data, verdict_data


@pytest.fixture(scope="module", params=[STARS, ONE, FOUR], ids=["two axes", "one axis", "four axes"])
def kept(request):
    certificates, sites = weighed(request.param)
    return Archive.from_result(certificates, labels=[1, 0, 0]), sites


def tone_of(one, radius):
    """What is known of all attacks within a radius, level by level."""
    levels = list(product(*(range(count + 1) for count in radius)))
    if any(level in one.broken for level in levels):
        return 3
    if all(one.verdict(level) == "certified" for level in levels):
        return 0 if one.why(radius) == "by p_A" else 1
    return 2


def counts_of(row):
    return row.n_by_p_A, row.n_certified - row.n_by_p_A, row.n_open, row.n_broken


def test_something_of_everything_is_there():
    certificates, _ = weighed()
    levels = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    assert {tone_of(one, level) for one in certificates for level in levels} == {0, 1, 2, 3}


def test_rows_count_the_graphs_one_by_one(kept):
    archive, _ = kept
    anywhere, rows = (found := verdict_rows(archive)[0])[:2], found[2:]
    assert [row.label for row in anywhere] == ["any 1 flip", "any 2 flips"]
    assert anywhere == archive.certificates.counts(archive.labels)
    radii = radii_of_flips(archive.certificates, 2) if len(archive.noise.axes) > 1 else []  # or they are any flips
    assert [row.label for row in rows] == list(map(AttackWords(archive.noise).level, radii))
    for row, radius in zip(rows, radii, strict=True):
        tones = [
            tone_of(one, radius)
            for one, truth in zip(archive.certificates, archive.labels, strict=True)
            if one.label == truth and not one.abstained and all(map(int.__le__, radius, one.capacity))
        ]
        assert counts_of(row) == tuple(map(tones.count, range(4)))
        assert row.n_right == len(tones) == sum(counts_of(row))


def test_attacks_and_broken_levels_are_those_of_the_certificates(kept):
    archive, sites = kept
    data = verdict_data(archive, sites, [True] * 3, AttackWords(archive.noise))
    for one, each, shown in zip(archive.certificates, sites, data["graphs"], strict=True):
        assert shown["broken"] == [list(level) for level in one.broken]
        assert shown["any_flips"] == one.any_flips
        assert (shown["attack"] is None) == (not one.broken)
        if one.broken:
            level = min(one.broken, key=lambda level: (sum(level), level))
            found = one.attack(level)
            assert shown["attack"]["label"] == AttackWords(archive.noise).level(level)
            u, v, after = zip(*shown["attack"]["pairs"], strict=True)
            assert set(after) == {-1}
            assert each.locate(u, v).tolist() == list(found.sites)
            assert shown["attack"]["votes"] == list(found.votes)
        width = len(archive.noise.axes) + 1
        for k in range(0, len(shown["reasons"]), width):
            *level, text = shown["reasons"][k : k + width]
            assert one.why(tuple(level)) == data["texts"][text]


def test_an_attack_on_typed_edges_says_what_they_become():
    """One edge of type d more is one too many: an attack adds it, or makes one of an edge of type s."""
    graph = sc.Graph(3, [(0, 1), (1, 2)], nodes="abc", edge_types=["s", "d"], type_names=("s", "d"))
    base = sc.classifiers.from_callable(lambda batch: (batch.values == 2).sum(axis=1) // 2, on="batch", n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Edges(delete=0.02, add=0.01, change=0.02)))
    problem = smoothed.problem([graph])
    for axis, named in (((0, 1, 0), "edge a–c added, d"), ((0, 0, 1), "edge a–b: s → d")):
        result = smoothed.certify(problem, samples=500, seed=1, evidence=True, threat=sc.threats.Box(axis))
        data = verdict_data(Archive.from_result(result), problem.sites, [True], AttackWords(result.noise))
        assert data["graphs"][0]["attack"]["named"] == [named]


def test_the_browser_names_what_is_certified_and_marks_the_attack(kept, quiet, tmp_path):
    archive, sites = kept
    path = tmp_path / "report.html"
    write_report(path, archive, sites)
    open_page(quiet, path.as_uri())
    assert texts(quiet, "#verdict-table tbody th") == [
        row.label for row in verdict_rows(archive, Words.of(sites, nodes=False))[0]
    ]
    for graph, one in enumerate(archive.certificates):
        quiet.execute_script("document.querySelector(`tr[data-graph='${arguments[0]}'] .name button`).click()", graph)
        radii = quiet.execute_script("return document.getElementById('frontier-text').dataset.radii")
        assert tuple(map(tuple, json.loads(radii))) == one.frontier.radii
        (caption,) = texts(quiet, "#frontier-caption")
        assert ("Broken: none." in caption) == (not one.broken)
        attack = quiet.execute_script("return document.querySelectorAll('#drawing line.attack').length")
        assert attack == (sum(min(one.broken, key=sum)) if one.broken else 0)
        assert bool(texts(quiet, "#attack-text:not([hidden])")) == bool(one.broken)


def test_hostile_names_stay_names_in_what_evidence_says(quiet, tmp_path):
    certificates, sites = weighed()
    archive = Archive.from_result(certificates, names=HOSTILE[:3], class_names=HOSTILE[:2], labels=[1, 0, 0])
    path = tmp_path / "report.html"
    write_report(path, archive, sites)
    open_page(quiet, path.as_uri())
    (said,) = texts(quiet, "#attack-text")
    assert all(name in said for name in HOSTILE[:2])
    assert texts(quiet, "#graph-table td.name") == HOSTILE[:3]


# A threat that lists its attacks ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listed():
    """A path that one deletion breaks, a clique that none does, and a graph without edges."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 3), n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.05))
    edges = [[(0, 1), (1, 2), (2, 3), (3, 4)], [(i, j) for i in range(5) for j in range(i)], []]
    problem = smoothed.problem([sc.Graph(5, each, nodes="abcde") for each in edges])
    found = smoothed.certify(problem, samples=2_000, seed=1, threat="deletions:2", evidence=sc.Evidence(4_000))
    return Archive.from_result(found, labels=[1, 1, 0], names=["path", "clique", "empty"]), problem


def test_listed_attacks_are_shown_by_size_and_radii_by_p_a_alone(listed):
    archive, problem = listed
    data = page_data(archive, problem.sites)
    assert data["threat"]["labels"] == ["1 deletion", "at most 2 deletions"]
    for one, of_graph in zip(archive.certificates, data["threat"]["graphs"], strict=True):
        for size, (kind, n_attacks, why) in enumerate(of_graph, start=1):
            asked = sc.threats.Deletions(size)
            assert n_attacks == sum(one.asked.counts[:size])
            if not n_attacks:
                assert kind == "no such attack"
            elif one.verdict(asked) == "certified":
                assert kind == ("by p_A" if one.why(asked) == "by p_A" else "by evidence")
            else:
                assert (kind, why) == (one.verdict(asked), one.why(asked))
    kinds = [tuple(kind for kind, _, _ in of_graph) for of_graph in data["threat"]["graphs"]]
    assert kinds == [("broken", "broken"), ("by p_A", "by evidence"), ("no such attack", "no such attack")]
    path, *others = (each["attack"] for each in data["evidence"]["graphs"])
    assert others == [None, None]
    assert path["label"] == "1 deletion"
    assert path["named"][0] in [f"edge {edge} deleted" for edge in ("a–b", "b–c", "c–d", "d–e")]
    assert "by_p_A" not in data["evidence"]
    by_counts = Archive.from_result(archive.certificates.by_p_A)
    assert data["frontiers"] == page_data(by_counts, problem.sites)["frontiers"]
    (one, two), further = verdict_rows(archive)
    assert not further
    assert (one.label, one.n_attacks, one.n_graphs, counts_of(one)) == ("1 deletion", 14, 2, (1, 0, 0, 1))
    assert two.n_attacks == 14 + 6 + 45
