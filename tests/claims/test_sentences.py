"""Certificates with listed threats say the truth in words, and answer for no other threat than was asked about."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from asking import how_to
from target_worlds import Busy

import starcert as sc
from starcert import threats
from starcert.claims.verdict import Verdict
from starcert.objects.threats import Attacks, Threat
from starcert.system.errors import StarcertWarning

NOISE = sc.Noise(all=sc.Flip(0.2))
RING = sc.Graph(6, [(i, (i + 1) % 6) for i in range(6)])
EMPTY = sc.Graph(6, [])


def smoothed(most, noise=NOISE):
    base = sc.classifiers.from_callable(
        lambda batch: batch.degrees().sum(axis=1) > 2 * most, on="batch", n_classes=2, description=f"over {most}"
    )
    return sc.SmoothedClassifier(base, noise)


def certify(most, threat, graphs=(RING,), **more):
    asked = {"samples": 3_000, "seed": 1, "threat": threat, "evidence": True} | more
    return smoothed(most, asked.pop("noise", NOISE)).certify(list(graphs), **how_to(**asked))


def test_nothing_about_radii_follows_from_how_far_a_list_reaches():
    """The attacks of the list change two sites; p_A certifies five, of 15."""
    one = certify(100, "rewire:1", evidence=False)[0]
    plain = certify(100, None, evidence=False)[0]
    assert one.frontier == plain.frontier
    assert one.any_flips == plain.any_flips < 15
    assert one.verdict("flips:15") == "open"


@pytest.mark.parametrize("evidence", [False, True])
def test_the_sentence_names_the_threat(evidence):
    sure = certify(100, "rewire:1", evidence=evidence)
    text = (
        "class 0 for this graph and every one that an attack of the threat makes of it (1 rewired edge); and for every"
    )
    assert text in str(sure[0])
    assert repr(sure).endswith("threat='rewire:1')")
    assert "<th>1 rewired edge</th>" in sure._repr_html_().replace(' style="text-align:left"', "")
    (row,) = sure.rows()
    assert (row["threat"], row["verdict"], row["certified_size"]) == ("rewire:1", "certified", 1)
    assert sure.to_frame()["verdict"].tolist() == ["certified"]


def test_evidence_certifies_a_list_that_p_a_does_not_and_says_up_to_which_size():
    found = certify(8, "deletions:2", noise=sc.Noise(all=0.1), samples=20_000)
    (one,) = found
    assert one.why("deletions:2").startswith("by weighing 15 attacks")
    assert one.verdict(2) == "open"
    assert one.why(2) == "not by p_A, and there is no evidence but about the threat that was asked about"
    assert "makes of it (at most 2 deletions); and for every graph" in str(one)
    by_p_a = found.by_p_A[0]
    assert by_p_a.asked is one.asked
    assert by_p_a.verdict("deletions:2") == "open"
    assert by_p_a.why("deletions:2") == "not by p_A, and there is no evidence"
    part = certify(8, "additions:6", noise=sc.Noise(all=0.1), samples=20_000, own_samples=0)[0]
    assert 0 < part.certified_size < 6
    assert f"(at most 6 additions, of sizes up to {part.certified_size} of 6)" in str(part)
    assert part.verdict(f"additions:{part.certified_size}") == "certified"
    assert part.verdict("additions:6") == part.verdict(f"additions:{part.certified_size + 1}") == "open"


def test_a_broken_threat_is_said_to_be_and_no_part_of_it_that_holds():
    found = certify(6, "additions:2", noise=sc.Noise(all=0.05), samples=20_000)
    (one,) = found
    assert one.verdict("additions:2") == "broken"
    assert "of the threat (at most 2 additions) nothing is certified" in str(one)
    assert "An attack of the threat is known that changes the answer." in str(one)
    assert one.attack("additions:2").votes[1] > one.attack("additions:2").votes[0]
    assert one.certified_size == 0
    assert one.broken == ()  # levels are none of the questions
    assert "broken" in found._repr_html_()
    assert one.verdict("flips:2") == "open"


def test_an_abstention_certifies_no_threat_not_even_one_without_attacks():
    base = sc.classifiers.from_callable(
        lambda batch: batch.values.sum(axis=1) % 2, on="batch", n_classes=2, description="parity"
    )
    coin = sc.SmoothedClassifier(base, sc.Noise(all=0.3))
    for threat in ("rewire:1", "flips:1", "box:1", "box:0"):
        for evidence in (False, True):
            (one,) = coin.certify([EMPTY], samples=500, seed=1, threat=threat, evidence=evidence)
            assert one.abstained
            assert one.verdict(threat) == "open"
            assert one.certified_size is None
            assert str(one).startswith("The smoothed classifier abstains")
    (none,) = coin.certify([sc.Graph(1, [])], samples=500, seed=1, threat="flips:1")
    assert none.abstained == (none.verdict("flips:1") == "open")


@pytest.mark.parametrize("evidence", [False, True])
def test_a_threat_without_attacks_is_certified_and_says_so(evidence):
    one = certify(5, "rewire:2", [EMPTY], evidence=evidence)[0]
    assert (one.verdict("rewire:2"), one.why("rewire:2")) == ("certified", "there is no such attack")
    assert "for this graph itself, on which the threat (at most 2 rewired edges) has no attack" in str(one)
    assert one.certified_size == 2


def test_other_threats_are_refused_or_answered_by_radii_alone():
    one = certify(8, "deletions:2", noise=sc.Noise(all=0.1), samples=20_000)[0]
    for other in ("deletions:3", "additions:1", "deletions:2 | deletions:1", "rewire:1"):
        with pytest.raises(sc.InvalidParameterError, match="be the one that was asked about"):
            one.verdict(other)
    assert one.verdict("deletions:1") == "certified"
    assert one.verdict("deletions:2 & flips:2") == "open"  # it is within two flips, which p_A does not certify
    assert one.verdict(f"rewire:1 & flips:{one.any_flips}") == "certified" if one.any_flips else True


def test_levels_within_a_box_and_a_number_of_flips_are_looked_at_one_by_one():
    noise = sc.Noise(all=sc.Flip(delete=0.3, add=0.1))
    one = certify(8, None, noise=noise, samples=20_000, evidence=False)[0]
    assert not one.certified((2, 1))
    assert one.verdict("box:2,1 & flips:2") == "certified"
    assert one.verdict("box:2,1 & flips:3") == "open"


def test_a_smaller_box_of_radii_changes_nothing_about_a_list():
    found = certify(100, "rewire:2")
    assert found.within(1)[0].verdict("rewire:2") == found[0].verdict("rewire:2") == "certified"


def test_all_certificates_together_share_alpha():
    graphs = [RING, EMPTY, sc.Graph(6, [(0, 1)])]
    together, each = (certify(8, "rewire:1", graphs, family=family) for family in ("all", "each"))
    assert "for all 3 certificates together" in str(together[0])
    assert (together.bounds.p_lower < each.bounds.p_lower).all()
    sizes = [(one.certified_size, other.certified_size) for one, other in zip(together, each, strict=True)]
    assert all(one <= other for one, other in sizes)


def test_every_target_has_a_verdict_of_its_own():
    base = sc.SmoothedClassifier(Busy(), sc.Noise(all=0.05))
    star = sc.Graph(5, [(0, i) for i in range(1, 5)])
    found = base.certify([star], samples=20_000, seed=1, threat="deletions:2", evidence=True)
    kinds = [one.verdict("deletions:2") for one in found]
    assert kinds[1:] == ["certified"] * 4  # leaves have fewer edges, and stay so
    assert kinds[0] == "broken"
    assert "the node 0 of this graph and every one that an attack of the threat makes of it (at most 2 " in str(
        found[0]
    )
    assert found[0].certified_size == 1
    assert [row["verdict"] for row in found.rows()] == kinds


@dataclass(frozen=True)
class OnTwoAxes(Threat):
    """Size 1: one addition. Size 2: two deletions, on a level that p_A certifies."""

    most: int = 2
    by_radius = False
    label = "one addition, then two deletions"

    def attacks(self, sites, size):
        edges = sites.nonzero[0].tolist()
        if size == 1:
            return Attacks.from_lists([(site, 1)] for site in range(15) if site not in edges)
        return Attacks.from_lists([(one, 0), (other, 0)] for one, other in pairwise(edges))


def test_sizes_rest_on_p_a_or_on_evidence_each_after_the_smaller_ones():
    noise = sc.Noise(all=sc.Flip(delete=0.3, add=0.02))
    threat = OnTwoAxes()
    for own in (0, 20_000):
        one = certify(6, threat, noise=noise, samples=20_000, own_samples=own)[0]
        assert not one.proves((0, 1))
        assert one.proves((2, 0))
        assert one.verdict(threat) == "certified"
        assert one.why(threat) == "its attacks, if there are any, are certified by p_A"
        assert "by weighing 9 attacks" in one.verdicts.sizes[1].why
    alone = certify(6, threat, noise=noise, samples=20_000, evidence=False)[0]
    assert (alone.verdict(threat), alone.certified_size) == ("open", 0)
    assert "It is not known from which clean objects" in str(alone)


def test_anchored_lists_say_so():
    one = certify(100, threats.DeleteNode(1))[0]
    assert "The list of attacks is anchored: Which edges a removed node had is read from the clean graph." in str(one)


def test_a_size_counts_only_if_all_smaller_ones_do():
    """Whatever verdicts say: those of a file, for instance."""
    one = certify(7, "deletions:2", noise=sc.Noise(all=0.1), samples=20_000)[0]
    sizes = one.verdicts.sizes
    sizes.pop(1)
    sizes[2] = Verdict("certified", "by nothing")
    assert one.verdict("deletions:2") == "open"
    assert one.certified_size == 0


class Sharing(sc.Law):
    """Two axes, one of which has some of the sites of the other: evidence cannot look at them."""

    alphabet, suffixes, moves = 3, (".one", ".other"), (((0, 1), (1, 0)), ((1, 2), (2, 1)))

    def transitions(self, value):
        return sc.Categorical(0.25, 3).transitions(value)


@dataclass(frozen=True)
class FirstValue(Threat):
    """The first site changes from 0 to 1."""

    most: int = 1
    by_radius = False
    label = "the first value"

    def attacks(self, sites, size):
        return Attacks.from_lists([[(0, 1)]])


@pytest.mark.parametrize(
    ("border", "kind", "why"), [(9, "certified", "by p_A"), (3, "open", "not by p_A, and there is")]
)
def test_where_there_is_no_evidence_a_list_rests_on_p_a_alone(border, kind, why):
    base = sc.classifiers.from_callable(
        lambda batch: batch.values.sum(axis=1) > border, on="batch", n_classes=2, description=f"over {border}"
    )
    with pytest.warns(StarcertWarning, match="Evidence is left out"):
        (one,) = sc.SmoothedClassifier(base, sc.Noise(all=Sharing())).certify(
            [sc.Categories((0, 1, 1), values=3)], samples=2_000, seed=1, evidence=True, threat=FirstValue()
        )
    assert one.verdicts is None
    assert one.verdict(FirstValue()) == kind
    assert one.why(FirstValue()).startswith(why)


# All rows, in three lines -------------------------------------------------------------------------------------------


def test_all_certificates_print_in_three_lines():
    found = certify(4, "flips:2", graphs=(RING, EMPTY))
    first, answers, states = str(found).splitlines()
    assert first.startswith("2 graphs, ")
    assert answers == "answers: 1 of class 0, 1 of class 1"
    counts = found.counts()
    for each in (counts[0], counts[-1]):
        assert f"{each.label}: {each.n_certified} certified, {each.n_broken} broken, {each.n_open} open" in states


def test_three_lines_say_what_is_not_known_or_cannot_happen():
    never = sc.certify(sc.Bounds.certain([0.9]), sc.Noise(all=0.2), capacity=[(0,)])
    assert "no such attack exists" in str(never)
    hidden = sc.certify(sc.Bounds.certain([0.9]), sc.Noise(all=sc.Flip(delete=0.5, add=0)), capacity=[(9, 9)])
    (unknown,) = (each for each in hidden.counts(threat="flips:1") if each.n_certified is None)
    assert f"not known, {unknown.why}" in str(hidden)
