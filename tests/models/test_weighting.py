"""What classes count in training: the weights themselves, what they do to a loss, and when they are turned on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_worlds import graphs

import starcert as sc
from starcert.models.judging import Weighting, check_class_weights
from starcert.system.errors import InvalidParameterError, StarcertWarning

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
judging = pytest.importorskip("starcert.models.judging")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.sampled_from(["balanced", "auto", (1, 2, 3, 4)]))
def test_the_mean_over_training_objects_is_one_and_balanced_classes_count_the_same(labels, chosen):
    found = Weighting.of(chosen, labels, n_classes=4)
    counts = np.bincount(labels, minlength=4)
    present = counts > 0
    if chosen == "auto":
        assert (found is None) == ((counts[present] >= 0.1 * len(labels)).all() or np.ptp(counts[present]) == 0)
    if found is None:
        assert chosen == "auto" or np.ptp(counts[present]) == 0 or present.sum() == 1
        return
    assert np.mean([found.weights[label] for label in labels]) == pytest.approx(1)
    if not isinstance(chosen, str):
        assert np.asarray(found.weights) / found.weights[0] == pytest.approx([1, 2, 3, 4])
    else:
        assert np.ptp((counts * found.weights)[present]) == pytest.approx(0, abs=1e-9)
    assert (found.reason != "") == (chosen == "auto")


def test_exactly_a_tenth_is_not_rare_and_equal_classes_are_not_weighted():
    assert Weighting.of("auto", [0] * 9 + [1], n_classes=2) is None
    found = Weighting.of("auto", [0] * 10 + [1], n_classes=3)
    assert found.reason == "class 1 has 9.1% of the training objects, under 10%"
    assert found.weights[2] > 0  # it does not occur, but validation objects may be of this class
    assert Weighting.of("none", [0] * 99 + [1], n_classes=2) is None
    assert Weighting.of("auto", list(range(20)), n_classes=20) is None  # twenty classes, 5% each
    assert Weighting.of([2, 2], [0, 0, 1], n_classes=2) is None


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("even", "be one of auto, balanced, none, or a number"),
        ([], "be one of auto, balanced, none, or a number"),
        ([1, -1], "be one of auto, balanced, none, or a number"),
        ([1, "x"], "be one of auto, balanced, none, or a number"),
        ([1, float("inf")], "be one of auto, balanced, none, or a number"),
        (None, "be one of auto, balanced, none, or a number"),
        ([1, 2, 3], "be 2 numbers, one for each class"),
        ([0, 0], "not 0 for all that occur"),
    ],
)
def test_what_is_no_choice_is_refused(wrong, complaint):
    with pytest.raises(InvalidParameterError, match=complaint):
        Weighting.of(wrong, [0, 1], n_classes=2)


def test_labels_that_are_no_classes_are_refused():
    for labels in ([0, -1], [0, 2]):
        with pytest.raises(InvalidParameterError, match="'labels' must be classes from 0 to 1"):
            Weighting.of("auto", labels, n_classes=2)
    assert check_class_weights((1, 2)) == (1.0, 2.0)


def test_losses_are_multiplied_and_an_epoch_is_judged_by_the_same_weights():
    weights, wanted = torch.tensor([0.5, 3.0]), torch.tensor([0, 0, 0, 1])
    found = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.0]])
    plain = torch.nn.functional.cross_entropy(found, wanted, reduction="none")
    expected = (plain * torch.tensor([0.5, 0.5, 0.5, 3.0])).mean()
    torch.testing.assert_close(judging.loss_of(found.expand(2, 4, 2), wanted, weights), expected)
    judged = judging.judge(3, 0.5, found[None], wanted, weights)
    assert (judged.number, judged.loss, judged.accuracy) == (3, 0.5, 0.5)
    assert judged.score == pytest.approx(1.0 / 4.5)  # two of class 0 are right, and the one of class 1 is not
    assert judged.validation_loss == pytest.approx(float(expected) / (4.5 / 4))
    assert judging.judge(0, 0.0, found[None], wanted, None).score == 0.5


@pytest.mark.parametrize("weights", [None, torch.tensor([0.5, 3.0])])
def test_the_loss_of_copies_counts_the_worst_of_each_object(weights):
    found = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [0.0, 1.5]]])
    wanted = torch.tensor([0, 1])
    losses = -found.log_softmax(-1)[:, [0, 1], wanted] * (1 if weights is None else weights)
    for worst in (0.0, 0.25, 1.0):
        expected = (1 - worst) * losses.mean() + worst * losses.amax(0).mean()
        torch.testing.assert_close(judging.loss_of(found, wanted, weights, worst), expected)
    numbers = judging.loss_of(torch.tensor([[[1.0], [0.0]], [[3.0], [0.0]]]), torch.tensor([1.0, 1.0]), None, 1.0)
    assert numbers.item() == pytest.approx((4 + 1) / 2)


def test_an_epoch_that_gives_one_answer_is_marked_unless_all_objects_are_of_one_class():
    same = torch.tensor([[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]])
    assert judging.judge(0, 0.0, same, torch.tensor([0, 1]), None).only == 0
    assert judging.judge(0, 0.0, same, torch.tensor([0, 0]), None).only is None
    same[1, 1] = torch.tensor([0.0, 1.0])
    assert judging.judge(0, 0.0, same, torch.tensor([0, 1]), None).only is None


def rare(n: int, seed: int) -> tuple[list[sc.Graph], np.ndarray]:
    """Sparse graphs, and a few with many edges."""
    made, labels = graphs(n, seed, (0.25, 0.6))
    kept = [i for i, label in enumerate(labels) if label == 0 or i % 32 == 1]
    return [made[i] for i in kept], np.array(labels)[kept]


def fitted(**how):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = sc.models.GIN(2, 2, hidden=8, layers=1)
    base = sc.classifiers.from_pyg(model, n_classes=2, class_names=["few edges", "many edges"])
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.1, add=0.05)))
    settings = {"epochs": 12, "learning_rate": 0.01, **how}
    return sc.models.fit_with_noise(smoothed, *rare(96, 1), validation=rare(96, 2), **settings)


def test_a_rare_class_is_learned_by_default_and_ignored_without_weights():
    balanced = fitted()
    assert balanced.weighting.reason == "class many edges has 5.9% of the training objects, under 10%"
    kept = balanced.history[balanced.best_epoch]
    assert kept.only is None
    assert kept.score > 0.9  # both classes count half
    with pytest.warns(StarcertWarning, match=r"the same answer: class few edges\. Certificates of such a model"):
        plain = fitted(class_weights="none")
    assert plain.weighting is None
    assert plain.history[plain.best_epoch].only == 0


def test_patience_ends_a_training_on_graphs():
    whole, ended = fitted(epochs=40, learning_rate=0.03), fitted(epochs=40, learning_rate=0.03, patience=3)
    assert ended.history == whole.history[: len(ended.history)]
    assert ended.history[-1].number == ended.best_epoch + 3 < 39
    with pytest.raises(InvalidParameterError, match="'patience' must be a whole number, 1 or more"):
        fitted(patience=0)


def test_nodes_are_weighted_by_those_that_are_learned_from():
    labels = np.repeat([0, 1], [44, 4])
    x = np.eye(2, dtype=np.float32)[labels]
    graph = sc.Graph(48, [(u, u + 1) for u in range(47)], node_data={"x": x})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        base = sc.classifiers.from_pyg(sc.models.NodeGCN(2, 2, hidden=4), n_classes=2, targets="nodes")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.001))
    how = {"validation": range(0, 48, 2), "epochs": 1}
    rarely = sc.models.fit_nodes_with_noise(smoothed, graph, labels, train=range(48), **how)
    assert rarely.weighting.reason == "class 1 has 8.3% of the training objects, under 10%"
    often = sc.models.fit_nodes_with_noise(smoothed, graph, labels, train=range(40, 48), **how)
    assert often.weighting is None
