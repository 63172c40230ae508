"""The sentence about one object says what its levels say, in every case: certified, broken, open, and nothing else."""

import re
from dataclasses import replace
from itertools import product

import pytest

import starcert as sc
from starcert.claims.sentences import in_short
from starcert.claims.verdict import FoundAttack, Verdict, Verdicts
from starcert.math.frontier import levels_of
from starcert.methods.evidence import extended_frontier
from starcert.objects.words import AttackWords, RegionWords, Words

NOISE = sc.Noise(bonds=sc.Edges(delete=0.1, add=0.1, change=0.1, types=4), atoms=sc.Categorical(0.1, 3))
WORDS = AttackWords(
    NOISE,
    Words(
        regions={
            "bonds": RegionWords("bond", covered=True),
            "atoms": RegionWords("atom", covered=True),
        }
    ),
)
SINGLE = ("1 bond deleted", "1 bond added", "1 bond changed", "1 atom changed")
STEP = "change of a bond (deleted, added or of another type) or of an atom"
KINDS = ("certified", "broken", "open")
NAMES = ["aliphatic", "aromatic"]
ATTACK = FoundAttack((0,), (1, 9), 0.001)


def certificate(levels, capacity=(3, 3, 3, 3), noise=NOISE, **more):
    """A certificate by which p_A certifies no flip, and evidence has these verdicts."""
    found = sc.certify(sc.Bounds.certain([0.51]), noise, capacity=[capacity], **more)
    (one,) = found
    made = {level: Verdict(kind, kind, ATTACK if kind == "broken" else None) for level, kind in levels.items()}
    frontier = extended_frontier(one.frontier_by_p_A, made, capacity, "levels of more flips were not looked at")
    return found.proved_by(replace(found.proof, verdicts=[Verdicts(0.01, made, frontier)]))[0]


def unit(axis):
    return tuple(int(axis == other) for other in range(4))


def read(said):
    """What a sentence claims about single steps: for each its verdict."""
    if said.startswith("Whether a single"):
        return dict.fromkeys(SINGLE, "open")
    if said.startswith("Attacks of a single step are known"):
        broken, _, rest = said.partition(" into aromatic: ")[2].partition(".")
        there = dict.fromkeys(re.split(", | or ", broken), "broken")
        unknown = re.findall(r"Open: (.*?)\.", rest)
        return there | {each: "open" for each in re.split(", | or ", unknown[0] if unknown else "") if each}
    assert said.startswith("No single ")
    claims = dict.fromkeys(SINGLE, "certified")
    _, _, exceptions = said.partition(", except ")
    for words, mark in re.findall(r"(?:perhaps )?([\w, ]+?) \((.*?)\)", exceptions):
        kind = "open" if mark == "open" else "broken"
        named = re.split(", | or ", words.removeprefix("and ").removeprefix(" and ").removeprefix("perhaps "))
        claims |= dict.fromkeys(named, kind)
    return claims


@pytest.mark.parametrize("kinds", list(product(KINDS, repeat=4)), ids=lambda kinds: "".join(kind[0] for kind in kinds))
def test_single_steps_are_what_their_levels_are(kinds):
    one = certificate({unit(axis): kind for axis, kind in enumerate(kinds)})
    assert [one.verdict(unit(axis)) for axis in range(4)] == list(kinds)
    said = "".join(in_short(one, WORDS, NAMES))
    assert read(said) == dict(zip(SINGLE, kinds, strict=True)), said
    assert ("probability at least 0.99 over the sampling" in said) is not said.startswith("Whether")
    assert said.count("aliphatic") == 1 or "aliphatic into aromatic" in said


@pytest.mark.parametrize("second", list(product(KINDS, repeat=2)))
def test_two_steps_are_known_to_change_the_answer_or_said_not_to_be_certified(second):
    levels = {unit(axis): "certified" for axis in range(4)}
    pairs = list(levels_of(2, (3, 3, 3, 3)))
    chosen = dict(zip([(2, 0, 0, 0), (1, 0, 0, 1)], second, strict=True))
    levels |= {level: chosen.get(level, "certified") for level in pairs}
    one = certificate(levels)
    said = "".join(in_short(one, WORDS, NAMES))
    if second == ("certified", "certified"):
        assert one.any_flips == 2
        assert said.startswith(
            f"No 2 or fewer steps, each a {STEP}, turn aliphatic into aromatic. For 3 changes: not proved"
        )
        return
    assert one.any_flips == 1
    assert said.startswith(f"No single {STEP} turns aliphatic into aromatic. ")
    words = {"2 bonds deleted": second[0], "1 bond deleted and 1 atom changed": second[1]}
    broken = {text for text, kind in words.items() if kind == "broken"}
    found = re.findall(r"Attacks of 2 steps are known that do: (.*?)\.", said)
    assert set(found[0].split("; ") if found else ()) == broken
    assert ("not proved, and no attack" in said) is not bool(broken)


def test_axes_without_sites_and_beyond_the_box_are_no_claims():
    levels = {unit(0): "certified", unit(3): "broken"}
    said = "".join(in_short(certificate(levels, capacity=(2, 0, 0, 1)), WORDS, NAMES))
    assert f"No single {STEP} turns aliphatic into aromatic, except 1 atom changed (an attack is known)." in said
    boxed = certificate({unit(0): "certified"}, capacity=(2, 0, 0, 1), max_radius=(1, 1, 1, 0))
    assert "except perhaps 1 atom changed (open)." in "".join(in_short(boxed, WORDS, NAMES))
    nothing = certificate({}, capacity=(0, 0, 0, 0))
    assert in_short(nothing, WORDS, NAMES) == ("There is nothing to attack.",)


def test_all_sites_of_a_small_object_leave_nothing_beyond():
    (one,) = sc.certify(sc.Bounds.certain([0.9999]), sc.Noise(all=0.4), capacity=[(2,)])
    words = AttackWords(one.noise, Words(regions={"all": RegionWords("edge", covered=True)}))
    assert one.any_flips == 2
    said = "".join(in_short(one, words, NAMES))
    assert said == "No 2 or fewer steps, each an addition or deletion of an edge, turn aliphatic into aromatic."


def test_nothing_is_said_without_an_answer_or_without_the_sites():
    (abstains,) = sc.certify(sc.Bounds.certain([0.4]), NOISE, capacity=[(3, 3, 3, 3)])
    (unknown,) = sc.certify(sc.Bounds.certain([0.9]), NOISE)
    assert in_short(abstains, WORDS, NAMES) == in_short(unknown, WORDS, NAMES) == ()


def test_with_more_classes_it_is_another_class_and_names_are_parts_of_their_own():
    parts = in_short(certificate({}), WORDS, ["a or b (open)", "b", "c"])
    assert parts == (f"Whether a single {STEP} turns ", "a or b (open)", " into another class is open.")


def threat_world(most, threat, **more):
    base = sc.classifiers.from_callable(
        lambda batch: batch.degrees().sum(axis=1) > 2 * most, on="batch", n_classes=2, description=f"over {most}"
    )
    ring = sc.Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=more.pop("p", 0.05)))
    own = sc.Evidence(own_samples=more.pop("own", 20_000))
    return smoothed.certify([ring], samples=3_000, seed=1, threat=threat, evidence=own, **more)[0]


@pytest.mark.parametrize(
    ("most", "threat", "expected"),
    [
        (6, "additions:2", r"An attack \(1 addition\) is known that turns few into many\. This holds"),
        (
            7,
            "additions:2",
            r"No attack \(1 addition\) turns few into many\. With at most 2 additions, an attack is known",
        ),
        (30, "deletions:2", r"No attack of the threat \(at most 2 deletions\) turns few into many\. This holds"),
    ],
)
def test_a_listed_threat_is_named_with_what_is_known_of_its_sizes(most, threat, expected):
    one = threat_world(most, threat)
    said = "".join(in_short(one, AttackWords(one.noise), ["few", "many"]))
    assert re.match(expected, said), said
    for size in (1, 2):
        kind = one.verdict(f"{threat[:-1]}{size}")
        certified = said.startswith("No attack") and (size == 1 or "With" not in said)
        assert (kind == "certified") is certified
        assert kind != "broken" or "is known that" in said


def test_a_threat_without_attacks_and_one_that_is_open():
    (one,) = sc.SmoothedClassifier(
        sc.classifiers.from_callable(lambda graph: 0, n_classes=2), sc.Noise(all=0.1)
    ).certify([sc.Graph(4, [])], samples=200, seed=1, threat="deletions:1")
    words = AttackWords(one.noise)
    assert in_short(one, words, NAMES) == ("The threat (1 deletion) has no attack here.",)
    unsure = threat_world(7, "additions:2", own=0, p=0.2)
    said = "".join(in_short(unsure, AttackWords(unsure.noise), ["few", "many"]))
    assert unsure.verdict("additions:1") == "open"
    assert said == "Whether an attack (1 addition) turns few into many is open."
