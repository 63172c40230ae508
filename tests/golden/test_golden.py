import json

import pytest

pytest.importorskip("grakel")
pytest.importorskip("torch_geometric")
pytest.importorskip("rdkit")

import starcert as sc
from golden import files, methods, parts, pinning, views
from starcert.archive import rerun


def pinned(part):
    return json.loads((parts.EXPECTED / f"{part}.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("part", parts.PARTS)
def test_every_number_is_the_same_to_the_bit(part):
    found = json.loads(json.dumps(parts.PARTS[part]()))
    assert list(pinning.differences(found, pinned(part)))[:20] == []


@pytest.mark.parametrize("name", files.WRITTEN)
def test_archives_of_earlier_versions_are_still_proved(name):
    checked = sc.archive.verify(files.ARCHIVES / f"{name}.json")
    assert checked.verdict == "proved"
    expected = pinned("archives")[name]
    assert [None if each is None else list(each) for each in checked.evidence] == expected["twice"]
    radii = [[list(radius) for radius in one.frontier.radii] for one in checked.archive.certificates]
    assert radii == [graph["claims"]["frontier"] for graph in expected["claims"]["graphs"]]


@pytest.mark.parametrize("name", ["bits", "types", "nodes", "budget"])
def test_attacks_in_archives_of_earlier_versions_still_break_the_model(name):
    (path,) = (each for each in views.KEPT if each.stem == f"exact_{name}")
    make, threat, _ = methods.EXACT[name]
    base, objects = make()
    found = rerun(path, base, objects)
    assert (found.verdict, found.mismatches, str(found.archive.certificates.threat)) == ("recounted", (), threat)


@pytest.mark.parametrize("name", files.WRITTEN)
def test_the_evidence_in_an_archive_is_the_same_to_the_bit(name):
    assert files.WRITTEN[name]().evidence == sc.archive.read(files.ARCHIVES / f"{name}.json").evidence


def test_there_is_something_to_compare():
    assert {path.stem for path in parts.EXPECTED.iterdir()} == set(parts.PARTS)
    votes = pinned("mutag")["pyg"]["votes"]["estimation"]
    assert sum(map(sum, votes)) == 20 * 2_000
    assert len([row for row in votes if min(row) > 0]) > 10  # votes that all agree would tell nothing about the noise


def test_methods_are_pinned_where_their_answers_differ():
    for part in ("exact", "hashed"):
        kinds = json.dumps(pinned(part))
        assert all(f'"{kind}"' in kinds for kind in ("certified", "broken", "open")), part
    firsts = [row[2][0] for each in pinned("exact").values() for row in each["order"] if row[2]]
    assert len([sites for sites in firsts if len(sites) > 1]) > 10  # attacks whose place depends on the order
    assert {row[1] for each in pinned("fallback").values() for row in each.get("blind", ())} == {False, True}


def test_verdicts_of_every_sort_are_pinned():
    verdicts = [each for part in pinned("evidence").values() if "levels" in part for each in part["levels"]]
    found = [verdict for levels in verdicts for verdict in levels.values()]
    assert {verdict[0] for verdict in found} == {"certified", "broken", "open"}


def test_copies_of_every_sort_are_pinned():
    for part in ("typed", "directed", "features", "vectors"):
        for name, votes in pinned(part).items():
            if isinstance(votes, list) and name not in ("keys", "noisy bits", "noisy categories"):
                assert all(sum(count > 0 for count in row) > 10 for row in votes), (part, name)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {"a": 0}),
        ({"a": ["x", "z"]}, {"a": ["x", "y"]}),
    ],
)
def test_a_difference_is_found(found, expected):
    assert len([each for each in pinning.differences(found, expected) if ": +" not in each]) == 1
    assert list(pinning.differences({**found, "more": 1}, found)) == []
