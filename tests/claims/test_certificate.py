import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

HEADLINE = sc.Noise(motif=0.02, random=0.45)


def test_the_headline_of_the_paper():
    """Every graph with 1 − p_A below 0.00188 withstands one flip in the motif and all 45 in the random part."""
    (certificate,) = sc.certify(sc.Bounds.certain([0.9995]), HEADLINE, max_radius=(35, 45))
    assert certificate.frontier.radii == ((1, 45),)
    assert certificate.frontier.verified
    assert certificate.certified({"motif": 1, "random": 45})
    assert not certificate.certified((2, 0))
    assert not certificate.abstained
    assert certificate.label == 0
    assert certificate.p_lower == 0.9995
    assert certificate.alpha is None


def test_the_example_of_the_design():
    bounds = sc.clopper_pearson(sc.Votes([[97_000, 3_000]], selection=[[98, 2]]), alpha=0.01)
    certificate = sc.certify(bounds, HEADLINE, max_radius=(35, 45))[0]
    assert certificate.alpha == 0.01
    assert certificate.p_lower == pytest.approx(0.968721382600886, abs=1e-12)
    assert all(certificate.certified(radius) for radius in certificate.frontier.radii)
    assert not any(certificate.certified(radius) for radius in certificate.frontier.beyond)


def test_margin_is_the_difference_of_the_bounds_and_changes_sign_at_the_frontier():
    bounds = sc.clopper_pearson(sc.Votes([[970, 20, 10]], selection=[[98, 1, 1]]), alpha=0.01)
    noise = sc.Noise(a=0.1, b=0.4)
    certificate = sc.certify(bounds, noise, max_radius=(5, 9))[0]
    failure, other = float(bounds.failure[0]), float(bounds.other[0])
    expected = sc.rho_lower(noise, (1, 1), 1 - failure) - sc.rho_upper(noise, (1, 1), other)
    assert certificate.margin((1, 1)) == pytest.approx(expected, rel=1e-12)
    assert all(certificate.margin(radius) > 0 for radius in certificate.frontier.radii)
    assert all(certificate.margin(radius) <= 0 for radius in certificate.frontier.beyond)


def test_the_better_margin_wins_and_is_named():
    noise = sc.Noise(a=0.4)
    shared = sc.clopper_pearson(sc.Votes([[600, 210, 190]], selection=[[60, 20, 20]]), alpha=0.01)
    many = sc.certify(shared, noise)[0]
    assert many.margin_kind == "multi-class"
    lumped = sc.Bounds(shared.labels, shared.failure, shared.failure, shared.alpha, 3)
    two = sc.certify(lumped, noise)[0]
    assert two.margin_kind == "two-class"
    assert many.frontier.radii[0] > two.frontier.radii[0]


def test_several_classes_may_win_without_a_majority():
    bounds = sc.clopper_pearson(sc.Votes([[4500, 2800, 2700]], selection=[[45, 28, 27]]), alpha=0.01)
    certificate = sc.certify(bounds, sc.Noise(a=0.3))[0]
    assert certificate.p_lower < 0.5
    assert not certificate.abstained
    assert certificate.certified(0)


@pytest.mark.parametrize(
    ("votes", "selection"),
    [([510, 490], [6, 4]), ([400, 600], [6, 4]), ([40, 35, 25], [5, 3, 2]), ([1, 0], [1, 0])],
)
def test_abstention_means_an_empty_frontier(votes, selection):
    bounds = sc.clopper_pearson(sc.Votes([votes], selection=[selection]), alpha=0.01)
    certificate = sc.certify(bounds, HEADLINE, max_radius=(35, 45))[0]
    assert certificate.abstained
    assert certificate.frontier.radii == ()
    assert not certificate.certified((0, 0))
    assert "abstains" in str(certificate)


def test_the_guarantee_is_one_sentence():
    bounds = sc.clopper_pearson(sc.Votes([[99_950, 50]], selection=[[995, 5]]), alpha=0.01)
    text = str(sc.certify(bounds, HEADLINE, max_radius=(35, 45))[0])
    assert text == (
        "With probability at least 0.99 over the sampling, the smoothed classifier answers class 0 for every graph "
        "that differs from this one by at most these flips, and nowhere else: 1 in motif, 45 in random."
    )
    assert str(sc.certify(sc.Bounds.certain(0.9995), HEADLINE, max_radius=(0, 0))[0]).startswith(
        "If the smoothed probability of class 0 is at least 0.9995, "
    )


def test_a_certificate_of_nothing_but_the_graph_says_so():
    one = sc.certify(sc.Bounds.certain(0.6), HEADLINE, max_radius=(0, 1))[0]
    assert one.frontier.radii == ((0, 1),)
    assert "nowhere else: 1 in random." in str(one)
    alone = sc.certify(sc.Bounds.certain(0.5001), HEADLINE, max_radius=(3, 3))[0]
    assert alone.frontier.radii == ((0, 0),)
    assert "for this graph itself; no flip is certified." in str(alone)


def test_an_empty_region_is_no_axis_to_attack():
    assert sc.certify(sc.Bounds.certain(0.51), HEADLINE, max_radius=(0, 0))[0].frontier.radii == ((0, 0),)


def test_ten_thousand_rows_are_looked_at_one_by_one_or_all_at_once():
    votes = sc.Votes([[1000 - k % 400, k % 400] for k in range(10_000)], selection=[[9, 1]] * 10_000)
    certificates = sc.certify(sc.clopper_pearson(votes), HEADLINE, max_radius=(35, 45))
    assert len(certificates) == 10_000
    together = certificates.certified((0, 10))
    assert 0 < together.sum() < 10_000
    for i in (0, 3, 177, -1):
        assert certificates[i].certified((0, 10)) == together[i]
    assert [c.label for c in certificates[2:5]] == [0, 0, 0]


def test_several_classes_all_at_once():
    votes = sc.Votes([[900, 60, 40], [400, 350, 250], [700, 160, 140]], selection=[[9, 1, 0]] * 3)
    certificates = sc.certify(sc.clopper_pearson(votes), sc.Noise(a=0.4), max_radius=5)
    for radius in range(6):
        assert certificates.certified(radius).tolist() == [c.certified(radius) for c in certificates]
    assert certificates.certified(1).tolist() == [True, False, True]


def test_a_radius_beyond_the_box_is_refused():
    certificates = sc.certify(sc.Bounds.certain([0.9995]), HEADLINE, max_radius=(35, 45))
    for ask in (certificates[0].certified, certificates[0].margin, certificates.certified):
        with pytest.raises(InvalidParameterError, match=r"stay within max_radius \(35, 45\)"):
            ask((36, 0))


def test_an_index_beyond_the_rows_is_refused():
    with pytest.raises(IndexError):
        sc.certify(sc.Bounds.certain([0.9995]), HEADLINE)[1]


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidParameterError, match="clopper_pearson"):
        sc.certify(sc.Votes([[3, 1]]), HEADLINE)
    with pytest.raises(InvalidParameterError, match="'noise' must be a Noise"):
        sc.certify(sc.Bounds.certain(0.9), 0.1)
    with pytest.raises(InvalidParameterError, match=r"max_radius\[motif\]"):
        sc.certify(sc.Bounds.certain(0.9), HEADLINE, max_radius=(-1, 0))


def test_flips_beyond_the_capacity_are_no_further_attack():
    """At this bound radius 3 is certified and 4 is not; with two sites to attack, both are radius 2."""
    noise, bounds = sc.Noise(a=0.4), sc.Bounds.certain([0.75, 0.75])
    unlimited, limited = sc.certify(bounds, noise, capacity=[{"a": 9}, {"a": 2}])
    assert unlimited.frontier.radii == ((3,),)
    assert (unlimited.certified(3), unlimited.certified(4)) == (True, False)
    assert limited.frontier.radii == ((2,),)
    assert limited.frontier.beyond == ()
    assert limited.certified(4)
    assert limited.margin(4) == limited.margin(2) > 0
    assert sc.certify(bounds, noise, capacity=[{"a": 9}, {"a": 2}]).certified(4).tolist() == [False, True]


LARGE = 44_722 * 44_721 // 2
"""The pairs of the smallest graph that has more of them than any radius counts."""


def test_a_capacity_may_be_larger_than_any_radius(tmp_path):
    votes = sc.Votes([[9_900, 100]] * 3, selection=[[99, 1]] * 3)
    sizes = [LARGE, 2**62, 5]
    found = sc.certify(sc.clopper_pearson(votes), sc.Noise(a=0.1), capacity=sizes)
    assert [one.capacity for one in found] == [(size,) for size in sizes]
    assert [one.frontier.radii for one in found] == [((1,),)] * 3
    assert all(one.frontier.verified for one in found)
    archive = sc.archive.Archive.from_result(found)
    sc.archive.write(tmp_path / "certificates.json", archive)
    again = sc.archive.read(tmp_path / "certificates.json")
    assert again == archive
    assert again.boxes == tuple((size,) for size in sizes)
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"


@pytest.mark.parametrize(("axes", "size"), [({"a": 0.5}, LARGE), ({"a": 0.5}, 2**62), ({"a": 0.499999999}, LARGE)])
def test_no_radius_is_larger_than_can_be_asked_about(tmp_path, axes, size):
    """All of the axis may be certified: what was searched says so, and where it ended."""
    found = sc.certify(
        sc.clopper_pearson(sc.Votes([[99_990, 10]], selection=[[99, 1]])), sc.Noise(axes), capacity=[size]
    )
    (one,) = found
    assert one.frontier.radii == ((10**9,),)
    assert one.certified(10**9)
    assert one.frontier.incomplete == "more than 1,000,000,000 flips on one axis are not searched"
    assert one.any_flips <= 10**9
    sc.archive.write(tmp_path / "certificates.json", sc.archive.Archive.from_result(found))
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"


@pytest.mark.parametrize("size", [-1, 1.5, float("inf"), "9", True, 2**64 + 0.0])
def test_a_capacity_is_a_number_of_sites(size):
    with pytest.raises(InvalidParameterError, match=r"'capacity\[a\]' must be a whole number of sites from 0 to 9,223"):
        sc.certify(sc.Bounds.certain([0.9]), sc.Noise(a=0.1), capacity=[[size]])


def test_a_box_is_how_far_to_search_and_no_capacity():
    """What merely stands in a file says where to look. Radius 4 is not certified, whatever box it lies outside of."""
    noise, bounds = sc.Noise(a=0.4), sc.Bounds.certain([0.75, 0.75])
    found = sc.certify(bounds, noise, boxes=[{"a": 9}, {"a": 2}])
    assert [one.frontier.radii for one in found] == [((3,),), ((2,),)]
    assert [one.capacity for one in found] == [None, None]
    for radius, certified in ((3, True), (4, False)):
        assert found.certified(radius).tolist() == [certified, certified]
        assert [one.certified(radius) for one in found] == [certified, certified]
        assert all((one.margin(radius) > 0) is certified for one in found)
    both = sc.certify(bounds, noise, capacity=[2, None], boxes=[9, 1])
    assert [one.frontier.radii for one in both] == [((2,),), ((1,),)]
    assert both.certified(4).tolist() == [True, False]
    with pytest.raises(InvalidParameterError, match="'boxes' must have one entry for each of 2 rows"):
        sc.certify(bounds, noise, boxes=[1])


def test_no_sentence_promises_more_than_is_proved():
    votes = sc.Votes([[99_950, 50]], selection=[[995, 5]])
    sure = str(sc.certify(sc.clopper_pearson(votes, alpha=1e-7), HEADLINE, max_radius=(35, 45))[0])
    assert sure.startswith("With probability at least 0.9999999 over the sampling, the smoothed classifier")
    third = str(sc.certify(sc.clopper_pearson(votes, alpha=1 / 3000), HEADLINE, max_radius=(35, 45))[0])
    assert third.startswith("With probability at least 0.999666 over the sampling")
    # What is presupposed is rounded the other way: no less than it takes.
    assert "is at least 0.999568, " in str(
        sc.certify(sc.Bounds.certain([0.9995671234]), HEADLINE, max_radius=(0, 0))[0]
    )
    torn = sc.certify(sc.Bounds.certain([0.4999999]), HEADLINE)[0]
    assert str(torn).endswith("(p_lower = 0.499999).")


def test_certificates_that_hold_together_say_so():
    votes = sc.Votes([[99_950, 50], [99_900, 100]], selection=[[995, 5]] * 2)
    joint = sc.certify(sc.clopper_pearson(votes, alpha=0.01, family="all"), HEADLINE, max_radius=(35, 45))
    assert [one.together for one in joint] == [2, 2]
    said = "With probability at least 0.99 over the sampling, for all 2 certificates together, the smoothed classifier"
    assert all(str(one).startswith(said) for one in joint)
    alone = sc.certify(sc.clopper_pearson(votes, alpha=0.01), HEADLINE, max_radius=(35, 45))
    assert "together" not in str(alone[0])


def test_the_margin_is_the_one_that_was_chosen():
    noise = sc.Noise(a=0.4)
    counts = [[900, 60, 40], [900, 60, 40]]
    one, many = sc.certify(sc.clopper_pearson(sc.Votes(counts, selection=[[50, 0, 0], [90, 6, 4]])), noise)
    assert (one.margin_kind, many.margin_kind) == ("two-class", "multi-class")
    assert one.bounds.failure[0] < many.bounds.failure[0]


def test_large_regions_need_no_max_radius():
    bounds = sc.clopper_pearson(sc.Votes([[100_000, 0]], selection=[[100, 0]]))
    noise, sites = sc.Noise(a=0.02, b=0.2, c=0.45), {"a": 100_000, "b": 99_999, "c": 120_000}
    (one,) = sc.certify(bounds, noise, capacity=[sites])
    assert (one.frontier.verified, one.frontier.incomplete) == (True, "")
    assert all(one.certified(radius) for radius in one.frontier.radii)
    assert not any(one.certified(radius) for radius in one.frontier.beyond)
    assert one.frontier == sc.certify(bounds, noise)[0].frontier


def test_an_incomplete_frontier_takes_nothing_from_what_is_certified():
    noise = sc.Noise({f"r{i}": 0.4 for i in range(6)})
    (one,) = sc.certify(sc.Bounds.certain([1 - 1e-6]), noise, max_radius=(100,) * 6)
    assert one.frontier.incomplete
    total = sum(one.frontier.radii[0])
    left_out = (total - 75, 11, 13, 15, 17, 19)
    assert not one.frontier.covers(left_out)
    assert one.certified(left_out)
    assert not one.certified((total - 74, *left_out[1:]))
    assert "or any of" in str(one)


@pytest.mark.parametrize(("objects", "word"), [([sc.Bits([0, 1, 1, 0])], "row"), ([sc.Graph(4, [(0, 1)])], "graph")])
def test_a_certificate_speaks_of_what_is_attacked(objects, word):
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.3))
    result = smoothed.certify(objects, samples=300, seed=1)
    assert f"for every {word} that differs from this one by at most these flips" in str(result[0])
    assert repr(result).startswith(f"Certificates(1 {word}, ")
    assert repr(smoothed.certify(objects * 2, samples=300, seed=1)).startswith(f"Certificates(2 {word}s, ")
    assert f"<th>{word}</th>" in result._repr_html_()
    weighed = smoothed.certify(objects, samples=300, seed=1, evidence=sc.Evidence(own_samples=0), threat="flips:1")
    assert f"every {word} that" in str(weighed.within({"all": 1})[0])
    assert f"this {word} itself" in str(result.within({"all": 0})[0])


def test_what_a_method_does_not_show_is_refused_in_words():
    """Every method has the one class of certificates; radii come from votes, and intervals from numbers."""
    plain = sc.ExactClassifier(sc.classifiers.from_callable(lambda graph: 0, n_classes=2))
    tried = plain.certify([sc.Graph(3, [(0, 1)])], threat="flips:1", progress=False)
    share = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=sc.ValueRange(0, 1))
    numbers = sc.SmoothedRegressor(share, sc.Noise(all=0.1)).certify(
        sc.Bits.rows([[1, 0, 1]]), samples=100, seed=1, voting=sc.Voting(progress=False)
    )
    assert type(tried) is type(numbers) is sc.Certificates
    for refused in (lambda: tried[0].frontier, lambda: tried.certified(1), lambda: numbers.bounds):
        with pytest.raises(InvalidParameterError, match="come from votes"):
            refused()
    with pytest.raises(InvalidParameterError, match="outputs that are numbers"):
        tried.intervals("flips:1")
    with pytest.raises(InvalidParameterError, match="intervals"):
        numbers.outcomes("flips:1")
    assert str(tried[0]) == "Class 0, certified under flips:1: by trying all 3 attacks."
    assert str(numbers[0]) == str(numbers[0].clean)
    assert "without attack" in numbers._repr_html_()
