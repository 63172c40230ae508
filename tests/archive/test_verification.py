"""Verification: true files are proved, each claim that is changed is found, and the votes decide, not the claims."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import archive_worlds
import pytest
from archive_worlds import found, tampered, written
from memory_worlds import loaded

import starcert as sc
from starcert import archive as archives
from starcert.archive.checker.arithmetic import LIMITS
from starcert.claims.metrics import certified_share
from starcert.math.limits import upper_limit
from starcert.system.errors import ArchiveError, PrecisionError


@pytest.mark.parametrize("world", archive_worlds.COUNTS)
def test_what_starcert_writes_is_proved_again(tmp_path, world):
    result = archives.verify(written(tmp_path, world()))
    assert (result.verdict, result.mismatches) == ("proved", ())
    assert result.listed > 0
    assert "proved. Every claim about" in str(result)


@pytest.mark.parametrize("spent", [{}, {"family": "all"}], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 5, 10])
def test_many_random_votes(tmp_path, n_classes, spent):
    votes = archive_worlds.random_votes(40, n_classes, seed=n_classes)
    bounds = sc.clopper_pearson(votes, family=spent.get("family", "each"))
    noise = sc.Noise(a=0.2, b=sc.Flip(delete=0.3, add=0.4))
    archive = archives.Archive.from_result(sc.certify(bounds, noise, max_radius=(4, 5, 6)))
    assert archives.verify(written(tmp_path, archive)).verdict == "proved"
    if n_classes in (3, 5) and not spent:
        assert {one.margin_kind for one in archive.certificates} == {"two-class", "multi-class"}


def test_what_a_law_from_outside_states_is_not_proved_and_not_imported(tmp_path, here):
    """The law of the file is in no module that can be imported: only its name is read."""
    kept = Path(__file__).parent / "stated" / "version_0_2_0" / "law.json"
    result = archives.verify(kept)
    assert (result.verdict, result.laws, result.refuted) == ("stated", ("refresh_law:Refresh",), ())
    assert "law.json: stated by the law refresh_law:Refresh, which is not starcert's own. No claim" in str(result)
    status, said, _ = here("verify", kept, "--json")
    assert (status, json.loads(said)["verdict"], json.loads(said)["laws"]) == (0, "stated", ["refresh_law:Refresh"])
    assert "No claim in this file is proved" in " ".join(here("verify", kept)[1].split())
    with pytest.raises(ArchiveError, match="nothing is imported because a file names it"):
        archives.read(kept)
    content = json.loads(kept.read_text(encoding="utf-8"))
    content["noise"][0]["law"] = "this:s"  # a module that says something when it is imported
    (tmp_path / "other.json").write_text(json.dumps(content), encoding="utf-8")
    assert archives.verify(tmp_path / "other.json").laws == ("this:s",)
    assert "this" not in sys.modules
    content["noise"][0]["law"] = 3
    (tmp_path / "other.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ArchiveError, match=r"'noise\[0\]\.law' must be text"):
        archives.verify(tmp_path / "other.json")


FALSE = [
    (0, {"class": 1}, "class"),
    (2, {"abstained": False}, "abstained"),
    (0, {"p_lower": 0.9999}, "p_lower"),
    (0, {"failure": 1e-6}, "failure"),
    (0, {"other": 1e-6}, "other"),
    (0, {"margin": "multi-class"}, "margin"),
    (2, {"frontier": [[0, 0]]}, "frontier"),
    (0, {"frontier": [[10, 28]]}, "frontier"),
    (0, {"frontier": [[1000000000, 1000000000]]}, "frontier"),
    (0, {"beyond": []}, "beyond"),
    (2, {"beyond": [[1, 0]]}, "beyond"),
]


@pytest.mark.parametrize(("graph", "changes", "field"), FALSE)
def test_a_false_claim_is_refuted_whichever_it_is(tmp_path, graph, changes, field):
    path = written(tmp_path, archive_worlds.two_classes())
    result = tampered(path, graph, **changes)
    assert result.verdict == "refuted"
    assert found(result) == [(graph, field)]
    assert [each.field for each in result.refuted] == [field]
    assert result.mismatches[0].name == result.archive.names[graph]
    assert "1 claim is false" in str(result)


LESS = [  # or the same in other words, to the last digit but one
    (0, {"abstained": True}, "abstained"),
    (0, {"p_lower": 0.99}, "p_lower"),
    (0, {"failure": 0.01}, "failure"),
    (0, {"other": 0.01}, "other"),
    (0, {"frontier": [[0, 0]]}, "frontier"),
    (0, {"frontier": []}, "frontier"),
    (0, {"beyond": [[0, 0]]}, "beyond"),
    (0, {"proved": False}, "proved"),
]


@pytest.mark.parametrize(("graph", "changes", "field"), LESS)
def test_a_claim_that_says_less_is_true(tmp_path, graph, changes, field):
    result = tampered(written(tmp_path, archive_worlds.two_classes()), graph, **changes)
    assert (result.verdict, result.mismatches) == ("proved", ())


def test_every_radius_one_step_further_is_refuted(tmp_path):
    """Three classes and four regions: each maximal radius, one more on each axis where the box has room."""
    for world in (archive_worlds.three_classes, archive_worlds.four_regions):
        archive = world()
        path = written(tmp_path, archive)
        for graph, one in enumerate(archive.certificates):
            for radius in one.frontier.radii[:3]:
                for axis in range(len(radius)):
                    further = [count + (i == axis) for i, count in enumerate(radius)]
                    result = tampered(path, graph, frontier=[*map(list, one.frontier.radii), further])
                    assert found(result) == [(graph, "frontier")]
                    assert result.mismatches[0].claimed == [tuple(further)]


def test_a_radius_outside_of_the_box_does_not_stand_on_the_capacity(tmp_path):
    """The capacity of the second graph is certified whole; no flips beyond it are claimed by the library."""
    noise = sc.Noise(a=0.4)
    bounds = sc.clopper_pearson(sc.Votes([[9_990, 10]], selection=[[99, 1]]))
    path = written(tmp_path, archives.Archive.from_result(sc.certify(bounds, noise, capacity=[1])))
    assert json.loads(path.read_text())["graphs"][0]["claims"]["frontier"] == [[1]]
    assert found(tampered(path, 0, frontier=[[2]])) == [(0, "frontier")]


def test_the_same_down_set_in_other_words_is_no_mismatch(tmp_path):
    archive = archive_worlds.two_classes()
    path = written(tmp_path, archive)
    radii = [list(radius) for radius in archive.certificates[0].frontier.radii]
    assert len(radii) > 1
    assert tampered(path, 0, frontier=[[0, 0], *radii[::-1]]).verdict == "proved"


def test_the_last_digit_of_another_platform_is_no_mismatch(tmp_path):
    archive = archive_worlds.two_classes()
    path = written(tmp_path, archive)
    p_lower = archive.certificates[0].p_lower
    assert tampered(path, 0, p_lower=p_lower - 1e-15).verdict == "proved"
    assert found(tampered(path, 0, p_lower=p_lower + 1e-12)) == [(0, "p_lower")]


def test_the_verdict_follows_the_votes(tmp_path):
    path = written(tmp_path, archive_worlds.two_classes())
    told = json.loads(path.read_text())
    told["graphs"][0]["estimation"] = [9_000, 1_000]
    path.write_text(json.dumps(told))
    result = archives.verify(path)
    fields = [each.field for each in result.refuted]
    assert fields[:3] == ["p_lower", "failure", "other"]
    assert "frontier" in fields
    told["graphs"][0]["estimation"] = [10_000, 0]
    path.write_text(json.dumps(told))
    result = archives.verify(path)
    assert result.verdict == "proved"  # more votes prove more
    told["graphs"][0]["selection"] = [1, 99]
    path.write_text(json.dumps(told))
    assert (0, "class") in found(archives.verify(path))


def test_the_verdict_follows_the_noise_and_alpha(tmp_path):
    path = written(tmp_path, archive_worlds.two_classes())
    for change in (
        lambda told: told["noise"][1].update(flip=0.25, exact={"flip": "1/4"}),
        lambda told: told.update(alpha=0.5**20, alpha_exact="1/1048576"),
        lambda told: [graph.update(selection=None) for graph in told["graphs"]],  # the choice costs a share of alpha
    ):
        told = json.loads(path.read_text())
        change(told)
        path.with_name("other.json").write_text(json.dumps(told))
        assert archives.verify(path.with_name("other.json")).verdict == "refuted"


def test_what_is_certified_without_end_is_no_error(tmp_path):
    """A search would not end there; claims about radii are proved as they stand."""
    path = written(tmp_path, archive_worlds.three_classes())
    told = json.loads(path.read_text())
    told["max_radius"] = None
    told["noise"][0] |= {"flip": 0.5, "exact": {"flip": "1/2"}}
    path.write_text(json.dumps(told))
    assert found(archives.verify(path)) == [(1, "beyond")]  # of the second graph all radii in the box were certified


def test_a_proof_that_disagrees_with_the_other_is_not_hidden(tmp_path, monkeypatch):
    path = written(tmp_path, archive_worlds.two_classes())
    with monkeypatch.context() as patch:
        patch.setitem(LIMITS, "clopper-pearson", lambda *_: False)
        with pytest.raises(ArithmeticError, match="two proofs disagree about the bounds of graph 0"):
            archives.verify(path)
    monkeypatch.setattr("starcert.archive.checker.arithmetic.CellListing.certifies", lambda *_: True)
    with pytest.raises(ArithmeticError, match="two proofs disagree at radius"):
        archives.verify(path)


def changed(path: Path, change) -> Path:
    """The file with something in it replaced."""
    told = json.loads(path.read_text())
    change(told)
    other = path.with_name("changed.json")
    other.write_text(json.dumps(told))
    return other


def test_nothing_is_certified_because_a_file_states_a_capacity(tmp_path):
    """The capacity is made 1, and the claims are cut down to it: they are true. Radius 40 is not certified by that."""
    noise = sc.Noise(a=0.1)
    bounds = sc.clopper_pearson(sc.Votes([[9_990, 10]], selection=[[99, 1]]))
    result = sc.certify(bounds, noise, capacity=[45])
    assert not result.certified(40).any()
    path = written(tmp_path, archives.Archive.from_result(result, labels=[0]))
    one = archives.read(path).certificates[0]
    assert one.frontier == result[0].frontier

    def smaller(told):
        told["graphs"][0]["capacity"] = [1]
        told["graphs"][0]["claims"] |= {"frontier": [[1]], "beyond": []}

    proof = archives.verify(changed(path, smaller))
    assert proof.verdict == "proved"
    certificates = proof.archive.certificates
    assert certificates.certified(1).tolist() == [True]
    assert certificates.certified(40).tolist() == [certificates[0].certified(40)] == [False]
    assert certificates[0].margin(40) < 0
    assert certificates.certified_accuracy([0], 40) == 0
    assert certified_share(certificates, [0], max_radius=40)[40] == 0
    assert (proof.archive.rows()[0]["reach_a"], proof.archive.capacities) == (1, (None,))
    # Kept and read once more, it is no better.
    again = archives.Archive.from_result(certificates)
    assert (again.capacities, again.boxes) == ((None,), ((1,),))
    assert not again.certificates.certified(40).any()
    archives.write(path, again)
    assert not archives.read(path).certificates.certified(40).any()


def test_a_result_knows_its_capacities_and_its_file_does_not(tmp_path):
    """Two sites to attack, both certified: no attack is larger. Who only reads that there are two cannot know."""
    result = sc.certify(
        sc.clopper_pearson(sc.Votes([[9_000, 1_000]] * 2)), sc.Noise(a=0.4), capacity=[2, None], boxes=[2, 2]
    )
    kept = archives.Archive.from_result(result)
    assert kept.certificates.certified(30).tolist() == [True, False]
    path = written(tmp_path, kept)
    assert archives.read(path) == kept
    assert archives.read(path).certificates.certified(30).tolist() == [False, False]
    assert archives.read(path).confirmed().certificates.certified(30).tolist() == [True, True]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["graphs"][0].update(capacity=[10**9] * 3),
        lambda told: told["graphs"][0].update(capacity=[10**7] * 3),
        lambda told: told.update(max_radius=[10**9] * 3) or told["graphs"][0].update(capacity=None),
    ],
    ids=["capacity", "less capacity", "max_radius"],
)
def test_a_box_too_large_for_any_memory_is_refused_or_searched_in_little(tmp_path, change, n_classes):
    """Deletions and additions in one half of the axes: all their pairs would take terabytes."""
    rest = [0] * (n_classes - 2)
    votes = sc.Votes([[9_000, 1_000, *rest]], selection=[[90, 10, *rest]])
    noise = sc.Noise(a=sc.Flip(delete=0.1, add=0.2), c=0.3)
    archive = archives.Archive.from_result(sc.certify(sc.clopper_pearson(votes), noise, capacity=[(5, 5, 5)]))
    path = changed(written(tmp_path, archive), change)
    code = (
        "from starcert import archive\n"
        "from starcert.system.errors import ArchiveError\n"
        "try:\n"
        f"    print(archive.verify({str(path)!r}).verdict)\n"
        "except ArchiveError as error:\n"
        "    print(error)\n"
    )
    done = loaded().run(code, memory=8 << 30)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Unable to allocate" not in done.stdout  # refused before, not by chance
    assert done.stdout.strip() in ("proved", "refuted") or "'graphs[0]'" in done.stdout


def test_a_margin_that_was_not_chosen_has_no_share_of_alpha(tmp_path):
    """The two-class margin was chosen for the second graph: there is no bound on single other classes to claim."""
    votes = sc.Votes([[9_000, 500, 500]], selection=[[100, 0, 0]])
    archive = archives.Archive.from_result(sc.certify(sc.clopper_pearson(votes), sc.Noise(a=0.4)))
    path = written(tmp_path, archive)
    other = upper_limit(500, 10_000, Fraction(0.01) / 3)
    assert found(tampered(path, 0, other=other)) == [(0, "other")]
    assert found(tampered(path, 0, margin="multi-class")) == [(0, "margin")]
    # Chosen on other selection votes it would be true, and then the bound on the class itself is not.
    result = archives.verify(changed(path, lambda told: told["graphs"][0].update(selection=[90, 5, 5])))
    assert {"p_lower", "failure"} <= {each.field for each in result.refuted}


def test_alpha_that_was_divided_proves_no_more_than_its_part(tmp_path):
    """A file that says to hold for both graphs together, with the claims of each by itself, is refuted."""
    joint, alone = archive_worlds.three_classes(family="all"), archive_worlds.three_classes()
    claims = [graph["claims"] for graph in json.loads(written(tmp_path, alone).read_text())["graphs"]]

    def bolder(told):
        for graph, claimed in zip(told["graphs"], claims, strict=True):
            graph["claims"] = claimed

    path = written(tmp_path, joint)
    assert {"p_lower", "failure", "other"} <= {each.field for each in archives.verify(changed(path, bolder)).refuted}

    def larger(told):
        told["together"] = 1000

    assert archives.verify(changed(path, larger)).verdict == "refuted"
    assert archives.verify(path).archive.certificates[0].together == 2


def test_who_searched_longer_is_not_refuted(tmp_path, monkeypatch):
    """A frontier that is searched within a smaller budget knows less: what it did not find may still be certified."""
    votes = sc.Votes([[100_000, 0]], selection=[[1000, 0]])
    result = sc.certify(sc.clopper_pearson(votes), sc.Noise(a=0.1, b=0.2, c=0.3), capacity=[(50, 50, 50)])
    path = tmp_path / "certificates.json"
    sc.archive.write(path, sc.archive.Archive.from_result(result))
    told = json.loads(path.read_text())
    assert sc.archive.verify(path).verdict == "proved"
    monkeypatch.setattr("starcert.math.search.MAX_WORK", 2_000)
    again = sc.archive.verify(path)
    assert again.archive.certificates[0].frontier.incomplete
    assert again.refuted == ()
    told["graphs"][0]["claims"]["frontier"][0] = [50, 50, 50]
    path.write_text(json.dumps(told))
    assert [each.field for each in sc.archive.verify(path).refuted] == ["frontier"]


def test_cells_are_listed_and_radii_compared_as_far_as_the_budgets_go(tmp_path, monkeypatch):
    path = written(tmp_path, archive_worlds.two_classes())
    whole = archives.verify(path)
    with monkeypatch.context() as patch:
        patch.setattr("starcert.archive.checker.arithmetic.MAX_BITS_IN_ALL", 0)
        none = archives.verify(path)
        assert (none.verdict, none.listed) == ("proved", 1)  # no flips have no bits
        assert none.listed + none.enclosed == whole.listed + whole.enclosed
    with monkeypatch.context() as patch:
        patch.setattr("starcert.archive.checker.rows.MAX_COMPARED", 3)
        with pytest.raises(ArchiveError, match=r"cannot be proved again: more than 3 counts of its radii would have"):
            archives.verify(path)
    monkeypatch.setattr("starcert.archive.checker.rows.MAX_WORK", 100)
    with pytest.raises(ArchiveError, match=r"the radii of 'graphs\[0\]' would take too long to prove"):
        archives.verify(path)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("by zero"), OverflowError("too large"), PrecisionError("too close")]
)
def test_arithmetic_errors_in_proofs_are_refusals(tmp_path, monkeypatch, error):
    path = written(tmp_path, archive_worlds.two_classes())

    def fails(*_):
        raise error

    monkeypatch.setattr("starcert.archive.checker.rows.list_cells", fails)
    with pytest.raises(ArchiveError, match=r"cannot be proved again: its numbers leave no room for arithmetic \("):
        archives.verify(path)


CLOSURE = """
import sys
from pathlib import Path
import starcert.archive.verification as verification
print(verification.verify(sys.argv[1]).verdict)
found = [Path(m.__file__) for name, m in sys.modules.items() if name.startswith("starcert.") and m.__file__]
print(len(found), sum(len(each.read_text(encoding="utf-8").splitlines()) for each in found))
"""


@pytest.mark.parametrize("name", ["counts", "evidence"])
def test_a_proof_imports_little_and_nothing_that_certifies(name):
    """What has to be right for a claim to be proved: a limit on modules and lines, those of arithmetic included."""
    path = Path(__file__).parent / "kept" / "version_0_2_0" / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-c", CLOSURE, str(path)], capture_output=True, text=True, check=True, timeout=300
    )
    verdict, numbers = done.stdout.splitlines()
    modules, lines = map(int, numbers.split())
    assert verdict == "proved"
    assert modules <= 60
    assert lines <= 11_000
