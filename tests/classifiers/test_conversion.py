"""Layers of PyG on dense adjacency: the logits of PyG's own layers where they are converted, or these themselves."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import starcert as sc
from device_worlds import DEVICES
from starcert.classifiers import conversion, from_pyg
from starcert.classifiers.anatomy import SLOT
from starcert.classifiers.conversion import converted
from starcert.classifiers.identity import identity
from starcert.classifiers.matrices import Matrices
from starcert.classifiers.plain_layers import UNKNOWN
from starcert.classifiers.promises import Given
from starcert.classifiers.torch import MOST_DENSE_NODES, Asking
from starcert.models import layers
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric.nn as pyg
    from torch_geometric.utils import degree, dropout_edge

COPIES = 24
TYPES = ("single", "double", "aromatic")
NOISE = sc.Noise(all=sc.Flip(delete=0.3, add=0.2))


def graph(n: int = 11, **more) -> sc.Graph:
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, 4)]
    return sc.Graph(n, edges, node_data={"x": rng.normal(size=(n, 4)).astype(np.float32)}, **more)


def typed(**more) -> sc.Graph:
    return graph(edge_types=[TYPES[i % 3] for i in range(11)], type_names=TYPES, **more)


def copies(clean: sc.Graph, count: int = COPIES, device: str = "cpu"):
    noise = sc.Noise(all=sc.Edges(delete=0.3, add=0.2, change=0.2)) if clean.type_names else NOISE
    problem = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda g: 0), noise).problem([clean])
    draws = sampler(problem.sites[0], problem.noise, device)
    return draws.draw(WordStream.of_chunk(1, clean.key, "estimation", 0), count)


def mlp(a: int, b: int) -> nn.Module:
    net = nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(inplace=True), nn.Linear(b, b))
    net[1].running_mean.uniform_(-1, 1)
    net[1].running_var.uniform_(0.5, 2)
    return net


LAYERS = {
    "gcn": pyg.GCNConv,
    "gcn without bias": lambda a, b: pyg.GCNConv(a, b, bias=False),
    "gin": lambda a, b: pyg.GINConv(mlp(a, b), eps=0.3, train_eps=True),
    "sage": pyg.SAGEConv,
    "sage of sums": lambda a, b: pyg.SAGEConv(a, b, aggr="sum", bias=False),
    "sage normalised": lambda a, b: pyg.SAGEConv(a, b, normalize=True, project=True),
    "sage of others": lambda a, b: pyg.SAGEConv(a, b, root_weight=False),
    "graph": pyg.GraphConv,
    "own gcn": layers.GCNConv,
    "own gin": lambda a, b: layers.GINConv(mlp(a, b)),
    "graph of means": lambda a, b: pyg.GraphConv(a, b, aggr="mean", bias=False),
}


class Net(nn.Module):
    """Two layers and a pool."""

    def __init__(self, layer="gcn", pool=pyg.global_mean_pool) -> None:
        super().__init__()
        torch.manual_seed(3)
        make = LAYERS[layer] if isinstance(layer, str) else layer
        self.convs, self.pool = nn.ModuleList([make(4, 16), make(16, 16)]), pool
        self.linear = nn.Linear(16, 3)
        for name, each in self.named_parameters():
            if "bias" in name:  # PyG begins with zeros, which hide what they do
                nn.init.uniform_(each, -1, 1)

    def forward(self, x, edge_index, batch):
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.linear(self.pool(x, batch))


def check(module: nn.Module, clean: sc.Graph, used: int, device: str = "cpu", **more) -> None:
    """The logits are those of the module as it is written, and so many layers multiplied."""
    for dtype in (torch.float64, torch.float32):
        classifier = from_pyg(module.to(device, dtype), n_classes=3, **more)
        drawn = copies(clean, device=device)
        with torch.inference_mode():
            plain, _ = classifier._logits(drawn, Asking.WRITTEN)
            other, found = classifier._logits(drawn, Asking.MATRICES)
        torch.testing.assert_close(other, plain, rtol=64 * torch.finfo(dtype).eps, atol=64 * torch.finfo(dtype).eps)
        assert plain.std(dim=0).min() > 1e-4  # a constant would agree with anything
        assert torch.equal(plain.argmax(dim=-1), other.argmax(dim=-1))
        assert found == used
        assert not any(SLOT in vars(each) for each in module.modules())
        classifier.logits(drawn)
        assert classifier._agrees[Asking.MATRICES] == (used > 0)


@pytest.mark.parametrize("pool", [pyg.global_add_pool, pyg.global_mean_pool, pyg.global_max_pool])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_logits_are_those_of_the_layers_as_they_are_written(layer, directed, pool, device):
    check(Net(layer, pool), graph(directed=directed), 2, device)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("device", DEVICES)
def test_features_of_each_copy(layer, device):
    """Nothing is shared: every layer multiplies copy by copy."""
    check(Net(layer), graph(), 2, device, features=sc.classifiers.features.one_hot_degree(3))


class Bonds(nn.Module):
    """Two GINE layers on edges that carry something."""

    def __init__(self, width: int) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.convs = nn.ModuleList([pyg.GINEConv(mlp(a, 16), eps=0.2, edge_dim=width) for a in (4, 16)])
        self.last, self.linear = pyg.GINEConv(mlp(16, 16)), nn.Linear(16, 3)
        self.carry = nn.Linear(width, 16)

    def forward(self, x, edge_index, edge_attr, batch):
        for conv in self.convs:
            x = conv(x, edge_index, edge_attr).relu()
        x = self.last(x, edge_index, edge_attr=self.carry(edge_attr))
        return self.linear(pyg.global_add_pool(x, batch))


class Narrow(Bonds):
    """Without the last layer, which is given numbers of edges that are not ours."""

    def forward(self, x, edge_index, edge_attr, batch):
        for conv in self.convs:
            x = conv(x, edge_index, edge_attr).relu()
        return self.linear(pyg.global_add_pool(x, batch))


class Doubled(Narrow):
    """What edges carry is overwritten: it is no longer what their type says."""

    def forward(self, x, edge_index, edge_attr, batch):
        edge_attr[::3] *= 2.0
        return super().forward(x, edge_index, edge_attr, batch)


def test_what_edges_carry_may_be_overwritten():
    check(Doubled(3), typed(), 0)


class OwnBonds(Bonds):
    """The same with layers of the ready networks."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.convs = nn.ModuleList([layers.GINEConv(mlp(a, 16), width) for a in (4, 16)])


@pytest.mark.parametrize("kind", [Bonds, Narrow, OwnBonds])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("edge_features", "width", "used"),
    [
        (None, 3, 2),
        ([[0.5, 1.0], [-1.0, 2.0], [0.0, -0.5]], 2, 2),
        (("types", [[0.5], [-1.0], [2.0]]), 4, 2),
        (("types", "length"), 4, 0),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_edges_that_carry_what_their_type_says(edge_features, width, used, directed, kind, device):
    clean = typed(directed=directed, edge_data={"length": np.linspace(1, 2, 11)}, added_edge_data={"length": 3.0})
    check(kind(width), clean, used, device, edge_features=edge_features)


class Jumping(Net):
    """Its pool sees all layers, and what came in."""

    def __init__(self) -> None:
        super().__init__("sage")
        self.linear = nn.Linear(36, 3)

    def forward(self, x, edge_index, batch):
        one = self.convs[0](x, edge_index=edge_index).relu()
        two = nn.functional.dropout(self.convs[1](one, edge_index), training=self.training) + one
        return self.linear(pyg.global_add_pool(torch.cat([x, one, two], dim=1), batch))


class Twice(Net):
    """One layer, used twice."""

    def forward(self, x, edge_index, batch):
        edge_index, _ = dropout_edge(edge_index, training=self.training)
        x = nn.functional.dropout(x.float() if x.dtype == torch.float32 else x, 0.5, training=self.training)
        x = self.convs[0](x, edge_index).tanh()
        for _ in range(2):
            x = x + self.convs[1](x, edge_index, None).tanh()
        return self.linear(self.pool(x, batch))


class Looks(Net):
    """It does something of its own with the edges, before its layers or after."""

    def __init__(self, when: str) -> None:
        super().__init__("gcn")
        self.when = when

    def forward(self, x, edge_index, batch):
        if self.when == "before":
            x = x + degree(edge_index[0], len(x), x.dtype).view(-1, 1)
        if self.when == "shape":
            x = x + edge_index.shape[1] / 1000 + edge_index.dim()
        h = self.convs[1](self.convs[0](x, edge_index).relu(), edge_index)
        if self.when == "after":
            h = h * degree(edge_index[1], len(x), x.dtype).view(-1, 1)
        return self.linear(self.pool(h, batch))


class Overwrites(Net):
    def __init__(self, what: str) -> None:
        super().__init__("gin")
        self.what = what

    def forward(self, x, edge_index, batch):
        if self.what == "x":
            x.mul_(2.0)
        elif self.what == "x, by place":
            nn.functional.relu(x, True)
        elif self.what == "edges":
            edge_index[0] = (edge_index[0] + 1) % len(x)
        elif self.what == "edges, below":
            below = torch.from_dlpack(edge_index.__dlpack__())
            below[0] = below[0] // 2
        return super().forward(x, edge_index, batch)


class OfData(Net):
    def forward(self, data):
        return super().forward(data.x, data.edge_index, data.batch)


class Mixed(Net):
    """A layer in between that is none of ours, and needs the edges."""

    def __init__(self) -> None:
        super().__init__("gcn")
        self.attends = pyg.GATConv(16, 16)

    def forward(self, x, edge_index, batch):
        x = self.attends(self.convs[0](x, edge_index).relu(), edge_index)
        return self.linear(self.pool(self.convs[1](x, edge_index), batch))


class Ready(nn.Module):
    """One of PyG's own stacks."""

    def __init__(self, kind) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.stack, self.linear = kind(4, 16, 3, jk="cat", dropout=0.5, norm="BatchNorm"), nn.Linear(16, 3)

    def forward(self, x, edge_index, batch):
        return self.linear(pyg.global_add_pool(self.stack(x, edge_index, batch=batch), batch))


@pytest.mark.parametrize(
    ("make", "used"),
    [
        (Jumping, 2),
        (Twice, 3),
        (OfData, 2),
        (Mixed, 1),
        (lambda: Looks("before"), 0),
        (lambda: Looks("after"), 2),
        (lambda: Looks("shape"), 2),
        (lambda: Overwrites("x"), 2),
        (lambda: Overwrites("x, by place"), 2),
        (lambda: Overwrites("edges"), 0),
        (lambda: Overwrites("edges, below"), 0),
        (lambda: Ready(pyg.GIN), 3),
        (lambda: Ready(pyg.GCN), 3),
        (lambda: Ready(pyg.GraphSAGE), 3),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_whatever_a_module_does_between_its_layers(make, used, device):
    check(make(), graph(), used, device)


class OwnGCN(pyg.GCNConv):
    def message(self, x_j, edge_weight):
        return 2 * super().message(x_j, edge_weight)


def with_hook(name: str):
    def make(a, b):
        conv = pyg.GCNConv(a, b)
        place = {"aggregation": conv.aggr_module}.get(name, conv)
        if name == "message":
            conv.register_message_forward_hook(lambda conv, given, out: 2 * out)
        else:
            place.register_forward_hook(lambda conv, given, out: 2 * out)
        return conv

    return make


def explained(a, b):
    conv = pyg.GCNConv(a, b)
    conv.explain = True
    conv._edge_mask, conv._apply_sigmoid, conv._loop_mask = torch.tensor(0.5), False, torch.tensor(True)
    conv.explain_message = lambda inputs, dim_size: 2 * inputs
    return conv


def with_method(a, b):
    conv = pyg.GINConv(mlp(a, b))
    conv.message = lambda x_j: 2 * x_j
    return conv


def compiled(a, b):
    conv = pyg.GCNConv(a, b)
    conv.compile(backend="eager")
    return conv


@pytest.mark.parametrize(
    "make",
    [
        OwnGCN,
        with_hook("layer"),
        with_hook("message"),
        with_hook("aggregation"),
        with_method,
        explained,
        lambda a, b: pyg.GCNConv(a, b, improved=True),
        lambda a, b: pyg.GCNConv(a, b, add_self_loops=False),
        lambda a, b: pyg.GCNConv(a, b, normalize=False),
        lambda a, b: pyg.GCNConv(a, b, flow="target_to_source"),
        lambda a, b: pyg.GCNConv(a, b, aggr="max"),
        lambda a, b: pyg.GINConv(mlp(a, b), aggr="mean"),
        lambda a, b: pyg.SAGEConv(a, b, aggr="max"),
        lambda a, b: pyg.SAGEConv(a, b, aggr=["mean", "max"]),
        lambda a, b: pyg.GCNConv(a, b, decomposed_layers=2),
        pyg.GATConv,
        pyg.TAGConv,
    ],
)
def test_other_layers_answer_themselves(make):
    check(Net(make), graph(directed=True), 0)


class Called(Net):
    """Its layers are not called plainly."""

    def __init__(self, how: str) -> None:
        super().__init__("graph" if how == "two" else "gcn")
        self.how = how

    def forward(self, x, edge_index, batch):
        for conv in self.convs:
            if self.how == "weight":
                x = conv(x, edge_index, torch.full((edge_index.shape[1],), 0.5, dtype=x.dtype))
            elif self.how == "others":
                x = conv(x, edge_index.flip(0))
            elif self.how == "two":
                x = conv((x, x), edge_index)
            elif self.how == "more":
                x = conv(torch.cat([x, x]), edge_index)[: len(x)]
            elif self.how == "autocast":
                with torch.autocast("cpu", torch.bfloat16):
                    x = conv(x, edge_index).to(x.dtype)
            x = x.tanh()
        return self.linear(self.pool(x, batch))


@pytest.mark.parametrize("how", ["weight", "others", "two", "more", "autocast"])
def test_layers_that_are_called_otherwise_answer_themselves(how):
    check(Called(how), graph(directed=True), 0)


@pytest.mark.parametrize("what", ["nothing", "cached", "filled"])
def test_layers_that_keep_edges_answer_themselves(what):
    drawn, conv = copies(graph()), pyg.GCNConv(4, 16, cached=what == "cached").eval()
    if what == "filled":
        conv._cached_edge_index = (torch.zeros((2, 0), dtype=torch.int64), torch.zeros(0))
    matrices = Matrices(drawn, torch.float32, torch.device("cpu"))
    edges = Given(list, matrices, shape=(2, None), dtype=torch.int64, device=matrices.device)
    found = conversion._rules()[pyg.GCNConv](conv, torch.ones(COPIES * 11, 4), edges)
    assert (found is UNKNOWN) == (what != "nothing")


def test_a_layer_that_is_compiled_is_left_alone():
    classifier = from_pyg(Net(compiled), n_classes=3)
    assert not classifier._agrees[Asking.MATRICES]
    with converted(classifier.model):
        assert not any(isinstance(vars(each).get(SLOT), conversion._Converted) for each in classifier.model.modules())


def test_linear_layers_with_hooks_see_all_rows():
    module, seen = Net("gcn"), []
    module.convs[0].lin.register_forward_hook(lambda layer, given, out: seen.append(len(out)) or 2 * out)
    check(module, graph(), 2)
    assert set(seen) == {COPIES * 11, 8 * 11}


def test_products_of_single_precision_have_all_their_digits():
    single, double = (from_pyg(Net().to(dtype), n_classes=3) for dtype in (torch.float32, torch.float64))
    drawn = copies(graph())
    torch.set_float32_matmul_precision("medium")
    try:
        single.logits(drawn)
        double.logits(drawn)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert Asking.MATRICES not in single._agrees
    assert double._agrees[Asking.MATRICES]
    single.logits(drawn)
    assert single._agrees[Asking.MATRICES]


class Finite(Net):
    """Whatever its layer gives, its logits are numbers."""

    def forward(self, x, edge_index, batch):
        return self.linear(self.pool(self.convs[0](x, edge_index).nan_to_num(0.0, 1.0, -1.0), batch))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("ask", ["logits", "classify", "scored"])
@pytest.mark.parametrize("device", DEVICES)
def test_features_that_are_not_finite(bad, ask, device):
    """0 · ∞ is no number: a product would spread it to nodes that it does not reach."""
    x = np.array(graph().node_data["x"])
    x[3, 1] = bad
    clean = sc.Graph(11, [(i, i + 1) for i in range(10)], node_data={"x": x})
    classifier, drawn = from_pyg(Finite("gin").to(device), n_classes=3), copies(clean, device=device)
    classifier.logits(copies(graph(), device=device))
    assert classifier._agrees[Asking.MATRICES]
    with torch.inference_mode():
        plain, _ = classifier._logits(drawn, Asking.WRITTEN)
    assert plain.isfinite().all()
    if ask == "logits":
        torch.testing.assert_close(classifier.logits(drawn), plain)
    elif ask == "classify":
        np.testing.assert_array_equal(classifier.classify(drawn), plain.argmax(dim=1).cpu())
    else:
        np.testing.assert_allclose(classifier.scored(drawn).numbers, plain.double().cpu(), rtol=1e-5)
    assert not classifier._agrees[Asking.MATRICES]
    assert classifier._agrees[Asking.PRODUCTS]


def test_logits_that_are_no_numbers_are_said():
    class Broken(Net):
        def forward(self, x, edge_index, batch):
            return super().forward(x, edge_index, batch) * float("nan")

    classifier, drawn = from_pyg(Broken(), n_classes=3), copies(graph())
    with pytest.raises(ValueError, match="its logits have a NaN"):
        classifier.classify(drawn)
    assert classifier.logits(drawn).isnan().all()


def test_no_edges_are_listed(monkeypatch):
    classifier, drawn = from_pyg(Net(), n_classes=3), copies(graph())
    monkeypatch.setattr(type(drawn), "edge_index_on", lambda *_: pytest.fail("edges were listed"))
    with torch.inference_mode():
        classifier._logits(drawn, Asking.MATRICES)


def test_matrices_that_the_last_batch_needed_are_made_before_the_module_begins():
    begun = []

    class Beginning(Net):
        def forward(self, x, edge_index, batch):
            begun.append(edge_index.content.made if type(edge_index) is Given else None)
            return super().forward(x, edge_index, batch)

    classifier, drawn = from_pyg(Beginning(), n_classes=3), copies(graph())
    classifier.logits(drawn)
    classifier.logits(drawn)
    assert begun == [None, frozenset(), {"plain", "normalised"}, {"plain", "normalised"}]  # as written, compared, asked


class Dropped(Net):
    def forward(self, x, edge_index, batch):
        x = nn.functional.dropout(x.float(), 0.5, training=self.training)
        return super().forward(x, edge_index.long(), batch)


@pytest.mark.parametrize("kind", [Net, Dropped])
def test_features_that_all_share_are_multiplied_once(kind):
    classifier, drawn, seen = from_pyg(kind(), n_classes=3), copies(graph()), []
    plain = nn.functional.linear
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(nn.functional, "linear", lambda x, *more: seen.append(len(x)) or plain(x, *more))
        classifier._logits(drawn, Asking.MATRICES)
    assert seen == [11, COPIES * 11, COPIES]


def transposed(self, matrices):
    return matrices


def without_loops(self):
    found = normalised(self)
    found.diagonal(dim1=1, dim2=2).zero_()
    return found


def stale(self):
    return torch.full((self.n_copies, self.n_nodes), 2.0, dtype=self.dtype)


def mixed_up(self, matrices, x, bias=None):
    return times(self, matrices.roll(1, 0), x, bias)


normalised, times = Matrices._normalised, Matrices.times


@pytest.mark.parametrize(
    ("name", "broken"),
    [("_by_target", transposed), ("_normalised", without_loops), ("_degrees", stale), ("times", mixed_up)],
)
def test_what_is_not_the_same_is_found_out(name, broken, monkeypatch):
    """Products that are wrong are not used: the first copies are asked both ways."""
    monkeypatch.setattr(Matrices, name, broken)
    classifier, drawn = from_pyg(Net("gcn"), n_classes=3), copies(graph(directed=True))
    with torch.inference_mode():
        plain, _ = classifier._logits(drawn, Asking.WRITTEN)
    torch.testing.assert_close(classifier.logits(drawn), plain)
    assert not classifier._agrees[Asking.MATRICES]
    assert classifier._agrees[Asking.PRODUCTS]


def test_large_graphs_are_not_dense():
    classifier = from_pyg(Net(), n_classes=3)
    classifier.logits(copies(graph(MOST_DENSE_NODES["cpu"] + 1), 4))
    assert set(classifier._agrees) == {Asking.PRODUCTS}
    classifier.logits(copies(graph(), 4))
    assert classifier._agrees == {Asking.PRODUCTS: True, Asking.MATRICES: True}


def test_a_copy_alone_is_asked_as_it_is_written(monkeypatch):
    classifier = from_pyg(Net(), n_classes=3)
    monkeypatch.setattr("starcert.classifiers.torch.converted", lambda _: pytest.fail("it was converted"))
    classifier.logits(copies(graph(), 1))


class Copied(Net):
    """It looks at itself while it works."""

    def forward(self, x, edge_index, batch):
        self.seen = (identity(self.convs[0]), vars(pickle.loads(pickle.dumps(self.convs[0]))))
        copy.deepcopy(self.convs)
        return super().forward(x, edge_index, batch)


def test_identity_and_copies_do_not_hear_of_it():
    module = Copied().eval()
    expected = identity(module.convs[0])
    with torch.inference_mode():
        _, used = from_pyg(module, n_classes=3)._logits(copies(graph()), Asking.MATRICES)
    assert used == 2
    assert module.seen[0] == expected
    assert SLOT not in module.seen[1]


class Fails(Net):
    def forward(self, x, edge_index, batch):
        assert SLOT in vars(self.convs[0])
        super().forward(x, edge_index, batch)
        raise TypeError("not today")


def test_layers_are_themselves_again_after_an_error():
    module = Fails()
    with pytest.raises(TypeError, match="not today"), torch.inference_mode():
        from_pyg(module, n_classes=3)._logits(copies(graph()), Asking.MATRICES)
    assert not any(SLOT in vars(each) for each in module.modules())


def test_threads_that_ask_the_same_module():
    """Whoever asks with plain tensors meanwhile is answered as it is written; the last one takes it all away."""
    module, drawn = Net(), copies(graph())
    classifier = from_pyg(module, n_classes=3)
    expected, found = classifier.logits(drawn), []

    def ask() -> None:
        found.extend(classifier.logits(drawn) for _ in range(20))

    def train() -> None:
        edge_index, owner = drawn.edge_index_on(torch.device("cpu"))
        x = torch.as_tensor(np.array(drawn.frame.node_data["x"])).repeat(COPIES, 1)
        for _ in range(20):
            module(x, edge_index, owner).sum().backward()

    threads = [threading.Thread(target=each) for each in (ask, ask, train)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 40
    assert all(torch.equal(each, expected) for each in found)
    assert module.linear.weight.grad is not None
    assert not any(SLOT in vars(each) for each in module.modules())


def test_what_is_given_is_made_when_it_is_looked_at():
    made = []
    promise = Given(
        lambda: made.append(1) or torch.ones(2, 5),
        None,
        shape=(2, None),
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    assert promise.dtype == torch.float32
    assert not made
    assert promise.shape == (2, 5)
    assert not promise.seen
    assert (promise + 1).sum() == 20
    assert promise.seen
    assert made == [1]


@pytest.mark.parametrize("layer", ["gcn", "sage"])
def test_votes_are_those_of_the_plain_way(layer, monkeypatch):
    clean = graph(20)
    module = Net(layer)
    with torch.no_grad():  # so that no class wins always
        module.linear.bias -= from_pyg(module, n_classes=3).logits(copies(clean, 200)).median(dim=0).values
    votes = sc.SmoothedClassifier(from_pyg(module, n_classes=3), NOISE).vote([clean], samples=2_000, seed=1)
    monkeypatch.setattr("starcert.classifiers.torch.can_watch", lambda _: False)
    plain = sc.SmoothedClassifier(from_pyg(module, n_classes=3), NOISE).vote([clean], samples=2_000, seed=1)
    np.testing.assert_array_equal(votes.counts, plain.counts)
    assert votes.counts.max() < 1_500
