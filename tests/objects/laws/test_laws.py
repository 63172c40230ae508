"""What every law owes: its own closed forms agree with what follows from its transitions, and it is read as written."""

import pickle
from fractions import Fraction

import pytest

import starcert as sc
from starcert.objects.laws import law_from_json, law_from_text, law_to_text
from starcert.system.errors import InvalidParameterError

LAWS = [
    sc.Flip(0.1),
    sc.Flip(0.0),
    sc.Flip(0.5),
    sc.Flip(delete=0.04, add=0.2),
    sc.Flip(delete=0.3, add=0.0),
    sc.Categorical(0.25, 2),
    sc.Categorical(0.3, 4),
    sc.Categorical(1.0, 3),
    sc.Categorical(0.0, 5),
    sc.Flip(0.1, added="graph"),
    sc.Flip(delete=0.04, add=0.2, added=(0.5, 0.25, 0.25)),
    sc.Edges(delete=0.04, add=0.2, change=0.1, types=4),
    sc.Edges(delete=0.5, add=0.0, change=0.5, types=2),
    sc.Edges(delete=0.0, add=0.3, change=0.0, types=3),
]

OPEN = [sc.Categorical(0.05), sc.Edges(delete=0.04, add=0.2, change=0.1)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_closed_forms_agree_with_what_follows_from_the_transitions(law):
    counts = tuple(range(3, 3 + law.alphabet))
    for value in range(law.alphabet):
        assert sum(law.transitions(value)) == 1
        assert law.change(value) == sc.Law.change(law, value)
    assert law.channels == sc.Law.channels.fget(law)
    assert law.capacity(counts) == sc.Law.capacity(law, counts)
    assert len(law.suffixes) == len(law.moves) == len(law.channels)


@pytest.mark.parametrize("law", LAWS + OPEN, ids=repr)
def test_a_law_is_read_as_it_was_written(law):
    assert law_from_json(law.to_json()) == law
    assert law_from_text(law_to_text(law), "--noise") == law
    assert pickle.loads(pickle.dumps(law)) == law
    assert hash(pickle.loads(pickle.dumps(law))) == hash(law)
    assert eval(repr(law), {"Flip": sc.Flip, "Categorical": sc.Categorical, "Edges": sc.Edges}) == law
    noise = sc.Noise(a=law, b=0.2)
    assert sc.Noise.from_dict(noise.to_dict()) == noise


@pytest.mark.parametrize(
    ("law", "form", "text"),
    [
        (sc.Flip(0.1), 0.1, "0.1"),
        (sc.Flip(0.1, added="graph"), {"flip": 0.1, "added": "graph"}, "0.1@graph"),
        (sc.Flip(delete=0.04, add=0.2), {"delete": 0.04, "add": 0.2}, "0.04/0.2"),
        (
            sc.Flip(delete=0.04, add=0.2, added=(0.75, 0.25)),
            {"delete": 0.04, "add": 0.2, "added": [0.75, 0.25]},
            "0.04/0.2@0.75:0.25",
        ),
        (sc.Categorical(0.3), {"categorical": 0.3}, "0.3:*"),
        (sc.Categorical(0.3, 4), {"categorical": 0.3, "values": 4}, "0.3:4"),
        (
            sc.Edges(delete=0.04, add=0.2, change=0.1),
            {"delete": 0.04, "add": 0.2, "change": 0.1},
            "0.04/0.2/0.1",
        ),
        (
            sc.Edges(delete=0.04, add=0.2, change=0.1, types=4),
            {"delete": 0.04, "add": 0.2, "change": 0.1, "types": 4},
            "0.04/0.2/0.1:4",
        ),
        (sc.Mask(0.8), {"mask": 0.8}, "mask(0.8)"),
    ],
    ids=repr,
)
def test_files_and_commands_go_on_writing_a_law_in_the_same_way(law, form, text):
    assert (law.to_json(), law_to_text(law)) == (form, text)
    assert law_from_json(form) == law_from_text(text, "--noise") == law


def test_categorical_on_two_values_is_a_flip():
    assert sc.Categorical(0.1, 2).channels == sc.Flip(0.1).channels
    assert sc.slack(sc.Noise(a=sc.Categorical(0.1, 2)), 3) == sc.slack(sc.Noise(a=0.1), 3)


def test_the_channel_of_categorical_noise_has_three_outcomes():
    (channel,) = sc.Categorical(0.25, 3).channels
    eighth = Fraction(1, 8)
    assert channel.outcomes == ((6 * eighth, eighth), (eighth, eighth), (eighth, 6 * eighth))


def test_more_values_tell_more():
    """With more values to go to, the noise meets the attacked value less often: slack falls."""
    slacks = [sc.slack(sc.Noise(a=sc.Categorical(0.4, k)), 2) for k in (2, 3, 5, 50)]
    assert slacks == sorted(slacks, reverse=True)
    assert sc.slack(sc.Noise(a=sc.Categorical(0.4, 3)), 0) == 0.5


@pytest.mark.parametrize(
    ("p", "values"), [(1.1, 3), (-0.1, 3), ("x", 3), (0.1, 1), (0.1, 2.5), (0.1, "3"), (0.1, True)]
)
def test_what_is_no_categorical_law_is_refused(p, values):
    with pytest.raises(InvalidParameterError):
        sc.Categorical(p, values)


@pytest.mark.parametrize("text", ["", "x", "0.1/0.2/0.3/0.4", "0.3:", ":3", "0.3:x", "1.5", "0.3:1"])
def test_what_is_no_text_of_a_law_is_refused(text):
    with pytest.raises(InvalidParameterError, match="'--noise a'"):
        law_from_text(text, "--noise a")


@pytest.mark.parametrize("value", [{}, {"delete": 0.1}, {"flip": 0.1, "add": 0.2}, "0.1", None, [0.1]])
def test_what_is_no_json_of_a_law_is_refused(value):
    with pytest.raises(InvalidParameterError):
        law_from_json(value)


class Plain(sc.Law):
    """A law that says no more than it must."""

    alphabet, suffixes, moves = 2, ("",), (((0, 1), (1, 0)),)

    def transitions(self, value):
        return (Fraction(3, 4), Fraction(1, 4)) if value == 0 else (Fraction(1, 4), Fraction(3, 4))


def test_a_law_need_not_say_more_than_it_must():
    law = Plain()
    assert law.channels == sc.Flip(0.25).channels
    assert (law.change(0), law.capacity((3, 4))) == (0.25, (7,))
    assert sc.slack(sc.Noise(a=law), 2) == sc.slack(sc.Noise(a=0.25), 2)
    for write in (sc.Law.to_json, law_to_text):
        with pytest.raises(InvalidParameterError, match="Give the law its `numbers`"):
            write(law)


@pytest.mark.parametrize("law", [sc.Categorical(0.5, 3), sc.Edges(delete=0.3, add=0.3, change=0.3, types=2)], ids=repr)
def test_certificates_are_made_and_archived(law, tmp_path):
    votes = sc.Votes([[9_900, 100]], selection=[[98, 2]])
    noise = sc.Noise(a=law)
    result = sc.certify(sc.clopper_pearson(votes), noise, max_radius=(6,) * len(noise.axes))
    assert result[0].frontier.verified
    assert max(max(radius) for radius in result[0].frontier.radii) > 0
    sc.archive.write(tmp_path / "kept.json", sc.archive.Archive.from_result(result))
    assert sc.archive.verify(tmp_path / "kept.json").verdict == "proved"


def test_node_pairs_decline_a_law_on_more_values_than_they_have():
    with pytest.raises(InvalidParameterError, match=r"'noise\[all\]' must be a law on the 2 values of"):
        sc.Problem(sc.Noise(all=sc.Categorical(0.3, 3)), (sc.Partition.everything("all").sites(sc.Graph(3, [])),))
