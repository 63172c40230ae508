"""One output of a module: a logit, a probability where that is said, and never a guess between the two."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from asking import how_to

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import starcert as sc  # noqa: E402
from starcert.classifiers import from_dense, from_pyg, from_torch  # noqa: E402
from starcert.sampling.views import clean_copy  # noqa: E402
from starcert.system.errors import ClassifierError, InvalidParameterError  # noqa: E402

NOISE = sc.Noise(all=0.1)
X = {"x": [[1.0]] * 6}
GRAPHS = [
    sc.Graph(6, [(0, 1), (1, 2)], node_data=X),
    sc.Graph(6, [(i, j) for j in range(6) for i in range(j)], node_data=X),
]
ROWS = sc.Bits.rows([[0, 0, 1, 0, 0, 0], [1, 1, 1, 0, 1, 1]])


class Net(torch.nn.Module):
    """Many edges (of a node, of a graph) or many ones in a row: by one logit, or by something made from it."""

    def __init__(self, form, made=lambda logit: logit, limit=3.0):
        super().__init__()
        self.form, self.made, self.limit = form, made, limit

    def forward(self, x, edge_index=None, batch=None):
        if self.form == "rows":
            return self.made(x.sum(dim=1, keepdim=True) - self.limit)
        if self.form == "dense":
            return self.made(edge_index.sum(dim=(1, 2)) / 2 - self.limit)
        degrees = torch.zeros(len(batch)).index_add(0, edge_index[0], torch.ones(edge_index.shape[1]))
        if self.form == "nodes":
            return self.made(degrees - self.limit)
        return self.made(torch.zeros(int(batch.max()) + 1).index_add(0, batch, degrees) / 2 - self.limit)


def base_of(form, *made, **said):
    limit = {"pyg": 7.5, "dense": 7.5, "rows": 3.5, "nodes": 2.5}[form]
    make = {"dense": from_dense, "rows": from_torch}.get(form, from_pyg)
    if form == "nodes":
        said["targets"] = "nodes"
    return make(Net(form, *made, limit=limit), n_classes=2, **said)


def votes(base, form, **how):
    given = ROWS if form == "rows" else GRAPHS
    return sc.SmoothedClassifier(base, NOISE).vote(given, **how_to(samples=300, seed=1, **how)).counts.tolist()


FORMS = ["pyg", "dense", "rows", "nodes"]
READ_AS_LOGIT = r"first 100 noisy copies it always lies in \[0, 1\].*outputs='probability'.*outputs='logit'"


@pytest.mark.parametrize("form", FORMS)
def test_a_sigmoid_in_the_model_is_never_read_as_a_logit(form):
    by_logit = votes(base_of(form), form)
    assert min(np.sum(by_logit, axis=0)) > 0
    for how in ({}, {"batch_size": 1}, {"batch_size": 7}, {"executor": ThreadPoolExecutor(2)}):
        with pytest.raises(ClassifierError, match=READ_AS_LOGIT):
            votes(base_of(form, torch.sigmoid), form, **how)
    assert votes(base_of(form, torch.sigmoid, outputs="probability"), form) == by_logit
    assert votes(base_of(form, outputs="logit"), form) == by_logit
    everything = votes(base_of(form, torch.sigmoid, outputs="logit"), form)
    assert np.sum(everything, axis=0).tolist()[0] == 0  # as was said: above 0


@pytest.mark.parametrize("form", FORMS)
def test_one_output_beyond_0_and_1_shows_that_it_is_a_logit(form):
    """However copies are divided into batches, all of them are looked at before a vote counts."""

    rarely = {"pyg": -6, "dense": -6, "rows": -3, "nodes": -2}[form]

    def sometimes(logit):
        return torch.where(logit < rarely, -0.001, torch.sigmoid(logit))

    assert votes(base_of(form, sometimes), form) == votes(base_of(form, sometimes), form, batch_size=1)


@pytest.mark.parametrize("form", FORMS)
def test_two_columns_of_probabilities_answer_the_larger(form):
    def both(logit):
        p = torch.sigmoid(logit).flatten()
        return torch.stack([1 - p, p], dim=1)

    assert votes(base_of(form, both), form) == votes(base_of(form), form)


def test_a_probability_is_class_1_above_one_half_and_at_no_other_number():
    around = np.float32(0.5)
    for value, answer in (
        (around, 0),
        (np.nextafter(around, np.float32(1)), 1),
        (np.nextafter(around, np.float32(0)), 0),
        (1.0, 1),
        (0.0, 0),
    ):
        base = base_of("rows", lambda logit, value=value: torch.full_like(logit, float(value)), outputs="probability")
        assert np.argmax(votes(base, "rows"), axis=1).tolist() == [answer, answer]


def test_what_is_no_probability_is_refused_where_it_was_said_to_be_one():
    for value in (1.001, -0.001, float("nan")):
        base = base_of("rows", lambda logit, value=value: torch.full_like(logit, value), outputs="probability")
        with pytest.raises(ClassifierError, match=r"its probabilities have a NaN, or lie outside \[0, 1\]"):
            votes(base, "rows")


def test_what_is_said_of_outputs_is_checked_and_part_of_the_description():
    for wrong in ("sigmoid", True, 0):
        with pytest.raises(InvalidParameterError, match="'outputs' must be 'logit', 'probability' or a ValueRange"):
            base_of("pyg", outputs=wrong)
    with pytest.raises(InvalidParameterError, match="is for two classes, not 3"):
        from_torch(Net("rows"), n_classes=3, outputs="logit")
    for form in FORMS:
        assert len({base_of(form, outputs=each).description for each in (None, "logit", "probability")}) == 3


def test_training_sees_the_logarithms_of_probabilities():
    base, plain = base_of("pyg", torch.sigmoid, outputs="probability"), base_of("pyg")
    inputs = plain.inputs(clean_copy(sc.SmoothedClassifier(plain, NOISE).sites(GRAPHS[0])))
    found, logits = (each.logits_from(inputs, 1, 6) for each in (base, plain))
    torch.testing.assert_close(found.softmax(dim=-1), logits.softmax(dim=-1))
