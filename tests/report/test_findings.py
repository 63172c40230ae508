import pytest
from report_worlds import ONE, PARTITIONS, TWO, world

import starcert as sc
from starcert.report.certificate_report import certificate_report
from starcert.report.findings import fixed_pairs, summary

SURE, LEAN, TORN = [1000, 0], [60, 940], [510, 490]


def found(noise, counts, **told):
    archive, sites = world(noise, counts, **told)
    notices = certificate_report(archive, sites, "").notices
    return summary(archive), {notice.head: notice.text for notice in notices}


def fixed(archive, sites):
    return dict(certificate_report(archive, sites, "").origin[0]["Noise by region"]).get("in no region", "")


def test_nothing_to_warn_of():
    counts, notices = found(TWO, [SURE, LEAN, LEAN], labels=[0, 1, 1])
    assert notices == {}
    assert (counts.n_right, counts.majority, counts.n_abstained) == (3, (1, 2), 0)


def test_abstentions_are_counted_and_are_not_right():
    counts, notices = found(TWO, [SURE, LEAN, TORN, LEAN], labels=[0, 1, 0, 1])
    assert (counts.n_right, counts.n_abstained, counts.answers) == (3, 1, {0: 1, 1: 2})
    assert list(notices) == ["The smoothed classifier abstains on 1 of 4 graphs (25.0%)"]


@pytest.mark.parametrize("labels", [None, [0, 1, 0]])
def test_one_answer_for_all_is_a_constant_classifier(labels):
    _, notices = found(TWO, [SURE, SURE, SURE], labels=labels, class_names=["toxic", "fine"])
    (head,) = notices
    assert head == "The smoothed classifier answers one class only"
    assert "'toxic'" in notices[head]


def test_accuracy_must_beat_the_majority_class():
    _, notices = found(TWO, [SURE, LEAN, LEAN], labels=[0, 0, 1])
    assert list(notices) == ["No more accurate than a constant classifier"]
    assert "right on 2 of 3 graphs (66.7%)" in notices["No more accurate than a constant classifier"]


def test_anchored_regions_are_named_with_their_reason():
    def rule(graph):
        return sc.Partition.from_present_edges(graph, present="core", absent="rest")

    _, notices = found(TWO, [SURE, LEAN], labels=[0, 1], partition=rule)
    (head,) = notices
    assert head == "Anchored regions in 2 of 2 graphs (100.0%)"
    assert "core and rest are the present and the absent edges of the clean graph." in notices[head]
    assert "frozen at the clean graph" in notices[head]


def test_axes_with_nothing_to_flip_are_told_with_their_graphs():
    def hollow(graph):
        return sc.Partition.from_node_sets({"core": range(6 if graph.n_edges % 2 else 0), "rest": range(6, 12)})

    archive, sites = world(TWO, [SURE, LEAN, LEAN, LEAN], labels=[0, 1, 1, 1], partition=hollow)
    empty = sum(sizes[0] == 0 for sizes in archive.capacities)
    assert 0 < empty < 4
    (notice,) = certificate_report(archive, sites, "").notices
    assert notice.head == "Some graphs have nothing to flip in core"
    assert f"core has none in {empty} of 4 graphs." in notice.text
    assert "rest" not in notice.text


def test_fixed_pairs_are_counted_in_words():
    assert fixed_pairs([0, 0]) == ""
    assert fixed_pairs([1]) == "Fixed: 1 node pair in 1 of 1 graph lies in no region; nothing is certified there."
    archive, sites = world(TWO, [SURE, LEAN])
    assert "72 node pairs in 2 of 2 graphs" in fixed(archive, sites)
    assert fixed(*world(ONE, [SURE, LEAN])) == ""


def test_too_few_samples_for_anything():
    noise = sc.Noise(bonds=0.01)
    partition = sc.Partition.everything("bonds")
    _, notices = found(noise, [[50, 0], [0, 50]], labels=[0, 1], partition=lambda graph: partition)
    (head,) = notices
    assert head == "There are axes where no flip can be certified"
    assert "all 50 votes" in notices[head]
    needed = int(notices[head].partition("bonds (")[2].partition(" votes")[0].replace(",", ""))
    for samples, enough in ((needed, True), (needed - 1, False)):
        bounds = sc.clopper_pearson(sc.Votes([[samples, 0]], [[1, 0]]))
        assert sc.certify(bounds, noise)[0].certified(1) is enough


def test_noise_that_never_flips_certifies_nothing():
    noise = sc.Noise(bonds=0.0)
    partition = sc.Partition.everything("bonds")
    _, notices = found(noise, [[5000, 0], [0, 5000]], labels=[0, 1], partition=lambda graph: partition)
    assert notices["There are axes where no flip can be certified"].endswith("in bonds (none ever could).")
    assert found(ONE, [[5000, 0], [0, 5000]], labels=[0, 1])[1] == {}


def test_too_few_samples_on_one_axis_are_told_even_if_another_is_certified():
    noise = sc.Noise(core=0.002, rest=0.2)
    told = {"labels": [0, 1, 1], "partition": lambda graph: PARTITIONS[TWO]}
    _, notices = found(noise, [SURE, LEAN, LEAN], **told)
    (text,) = notices.values()
    assert "core (" in text
    assert "rest" not in text
    # Where nothing can be flipped there is nothing to certify.
    assert found(noise, [SURE, LEAN, LEAN], max_radius=(0, 5), **told)[1] == {}
