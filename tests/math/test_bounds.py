"""A bound of one's own goes from certificates to the report, and is never called proved."""

import json
import math
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
from asking import how_to
from typing_extensions import override

import starcert as sc
from starcert.math.bounds import bounds_by
from starcert.math.confidence import anytime_bounds
from starcert.system.errors import InvalidParameterError


class Hoeffding(sc.Bound):
    """1 − p_A is at most the share of votes against the class, plus √(log(1/alpha) / 2n)."""

    name: ClassVar[str] = "hoeffding"

    @override
    def supports(self, votes):
        return votes.history == "fixed"

    @override
    def bounds(self, votes, alpha, family):
        labels, totals = votes.selection.argmax(axis=1), votes.counts.sum(axis=1)
        share = alpha / (len(votes) if family == "all" else 1)
        lost = 1 - votes.counts[np.arange(len(votes)), labels] / totals
        failure = np.minimum(1, lost + np.sqrt(math.log(1 / share) / (2 * totals)))
        return sc.Bounds(labels, failure, failure, alpha, votes.counts.shape[1])


class AfterALook(Hoeffding):
    """For the test alone: it says that it may be used after a look."""

    name: ClassVar[str] = "after a look"

    @override
    def supports(self, votes):
        return votes.history != "stopped"


def test_a_bound_is_asked_about_the_votes_as_they_came_about():
    seen = sc.Votes([[990, 10]], [[99, 1]], history="looked")
    with pytest.raises(InvalidParameterError, match="'bound' must support votes with the history 'looked'"):
        bounds_by(Hoeffding(), seen, 0.01, "each")
    assert bounds_by(AfterALook(), seen, 0.01, "each").votes.history == "looked"
    with pytest.raises(InvalidParameterError, match="history 'stopped'"):
        bounds_by(AfterALook(), sc.Votes([[990, 10]], [[99, 1]], history="stopped"), 0.01, "each")
    with pytest.raises(InvalidParameterError, match="'history' must be one of fixed, looked, stopped"):
        sc.Votes([[990, 10]], history=True)


GRAPHS = [sc.Graph.from_networkx(graph) for graph in (nx.complete_graph(6), nx.cycle_graph(6))]
BASE = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 8), n_classes=2)
SMOOTHED = sc.SmoothedClassifier(BASE, sc.Noise(all=0.1))


def certified(**more):
    return SMOOTHED.certify(GRAPHS, **how_to(samples=2000, alpha=0.01, seed=1, **more))


@pytest.mark.parametrize("family", ["each", "all"])
def test_the_bounds_of_each_plan_are_those_of_its_function(family):
    fixed, decided = certified(family=family), certified(family=family, plan="decided", max_radius=2)
    assert (fixed.bounds.bound, decided.bounds.bound) == ("clopper-pearson", "anytime")
    assert fixed.bounds.agrees_with(sc.clopper_pearson(fixed.votes, alpha=0.01, family=family))
    expected = anytime_bounds(decided.votes, alpha=0.01, family_size=2 if family == "all" else 1)
    assert decided.bounds.agrees_with(expected)
    assert certified(family=family, bound=sc.ClopperPearson()).bounds.agrees_with(fixed.bounds)


def test_fixed_votes_may_be_bounded_at_any_time():
    result = certified(bound=sc.Anytime())
    assert result.votes.history == "looked"
    assert (result.bounds.failure > certified().bounds.failure).all()


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("family", ["each", "all"])
def test_a_bound_of_ones_own_goes_all_the_way_and_is_stated(family, evidence, tmp_path, here):
    result = certified(family=family, bound=Hoeffding(), evidence=evidence)
    assert result.bounds.bound == "hoeffding"
    assert result.bounds.family_size == (2 if family == "all" else 1)
    assert result[0].certified(1)
    file = tmp_path / "certificates.json"
    sc.archive.write(file, sc.archive.Archive.from_result(result, labels=[1, 0]))
    read = sc.archive.read(file)
    assert read.certificates.bounds.agrees_with(result.bounds)
    assert [one.frontier for one in read.certificates] == [one.frontier for one in result]
    found = sc.archive.verify(file)
    assert (found.verdict, found.mismatches) == ("stated", ())
    assert "stated by hoeffding" in str(found)
    assert "proved. Every claim" not in str(found)
    status, said, _ = here("verify", file)
    assert (status, "stated by hoeffding" in said) == (0, True)
    assert json.loads(here("verify", file, "--json")[1])["verdict"] == "stated"
    page = tmp_path / "report.html"
    sc.report.write_report(page, read, SMOOTHED.problem(GRAPHS))
    assert "Bounds stated by hoeffding" in page.read_text(encoding="utf-8")


def changed(file, **claims):
    """The same file with other claims about its first graph."""
    content = json.loads(file.read_text(encoding="utf-8"))
    for name, value in claims.items():
        content["graphs"][0]["claims"][name] = value
    file.write_text(json.dumps(content), encoding="utf-8")
    return sc.archive.verify(file)


@pytest.mark.parametrize("claims", [{"frontier": [[9]], "beyond": [[10]]}, {"p_lower": 0.9999}, {"abstained": True}])
def test_what_does_not_follow_from_stated_bounds_is_found(claims, tmp_path):
    file = tmp_path / "certificates.json"
    sc.archive.write(file, sc.archive.Archive.from_result(certified(bound=Hoeffding())))
    found = changed(file, **claims)
    assert found.verdict == ("weaker" if "abstained" in claims else "refuted")
    assert "proved" not in str(found).partition(".json")[2].partition(".")[0]


def test_a_file_cannot_pass_for_proved_under_another_name(tmp_path):
    """A proved name on stated bounds is proved from the votes; another name on proved bounds is stated."""
    file = tmp_path / "certificates.json"
    sc.archive.write(file, sc.archive.Archive.from_result(certified(bound=sc.Anytime())))
    assert sc.archive.verify(file).verdict == "proved"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"bounds": "anytime"', '"bounds": "foreign"'), encoding="utf-8")
    with pytest.raises(sc.ArchiveError, match="sentence"):
        sc.archive.verify(file)
    sc.archive.write(file, sc.archive.Archive.from_result(certified(bound=Hoeffding())))
    content = json.loads(file.read_text(encoding="utf-8"))
    proved = json.loads(text)
    file.write_text(json.dumps(content | {"bounds": "anytime", "says": proved["says"]}), encoding="utf-8")
    assert sc.archive.verify(file).verdict in ("weaker", "refuted")


class ForOtherClass(Hoeffding):
    @override
    def bounds(self, votes, alpha, family):
        found = super().bounds(votes, alpha, family)
        return sc.Bounds(1 - found.labels, found.failure, found.other, alpha, 2)


class AnyVotes(Hoeffding):
    @override
    def supports(self, votes):
        return True


class Disguised(Hoeffding):
    name: ClassVar[str] = "clopper-pearson"


class Derived(sc.ClopperPearson):
    @override
    def bounds(self, votes, alpha, family):
        return sc.Bounds.certain([1.0] * len(votes))


def test_what_a_bound_owes():
    with pytest.raises(sc.InvalidParameterError, match="'bound' must be a Bound"):
        certified(bound=Hoeffding)
    with pytest.raises(sc.InvalidParameterError, match="support the votes of the plan 'decided'"):
        certified(bound=Hoeffding(), plan="decided", max_radius=2)
    with pytest.raises(sc.InvalidParameterError, match="support the votes of the plan 'decided'"):
        certified(bound=sc.ClopperPearson(), plan="decided", max_radius=2)
    with pytest.raises(sc.InvalidParameterError, match="class that the selection votes of each row choose"):
        certified(bound=ForOtherClass())
    assert certified(bound=AnyVotes(), plan="decided", max_radius=2).votes.history == "stopped"
    for disguised in (Disguised(), Derived()):
        with pytest.raises(sc.InvalidParameterError, match="have a name of its own"):
            certified(bound=disguised)


def test_a_store_refuses_other_code_under_the_same_name(tmp_path):
    class Changed(Hoeffding):
        @override
        def bounds(self, votes, alpha, family):
            found = super().bounds(votes, alpha, family)
            return sc.Bounds(found.labels, found.failure / 10, found.other / 10, alpha, found.n_classes)

    store = tmp_path / "votes.db"
    certified(store=store, bound=Hoeffding())
    certified(store=store, bound=Hoeffding())
    with pytest.raises(sc.StarcertError, match="bound"):
        certified(store=store, bound=Changed())


def test_a_bound_by_its_name():
    assert certified(bound="anytime").bounds.bound == "anytime"
    with pytest.raises(sc.StarcertError, match=r"no 'anytme' in starcert.bounds here. Did you mean anytime\?"):
        certified(bound="anytme")


class OtherAlpha(Hoeffding):
    name: ClassVar[str] = "other alpha"

    @override
    def bounds(self, votes, alpha, family):
        return super().bounds(votes, alpha / 2, family)


def test_a_bound_has_a_name_and_keeps_to_its_alpha():
    nameless = type("Nameless", (sc.Bound,), {"supports": Hoeffding.supports, "bounds": Hoeffding.bounds})
    with pytest.raises(sc.InvalidParameterError, match=r"have a name of its own. Got None instead. Write name"):
        certified(bound=nameless())
    with pytest.raises(sc.InvalidParameterError, match=r"with the alpha that it gets, 0\.01. Got 0\.005"):
        certified(bound=OtherAlpha())


def test_a_certificate_says_what_is_stated():
    assert str(certified(bound=Hoeffding())[0]).endswith(" This is stated by hoeffding, not proved.")
    assert "stated" not in str(certified()[0])


def test_a_store_refuses_another_bound_after_a_look(tmp_path):
    store = tmp_path / "votes.db"
    first = certified(store=store)
    assert certified(store=store, bound=sc.ClopperPearson()).bounds.agrees_with(first.bounds)
    for other in (Hoeffding(), sc.Anytime()):
        with pytest.raises(sc.InvalidParameterError, match="the better of two certificates"):
            certified(store=store, bound=other)
    again = tmp_path / "other.db"
    certified(store=again, bound=Hoeffding())
    with pytest.raises(sc.InvalidParameterError, match="'bound' must be hoeffding"):
        certified(store=again)
