"""How threats are written and read, and what is no threat."""

from dataclasses import replace
from operator import add, and_, or_

import numpy as np
import pytest

from starcert.objects.threats import (
    THREATS,
    Additions,
    AnyColumns,
    AnyFlips,
    AnyWords,
    Box,
    Changes,
    Controlled,
    DeleteNode,
    Deletions,
    InjectNode,
    LocalBudget,
    Rewire,
    Swap,
    Valence,
    Variants,
    Where,
    read_threat,
    threat_of,
)
from starcert.system.errors import InvalidParameterError


def near(frame, u, v):
    return u + 1 == v


EVERY = {
    AnyFlips(2): ("flips:2", "any 2 flips"),
    AnyFlips(1): ("flips:1", "any 1 flip"),
    AnyColumns(2): ("columns:2", "any 2 columns"),
    AnyWords(1): ("words:1", "any 1 word"),
    Deletions(2): ("deletions:2", "at most 2 deletions"),
    Deletions(1): ("deletions:1", "1 deletion"),
    Additions(3): ("additions:3", "at most 3 additions"),
    Changes(2): ("changes:2", "at most 2 changed values"),
    Box({"a&b:c": 3}) & AnyFlips(2) & Box(1): (
        "box:a&b:c=3 & flips:2 & box:1",
        "at most 3 in a&b:c, and any 2 flips, and at most 1 by axis",
    ),
    Box((3, 45)): ("box:3,45", "at most 3, 45 by axis"),
    Box({"b.delete": 1, "a": 2}): ("box:b.delete=1,a=2", "at most 1 in b.delete, 2 in a"),
    Rewire(1): ("rewire:1", "1 rewired edge"),
    Swap(2): ("swap:2", "at most 2 swaps of two edges"),
    LocalBudget(3, per_node=1): ("local:3,per_node=1", "at most 3 flips, 1 at each node"),
    Controlled(["a", "b", 3], 2): ("controlled:2,nodes=a|b|3", "at most 2 flips at a, b, 3"),
    Controlled("x|y, (z)", 1): ("controlled:1,nodes=x%7Cy%2C%20%28z%29", "1 flip at x|y, (z)"),
    Controlled(7, 1): ("controlled:1,nodes=7", "1 flip at 7"),
    Where(near, 2): ("where:2,name=near", "at most 2 flips where near"),
    Where(near, 1, layer="pairs"): ("where:1,name=near,layer=pairs", "1 flip where near"),
    Variants(near): ("variants:near", "any variant of near"),
    Valence(2): ("valence:2", "at most 2 changes that keep valences"),
    Valence(1, ("C", "N"), valences={"S": 2, "C": 3}): (
        "valence:1,elements=C|N,valences=C:3|S:2",
        "1 change that keeps valences",
    ),
    Valence(1, ("C", "N"), ("single", "double")): (
        "valence:1,elements=C|N,bonds=single|double",
        "1 change that keeps valences",
    ),
    DeleteNode(1): ("delete_node:1", "1 removed node"),
    InjectNode(edges=2): ("inject:2", "an injected node with at most 2 edges"),
    InjectNode(edges=1, nodes=("n", "m")): ("inject:1,nodes=n|m", "injected nodes with 1 edge in all"),
    Rewire(1) | Deletions(2): ("rewire:1 | deletions:2", "1 rewired edge or at most 2 deletions"),
    Rewire(1) & AnyFlips(2): ("rewire:1 & flips:2", "1 rewired edge, and any 2 flips"),
    Deletions(1) + Additions(1): ("deletions:1 + additions:1", "1 deletion, then 1 addition"),
    (Deletions(1) + Additions(1)) & Controlled(["a", "b"], 2): (
        "(deletions:1 + additions:1) & controlled:2,nodes=a|b",
        "1 deletion, then 1 addition, and at most 2 flips at a, b",
    ),
}


@pytest.mark.parametrize("threat", EVERY, ids=str)
def test_a_threat_is_written_as_it_is_read(threat):
    text, label = EVERY[threat]
    assert (str(threat), threat.label) == (text, label)
    assert read_threat(text, find={"near": near}.get) == threat
    assert read_threat(threat) is threat


def test_every_threat_is_tried_here():
    assert set(THREATS) <= set(map(type, EVERY))
    assert len({each.word for each in THREATS}) == len(THREATS)


@pytest.mark.parametrize(
    "threat", [Rewire(1), Deletions(2), AnyFlips(2) & Rewire(1), AnyFlips(1) | AnyFlips(2)], ids=str
)
def test_certificates_refuse_threats_that_they_do_not_look_at(threat):
    for given in (threat, str(threat)):
        with pytest.raises(InvalidParameterError, match="be defined by radii"):
            threat_of(given)


def test_operators_bind_as_in_python():
    a, b, c, d = Rewire(1), Deletions(1), Additions(1), AnyFlips(2)
    assert read_threat("rewire:1 | deletions:1 + additions:1 & flips:2") == a | b + c & d
    assert read_threat("(rewire:1 | deletions:1) + ( additions:1 & flips:2 )") == (a | b) + (c & d)
    assert read_threat("rewire:1 + deletions:1 + additions:1") == a + b + c


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            None,
            2,
            (3, 45),
            "flips",
            "flips:",
            "flips:0",
            "flips:-1",
            "flips:1.0",
            "flips:02",
            "flips:²",
        ),
        *(
            "flips:2,most=3",
            "flips:2 &",
            "& flips:2",
            "flips:2 & 3",
            "flips:2&box:3",
            "bonds:2",
            "box:core",
        ),
        *("box:core=-1", "box:core=1,2", "box:core=1,core=2", "box:1.5", "box:²"),
        "rewired:1",
        "rewire:1 |",
        "rewire:1 rewire:2",
        "rewire:1|flips:1",
        "(rewire:1",
        "rewire:1)",
        "rewire:1,nodes=a",
        "local:3",
        "local:3,per_node=0",
        "controlled:2",
        "box:",
        "box:a=1,a=2",
        "inject:2,edges=3",
        "valence:2,C=3",
        "valence:2,valences=C",
        "valence:2,valences=C:many",
        "rules.py:Path",
        "where:2,name=near",
        "where:2",
    ],
)
def test_what_is_no_threat_is_refused_in_one_message(given):
    with pytest.raises(InvalidParameterError) as refused:
        read_threat(given, "--threat")
    assert str(refused.value).startswith("'--threat' must ")
    assert "\n" not in str(refused.value)


def test_a_name_that_is_close_is_proposed():
    with pytest.raises(InvalidParameterError, match=r"Did you mean rewire\?$"):
        read_threat("rewired:1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(" * 50_000 + "flips:1" + ")" * 50_000, "words and parentheses"),
        ("x" + ")" * 500_000 + "x", "must be a threat"),
        ("(" * 21 + "rewire:1" + ")" * 21, "More than 20 parentheses"),
        (" | ".join(["rewire:1"] * 50_000), "words and parentheses"),
    ],
    ids=["deep", "one word", "nested", "long"],
)
def test_texts_without_end_are_refused_at_once(text, why):
    with pytest.raises(InvalidParameterError, match=why):
        read_threat(text)
    assert read_threat("(" * 20 + "rewire:1" + ")" * 20 + " | " + "((rewire:1))") == Rewire(1) | Rewire(1)


def test_units_are_whole_numbers():
    for make in (AnyFlips, Deletions, Rewire, DeleteNode, Valence):
        for wrong in (0, -1, 1.5, True, None, "2"):
            with pytest.raises(InvalidParameterError, match="whole number"):
                make(wrong)
    assert AnyFlips(np.int64(2)) == AnyFlips(2)
    assert replace(LocalBudget(3, per_node=1), most=1) == LocalBudget(1, per_node=1)
    for combine in (or_, and_, add):
        with pytest.raises(TypeError):
            combine(Rewire(1), "flips:2")
