import pickle
from fractions import Fraction

import numpy as np
import oracles
import pytest

import starcert as sc
from starcert.archive import Archive, verify, write
from starcert.objects.laws import law_from_text
from starcert.system.errors import InvalidParameterError


def test_a_number_means_flip():
    assert sc.Noise(a=0.1) == sc.Noise({"a": sc.Flip(0.1)})
    assert sc.Noise(a=np.float64(0.1)) == sc.Noise(a=0.1)


def test_axes_follow_the_order_of_the_regions():
    noise = sc.Noise(b=0.1, a=sc.Flip(delete=0.1, add=0.2))
    assert noise.axes == ("b", "a.delete", "a.add")
    assert noise.regions == ("b", "a")


def test_channels_hold_the_exact_value_of_the_float():
    (channel,) = sc.Flip(0.1).channels
    assert channel == oracles.bit_channel(Fraction(0.1), 1 - Fraction(0.1))
    assert channel.outcomes[1][0] != Fraction(1, 10)


@pytest.mark.parametrize("radius", [(1, 45), [1, 45], np.array([1, 45]), {"random": 45, "motif": 1}, (1.0, 45)])
def test_a_radius_comes_in_many_forms(radius):
    assert sc.Noise(motif=0.02, random=0.45).radius(radius) == (1, 45)


def test_a_region_that_is_two_axes_is_explained():
    with pytest.raises(InvalidParameterError, match=r"has separate axes: b.delete and b.add"):
        sc.Noise(a=0.1, b=sc.Flip(delete=0.1, add=0.2)).radius({"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("radius", "problem"),
    [
        ((1,), "2 counts, one for each of motif, random"),
        (None, "2 counts"),
        ("12", r"radius\[motif\]"),
        ({1, 45}, "2 counts"),
        (np.array(3), "2 counts"),
        ((0, 10**400), r"radius\[random\]"),
        ({"motif": 1}, "Missing: random. Give 0 where nothing is flipped."),
        ({"motif": 1, "random": 2, "ring": 3}, "Unknown: ring"),
        ((-1, 0), r"radius\[motif\]"),
        ((0, True), r"radius\[random\]"),
        ((0, 10**10), "to 1,000,000,000"),
    ],
)
def test_bad_radii_are_refused(radius, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.Noise(motif=0.02, random=0.45).radius(radius)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), float("inf"), "0.1", None, True, 10**400])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(InvalidParameterError):
        sc.Noise(a=p)
    with pytest.raises(InvalidParameterError):
        sc.Flip(delete=p, add=0.1)


@pytest.mark.parametrize("arguments", [{}, {"delete": 0.1}, {"add": 0.1}, {"p": 0.1, "add": 0.1}])
def test_a_flip_is_one_probability_or_two(arguments):
    with pytest.raises(InvalidParameterError, match="either one probability p or both"):
        sc.Flip(**arguments)


@pytest.mark.parametrize("name", [0, None, "", "a.b", "a b", "a=b", "a,b", "a/b"])
def test_region_names_must_be_able_to_name_axes(name):
    with pytest.raises(InvalidParameterError, match="region names"):
        sc.Noise({name: 0.1})


def test_a_noise_needs_a_region_and_each_once():
    with pytest.raises(InvalidParameterError, match="at least one region"):
        sc.Noise()
    with pytest.raises(InvalidParameterError, match="each region once"):
        sc.Noise({"a": 0.1}, a=0.2)
    with pytest.raises(InvalidParameterError, match="map regions"):
        sc.Noise(0.1)


def test_noise_is_a_value():
    noise = sc.Noise(a=0.1, b=sc.Flip(delete=0.1, add=0.2))
    assert pickle.loads(pickle.dumps(noise)) == noise
    assert hash(noise) == hash(sc.Noise(a=0.1, b=sc.Flip(delete=0.1, add=0.2)))
    assert noise != sc.Noise(b=sc.Flip(delete=0.1, add=0.2), a=0.1)  # another order of the axes
    assert repr(noise) == "Noise(a=0.1, b=Flip(delete=0.1, add=0.2))"
    assert eval(repr(noise), vars(sc) | {"Noise": sc.Noise, "Flip": sc.Flip}) == noise
    assert sc.Flip(0.1) != sc.Flip(delete=0.1, add=0.1)  # one axis, or two
    with pytest.raises(AttributeError, match="cannot assign"):
        noise["a"].add = 0.2


class Faint(sc.Law):
    """A law from outside that shows a flip with a probability of its own, an exact fraction."""

    alphabet, suffixes, moves = 2, ("",), (((1, 0), (0, 1)),)

    def __init__(self, chance):
        self.chance = chance

    def transitions(self, value):
        return (self.chance, 1 - self.chance)[:: 1 if value else -1]


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-160, 9.9e-101])
def test_probabilities_too_small_to_compute_with_are_refused(tiny):
    """Floats do not hold the squares of their likelihood ratios."""
    makes = [
        lambda: sc.Noise(all=tiny),
        lambda: sc.Flip(delete=0.3, add=tiny),
        lambda: sc.Categorical(tiny, 3),
        lambda: sc.Edges(delete=tiny, add=0.1, change=0.1),
        lambda: sc.Flip(0.1, added=(1.0, tiny)),
        lambda: sc.Noise.from_dict({"all": tiny}),
        lambda: law_from_text(f"{tiny}/0.2", "--noise"),
        lambda: sc.Noise(all=Faint(Fraction(tiny))).product,
        lambda: sc.Noise(all=Faint(1 - Fraction(tiny))).product,
    ]
    for make in makes:
        with pytest.raises(InvalidParameterError, match="0 or at least 1e-100") as refused:
            make()
        assert "\n" not in str(refused.value)
    assert sc.Noise(a=1e-100, b=0.0, c=Faint(Fraction(1, 10**99))).product


def test_a_file_with_noise_too_small_to_compute_with_is_refused(tmp_path):
    base = sc.classifiers.from_callable(lambda graph: 0, n_classes=2)
    how = {"samples": 50, "seed": 1, "evidence": True}
    found = sc.SmoothedClassifier(base, sc.Noise(all=0.125)).certify([sc.Graph(3, [])], **how)
    write(tmp_path / "kept.json", Archive.from_result(found))
    text = (tmp_path / "kept.json").read_text()
    for tiny in ("5e-324", "1e-160"):
        changed = text.replace("0.125", tiny)
        assert changed != text
        (tmp_path / "kept.json").write_text(changed)
        with pytest.raises(sc.ArchiveError, match="0 or at least 1e-100"):
            verify(tmp_path / "kept.json")
