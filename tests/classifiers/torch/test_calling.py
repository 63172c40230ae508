"""What a module's parameters get: each rule of binding by name, and each refusal."""

import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from asking import drawn

import starcert as sc
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")
torch_worlds = pytest.importorskip("torch_worlds")

from_pyg = sc.classifiers.from_pyg
GRAPH = torch_worlds.molecules(1)[0]
COPIES = drawn(GRAPH, torch_worlds.NOISE, 20)


class Plain(torch.nn.Module):
    """Weights and a pass over a graph; the others differ in nothing but how they are called."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(4)
            self.conv, self.linear = pyg.GCNConv(4, 8), torch.nn.Linear(8, 3)

    def answer(self, x, edge_index, batch):
        return self.linear(pyg.global_add_pool(self.conv(x, edge_index).relu(), batch))

    def forward(self, x, edge_index, batch):
        return self.answer(x, edge_index, batch)


class WeightFirst(Plain):
    def forward(self, x, edge_index, edge_weight=None, batch=None):
        assert edge_weight is None
        return self.answer(x, edge_index, batch)


class KeywordOnly(Plain):
    def forward(self, x, *, batch, scale=1.0, edge_index):
        return self.answer(x, edge_index, batch)


class Reversed(Plain):
    def forward(self, batch, flag=False, edge_index=None, x=None):
        assert flag is False
        return self.answer(x, edge_index, batch)


class OfData(Plain):
    def forward(self, data):
        assert (data.num_graphs, data.num_nodes) == (20, 20 * GRAPH.n_nodes)
        assert data.ptr.tolist() == [i * GRAPH.n_nodes for i in range(21)]
        return self.answer(data.x, data.edge_index, data.batch)


class OwnNames(Plain):
    def forward(self, h, ei, b, /, verbose=False):
        assert verbose is False
        return self.answer(h, ei, b)


class FourNames(Plain):
    def forward(self, b, h, ei, extra=None):
        assert extra is None
        return self.answer(h, ei, b)


class Anything(Plain):
    def forward(self, *args):
        return self.answer(*args)


def sequential():
    plain = Plain()
    return pyg.Sequential(
        "x, edge_index, batch",
        [
            (plain.conv, "x, edge_index -> x"),
            torch.nn.ReLU(),
            (pyg.global_add_pool, "x, batch -> x"),
            plain.linear,
        ],
    )


class Scriptable(torch.nn.Module):
    """What torch.jit can read: a sum over neighbours."""

    def __init__(self):
        super().__init__()
        self.linear = Plain().linear

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor):
        pooled = torch.zeros(int(batch.max()) + 1, 8).index_add_(0, batch[edge_index[0]], x[edge_index[1]].repeat(1, 2))
        return self.linear(pooled)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (WeightFirst, {}),
        (KeywordOnly, {}),
        (Reversed, {}),
        (OfData, {}),
        (OwnNames, {"arguments": {"h": "x", "ei": "edge_index", "b": "batch"}}),
        (FourNames, {"arguments": {"h": "x", "ei": "edge_index", "b": "batch"}}),
        (Anything, {"arguments": ("x", "edge_index", "batch")}),
        (sequential, {}),
        (lambda: torch.compile(WeightFirst(), backend="eager"), {}),
    ],
    ids=["weight", "keywords", "reversed", "data", "own", "map", "args", "sequential", "compiled"],
)
def test_parameters_get_what_they_are_named_after(model, said):
    expected = from_pyg(Plain(), n_classes=3).logits(COPIES)
    torch.testing.assert_close(from_pyg(model(), n_classes=3, **said).logits(COPIES), expected)


def test_torchscript_is_described_by_its_owner_and_cannot_travel(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(Scriptable())
        torch.jit.save(script, tmp_path / "model.pt")
        read = torch.jit.load(tmp_path / "model.pt")
    in_order = ("x", "edge_index", "batch")
    base = from_pyg(script, n_classes=3, description="a sum")
    expected = from_pyg(Scriptable(), n_classes=3).logits(COPIES)
    assert torch.equal(base.logits(COPIES), expected)
    assert torch.equal(from_pyg(read, n_classes=3, arguments=in_order).logits(COPIES), expected)
    with pytest.raises(InvalidParameterError, match=r"arguments=\('x', 'edge_index', 'batch'\)"):
        from_pyg(read, n_classes=3)
    with pytest.raises(InvalidParameterError, match=r"'description' is needed, .*Give description=…"):
        _ = from_pyg(script, n_classes=3).description
    smoothed = sc.SmoothedClassifier(base, torch_worlds.NOISE)
    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidParameterError, match="'base' cannot be pickled"):
        smoothed.vote([GRAPH], samples=10, seed=1, voting=sc.Voting(executor=pool))


def test_hooks_see_what_is_given_by_place():
    """A call is written as one would write it: what comes first is given by place."""
    model, seen = WeightFirst(), []
    model.register_forward_pre_hook(lambda _, args, named: seen.append((len(args), list(named))), with_kwargs=True)
    from_pyg(model, n_classes=3).logits(COPIES)
    assert set(map(str, seen)) == {"(2, ['batch'])"}


class Unknown(Plain):
    def forward(self, x, adj_t, edge_weight=None, *, b):
        return x


class NoBatch(Plain):
    def forward(self, x, edge_index):
        return x


class NeedsAttributes(Plain):
    def forward(self, x, edge_index, edge_attr, batch):
        return x


@pytest.mark.parametrize(
    ("model", "said", "words"),
    [
        (
            Unknown,
            {},
            "Say what adj_t and b are: arguments={'adj_t': 'edge_index', 'b': 'batch'}; or give",
        ),
        (OwnNames, {}, "Say what h and ei and b are: arguments={'h': 'x', 'ei': 'edge_index', 'b': 'batch'}; or give"),
        (NoBatch, {}, "must have a forward with the parameter batch, or data: which nodes belong to which copy. Got"),
        (Anything, {}, "Got 'forward(*args)' instead. Say what it is called with, one after the other: arguments=("),
        (torch.nn.Sequential, {}, "Got 'forward(input)' instead. Say what input is: arguments={'input': 'x'}"),
        (
            Plain,
            {"arguments": {"h": "x"}},
            "'arguments' must name parameters of forward(x, edge_index, batch). Got",
        ),
        (Plain, {"arguments": {"x": "features"}}, "'arguments' must map names of parameters to x, edge_index"),
        (Anything, {"arguments": "x"}, "'arguments' must map names of parameters to x, edge_index"),
        (Anything, {"arguments": ("x", "edge_index")}, "must have a forward with the parameter batch, or data"),
    ],
)
def test_what_cannot_be_told_is_refused(model, said, words):
    with pytest.raises(InvalidParameterError) as caught:
        from_pyg(model(), n_classes=3, **said)
    assert words in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_graph_without_edge_data_has_no_edge_attr():
    with pytest.raises(ClassifierError, match="its forward asks for edge_attr, and the graph has none: give its edges"):
        sc.SmoothedClassifier(from_pyg(NeedsAttributes(), n_classes=3), torch_worlds.NOISE).vote(
            [GRAPH], samples=10, seed=1
        )


class Bonds(Plain):
    def forward(self, data):
        return data.x + pyg.GINEConv(torch.nn.Linear(4, 4), edge_dim=4)(data.x, data.edge_index, data.edge_attr)


class Asserting(Plain):
    def forward(self, x, edge_index, batch, edge_attr=None):
        assert edge_attr is not None
        return x


class Broken(Plain):
    def forward(self, data):
        weights = None if data.edge_attr is None else data.edge_attr
        return self.linear.weight + "no tensor" + str(weights)


def test_a_module_that_uses_what_edges_do_not_have_is_told_how_they_get_it():
    noise = torch_worlds.NOISE
    for module, cause in ((Bonds(), "TypeError: .* not NoneType"), (Asserting(), "AssertionError.*")):
        smoothed = sc.SmoothedClassifier(from_pyg(module, n_classes=3), noise)
        words = (
            rf"its forward uses edge_attr, and the graph has none, as its edges have no types \({cause}\): give them"
        )
        with pytest.raises(
            ClassifierError, match=words + r".*from_smiles\(…, bond_types=True\), Graph.from_pyg\(…, edg"
        ):
            smoothed.vote([GRAPH], samples=10, seed=1)
    with pytest.raises(ClassifierError, match=r"TypeError: (?!.*edge_attr)"):  # another error is left as it is
        sc.SmoothedClassifier(from_pyg(Broken(), n_classes=3), noise).vote([GRAPH], samples=10, seed=1)


def test_what_was_said_is_part_of_the_identity():
    described = [
        from_pyg(Plain(), n_classes=3),
        from_pyg(Plain(), n_classes=3, output=0),
        from_pyg(Plain(), n_classes=3, arguments=("x", "edge_index", "batch")),
        from_pyg(Plain(), n_classes=3, targets="nodes"),
        from_pyg(Plain(), n_classes=3, targets="nodes", nodes=[0, 1]),
        from_pyg(Plain(), n_classes=3, targets="nodes", nodes=[0, 2]),
    ]
    assert len({each.description for each in described}) == 6
    again = pickle.loads(pickle.dumps(described[5]))
    assert again.description == described[5].description
    np.testing.assert_array_equal(again.nodes, [0, 2])


def test_the_public_names_are_listed():
    assert dir(sc.classifiers) == sorted(sc.classifiers.__all__)
    assert {"from_callable", "from_dense", "from_pyg", "from_sklearn", "features"} <= set(dir(sc.classifiers))
