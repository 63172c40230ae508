import pytest

import starcert as sc
from starcert.claims.tables import latex
from starcert.objects.threats import AnyFlips

FOUND = sc.certify(
    sc.clopper_pearson(sc.Votes([[999, 1], [900, 100], [300, 700]], selection=[[9, 1], [9, 1], [3, 7]])),
    sc.Noise(a_1=0.1, b=0.4),
    capacity=[(9, 9)] * 3,
)


def test_shares_are_those_of_the_metrics():
    table = FOUND.accuracy_table([0, 0, 0], threat="flips:1", radii=[(1, 2)])
    clean, any_one, radius = table.rows
    assert clean["right"] == clean["by p_A"] == FOUND.certified_accuracy([0, 0, 0], (0, 0)) == pytest.approx(2 / 3)
    (verdicts,) = FOUND.counts([0, 0, 0], threat=AnyFlips(1))
    assert any_one["by p_A"] == verdicts.n_by_p_A / 3
    assert radius["attacks"] == "1 flip in a_1, 2 flips in b"
    assert radius["by p_A"] == FOUND.certified_accuracy([0, 0, 0], (1, 2))
    assert "answered" in FOUND.accuracy_table().rows[0]


def test_latex_has_rules_and_nothing_that_it_would_obey():
    text = FOUND.to_latex([0, 0, 1], radii=[{"a_1": 1, "b": 0}])
    lines = text.splitlines()
    assert lines[:2] == [r"\begin{tabular}{lrrr}", r"\toprule"]
    assert lines[2] == r"attacks & graphs & right (\%) & by $p_A$ (\%) \\"
    assert r"1 flip in a\_1 & 3 & 100.0 & " in text
    assert lines[-3:-1] == [r"\bottomrule", r"\end{tabular}"]
    assert lines[-1].startswith("% Right and certified. The majority class has 66.6%.")
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {line.count(" & ") for line in rows} == {3}
    assert (
        latex("50% & \\input{x} #1 ^~") == r"50\% \& \textbackslash{}input\{x\} \#1 \textasciicircum{}\textasciitilde{}"
    )
    assert latex("a\nb") == "a b"


def test_shares_are_rounded_down():
    assert "66.6" in FOUND.to_latex([0, 0, 0])
    assert "66.7" not in FOUND.to_latex([0, 0, 0])


def test_a_notebook_and_a_frame_show_it():
    pytest.importorskip("pandas")
    table = FOUND.accuracy_table([0, 0, 0])
    assert "<td>66.6%</td>" in table._repr_html_()
    assert list(table.to_frame().columns) == ["attacks", "graphs", "right", "by p_A"]


def test_a_plain_model_has_the_same_table():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 2), n_classes=2)
    found = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])], threat="flips:2")
    table = found.accuracy_table([0, 0])
    assert [tuple(row.values()) for row in table.rows] == [
        ("no attack", 2, 1.0, 1.0, 0.0, 0.0),
        ("any 1 flip", 2, 1.0, 0.5, 0.5, 0.0),
        ("any 2 flips", 2, 1.0, 0.5, 0.5, 0.0),
    ]
    assert list(table.rows[0]) == ["attacks", "graphs", "right", "certified", "broken", "open"]
    assert table.caption == "Right and certified. The majority class has 100.0%. Nothing is left to chance."
    assert found.structure_gain([0, 0], [1, 0], threat="flips:2").gain == 0
    voted = sc.HashedVotes(base, groups=3).certify([sc.Graph(4, [])], threat="flips:1")
    assert voted.to_latex().splitlines()[6].startswith("any 1 flip & 1 & 100.0")
