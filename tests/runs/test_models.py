import sys
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.classifiers import Classifier
from starcert.datasets import Dataset
from starcert.datasets.parts import part_of
from starcert.runs.inputs import RunInputs, aligned, clean_answers
from starcert.runs.models import as_classifier, call_model
from starcert.runs.user_code import Reference, UserCodeError
from starcert.system.errors import ClassifierError, InvalidParameterError, StarcertError


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def make_data(n_classes=2, width=3):
    shapes = [nx.cycle_graph(6), nx.complete_graph(6), nx.star_graph(5)]
    graphs = [sc.Graph.from_networkx(shapes[i % n_classes]) for i in range(6)]
    graphs = [sc.Graph(g.n_nodes, g.edges, node_data={"x": np.eye(6, width, dtype=np.float32)}) for g in graphs]
    names = tuple(f"g{i}" for i in range(6))
    return Dataset(
        tuple(graphs), tuple(i % n_classes for i in range(6)), names=names, label_names=tuple("abc"[:n_classes])
    )


def made(folder, text, data, *, device=None, train=None, validation=None):
    (folder / "code.py").write_text(text)
    reference = Reference(folder / "code.py", "f")
    offered = RunInputs(None, data, train, validation, data).offered(device or "cpu", None)
    model = call_model(reference, offered)
    return as_classifier(model, reference, data, device), reference


def answers(classifier, reference, data):
    sites = [sc.Partition.everything("all").sites(graph) for graph in data.graphs]
    return clean_answers(classifier, reference, data, sites)


DENSE = "lambda graph: int(graph.number_of_edges() > 10)"


@pytest.mark.parametrize(
    "text",
    [
        f"def f(): return {DENSE}",
        f"import starcert as sc\ndef f(): return sc.classifiers.from_callable({DENSE})",
        f"import starcert as sc\nf = sc.classifiers.from_callable({DENSE})",
        f"def f(device, data):\n    assert (device, len(data)) == ('cpu', 6)\n    return {DENSE}",
        f"def f(threshold=10, *more, **others):\n    return {DENSE}",
        "class Dense:\n    def __call__(self, graph): return int(graph.size() > 10)\ndef f(): return Dense()",
    ],
)
def test_functions_and_classifiers(tmp_path, text):
    data = make_data()
    classifier, reference = made(tmp_path, text, data)
    assert classifier.n_classes == 2
    assert answers(classifier, reference, data) == [0, 1, 0, 1, 0, 1]


def test_a_plain_function_is_described_by_its_whole_file(tmp_path):
    one, _ = made(tmp_path, "limit = 1\ndef f(): return g\ndef g(graph): return limit", make_data())
    other, _ = made(tmp_path, "limit = 0\ndef f(): return g\ndef g(graph): return limit", make_data())
    assert one.description.startswith("g of code.py ")
    assert one.description != other.description


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    w = np.load(FILE)\n    return lambda graph: int(w[5_000])",
        "def f():\n    w = np.load(FILE)\n    return functools.partial(g, w)\ndef g(w, graph): return int(w[5_000])",
        "class C:\n    def m(self, graph): return int(self.w[5_000])\n"
        "def f():\n    c = C()\n    c.w = np.load(FILE)\n    return c.m",
        "class C:\n    def __call__(self, graph): return int(self.w[5_000])\n"
        "def f():\n    c = C()\n    c.w = np.load(FILE)\n    return c",
    ],
    ids=["closure", "partial", "method", "object"],
)
def test_a_plain_function_is_described_by_what_it_holds_too(tmp_path, text):
    file = tmp_path / "weights.npy"
    text = f"import functools\nimport numpy as np\nFILE = {str(file)!r}\n" + text
    descriptions = []
    for weight in (0, 1, 0):
        np.save(file, np.where(np.arange(10_000) == 5_000, weight, 0))
        descriptions.append(made(tmp_path, text, make_data())[0].description)
    assert descriptions[0] == descriptions[2] != descriptions[1]


def test_a_plain_function_that_holds_what_cannot_be_told_is_to_be_named(tmp_path):
    text = "import threading\ndef f():\n    lock = threading.Lock()\n    return lambda graph: lock.locked()"
    with pytest.raises(InvalidParameterError, match=r"lock, in the function .*f return .*description=…"):
        made(tmp_path, text, make_data())


def test_training_data_are_given_to_who_asks(tmp_path):
    data = make_data()
    text = "def f(train):\n    n = len(train)\n    return lambda graph: n % 2"
    classifier, reference = made(tmp_path, text, data, train=data[:3])
    assert answers(classifier, reference, data) == [1] * 6
    with pytest.raises(InvalidParameterError, match=r"'split' must be test for code\.py:f, which asks"):
        made(tmp_path, text, data)


def test_validation_data_are_given_to_who_asks(tmp_path):
    data = make_data()
    text = "def f(validation, train):\n    n = 10 * len(train) + len(validation)\n    return lambda graph: int(n == 42)"
    classifier, reference = made(tmp_path, text, data, train=data[:4], validation=data[:2])
    assert answers(classifier, reference, data) == [1] * 6
    alone = "def f(validation):\n    return lambda graph: 0"
    with pytest.raises(
        InvalidParameterError, match=r"'split' must be test for code\.py:f, .*the 10% for validation, and"
    ):
        made(tmp_path, alone, data)
    with pytest.raises(
        InvalidParameterError, match=r"'data' must have a graph for the validation part.*'6 graphs'.*--sp"
    ):
        made(tmp_path, alone, data, train=data)
    own = replace(data, parts=("train", "test") * 3)
    with pytest.raises(InvalidParameterError, match=r"'splits' must have a validation part for code\.py:f, which asks"):
        made(tmp_path, alone, own, train=part_of(own, "train", 0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(graph): return 0", "If it is itself the classifier of a graph, return it: def classifier(): return f."),
        ("def f(): pass", "f returned None"),
        ("def f(): return 7", "'model' must return a starcert classifier"),
        ("def f(): return int", "'model' must return a starcert classifier"),
        ("def f():\n    return 1 / 0", "line 2: ZeroDivisionError"),
        ("def f():\n    open('nothing.pt')", "line 2: FileNotFoundError"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, text, words):
    with pytest.raises(StarcertError) as caught:
        made(tmp_path, text, make_data())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_function_needs_to_know_how_many_classes_there_are(tmp_path):
    data = replace(make_data(), labels=None, label_names=())
    with pytest.raises(InvalidParameterError, match=r"from_callable\(function, n_classes=…\)"):
        made(tmp_path, "def f(): return lambda graph: 0", data)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 1 / (graph.number_of_nodes() - 6)", "line 3) cannot answer graph 'g0': ZeroDivisionError"),
        ("return 2", "it answered 2; a class is a whole number from 0 to 1"),
        ("return 2", "in the order of the class names: 0 = a, 1 = b; or the name, as text."),
        ("return 'z'", "it answered 'z'; the classes are 0 = a, 1 = b"),
        ("return graph.nodes[0]['colour']", "KeyError: 'colour'. The graph has 6 nodes and the node data: x (6 × 3)."),
    ],
)
def test_a_model_that_cannot_answer_is_found_out_on_clean_graphs(tmp_path, body, words):
    data = make_data()
    classifier, reference = made(tmp_path, f"def f(): return g\ndef g(graph):\n    {body}", data)
    with pytest.raises(ClassifierError) as caught:
        answers(classifier, reference, data)
    assert words in str(caught.value)
    assert "from_pyg" not in str(caught.value)  # there is no torch here


def test_a_device_is_for_torch_modules(tmp_path):
    with pytest.raises(InvalidParameterError, match="'device' must be cpu for a"):
        made(tmp_path, f"def f(): return {DENSE}", make_data(), device="cuda")


class TestTorch:
    MODULE = """
import torch
from torch_geometric.nn import GCNConv, global_add_pool
class Net(torch.nn.Module):
    def __init__(self, width=3, classes=2):
        super().__init__()
        self.conv, self.linear = GCNConv(width, 8), torch.nn.Linear(8, classes)
    def forward(self, x, edge_index, batch):
        return self.linear(global_add_pool(self.conv(x, edge_index).relu(), batch))
class Nodes(Net):
    def forward(self, x, edge_index, batch):
        return self.linear(self.conv(x, edge_index))
class OfData(Net):
    def forward(self, data):
        return super().forward(data.x, data.edge_index, data.batch)
class Unpooled(Net):
    def forward(self, x, ei):
        return x
class Dense(torch.nn.Module):
    def forward(self, x, adjacency):
        edges = adjacency.sum(dim=(1, 2)) / 2
        return torch.stack([10.5 - edges, edges - 10.5], dim=1)
"""

    @pytest.fixture(autouse=True)
    def _needs_torch(self):
        pytest.importorskip("torch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pytest.importorskip("torch_geometric")

    def test_one_logit_is_two_classes(self, tmp_path):
        data = make_data()
        classifier, reference = made(tmp_path, self.MODULE + "def f(): return Net(3, 1)", data)
        assert (classifier.n_classes, len(answers(classifier, reference, data))) == (2, 6)

    def test_a_pyg_module_knows_its_own_number_of_classes(self, tmp_path):
        import torch  # noqa: PLC0415

        data = make_data()
        classifier, reference = made(tmp_path, self.MODULE + "def f(): torch.manual_seed(0); return Net(3, 4)", data)
        assert classifier.n_classes == 4
        expected = []
        for graph in data.graphs:
            edge_index = torch.tensor(np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.copy())
            x = torch.tensor(graph.node_data["x"])
            with torch.inference_mode():
                expected.append(int(classifier.model(x, edge_index, torch.zeros(6, dtype=torch.long)).argmax()))
        assert answers(classifier, reference, data) == expected

    def test_a_module_on_dense_adjacency(self, tmp_path):
        data = make_data()
        classifier, reference = made(tmp_path, self.MODULE + "def f(): return Dense()", data)
        assert classifier.dense
        assert answers(classifier, reference, data) == [0, 1, 0, 1, 0, 1]

    def test_starcerts_own_gcn_runs_dense_where_graphs_are_small(self, tmp_path):
        text = "import starcert as sc\ndef f(): return sc.models.GCN(3, 2)"
        classifier, _ = made(tmp_path, text, make_data())
        assert classifier.dense
        large = sc.Graph(200, [], node_data={"x": np.zeros((200, 3), dtype=np.float32)})
        classifier, _ = made(tmp_path, text, Dataset((large,), names=("large",)))
        assert not classifier.dense

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            ("Net(7)", "cannot answer graph 'g0': RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
            ("Net(7)", "the node data: x (6 × 3). If the model expects other features"),
            ("Nodes()", "'model' must return logits of shape (graphs, classes). Got (12, 2) instead."),
            ("Unpooled()", "Got 'forward(x, ei)' instead. Say what ei is: arguments={'ei': 'edge_index'}"),
        ],
    )
    def test_modules_that_do_not_fit_are_told_why(self, tmp_path, model, words):
        with pytest.raises(StarcertError) as caught:
            made(tmp_path, self.MODULE + f"def f(): return {model}", make_data())
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_data_without_features_are_told_what_they_have(self, tmp_path):
        bare = Dataset((sc.Graph(3, [], node_data={"part": ["a", "b", "c"]}),), names=("bare",))
        with pytest.raises(StarcertError, match=r"the graph has no node data 'x'; it has \['part'\]"):
            made(tmp_path, self.MODULE + "def f(): return Net()", bare)

    def test_a_device_that_is_not_there(self, tmp_path):
        import torch  # noqa: PLC0415

        if torch.cuda.is_available():
            pytest.skip("there is one")
        with pytest.raises(
            InvalidParameterError, match=r"'device' must be one that torch can use here.*--device cpu, .* a GPU"
        ):
            made(tmp_path, self.MODULE + "def f(): return Net()", make_data(), device="cuda")


class TestSklearn:
    @pytest.fixture(autouse=True)
    def _needs_sklearn(self):
        pytest.importorskip("sklearn")
        pytest.importorskip("grakel")

    TEXT = "import starcert as sc\ndef f(data): return sc.models.vertex_histogram_svm().fit(data.graphs, {labels})"

    def test_an_estimator_of_three_classes(self, tmp_path):
        data = make_data(3)
        classifier, reference = made(tmp_path, self.TEXT.format(labels="data.labels"), data)
        assert (classifier.n_classes, answers(classifier, reference, data)) == (3, [0, 1, 2, 0, 1, 2])

    def test_classes_go_by_their_names(self, tmp_path):
        data = make_data(3)
        classifier, reference = made(tmp_path, self.TEXT.format(labels="['c', 'b', 'a', 'c', 'b', 'a']"), data)
        own = aligned(replace(data, label_names=("c", "b", "a")), classifier)
        assert own.class_names == ("a", "b", "c")
        assert list(own.labels) == answers(classifier, reference, own) == [2, 1, 0, 2, 1, 0]

    def test_one_that_is_not_fitted_is_refused(self, tmp_path):
        with pytest.raises(UserCodeError, match="'estimator' must be fitted"):
            made(tmp_path, "import starcert as sc\ndef f(): return sc.models.vertex_histogram_svm()", make_data())


class Fake(Classifier):
    description = "a fake"

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def classify(self, graphs):
        return [0] * len(graphs)


def test_names_are_answers_and_votes_know_them(tmp_path):
    text = "def f(): return g\ndef g(graph): return 'b' if graph.number_of_edges() > 6 else 'a'"
    classifier, reference = made(tmp_path, text, make_data())
    assert answers(classifier, reference, make_data()) == [0, 1, 0, 1, 0, 1]
    assert classifier.description.endswith(" answering a, b")
    turned = replace(make_data(), label_names=("b", "a"))
    again, _ = made(tmp_path, text, turned)
    assert answers(again, reference, turned) == [1, 0, 1, 0, 1, 0]
    assert again.description != classifier.description


def test_classes_in_another_order_are_noticed(tmp_path, capsys):
    def asked(text, data):
        classifier, reference = made(tmp_path, f"def f(): return g\ndef g(graph): return {text}", data)
        answers(classifier, reference, data)
        return capsys.readouterr().err

    edges = "graph.number_of_edges()"
    named = replace(make_data(3), label_names=("depot", "factory", "shop"))
    assert asked(f"{{6: 0, 15: 1, 5: 2}}[{edges}]", named) == ""
    assert asked("0", named) == ""
    assert asked(f"{{6: 0, 15: 2, 5: 1}}[{edges}]", named) == (
        "Note: the model mostly answers depot where it is depot, shop where it is factory, factory where it is shop: "
        "are its classes in another order? Its answers mean 0 = depot, 1 = factory, 2 = shop; starcert.classifiers "
        "takes class_names=[…] in the order of the model.\n"
    )
    assert "answers b where it is a, a where it is b" in asked(f"int({edges} < 7)", make_data())
    assert asked(f"int({edges} < 7)", replace(make_data(), labels=(None,) * 6)) == ""


def test_classes_of_data_and_model_must_agree():
    data = make_data(2)
    assert aligned(data, Fake(2)) is data
    assert aligned(replace(data, labels=None, label_names=()), Fake(3)).class_names == ("0", "1", "2")
    numbered = replace(data, label_names=("0", "1"), numbered=True)
    assert aligned(numbered, Fake(4)).class_names == ("0", "1", "2", "3")
    with pytest.raises(InvalidParameterError, match=r"have the 2 classes of the data, a, b.*class numbers from 0"):
        aligned(data, Fake(3))
    with pytest.raises(InvalidParameterError, match="have the 3 classes of the data"):
        aligned(make_data(3), Fake(2))
