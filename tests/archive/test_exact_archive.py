"""Results of trying attacks, kept: written and read alike; what does not fit together, or is not so, is refuted."""

import json
from itertools import combinations

import numpy as np
import pytest
from target_worlds import Busy, named_star

import starcert as sc
from starcert.archive import Archive, read, rerun, verify, write
from starcert.archive.threat_texts import StatedThreat

GRAPHS = [sc.Graph(4, pairs) for pairs in ([], [(0, 1), (1, 2), (2, 3)], list(combinations(range(4), 2)))]
TYPED = [
    sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d")),
    sc.Graph(3, [(0, 2)], edge_types=["d"], type_names=("s", "d")),
]


def parity(graph):
    return int(graph.number_of_edges() > 4)


def heavy(batch):
    return (batch.values @ np.array([1, 2, 3]) > 7).astype(int)


BASES = {
    "bits": (sc.classifiers.from_callable(parity, n_classes=2), GRAPHS),
    "types": (sc.classifiers.from_callable(heavy, on="batch", n_classes=2), TYPED),
    "nodes": (Busy(), [named_star()]),
}


def kept(path, what="bits", threat="flips:2", **how):
    base, graphs = BASES[what]
    result = sc.ExactClassifier(base).certify(graphs, threat=threat, **how)
    write(path, Archive.from_result(result, labels=[0] * len(result), settings={"seed": 1}))
    return result


@pytest.mark.parametrize("threat", ["flips:2", "deletions:1", "rewire:1 | deletions:1"])
@pytest.mark.parametrize("what", BASES)
def test_what_is_written_is_read_and_holds_with_the_model(tmp_path, what, threat):
    file = tmp_path / "certificates.json"
    result = kept(file, what, threat)
    archive = read(file)
    assert [
        (one.label, one.certified_size, one.broken_size, one.certificates.proof.attacks[one.row])
        for one in archive.result
    ] == [(one.label, one.certified_size, one.broken_size, one.certificates.proof.attacks[one.row]) for one in result]
    assert archive.result.counts(archive.labels) == result.counts([0] * len(result))
    assert verify(file).verdict == "consistent"
    base, graphs = BASES[what]
    found = rerun(file, base, graphs, 20)
    assert found.verdict == "recounted", found.mismatches
    assert found.recounted >= len(graphs)
    write(tmp_path / "again.json", archive)
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()


def changed(path, change):
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))


def broken_row(whole):
    return next(row for row in whole["graphs"] if row["first"] is not None)


def other_number(whole):
    row = broken_row(whole)
    row["first"] += 1
    whole["objects"][row["graph"]]["tried"] += 1


def first_object(**numbers):
    return lambda whole: whole["objects"][0].update(numbers)


FALSE = [
    ("certified_size", lambda whole: broken_row(whole).update(certified_size=2)),
    ("broken_size", lambda whole: broken_row(whole).update(broken_size=1)),
    ("first", other_number),
    ("answer_after", lambda whole: broken_row(whole).update(answer_after=broken_row(whole)["class"])),
    ("attack", lambda whole: broken_row(whole)["attack"].update(sites=[3, 3])),
    ("attack", lambda whole: broken_row(whole)["attack"].update(sites=[3])),
    ("attack", lambda whole: broken_row(whole)["attack"].update(sites=[0, 1, 2], values=[1, 1, 1])),
    ("attacks", first_object(attacks=[6, 14], limit=20, tried=20)),
    ("attacks", first_object(attacks=[7, 0], limit=7, tried=7)),
    ("attacks", first_object(attacks=[0, 0], limit=0, tried=0)),
    ("attacks capacity", first_object(sites=0)),
    ("capacity", first_object(capacity=[7])),
    ("capacity", first_object(capacity=[0])),
]


@pytest.mark.parametrize(("fields", "change"), FALSE)
def test_numbers_that_do_not_fit_together_are_refuted(tmp_path, fields, change):
    file = tmp_path / "certificates.json"
    kept(file)
    changed(file, change)
    found = verify(file)
    assert found.verdict == "refuted"
    assert {each.field for each in found.mismatches} == set(fields.split())


@pytest.mark.parametrize("counts", [[57, 0], [57, 1_596], [56, 0], [56, 1_541], [40_000, 10**9]])
def test_counts_that_no_56_sites_have_are_refuted_however_little_is_known(tmp_path, counts):
    """All of them were tried, so two flips would be certified."""
    file = tmp_path / "certificates.json"
    kept(file)

    def claim(whole):
        whole["objects"] = [whole["objects"][0] | {"sites": 56, "capacity": [56], "attacks": counts}]
        whole["objects"][0] |= {"limit": sum(counts), "tried": sum(counts)}
        whole["graphs"] = [whole["graphs"][0] | {"certified_size": 2}]

    changed(file, claim)
    assert [each.field for each in verify(file).mismatches] == ["attacks"]
    changed(file, lambda whole: whole["objects"][0].update(attacks=[56, 1_540], limit=1_596, tried=1_596))
    assert verify(file).verdict == "consistent"


def test_a_model_that_answers_otherwise_refutes(tmp_path):
    file = tmp_path / "certificates.json"
    kept(file)
    other = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 3), n_classes=2)
    found = rerun(file, other, GRAPHS)
    assert found.verdict == "refuted"
    assert all(each.field.startswith("answer under attack") for each in found.mismatches)
    assert "cannot be true" in str(found)
    with pytest.raises(sc.InvalidParameterError, match="'objects' must be the 3 of the file"):
        rerun(file, other, GRAPHS[:1])
    found = rerun(file, other, [*GRAPHS[:2], sc.Graph(5, [])])
    assert "attacks" in {each.field for each in found.mismatches}


def test_a_threat_of_ones_own_is_known_by_its_text(tmp_path):
    class Mine(sc.threats.AnyFlips):
        word = "mine"

    file = tmp_path / "certificates.json"
    kept(file, threat=Mine(1))
    assert isinstance(read(file).result.threat, StatedThreat)
    base, graphs = BASES["bits"]
    with pytest.raises(sc.InvalidParameterError, match="the file has only its text"):
        rerun(file, base, graphs)
    assert rerun(file, base, graphs, threat=Mine(1)).verdict == "recounted"


@pytest.mark.parametrize(
    "text",
    [
        *("flips:2\u200b", "flips:2 ", "flips :2", "flips:2x", "Flips:2", "\ufb02ips:2", "flips:2 mine:1"),
        *("flips:2 | (mine:1", "(" * 50_000 + "flips:2"),
    ],
)
def test_a_text_with_a_word_of_ours_is_read_or_refused(tmp_path, text):
    """A threat that is taken as stated has counts that are."""
    file = tmp_path / "certificates.json"
    kept(file)
    changed(file, lambda whole: whole["threat"].update(text=text))
    with pytest.raises(sc.ArchiveError, match=r"'threat\.text' must be"):
        verify(file)


@pytest.mark.parametrize(
    "text",
    [
        "mine:1",
        "where:2,name=near",
        "Mine(most=2, near=(0, 1)) & (flips:2 | deletions:1)",
        "file.py:Mine:2 + flips:1",
        "(" * 50_000,
    ],
)
def test_a_text_of_somebody_elses_threat_is_stated_and_said_to_be(tmp_path, text):
    file = tmp_path / "certificates.json"
    kept(file)
    changed(file, lambda whole: whole["threat"].update(text=text, label="mine"))
    found = verify(file)
    assert isinstance(found.archive.result.threat, StatedThreat)
    assert found.verdict == "consistent"
    assert "That threat is not starcert's own: it is known by this text alone" in str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda whole: whole.update(alpha=0.1), "'alpha' must be 0"),
        (lambda whole: whole.update(says=7), "'says'"),
        (lambda whole: whole["objects"][0].update(limit=99), "at most the number of attacks, 21"),
        (lambda whole: whole["objects"][0].update(tried=3), "how many attacks were needed"),
        (lambda whole: whole["graphs"][0].update(graph=1), "one graph after the other"),
        (lambda whole: whole["graphs"][0].update({"class": 7}), r"'graphs\[0\].class'"),
        (lambda whole: whole["graphs"][0].update(node=7), "'graphs' must all have a node, or all null"),
        (
            lambda whole: whole.update(
                axes=["all", "all"], objects=[each | {"capacity": [6, 0]} for each in whole["objects"]]
            ),
            "'axes' must be different names",
        ),
        (lambda whole: whole["threat"].update(label="any 30 flips"), "'threat.label' must be 'any 2 flips'"),
        (lambda whole: whole["threat"].update(text="rewire:2"), "'threat.label' must be 'at most 2 rewired edges'"),
        (lambda whole: broken_row(whole).update(attack=None), "or all be null"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, change, message):
    file = tmp_path / "certificates.json"
    kept(file)
    changed(file, change)
    with pytest.raises(sc.ArchiveError, match=message):
        verify(file)
