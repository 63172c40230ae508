"""Bases that give numbers: their outputs are steps of a range, and what is outside is refused."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

import starcert as sc
from starcert.classifiers import from_callable, from_dense, from_node_function, from_pyg, from_sklearn, from_torch
from starcert.sampling.views import clean_copy
from starcert.system.errors import ClassifierError, InvalidParameterError

UNIT = sc.ValueRange(0, 1)
ROWS = sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 0]])


class Degrees(torch.nn.Module):
    """The share of node pairs that are edges, for each graph."""

    def __init__(self, shape="column"):
        super().__init__()
        self.scale, self.shape = torch.nn.Parameter(torch.tensor(1 / 12)), shape

    def forward(self, x, edge_index, batch):
        found = torch.zeros(int(batch.max()) + 1).index_add(0, batch[edge_index[0]], torch.ones(edge_index.shape[1]))
        found = self.scale * found
        return {"column": found[:, None], "row": found, "two": torch.stack([found, found], 1)}[self.shape]


def test_an_output_lies_above_the_lower_edge_of_its_step_up_to_the_upper_one():
    rng = np.random.default_rng(1)
    for low, high, steps in ((0, 1, 10), (-3.7, 12.1, 256), (1e9, 1e9 + 1, 3), (-1e-9, 1e-9, 7)):
        outputs = sc.ValueRange(low, high, steps)
        edges = outputs.edges
        values = np.concatenate([rng.uniform(low, high, 500), edges, np.nextafter(edges[:-1], np.inf)])
        found = outputs.steps_of(values)
        assert (values <= edges[found + 1]).all()
        assert ((values > edges[found]) | ((found == 0) & (values == low))).all()


@pytest.mark.parametrize(
    ("given", "named"),
    [((1, 1), "high"), ((0, np.inf), "high"), ((np.nan, 1), "low"), ((0, 1, 1), "steps"), ((0, 1, 5000), "steps"),
     ((1e16, 1e16 + 4), "high"), (("a", 1), "low")],
)  # fmt: skip
def test_ranges_that_are_none_are_refused(given, named):
    with pytest.raises(InvalidParameterError, match=f"'{named}' must"):
        sc.ValueRange(*given)


def test_numbers_are_rounded_outward():
    outputs = sc.ValueRange(-0.1, 0.7, 3)
    from fractions import Fraction  # noqa: PLC0415

    for share in (Fraction(1, 3), Fraction(2, 7), Fraction(1, 8)):
        low, high = outputs.value(share, up=False), outputs.value(share, up=True)
        exact = Fraction(-0.1) + (Fraction(0.7) - Fraction(-0.1)) * share
        assert Fraction(low) < exact < Fraction(high)
        assert high - low < 1e-14
    assert (outputs.value(Fraction(0), up=False), outputs.value(Fraction(1), up=True)) == (-0.1, 0.7)


BASES = {
    "networkx": lambda: (from_callable(lambda g: g.number_of_edges() / 6, outputs=UNIT), "graph"),
    "batch": lambda: (from_callable(lambda g: g.degrees().sum(axis=1) / 12, on="batch", outputs=UNIT), "graph"),
    "pyg": lambda: (from_pyg(Degrees(), outputs=UNIT), "graph"),
    "pyg row": lambda: (from_pyg(Degrees("row"), outputs=UNIT), "graph"),
    "dense": lambda: (from_dense(_Dense(), outputs=UNIT), "graph"),
    "vectors": lambda: (from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=UNIT), "bits"),
    "torch": lambda: (from_torch(_Mean(), outputs=UNIT), "bits"),
    "sklearn": lambda: (from_sklearn(_ridge(), outputs=sc.ValueRange(-1, 2)), "bits"),
}


class _Dense(torch.nn.Module):
    def forward(self, x, adjacency):
        return adjacency.sum(dim=(1, 2)) / 12


class _Mean(torch.nn.Module):
    def forward(self, rows):
        return rows.mean(dim=1, keepdim=True)


def _ridge():
    rows = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    return Ridge(alpha=1e-6).fit(np.concatenate([rows, 1 - rows]), np.concatenate([rows, 1 - rows]).mean(axis=1))


def objects(kind):
    if kind == "bits":
        return ROWS
    x = np.ones((4, 1), dtype=np.float32)
    return [sc.Graph(4, edges, node_data={"x": x}) for edges in ([(0, 1)], [(0, 1), (1, 2), (2, 3)])]


@pytest.mark.parametrize("name", BASES)
def test_every_base_may_give_numbers(name):
    """A mean over half of the pairs or bits, flipped with 0.1: the estimate is what it is by hand."""
    base, kind = BASES[name]()
    given = objects(kind)
    result = sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(given, samples=600, seed=1)
    clean = [1 / 6, 3 / 6] if kind == "graph" else [1 / 4, 3 / 4]
    expected = [0.8 * share + 0.1 for share in clean]
    assert [one.estimate for one in result] == pytest.approx(expected, abs=0.04)
    assert all(mean in one.clean for one, mean in zip(result, expected, strict=True))
    assert result.proof.votes.audit is not None
    assert base.description == BASES[name]()[0].description


def test_nodes_have_an_output_each():
    base = from_node_function(lambda graph: [degree / 3 for _, degree in graph.degree], outputs=UNIT)
    result = sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(
        [sc.Graph(4, [(0, 1), (1, 2)])], samples=1_000, seed=1
    )
    assert [one.estimate for one in result] == pytest.approx([0.1 + 0.8 * d / 3 for d in (1, 2, 1, 0)], abs=0.03)
    assert [one.target for one in result] == [0, 1, 2, 3]


@pytest.mark.parametrize(("value", "shown"), [(1.5, "1.5"), (-0.1, "-0.1"), (np.nan, "nan"), (np.inf, "inf")])
def test_an_output_outside_the_range_is_refused(value, shown):
    base = from_callable(lambda rows: np.full(len(rows), value), on="vectors", outputs=UNIT)
    with pytest.raises(ClassifierError, match=f"it gave {shown}, and its outputs are to lie from 0 to 1: give a"):
        sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(ROWS, samples=100, seed=1)


@pytest.mark.parametrize("output", [np.float16(0.3), np.float32(0.3), np.longdouble("0.3000000000000000001")])
def test_an_output_is_not_rounded_into_its_range_or_its_step(output):
    """Each is above 0.3, and 0.3 in its own type, or as a float."""
    if output.as_integer_ratio() == (0.3).as_integer_ratio():
        pytest.skip("long doubles are floats here")
    base = from_callable(lambda rows: np.full(len(rows), output), on="vectors", outputs=sc.ValueRange(0, 0.3))
    with pytest.raises(ClassifierError, match=r"its outputs are to lie from 0 to 0\.3"):
        sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(ROWS, samples=100, seed=1)
    below = sc.ValueRange(-0.3, 1)
    with pytest.raises(ValueError, match=r"lie from -0\.3 to 1"):
        below.steps_of([-output])
    assert sc.ValueRange(0, 0.6, steps=2).steps_of(np.array([output])).tolist() == [1]


def test_whole_numbers_that_floats_do_not_hold_are_refused():
    outputs = sc.ValueRange(-(2**53), 2**53)
    for given in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ValueError, match="give floats"):
            outputs.steps_of(np.array([0, given]))
    assert outputs.steps_of(np.array([0, 1, 2**53 - 1])).tolist() == [127, 128, 255]


def test_outputs_that_depend_on_the_batch_are_refused():
    base = from_callable(lambda rows: rows.mean(axis=1) / 2 + 0.002 * len(rows) % 0.4, on="vectors", outputs=UNIT)
    with pytest.raises(ClassifierError, match="in a batch of"):
        sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(ROWS, samples=2_000, seed=1)


def test_rounding_at_the_edge_of_a_step_is_no_difference():
    """An output that is rounded differently in another batch, right at an edge, is the same answer."""
    base = from_callable(lambda rows: np.full(len(rows), 0.5) + 1e-12 * (len(rows) > 1), on="vectors", outputs=UNIT)
    copies = clean_copy(sc.SmoothedRegressor(base, sc.Noise(all=0.1)).problem(ROWS).sites[0])
    assert np.asarray(base.scored(copies).answers).tolist() == [127]
    sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(ROWS, samples=300, seed=1)


def test_numbers_and_classes_are_told_apart():
    numbers = from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=UNIT)
    classes = from_callable(lambda rows: rows.mean(axis=1) > 0.5, on="vectors")
    with pytest.raises(InvalidParameterError, match="SmoothedRegressor certifies intervals"):
        sc.SmoothedClassifier(numbers, sc.Noise(all=0.1))
    with pytest.raises(InvalidParameterError, match="give numbers in a ValueRange"):
        sc.SmoothedRegressor(classes, sc.Noise(all=0.1))
    with pytest.raises(InvalidParameterError, match="'n_classes' is for classes, but the outputs are numbers"):
        from_pyg(Degrees(), n_classes=2, outputs=UNIT)
    with pytest.raises(InvalidParameterError, match="'outputs' must be a ValueRange"):
        from_callable(len, outputs=(0, 1))
    with pytest.raises(InvalidParameterError, match="'n_classes' must be a whole number"):
        from_pyg(Degrees())
    with pytest.raises(InvalidParameterError, match="For a regressor"):
        from_sklearn(_ridge())


def test_a_module_with_several_columns_gives_no_number():
    base = from_pyg(Degrees("two"), outputs=UNIT)
    with pytest.raises(ClassifierError, match=r"outputs of shape \(.*, 2\) for .* graphs, not one each"):
        sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify(objects("graph"), samples=100, seed=1)


def test_modules_learn_numbers_with_noise():
    """One weight, too small at first: the squared error teaches it, and the epoch with the least one is kept."""
    from starcert.models import fit_with_noise  # noqa: PLC0415

    x, pairs = np.ones((4, 1), np.float32), [(i, j) for i in range(4) for j in range(i)]
    graphs = [sc.Graph(4, pairs[:number], node_data={"x": x}) for number in range(7)]
    shares, module = [number / 6 for number in range(7)], Degrees()
    module.scale.data.fill_(0.02)
    smoothed = sc.SmoothedRegressor(from_pyg(module, outputs=UNIT), sc.Noise(all=0.0))
    how = {"validation": (graphs, shares), "epochs": 12, "learning_rate": 0.01, "batch_size": 7, "progress": False}
    made = fit_with_noise(smoothed, graphs, shares, **how)
    assert module.scale.item() == pytest.approx(1 / 12, abs=0.02)
    assert made.best_epoch == int(np.argmin([each.validation_loss for each in made.history]))
    with pytest.raises(InvalidParameterError, match="be 7 numbers"):
        fit_with_noise(smoothed, graphs, ["a"] * 7, **how)
