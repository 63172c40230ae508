"""Old keywords: the same certificates as the arguments that replace them, and one warning that shows these."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import worlds

import starcert as sc
from starcert.objects.threats import AnyFlips, Box

ASKED = {"samples": 1_000, "seed": 1}
WEIGHED = ASKED | {"evidence": True}


def certified(**how):
    return worlds.smoothed().certify(worlds.graphs(2), **how)


CHANGES = [
    (ASKED, {"max_radius": (1, 2)}, {"threat": Box((1, 2))}, "threat=Box(…)"),
    (ASKED, {"max_radius": {"rest": 2, "core": 1}}, {"threat": "box:core=1,rest=2"}, "threat=Box(…)"),
    (WEIGHED, {"own_samples": 0, "max_flips": 1}, {"evidence": sc.Evidence(own_samples=0), "threat": "flips:1"},
     "threat=AnyFlips(…), evidence=Evidence(own_samples=…)"),
    (WEIGHED, {"max_radius": (2, 2), "max_flips": 1}, {"threat": Box((2, 2)) & AnyFlips(1)},
     "threat=Box(…) & AnyFlips(…)"),
    (WEIGHED | {"threat": "flips:1"}, {"max_radius": (1, 1)}, {"threat": Box((1, 1)) & AnyFlips(1)}, "threat=Box(…)"),
    (ASKED | {"threat": Box((1, 1))}, {"plan": "decided"}, {"voting": sc.Voting(plan="decided")},
     "voting=Voting(plan=…)"),
    (ASKED, {"selection_samples": 70, "chunk_size": 64, "batch_size": 10, "progress": False, "title": "mine"},
     {"voting": sc.Voting(selection_samples=70, chunk_size=64, batch_size=10, progress=False)},
     "voting=Voting(selection_samples=…, chunk_size=…, batch_size=…, progress=…)"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "old", "new", "shown"), CHANGES, ids=[", ".join(each[1]) for each in CHANGES])
def test_old_keywords_give_the_certificates_of_the_new_form(asked, old, new, shown):
    with pytest.warns(DeprecationWarning, match="write") as warned:
        found = certified(**asked, **old)
    assert [str(each.message) for each in warned] == [
        f"certify({', '.join(f'{key}=…' for key in old)}) is deprecated: write {shown}."
    ]
    assert warned[0].filename == __file__
    expected = certified(**(asked | new))
    assert found.max_radius == expected.max_radius
    assert found.verdicts == expected.verdicts
    for one, other in zip(found.verdicts or (), expected.verdicts or (), strict=True):
        assert one.grounds.max_flips == other.grounds.max_flips
    assert [one.frontier for one in found] == [one.frontier for one in expected]
    np.testing.assert_array_equal(found.votes.counts, expected.votes.counts)
    np.testing.assert_array_equal(found.votes.selection, expected.votes.selection)


def test_votes_are_stored_and_counted_where_old_keywords_say(tmp_path):
    expected = worlds.smoothed().vote(worlds.graphs(2), **ASKED, voting=sc.Voting(selection_samples=70))
    file = tmp_path / "votes.db"
    text = r"vote\(store=…, executor=…, selection_samples=…\) is deprecated: "
    with ThreadPoolExecutor(2) as pool, pytest.warns(DeprecationWarning, match=text) as warned:
        found = worlds.smoothed().vote(worlds.graphs(2), **ASKED, store=file, executor=pool, selection_samples=70)
    assert str(warned[0].message).endswith("write voting=Voting(store=…, executor=…, selection_samples=…).")
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert file.is_file()
    with pytest.warns(DeprecationWarning, match=r"predict\(store=…\) is deprecated: write voting=Voting\(store=…\)\.$"):
        answers = worlds.smoothed().predict(worlds.graphs(2), **ASKED, store=tmp_path / "others.db")
    assert (tmp_path / "others.db").is_file()
    np.testing.assert_array_equal(answers, worlds.smoothed().predict(worlds.graphs(2), **ASKED))


def test_what_was_refused_is_refused():
    with (
        pytest.warns(DeprecationWarning, match=r"Evidence\(own_samples=…\)"),
        pytest.raises(sc.InvalidParameterError, match="'own_samples' must be left out without evidence"),
    ):
        certified(**ASKED, own_samples=5)
    for method, keyword in (("vote", "max_radius"), ("predict", "own_samples"), ("certify", "workers")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
            getattr(worlds.smoothed(), method)(worlds.graphs(1), **ASKED, **{keyword: 1})


def test_the_signature_is_one_that_can_be_remembered():
    wanted = "graphs samples seed alpha family threat evidence voting bound"
    assert list(inspect.signature(sc.SmoothedClassifier.certify).parameters) == ["self", *wanted.split()]
