"""Stand-ins for known layers: the logits of the module as it is written, whatever it does between its layers."""

import copy
import functools
import threading
import warnings

import numpy as np
import pytest
import torch
from asking import drawn as copies_of
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import starcert as sc
from starcert.classifiers import from_pyg
from starcert.classifiers.identity import global_hooks, identity
from starcert.classifiers.torch import layers
from starcert.classifiers.torch.layers import DrawnEdges, is_known

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric.nn as pyg
    from torch_geometric.nn.aggr import SumAggregation
    from torch_geometric.nn.conv.gcn_conv import gcn_norm
    from torch_geometric.utils import degree, dropout_edge

COPIES = 24
NOISE = sc.Noise(all=sc.Flip(delete=0.3, add=0.2))


def copies(clean: sc.Graph, count: int = COPIES, noise: sc.Noise = NOISE):
    return copies_of(clean, noise, count)


def graph(n: int = 11, **more) -> sc.Graph:
    rng = np.random.default_rng(n)
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, 4)]
    return sc.Graph(n, edges, node_data={"x": rng.normal(size=(n, 4)).astype(np.float32)}, **more)


def mlp(a: int, b: int) -> nn.Module:
    net = nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(inplace=True), nn.Linear(b, b))
    net[1].running_mean.uniform_(-1, 1)
    net[1].running_var.uniform_(0.5, 2)
    return net


KNOWN = {
    "gcn": pyg.GCNConv,
    "gcn without bias": lambda a, b: pyg.GCNConv(a, b, bias=False),
    "lazy gcn": lambda a, b: pyg.GCNConv(-1, b),
    "gin": lambda a, b: pyg.GINConv(mlp(a, b), eps=0.3, train_eps=True),
    "gin of fixed eps": lambda a, b: pyg.GINConv(mlp(a, b), eps=0.3),
    "sage": pyg.SAGEConv,
    "sage of sums": lambda a, b: pyg.SAGEConv(a, b, aggr="sum", bias=False),
    "sage normalised": lambda a, b: pyg.SAGEConv(a, b, normalize=True, project=True),
    "sage of others": lambda a, b: pyg.SAGEConv(a, b, root_weight=False),
    "graph": pyg.GraphConv,
    "graph of means": lambda a, b: pyg.GraphConv(a, b, aggr="mean", bias=False),
    "own gcn": layers.GCNConv,
    "own gin": lambda a, b: layers.GINConv(mlp(a, b)),
}


class Net(nn.Module):
    """Two layers and a pool."""

    def __init__(self, layer="gcn", pool=pyg.global_mean_pool) -> None:
        super().__init__()
        torch.manual_seed(3)
        make = KNOWN[layer] if isinstance(layer, str) else layer
        self.convs, self.pool = nn.ModuleList([make(4, 16), make(16, 16)]), pool
        self.linear = nn.Linear(16, 3)
        for name, each in self.named_parameters():
            if "bias" in name:  # PyG begins with zeros, which hide what they do
                nn.init.uniform_(each, -1, 1)

    def forward(self, x, edge_index, batch):
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.linear(self.pool(x, batch))


@pytest.fixture
def made(monkeypatch):
    """For each batch that classifiers answer with stand-ins, how many layers received the matrix."""
    found, fit = [], DrawnEdges.fit

    class Noted(DrawnEdges):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            self.place = len(found)
            found.append(0)

        def fit(self, x, edge_index) -> bool:
            fits = fit(self, x, edge_index)
            found[self.place] += fits
            return fits

    monkeypatch.setattr("starcert.classifiers.torch.graphs.DrawnEdges", Noted)
    return found


def check(module: nn.Module, clean: sc.Graph, made, used: int, **more) -> None:
    """The logits are those of the module as it is written, and this many layers received the matrix."""
    for dtype in (torch.float64, torch.float32):
        classifier = from_pyg(module.to(dtype), n_classes=3, **more)
        drawn = copies(clean)
        written = as_written(classifier, drawn)
        found = classifier.logits(drawn)
        torch.testing.assert_close(found, written, rtol=64 * torch.finfo(dtype).eps, atol=64 * torch.finfo(dtype).eps)
        assert written.std(dim=0).min() > 1e-4  # a constant would agree with anything
        assert torch.equal(written.argmax(dim=-1), found.argmax(dim=-1))
        assert made == [used]
        made.clear()


def as_written(classifier, drawn):
    classifier.model.eval()
    with torch.inference_mode():
        return classifier.logits_from(classifier.inputs(drawn), len(drawn), drawn.frame.n_nodes)


@pytest.mark.parametrize("layer", KNOWN)
@pytest.mark.parametrize("directed", [False, True])
def test_logits_are_those_of_the_layers_as_they_are_written(layer, directed, made):
    module, clean = Net(layer), graph(directed=directed)
    if layer == "lazy gcn":
        as_written(from_pyg(module, n_classes=3), copies(clean, 1))
    check(module, clean, made, 2)
    lonely = copies(sc.Graph(3, [], node_data={"x": np.eye(3, 4, dtype=np.float32)}), 8, sc.Noise(all=0.0))
    classifier = from_pyg(module.float(), n_classes=3)
    torch.testing.assert_close(classifier.logits(lonely), as_written(classifier, lonely))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_matrices_are_those_of_pyg_to_the_bit(dtype):
    edge_index = torch.tensor([[0, 1, 2, 0, 3, 4, 2], [1, 0, 0, 2, 1, 1, 4]])
    edges = DrawnEdges(edge_index, 6, dtype)
    expected = torch.zeros(6, 6, dtype=dtype)
    expected[edge_index[1], edge_index[0]] = 1
    assert torch.equal(edges.matrix.to_dense(), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        normalised, _ = gcn_norm(edges.matrix, None, 6, dtype=dtype)
    assert torch.equal(edges.normalised.to_dense(), normalised.to_dense())


def test_features_of_each_copy(made):
    check(Net(), graph(), made, 2, features=sc.classifiers.features.one_hot_degree(3))


class Twice(Net):
    """One layer, used twice, on edges that nothing was dropped from."""

    def forward(self, x, edge_index, batch):
        edge_index, _ = dropout_edge(edge_index, training=self.training)
        x = self.convs[0](x, edge_index).tanh()
        for _ in range(2):
            x = x + self.convs[1](x, edge_index, None).tanh()
        return self.linear(self.pool(x, batch))


class Looks(Net):
    """It does something of its own with the edges, negative indices too."""

    def forward(self, x, edge_index, batch):
        x = x + degree(edge_index[0], len(x), x.dtype).view(-1, 1)
        h = self.convs[1](self.convs[0](x, edge_index).relu(), edge_index)
        rows = h[edge_index[0] - len(x)]
        h = h.index_add(0, edge_index[1], rows.to(h.dtype))
        return self.linear(self.pool(h, batch))


class Mixed(Net):
    """A layer in between that is not known, and adds loops to its edges."""

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


class Hidden(Net):
    """It holds its layers where no table of modules is."""

    def __init__(self) -> None:
        super().__init__("gcn")
        self.held = [self.convs[0]]

    def forward(self, x, edge_index, batch):
        return self.linear(self.pool(self.convs[1](self.held[0](x, edge_index), edge_index), batch))


@pytest.mark.parametrize(
    ("make", "used"),
    [
        (Twice, 3),
        (Mixed, 2),
        (Looks, 2),
        (Hidden, 1),
        (lambda: Ready(pyg.GIN), 3),
        (lambda: Ready(pyg.GraphSAGE), 3),
    ],
)
def test_whatever_a_module_does_between_its_layers(make, used, made):
    check(make(), graph(), made, used)


class Overwrites(Net):
    """After its first layer it overwrites, in a rare case, what the second receives, unseen by torch's functions."""

    def __init__(self, what: str) -> None:
        super().__init__("gin")
        self.what = what

    def forward(self, x, edge_index, batch):
        h = self.convs[0](x, edge_index).relu()
        taken = h[edge_index[0]]
        if edge_index.shape[1] % 2 == 0:  # as many as there are in undirected graphs
            given = {"rows": h, "edges": edge_index}[self.what]
            given.numpy()[...] = given.numpy()[:, ::-1].copy()
        h = self.convs[1](h, edge_index).index_add(0, edge_index[1], taken)
        return self.linear(self.pool(h, batch))


@pytest.mark.parametrize(("what", "used"), [("rows", 2), ("edges", 1)])
def test_inputs_that_are_overwritten(what, used, made):
    check(Overwrites(what), graph(), made, used)


class OwnGCN(pyg.GCNConv):
    def message(self, x_j, edge_weight):
        return 2 * super().message(x_j, edge_weight)


def with_hook(name: str):
    def make(a, b):
        conv = pyg.GCNConv(a, b)
        if name == "message":
            conv.register_message_forward_hook(lambda conv, given, out: 2 * out)
        else:
            place = conv.aggr_module if name == "aggregation" else conv
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


def with_aggregation(a, b):
    class Twice(SumAggregation):
        def forward(self, *args, **named):
            return 2 * super().forward(*args, **named)

    conv = pyg.GCNConv(a, b)
    conv.aggr_module = Twice()
    return conv


UNKNOWN = {
    "derived": OwnGCN,
    "hook": with_hook("layer"),
    "hook of messages": with_hook("message"),
    "hook of aggregation": with_hook("aggregation"),
    "method": with_method,
    "aggregation": with_aggregation,
    "explained": explained,
    "improved": lambda a, b: pyg.GCNConv(a, b, improved=True),
    "no loops": lambda a, b: pyg.GCNConv(a, b, add_self_loops=False),
    "not normalised": lambda a, b: pyg.GCNConv(a, b, normalize=False),
    "reversed": lambda a, b: pyg.GCNConv(a, b, flow="target_to_source"),
    "largest": lambda a, b: pyg.GCNConv(a, b, aggr="max"),
    "gin of means": lambda a, b: pyg.GINConv(mlp(a, b), aggr="mean"),
    "sage of the largest": lambda a, b: pyg.SAGEConv(a, b, aggr="max"),
    "sage of several": lambda a, b: pyg.SAGEConv(a, b, aggr=["mean", "max"]),
    "decomposed": lambda a, b: pyg.GCNConv(a, b, decomposed_layers=2),
    "attention": pyg.GATConv,
    "tag": pyg.TAGConv,
    "cheb": lambda a, b: pyg.ChebConv(a, b, K=2),
}


@pytest.mark.parametrize("layer", UNKNOWN)
def test_other_layers_answer_themselves(layer):
    module, drawn = Net(UNKNOWN[layer]).eval(), copies(graph(directed=True))
    assert not any(is_known(conv) for conv in module.convs)
    classifier = from_pyg(module.double(), n_classes=3)
    torch.testing.assert_close(classifier.logits(drawn), as_written(classifier, drawn))


def test_a_layer_that_keeps_edges_is_not_known():
    assert not is_known(pyg.GCNConv(4, 16, cached=True).eval())
    conv = pyg.GCNConv(4, 16).eval()
    conv._cached_edge_index = (torch.zeros((2, 0), dtype=torch.int64), torch.zeros(0))
    assert not is_known(conv)


@pytest.mark.parametrize("wrap", [lambda f: f, torch.no_grad(), functools.wraps(pyg.GCNConv.message)])
@pytest.mark.parametrize(("kind", "name"), [(pyg.GCNConv, "message"), (nn.Module, "eval")])
def test_a_class_that_was_changed_is_not_known(kind, name, wrap, monkeypatch):
    written, conv = getattr(kind, name), pyg.GCNConv(2, 2).eval()
    assert is_known(conv)
    monkeypatch.setattr(kind, name, wrap(lambda *args, **named: 2 * written(*args, **named)))
    assert not is_known(conv)
    monkeypatch.undo()
    assert is_known(conv)


def test_aggregations_of_a_class_that_was_changed(monkeypatch):
    monkeypatch.setattr(SumAggregation, "reduce", lambda self, x, *_, **__: x)
    assert not is_known(pyg.GINConv(nn.Identity()).eval())


def test_hooks_of_all_modules_see_the_layers_as_they_are(made):
    seen = []
    handle = register_module_forward_hook(lambda module, given, out: seen.append(type(module).__name__))
    try:
        assert sum(map(len, global_hooks())) == 1
        from_pyg(Net(), n_classes=3).logits(copies(graph()))
    finally:
        handle.remove()
    assert made == []
    assert "SumAggregation" in seen
    assert global_hooks() == ((), ())


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
            x = x.tanh()
        return self.linear(self.pool(x, batch))


@pytest.mark.parametrize("how", ["weight", "others", "two", "more"])
def test_layers_that_are_called_otherwise_answer_themselves(how, made):
    check(Called(how), graph(directed=True), made, 0)


def test_fewer_digits_are_not_ours_to_choose(made):
    classifier, drawn = from_pyg(Net(), n_classes=3), copies(graph())
    with torch.autocast("cpu", torch.bfloat16):
        classifier.logits(drawn)
    assert not made


def test_a_module_that_is_compiled_runs_as_it_is(made):
    classifier, drawn = from_pyg(torch.compile(Net(), backend="eager"), n_classes=3), copies(graph())
    torch.testing.assert_close(classifier.logits(drawn), as_written(from_pyg(Net(), n_classes=3), drawn))


def test_a_compiled_module_has_the_identity_of_what_it_computes():
    """It is that of the module it was made from, with hooks around it and functions in its place."""
    plain = Net().eval()
    compiled = torch.compile(plain, backend="eager")
    before, written = identity(compiled), identity(plain)
    assert identity(torch.compile(Net().eval(), backend="eager")) == before
    from_pyg(compiled, n_classes=3).logits(copies(graph()))
    assert identity(compiled) == before
    handle = compiled.register_forward_hook(lambda module, inputs, output: -output)
    assert identity(compiled) != before
    handle.remove()
    assert identity(compiled) == before
    compiled.forward = lambda x, edge_index, batch: x  # of the caller's own, in the place of the compiled one
    assert identity(compiled) != before
    plain.compile(backend="eager")
    from_pyg(plain, n_classes=3).logits(copies(graph()))
    assert identity(plain) == written
    with torch.no_grad():
        plain.linear.weight[0, 0] += 1
    assert identity(torch.compile(plain, backend="eager")) != before


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_features_that_are_not_finite(bad):
    """0 · ∞ is no number: a product with zeros would spread it to nodes that it does not reach."""

    class Finite(Net):
        def forward(self, x, edge_index, batch):
            return self.linear(self.pool(self.convs[0](x, edge_index).nan_to_num(0.0, 1.0, -1.0), batch))

    x = np.array(graph().node_data["x"])
    x[3, 1] = bad
    clean = sc.Graph(11, [(i, i + 1) for i in range(10)], node_data={"x": x})
    classifier, drawn = from_pyg(Finite("gin"), n_classes=3), copies(clean)
    written = as_written(classifier, drawn)
    assert written.isfinite().all()
    torch.testing.assert_close(classifier.logits(drawn), written)
    np.testing.assert_array_equal(classifier.classify(drawn), written.argmax(dim=1))


@pytest.mark.parametrize(("layer", "name"), [("gin", "matrix"), ("gcn", "normalised")])
def test_a_wrong_matrix_is_found_by_asking_copies_alone(layer, name, monkeypatch):
    right = getattr(DrawnEdges, name).func
    monkeypatch.setattr(DrawnEdges, name, property(lambda edges: 2 * right(edges)))
    smoothed = sc.SmoothedClassifier(from_pyg(Net(layer), n_classes=3), NOISE)
    with pytest.raises(sc.ClassifierError, match="alone"):
        smoothed.vote([graph()], samples=500, seed=1)


def test_a_copy_alone_is_asked_as_the_module_is_written(made):
    from_pyg(Net(), n_classes=3).logits(copies(graph(), 1))
    assert not made


class Learns(Net):
    """It holds something that changes its answers."""

    factor = 1.0

    def forward(self, x, edge_index, batch):
        return self.factor * super().forward(x, edge_index, batch)


def test_the_model_may_be_changed_after_it_was_wrapped(made):
    module, drawn = Learns(), copies(graph())
    classifier = from_pyg(module, n_classes=3)
    first = classifier.logits(drawn)
    with torch.no_grad():
        module.convs[0].lin.weight.mul_(2)
    module.factor = 3.0
    module.convs[1] = pyg.GINConv(nn.Linear(16, 16))
    found = classifier.logits(drawn)
    torch.testing.assert_close(found, as_written(classifier, drawn))
    assert (found - first).abs().max() > 0.1
    module.convs[0].register_forward_hook(lambda layer, given, out: -out)
    torch.testing.assert_close(classifier.logits(drawn), as_written(classifier, drawn))


def test_the_module_does_not_notice():
    class Copied(Net):
        def forward(self, x, edge_index, batch):
            assert isinstance(self.convs[0], pyg.GCNConv)
            copy.deepcopy(self.linear)
            return super().forward(x, edge_index, batch)

    module = Copied().eval()
    before = identity(module), [id(each) for each in module.modules()]
    from_pyg(module, n_classes=3).logits(copies(graph()))
    assert (identity(module), [id(each) for each in module.modules()]) == before


def test_what_a_shadow_cannot_do_is_done_as_it_is_written(made):
    class Strict(Net):
        def forward(self, x, edge_index, batch):
            if any(type(conv) is not pyg.GCNConv for conv in self.convs):
                raise TypeError("these are not my layers")
            return super().forward(x, edge_index, batch)

    check(Strict(), graph(), made, 0)


def test_threads_that_ask_the_same_module():
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


def test_new_layers_leave_the_generator_alone():
    conv = pyg.SAGEConv(4, 16)
    layers._new_layers.cache_clear()
    state = torch.get_rng_state()
    assert is_known(conv)
    assert torch.equal(torch.get_rng_state(), state)


def test_votes_are_those_of_the_plain_way(monkeypatch):
    clean = graph(20)
    module = Net("sage")
    with torch.no_grad():  # so that no class wins always
        module.linear.bias -= from_pyg(module, n_classes=3).logits(copies(clean, 200)).median(dim=0).values
    smoothed = sc.SmoothedClassifier(from_pyg(module, n_classes=3), NOISE)
    votes = smoothed.vote([clean], samples=2_000, seed=1)
    monkeypatch.setattr("starcert.classifiers.torch.graphs.with_stand_ins", lambda module, _: module)
    np.testing.assert_array_equal(votes.counts, smoothed.vote([clean], samples=2_000, seed=1).counts)
    assert votes.counts.max() < 1_500
