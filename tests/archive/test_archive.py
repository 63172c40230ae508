"""Writing and reading: to the last bit, whole or not at all, and no file can break it."""

import contextlib
import dataclasses
import json
import math
import os
import time
from pathlib import Path

import archive_worlds
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import starcert as sc
from starcert import archive as archives
from starcert.math.votes import Audit
from starcert.system.errors import ArchiveError


@pytest.mark.parametrize("world", archive_worlds.COUNTS)
def test_what_was_written_is_read(tmp_path, world):
    archive, path = world(), tmp_path / "certificates.json"
    archives.write(path, archive)
    again = archives.read(path)
    assert again == archive
    assert [one.frontier for one in again.certificates] == [one.frontier for one in archive.certificates]
    assert [each.name for each in tmp_path.iterdir()] == ["certificates.json"]


probabilities = st.one_of(st.just(0.0), st.floats(1e-100, 1))
laws = st.one_of(
    probabilities.map(sc.Flip), st.builds(lambda d, a: sc.Flip(delete=d, add=a), probabilities, probabilities)
)


@settings(max_examples=60)
@given(laws, st.floats(1e-100, 0.4999999), st.text(max_size=20))
def test_floats_and_texts_survive_to_the_last_bit(tmp_path_factory, law, alpha, name):
    bounds = sc.clopper_pearson(sc.Votes([[97, 3]], selection=[[9, 1]]), alpha=alpha)
    archive = archives.Archive.from_result(
        sc.certify(bounds, sc.Noise(r=law), max_radius=[0] * len(law.suffixes)), names=[name]
    )
    path = tmp_path_factory.mktemp("archive") / "one.json"
    archives.write(path, archive)
    again = archives.read(path)
    assert again == archive
    assert (again.noise["r"].delete.hex(), again.noise["r"].add.hex()) == (law.delete.hex(), law.add.hex())
    assert again.alpha.hex() == alpha.hex()


def test_the_file_describes_itself_and_claims_what_the_certificates_say(tmp_path):
    archive, path = archive_worlds.two_classes(), tmp_path / "c.json"
    archives.write(path, archive)
    told = json.loads(path.read_text())
    assert (told["format"], told["version"]) == ("starcert certificates", 1)
    assert "smoothed classifier" in told["says"]
    assert told["axes"] == ["motif", "random"]
    assert told["noise"][0]["exact"]["flip"] == "3602879701896397/36028797018963968"
    graph, one = told["graphs"][0], archive.certificates[0]
    assert (graph["name"], graph["true_class"], graph["selection"]) == ("benzene", 0, [99, 1])
    assert [tuple(radius) for radius in graph["claims"]["frontier"]] == list(one.frontier.radii)
    assert graph["claims"]["p_lower"] == one.p_lower
    assert len(path.read_text().splitlines()) == 12 + 1 + len(archive) + 2  # one line a graph


same_digits = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17),
    reason="the beta function of another scipy ends in other digits, and so do the bounds that are proved from there",
)


@same_digits
@pytest.mark.parametrize("name", ["two_classes", "three_classes_same_votes"])
def test_files_of_version_0_1_0_are_read_proved_and_written_as_they_were(tmp_path, name):
    old = Path(__file__).parent / "version_0_1_0" / f"{name}.json"
    archives.write(tmp_path / "again.json", archives.read(old))
    assert (tmp_path / "again.json").read_text() == old.read_text()
    assert archives.verify(old).verdict == "proved"


@pytest.mark.parametrize("path", sorted(Path(__file__).with_name("kept").rglob("*.json")), ids=lambda path: path.stem)
def test_kept_files_of_every_kind_are_still_proved(path):
    found = archives.verify(path)
    assert (found.verdict, found.mismatches) == ("consistent" if "exact" in path.stem else "proved", ())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("version_0_2_0/deep", "deep votes"),
        ("version_0_2_0/bound", "what the bound 'hoeffding' states"),
        ("version_0_1_0/three_classes", "margins of version 0.1.0"),
    ],
)
def test_a_file_that_rests_on_what_was_removed_is_refused_with_the_version_to_use(name, what):
    with pytest.raises(ArchiveError, match=rf"rests on (the )?{what}.* Verify it with starcert 0\.2\.0\.$"):
        archives.verify(Path(__file__).with_name("refused") / f"{name}.json")


@same_digits
@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("two_classes", archive_worlds.two_classes),
        ("three_classes_same_votes", lambda: archive_worlds.three_classes(selection=False)),
    ],
)
def test_the_same_result_is_written_as_version_0_1_0_did(tmp_path, name, world):
    old = Path(__file__).parent / "version_0_1_0" / f"{name}.json"
    archives.write(tmp_path / "now.json", dataclasses.replace(world(), provenance={"starcert": "0.1.0"}))
    assert (tmp_path / "now.json").read_text() == old.read_text()


def test_a_file_says_how_alpha_was_spent_only_where_that_is_new(tmp_path):
    new = {
        "two": (archive_worlds.two_classes(), {}),
        "same votes": (archive_worlds.three_classes(selection=False), {}),
        "chosen": (archive_worlds.three_classes(), {"margins": "chosen"}),
        "joint": (archive_worlds.three_classes(family="all"), {"margins": "chosen", "together": 2}),
    }
    for archive, expected in new.values():
        archives.write(tmp_path / "c.json", archive)
        told = json.loads((tmp_path / "c.json").read_text())
        assert {name: told[name] for name in ("together", "margins") if name in told} == expected
        assert told["says"].startswith(
            "For all of 'together' graphs at once" if "together" in told else "For each graph"
        )
        assert archives.verify(tmp_path / "c.json").verdict == "proved"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"margins": "multi-class"}, "'margins' must be 'chosen'"),
        ({"margins": None}, "'margins' must be text"),
        ({"together": 1}, "'together' must be 2 or more"),
        ({"together": 2.0}, "'together' must be a whole number"),
        ({"together": True}, "'together' must be a whole number"),
        ({"together": 10**20}, "'together' must be a whole number"),
    ],
)
def test_how_alpha_was_spent_is_checked(tmp_path, changes, named):
    archives.write(tmp_path / "c.json", archive_worlds.three_classes(family="all"))
    told = json.loads((tmp_path / "c.json").read_text())
    assert named in refused(tmp_path, json.dumps(told | changes))


AUDIT = Audit(300, 20, 280, 60, 300)


def audited() -> archives.Archive:
    archive = archive_worlds.three_classes()
    return dataclasses.replace(archive, votes=dataclasses.replace(archive.votes, audit=AUDIT))


def test_a_file_says_how_far_the_run_was_audited(tmp_path):
    archives.write(tmp_path / "c.json", audited())
    told = json.loads((tmp_path / "c.json").read_text())["audit"]
    assert told == dataclasses.asdict(AUDIT) | {"says": str(AUDIT)}
    found = archives.read(tmp_path / "c.json")
    assert found == audited() != archive_worlds.three_classes()
    assert found.votes.audit == found.certificates.audit == AUDIT
    assert archives.verify(tmp_path / "c.json").verdict == "proved"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"clean": -1}, "'audit.clean' must be a whole number"),
        ({"clean_alone": 301}, "'audit' must have no more copies alone"),
        ({"attacked_alone": 281}, "'audit' must have no more copies alone"),
        ({"independent": 301}, "'audit' must have no more independent copies"),
        ({"share": 0.001}, "'audit.share' does not belong there"),
    ],
)
def test_what_a_file_says_of_its_audit_is_checked(tmp_path, changes, named):
    archives.write(tmp_path / "c.json", audited())
    told = json.loads((tmp_path / "c.json").read_text())
    assert named in refused(tmp_path, json.dumps(told | {"audit": told["audit"] | changes}))


def test_fewer_certificates_cannot_hold_together_than_there_are_in_the_file(tmp_path):
    archives.write(tmp_path / "c.json", archive_worlds.three_classes(family="all"))
    told = json.loads((tmp_path / "c.json").read_text())
    told["graphs"] *= 2
    assert "'together' must be 2 or more, and no fewer than the 4 graphs" in refused(tmp_path, json.dumps(told))


def test_two_classes_have_no_margin_to_choose(tmp_path, valid):
    assert "'margins' does not belong there" in refused(tmp_path, json.dumps(json.loads(valid) | {"margins": "chosen"}))


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    path.write_text("what was there before")
    endless = sc.certify(sc.clopper_pearson(sc.Votes([[99, 1]])), sc.Noise(a=0.5))  # certified without end: no frontier
    with pytest.raises(sc.InvalidParameterError, match="max_radius"):
        archives.write(path, archives.Archive.from_result(endless))
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(ArchiveError, match=r"c\.json: cannot be written \(No space left"):
        archives.write(path, archive_worlds.four_regions())
    assert path.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    archives.write(link, archive_worlds.two_classes())
    assert link.is_symlink()
    assert archives.read(target) == archives.read(link)


def test_no_folder_no_file(tmp_path):
    with pytest.raises(ArchiveError, match=r"nowhere.*cannot be written"):
        archives.write(tmp_path / "nowhere" / "c.json", archive_worlds.two_classes())
    for wrong in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(ArchiveError, match="cannot be read"):
            archives.read(wrong)


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("valid") / "c.json"
    archives.write(path, archive_worlds.two_classes())
    return path.read_text()


def refused(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "hostile.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ArchiveError) as caught:
        archives.read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert len(said) < len(str(path)) + 400
    return said


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[1, 2]", "the file must be an object"),
        ('"text"', "the file must be an object"),
        ("{}", "'format'"),
        ('{"format": "starcert certificates", "version": 2}', "'version' must be 1"),
        ('{"format": "starcert certificates", "version": true}', "'version' must be 1"),
    ],
)
def test_what_is_no_file_of_certificates_is_refused(tmp_path, text, named):
    assert named in refused(tmp_path, text)


def test_a_file_that_was_cut_off_is_refused_wherever_it_was(tmp_path, valid):
    for length in range(0, len(valid) - 2, 97):
        refused(tmp_path, valid[:length])


BAD = [
    (("says",), 7, "'says'"),
    (("noise",), {}, "'noise' must be a list"),
    (("noise",), [], "'noise' must have at least one region"),
    (("noise", 0, "flip"), 1.5, "'noise[0].flip' must be a probability"),
    (("noise", 0, "flip"), "0.1", "'noise[0].flip' must be a number"),
    (("noise", 0, "flip"), True, "'noise[0].flip' must be a number"),
    (("noise", 0, "flip"), 10**4000, "'noise[0].flip' must be a number"),
    (("noise", 0, "flip"), 0.2, "'noise[0].exact.flip' must be the fraction that 0.2 is"),
    (("noise", 0, "region"), "random", "name a region once"),
    (("noise", 0, "region"), "a.b", "region names"),
    (("noise", 0, "region"), "other", "'axes'"),
    (("noise", 0, "exact"), None, "'noise[0].exact' must be an object"),
    (("axes",), ["random", "motif"], "'axes'"),
    (("alpha",), 0.99, "confidence level"),
    (("alpha",), 0.01, "'alpha_exact' must be the fraction"),
    (("alpha",), None, "'alpha' must be a number"),
    (("max_radius",), [1], "'max_radius' must be a list of 2 whole numbers"),
    (("max_radius",), [1, -1], "'max_radius[1]'"),
    (("classes",), ["safe"], "'classes' must name two"),
    (("classes",), ["a", "b", "c"], "'graphs[0].estimation"),
    (("classes",), ["safe", 1], "'classes[1]' must be text"),
    (("settings",), [], "'settings' must be an object"),
    (("provenance",), {"python": 3}, "'provenance.python' must be text"),
    (("graphs",), [], "'graphs' must hold at least one graph"),
    (("graphs",), None, "'graphs' must be a list"),
    (("graphs", 1), 7, "'graphs[1]' must be an object"),
    (("graphs", 1, "name"), None, "'graphs[1].name' must be text"),
    (("graphs", 0, "true_class"), 2, "'graphs[0].true_class'"),
    (("graphs", 0, "true_class"), 0.0, "'graphs[0].true_class'"),
    (("graphs", 0, "estimation"), [1, 2, 3], "'graphs[0].estimation"),
    (("graphs", 0, "estimation"), [1.0, 2], "'graphs[0].estimation"),
    (("graphs", 0, "estimation"), [-1, 2], "'graphs[0].estimation"),
    (("graphs", 0, "estimation"), [0, 0], "'graphs[0].estimation' must hold from 1"),
    (("graphs", 0, "estimation"), [10**4000, 2], "'graphs[0].estimation"),
    (("graphs", 0, "estimation"), [10**10, 10**10], "'graphs[0].estimation"),
    (("graphs", 2, "selection"), None, "'graphs[2].selection'"),
    (("graphs", 0, "capacity"), [2**63, 1], "'graphs[0].capacity"),
    (("graphs", 0, "anchored"), False, "'graphs[0].anchored' must be text"),
    (("graphs", 0, "claims"), [], "'graphs[0].claims' must be an object"),
    (("graphs", 0, "claims", "class"), "safe", "'graphs[0].claims.class'"),
    (("graphs", 0, "claims", "class"), 2, "'graphs[0].claims.class'"),
    (("graphs", 0, "claims", "abstained"), 0, "'graphs[0].claims.abstained' must be true or false"),
    (("graphs", 0, "claims", "p_lower"), 1.5, "'graphs[0].claims.p_lower'"),
    (("graphs", 0, "claims", "margin"), "wide", "'graphs[0].claims.margin'"),
    (("graphs", 0, "claims", "margin"), ["two-class"], "'graphs[0].claims.margin'"),
    (("graphs", 0, "claims", "frontier"), [[1]], "'graphs[0].claims.frontier[0]'"),
    (("graphs", 0, "claims", "frontier"), [[1, 10**10]], "'graphs[0].claims.frontier[0][1]'"),
    (("graphs", 0, "claims", "frontier"), "far", "'graphs[0].claims.frontier' must be a list"),
]


@pytest.mark.parametrize(("place", "value", "named"), BAD)
def test_a_wrong_field_is_named(tmp_path, valid, place, value, named):
    told = json.loads(valid)
    inside(told, place[:-1])[place[-1]] = value
    assert named in refused(tmp_path, json.dumps(told))


def everywhere(value, place=()):
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from everywhere(inner, (*place, step))
            yield (*place, step)


def inside(told, place):
    for step in place:
        told = told[step]
    return told


def test_whatever_is_missing_is_named(tmp_path, valid):
    places = [place for place in everywhere(json.loads(valid)) if isinstance(place[-1], str)]
    for place in places:
        if place[0] not in ("settings", "provenance") or len(place) == 1:  # the others are free
            told = json.loads(valid)
            del inside(told, place[:-1])[place[-1]]
            of_law = place[0] == "noise" and place[-1] == "flip" and len(place) == 3
            said = refused(tmp_path, json.dumps(told))
            assert ("named numbers of a law" if of_law else f"{place[-1]}' is missing") in said or place[-1] in (
                "format",
                "version",
            )


def test_what_does_not_belong_there_is_named(tmp_path, valid):
    objects = [
        (),
        *(place for place in everywhere(json.loads(valid)) if isinstance(inside(json.loads(valid), place), dict)),
    ]
    for place in objects:
        if place[:1] not in [("settings",), ("provenance",)]:
            told = json.loads(valid)
            inside(told, place)["radius"] = 1000
            of_law = place[:1] == ("noise",) and len(place) == 2
            wrong = "named numbers of a law" if of_law else "radius' does not belong there"
            assert wrong in refused(tmp_path, json.dumps(told))


@pytest.mark.parametrize("junk", [None, True, -1, 1e308, "text", [], {}, [[]], [{}], "\u0000\ud800", math.pi])
def test_junk_anywhere_is_refused_or_harmless_and_never_a_traceback(tmp_path, valid, junk):
    path = tmp_path / "hostile.json"
    for place in everywhere(json.loads(valid)):
        told = json.loads(valid)
        inside(told, place[:-1])[place[-1]] = junk
        path.write_text(json.dumps(told))
        with contextlib.suppress(ArchiveError):  # and nothing else
            archives.read(path)


def test_a_hundred_thousand_names_and_one_of_them_twice(tmp_path):
    """Found in one walk: one walk for each name would take minutes."""
    members = ",".join(f'"{i}":0' for i in range(100_000))
    path = tmp_path / "certificates.json"
    path.write_text("{" + members + ',"99999":0}')
    before = time.process_time()
    with pytest.raises(ArchiveError, match="'99999' stands twice"):
        sc.archive.read(path)
    assert time.process_time() - before < 20
