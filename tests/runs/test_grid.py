from itertools import product

import pytest

import starcert as sc
from starcert.runs.grid import Grid, noise_text, parse_grid
from starcert.system.errors import InvalidParameterError


def texts(grid, fixed=None):
    return [noise_text(noise) for noise in grid.levels(fixed)]


def test_all_combinations_in_their_order():
    grid = parse_grid(["motif=0.02,0.05, 0.1,random=0.2,0.45"])
    wanted = [f"motif={a},random={b}" for a, b in product((0.02, 0.05, 0.1), (0.2, 0.45))]
    assert texts(grid) == wanted
    assert texts(parse_grid(["motif=0.02,0.05,0.1", "random=0.2,0.45"])) == wanted
    assert str(grid) == "motif=0.02,0.05,0.1,random=0.2,0.45"


def test_one_way_noise_is_swept_and_certifies_what_the_docs_say():
    levels = list(parse_grid(["links=0.8/0,0.9/0,0.97/0"]).levels())
    assert [noise_text(noise) for noise in levels] == ["links=0.8/0.0", "links=0.9/0.0", "links=0.97/0.0"]
    for noise, p, k in product(levels, (0.8, 0.9, 0.97), (1, 2, 3)):
        if noise["links"].delete == p:
            assert 1 - sc.slack(noise, (0, k)) == pytest.approx(1 / (2 * p**k))
            assert sc.slack(noise, (k, 0)) == pytest.approx(p**k / 2)


def test_delete_and_add_together_or_apart():
    assert texts(parse_grid(["bonds=0.04/0.05,0.1/0.2"])) == ["bonds=0.04/0.05", "bonds=0.1/0.2"]
    apart = parse_grid(["bonds.delete=0.04,0.1,bonds.add=0.05,0.2"])
    assert texts(apart) == ["bonds=0.04/0.05", "bonds=0.04/0.2", "bonds=0.1/0.05", "bonds=0.1/0.2"]
    assert {noise.axes for noise in apart.levels()} == {("bonds.delete", "bonds.add")}
    fixed = sc.Noise(bonds=sc.Flip(delete=0.3, add=0.01), rest=0.2)
    assert texts(parse_grid(["bonds.add=0.05,0.2"]), fixed) == ["bonds=0.3/0.05,rest=0.2", "bonds=0.3/0.2,rest=0.2"]


def test_types_of_edges_are_changed_as_the_noise_says():
    """What the grid does not name stays as it is: no axis is lost, and no rule for the types of added edges."""
    typed = sc.Noise(bonds=sc.Edges(delete=0.2, add=0.05, change=0.1))
    assert texts(parse_grid(["bonds.delete=0.1,0.4"]), typed) == ["bonds=0.1/0.05/0.1", "bonds=0.4/0.05/0.1"]
    assert texts(parse_grid(["bonds.change=0.0,0.3"]), typed) == ["bonds=0.2/0.05/0.0", "bonds=0.2/0.05/0.3"]
    assert texts(parse_grid(["bonds=0.1/0.05/0.1,0.2/0.05/0.1"])) == ["bonds=0.1/0.05/0.1", "bonds=0.2/0.05/0.1"]
    frozen = sc.Noise(bonds=sc.Flip(delete=0.2, add=0.05, added="graph"))
    assert texts(parse_grid(["bonds.add=0.01"]), frozen) == ["bonds=0.2/0.01@graph"]


@pytest.mark.parametrize(
    "text",
    [
        "a=0.1,0.2,b=0.3",
        "a=0.1/0.2,0.3/0.4,b=0.0",
        "a.delete=0.1,0.2,a.add=0.0,1.0",
        "a=1e-05",
        "a.delete=0.1,0.2",
        "a.change=0.1,a.delete=0.3",
        "a=0.1/0.2/0.3,0.2/0.2/0.3",
    ],
)
def test_text_and_table_say_the_same(text):
    grid = parse_grid([text])
    assert parse_grid([str(grid)]) == grid
    assert set(Grid.of(grid.to_table()).factors) == set(grid.factors)


def test_a_noise_keeps_what_the_grid_does_not_vary_and_the_order_of_its_regions():
    fixed = sc.Noise(a=0.1, b=0.2, c=0.3)
    levels = parse_grid(["c=0.4,0.45,b=0.01"]).levels(fixed)
    assert [noise_text(noise) for noise in levels] == ["a=0.1,b=0.01,c=0.4", "a=0.1,b=0.01,c=0.45"]
    assert parse_grid(["c=0.4,0.45,b=0.01"]).levels(levels[0]) == levels  # the first level says all that is fixed
    assert texts(parse_grid(["x=0.1,0.2"]), fixed) == ["x=0.1", "x=0.2"]  # about other regions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'--grid' must be REGION=P,P,… for each region"),
        ("0.1,0.2", "'--grid' must be REGION=P,P,…"),
        ("a=b=0.1", "'--grid' must be REGION=P,P,…"),
        ("a=", "'--grid a' must be a probability, or several as delete/add. Got '' instead"),
        ("a=0.1,,0.2", "'--grid a' must be a probability"),
        ("a=0.1,x", "'--grid a' must be a probability, or several as delete/add. Got 'x' instead"),
        ("a=0.1/0.2,0.1/0.2/0.3", "'--grid a' must have levels of one kind"),
        ("a=0.9/0.2/0.3", "'--grid a' must have delete + change of 1 at most"),
        ("a=0.1,1.5", "'--grid a' must be a probability from 0 to 1. Got 1.5"),
        ("a=nan", "'--grid a' must be a probability from 0 to 1"),
        ("a=0.1,0.1", "'--grid a' must name each level once"),
        ("a=0.1,0.1/0.2", "'--grid a' must have levels of one kind"),
        ("a=0.1,a=0.2", "'--grid' must give the levels of 'a' once"),
        ("a=0.1/0.2,a.add=0.2", "'--grid' must give the levels of 'a' once"),
        ("a.remove=0.1", "'--grid' must name a region, or its axis with .delete, .add or .change. Got 'a.remove'"),
        ("a.add=0.1/0.2", "'--grid a.add' must be probabilities"),
        ("a=" + ",".join(f"0.{i:03d}" for i in range(1, 900)) + ",b=0.1,0.2", "at most 1,000 levels. Got '1,798'"),
    ],
)
def test_what_is_wrong_with_a_text_is_named(text, words):
    with pytest.raises(InvalidParameterError) as caught:
        parse_grid([text])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (0.1, "'sweep.grid' must be a table of regions"),
        ({}, "'grid' must name a region and its levels"),
        ({"a": []}, "'sweep.grid.a' must have at least one level"),
        ({"a": [True]}, "'sweep.grid.a' must have probabilities. Got True"),
        ({"a": ["0.1"]}, "'sweep.grid.a' must have probabilities. Got '0.1'"),
        ({"a": [0.1, 2]}, "'sweep.grid.a' must be a probability from 0 to 1. Got 2"),
        ({"a": {"remove": [0.1]}}, "'sweep.grid.a' must have lists for delete, add or change"),
        ({"a": {}}, "'sweep.grid.a' must have lists for delete, add or change"),
        ({"a": [{"delete": 0.1}]}, "'sweep.grid.a' must have probabilities"),
        ({"a.b": [0.1]}, "'sweep.grid' must name regions without dots. Got 'a.b'"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table, words):
    with pytest.raises(InvalidParameterError) as caught:
        Grid.of(table, "sweep.grid")
    assert words in str(caught.value)


def test_regions_that_the_noise_does_not_have_are_refused():
    fixed = sc.Noise(motif=0.1, random=0.2)
    with pytest.raises(InvalidParameterError, match=r"name regions of the noise, motif, random. Got 'rndom'.*random\?"):
        parse_grid(["motif=0.1,rndom=0.2"]).levels(fixed)
    for known in (None, sc.Noise(bonds=0.1)):
        with pytest.raises(InvalidParameterError, match=r"needs both bonds.delete and bonds.add"):
            parse_grid(["bonds.add=0.1,0.2"]).levels(known)
