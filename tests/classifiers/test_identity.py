"""Which classifier it is: by content, and the same in every process."""

import copy
import functools
import os
import pickle
import subprocess
import sys
import threading
import types
from pathlib import Path

import identity_worlds
import numpy as np
import pytest

from starcert.classifiers.identity import identity
from starcert.objects import Graph
from starcert.system.errors import InvalidParameterError

EVERYTHING = identity_worlds.everything()
SCRIPT = """
import identity_worlds
from starcert.classifiers.identity import identity
for name, value in identity_worlds.everything().items():
    print(name, identity(value), sep="=")
"""


def in_another_process(script: str, hash_seed: int) -> str:
    folder = Path(identity_worlds.__file__).parent
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "PYTHONHASHSEED": str(hash_seed),
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_it_is_the_same_in_every_process():
    there = dict(line.split("=") for line in in_another_process(SCRIPT, 1).splitlines())
    assert there == {name: identity(value) for name, value in EVERYTHING.items()}


def test_no_two_kinds_are_alike():
    assert len({identity(value) for value in EVERYTHING.values()}) == len(EVERYTHING)


@pytest.mark.parametrize("name", EVERYTHING)
def test_what_is_made_again_is_the_same(name):
    assert identity(identity_worlds.everything()[name]) == identity(EVERYTHING[name])


def test_copies_are_the_same_whether_or_not_they_share_their_parts():
    shared = [1, "two"]
    value = {"a": shared, "b": shared, "c": (identity_worlds.Threshold(shared), np.zeros(3))}
    apart = {"a": [1, "two"], "b": [1, "two"], "c": (identity_worlds.Threshold([1, "two"]), np.zeros(3))}
    for other in (apart, copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert identity(other) == identity(value)


def changed(before, after) -> bool:
    return identity(before) != identity(after)


LONG = np.zeros(10_000)
OTHER = LONG.copy()
OTHER[5_000] = 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, OTHER),
        ([LONG], [OTHER]),
        ({"weights": LONG}, {"weights": OTHER}),
        (np.array([LONG, None], dtype=object), np.array([OTHER, None], dtype=object)),
        (identity_worlds.Threshold(3), identity_worlds.Threshold(4)),
        (identity_worlds.Slots(3), identity_worlds.Slots(4)),
        tuple(Graph(2, [], node_data={"x": [identity_worlds.Slots(limit)] * 2}) for limit in (1, 2)),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        ([1], (1,)),
        ({"a": 0, "b": 1}, {"b": 1, "a": 0}),
        (np.zeros(2, dtype=np.float32), np.zeros(2, dtype=np.float64)),
        (np.ma.masked_array([1, 2], [False, True]), np.ma.masked_array([1, 2], [True, False])),
        (10**5000, 10**5000 + 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_function_closes_over_counts_by_value(one, other):
    assert not changed(one, copy.deepcopy(one))
    assert changed(one, other)
    assert changed(identity_worlds.above(one), identity_worlds.above(other))
    assert changed(functools.partial(identity_worlds.helper, one), functools.partial(identity_worlds.helper, other))


def test_a_bound_method_counts_with_its_object_and_an_object_with_its_methods():
    assert changed(identity_worlds.Threshold(3).edges, identity_worlds.Threshold(4).edges)
    assert changed(identity_worlds.Threshold(3), identity_worlds.Louder(3))
    assert changed(identity_worlds.Threshold(3).__call__, identity_worlds.Louder(3).__call__)


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("somebody_s_own")
    exec(source, vars(module))
    return module


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(g): return 0", "def f(g): return 1"),
        ("def f(g, limit=0): return limit", "def f(g, limit=1): return limit"),
        ("def f(g, *, limit=0): return limit", "def f(g, *, limit=1): return limit"),
        ("def f(g): return h(g)\ndef h(g): return 0", "def f(g): return h(g)\ndef h(g): return 1"),
        ("w = [0]\ndef f(g): return w[0]", "w = [1]\ndef f(g): return w[0]"),
        tuple(f"class C:\n  def m(self): return {answer}\ndef f(g): return C().m()" for answer in (0, 1)),
        ("class C:\n  n = 0\ndef f(g): return C.n", "class C:\n  n = 1\ndef f(g): return C.n"),
        ("def f(g): return f.n\nf.n = 0", "def f(g): return f.n\nf.n = 1"),
        ("def f(g): return (lambda: h())()\ndef h(): return 0", "def f(g): return (lambda: h())()\ndef h(): return 1"),
        ("from numpy import sin as h\ndef f(g): return h(g)", "from numpy import cos as h\ndef f(g): return h(g)"),
        ("import math as m\ndef f(g): return m.e", "import cmath as m\ndef f(g): return m.e"),
    ],
)
def test_the_globals_that_code_names_count(before, after):
    assert not changed(module_of(before).f, module_of(before).f)
    assert changed(module_of(before).f, module_of(after).f)


def test_globals_that_code_does_not_name_do_not_count():
    one, other = module_of("w = 0\ndef f(g): return g.w"), module_of("w = 1\nlock = w\ndef f(g): return g.w")
    assert not changed(one.f, other.f)


def test_a_module_of_ones_own_counts_by_its_file_and_those_that_its_names_come_from(tmp_path, monkeypatch):
    files = {
        "own_deep": "def h(g): return 0",
        "own_side": "w = 0",
        "own_model": "from own_deep import h\nimport own_side",
    }
    monkeypatch.syspath_prepend(tmp_path)
    for name, source in files.items():
        (tmp_path / f"{name}.py").write_text(source)
    function = module_of("import own_model as w\ndef f(g): return w.h(g) + w.own_side.w").f
    found = {identity(function)}
    for name, source in files.items():
        (tmp_path / f"{name}.py").write_text(f"{source}\nv = 1")
        found.add(identity(function))
    assert len(found) == 4
    assert identity(function) in found


def test_compiled_functions_count_by_what_was_compiled(monkeypatch):
    before = identity(identity_worlds.compiled)
    assert identity_worlds.compiled(2) == 5  # now it is compiled
    assert identity(identity_worlds.compiled) == before
    monkeypatch.setattr(identity_worlds, "LIMIT", 4)
    assert identity(identity_worlds.compiled) != before


def test_what_is_computed_from_the_rest_and_kept_does_not_count():
    one, tables = identity_worlds.Threshold(3), identity_worlds.Tables()
    before = identity(one), identity(tables), identity(identity_worlds.remembered)
    assert one.doubled + identity_worlds.remembered(2) == 11
    assert (tables.row[3], tables.itself["me"]) == (0, tables)
    assert (identity(one), identity(tables), identity(identity_worlds.remembered)) == before
    assert changed(identity_worlds.remembered, identity_worlds.row_of)


def test_networkx_graphs_are_the_same_before_and_after_use():
    graph = identity_worlds.nx.cycle_graph(5)
    before = identity(graph)
    assert (graph.degree[0], len(graph.edges), len(graph.nodes), graph.adj[0][1]) == (2, 5, 5, {})
    assert identity(graph) == before
    graph.adj[0][1]["weight"] = 2
    assert identity(graph) != before


def test_cycles_are_told_apart_by_what_is_on_them():
    def ring(*values):
        nodes = [{"value": value} for value in values]
        for one, following in zip(nodes, nodes[1:] + nodes[:1], strict=True):
            one["next"] = following
        return nodes[0]

    assert identity(ring(1, 2, 3)) == identity(ring(1, 2, 3))
    assert identity(ring(1, 1)) == identity(ring(1))  # nobody who walks along can tell
    different = [ring(1), ring(2), ring(1, 2), ring(2, 1), ring(1, 1, 2), ring(1, 2, 3), ring(1, 3, 2)]
    different += [ring(*[1] * 50, 2), ring(*[1] * 51, 2)]
    assert len({identity(each) for each in different}) == len(different)


def test_deep_values_need_no_deep_stack():
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    assert identity(deep) != identity(deep[0])


class Stubborn:
    def __reduce__(self):
        raise RuntimeError("not me")


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), (i for i in range(3)), sys.stdout, Stubborn(), sys._getframe()],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_told_is_to_be_named(value):
    kind = type(value).__qualname__
    with pytest.raises(InvalidParameterError, match=rf"class {kind}, in .*Threshold.*Give description=…"):
        identity(functools.partial(identity_worlds.above, identity_worlds.Threshold(value)))


def test_too_much_to_tell_is_to_be_named(monkeypatch):
    monkeypatch.setattr("starcert.classifiers.identity.MAX_PARTS", 1000)
    with pytest.raises(InvalidParameterError, match="more than 1,000 parts"):
        identity([[i] for i in range(2000)])


@pytest.fixture
def estimator():
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier(5, random_state=0)
    rng = np.random.default_rng(0)
    return forest.fit(rng.random((40, 3)), rng.integers(2, size=40))


def test_estimators_count_by_what_was_fitted(estimator):
    again = pickle.loads(pickle.dumps(estimator))
    assert not changed(estimator, again)
    again.estimators_[2].tree_.value[0] += 1
    assert changed(estimator, again)


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_neighbours_are_the_same_before_and_after_use(algorithm):
    neighbours = pytest.importorskip("sklearn.neighbors").KNeighborsClassifier(3, algorithm=algorithm)
    rng = np.random.default_rng(0)
    rows, labels = rng.random((60, 5)), rng.integers(2, size=60)
    before = identity(neighbours.fit(rows, labels))
    neighbours.predict(rows)
    assert identity(neighbours) == before
    rows[0] += 1
    assert identity(neighbours.fit(rows, labels)) != before


class TestTorch:
    @pytest.fixture(autouse=True)
    def _needs_torch(self):
        pytest.importorskip("torch")

    def test_modules_count_by_weights_code_hooks_and_attributes(self):
        import torch  # noqa: PLC0415

        def module(seed=0, **attributes):
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                made = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()
            vars(made).update(attributes)
            return made

        def hooked():
            made = module()
            made[0].register_forward_hook(lambda module, inputs, output: output + 1)
            return made

        assert not changed(module(), module())
        assert not changed(hooked(), hooked())
        others = [module(1), module(limit=1), module(limit=2), hooked(), module().train(), module().double()]
        running = module()
        running[1].running_mean += 1
        assert len({identity(each) for each in [module(), running, *others]}) == 8

    def test_hooks_of_all_modules_count(self):
        import torch  # noqa: PLC0415

        module = torch.nn.Linear(2, 2)
        before = identity(module), identity(module.forward), identity(3)
        register = torch.nn.modules.module
        found = []
        for add in (register.register_module_forward_hook, register.register_module_forward_pre_hook):
            for number in (1, 2):
                handle = add(lambda module, *inputs, number=number: number)
                found.append((identity(module), identity(module.forward), identity(3)))
                handle.remove()
        assert (identity(module), identity(module.forward), identity(3)) == before
        assert len({before, *found}) == 5
        assert len({each[0] for each in [before, *found]}) == 5

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool"])
    def test_tensors_count_by_bytes(self, dtype):
        import torch  # noqa: PLC0415

        one = torch.tensor([[0.0, 1.0], [0.0, 3.0]]).to(getattr(torch, dtype))
        assert not changed(one, one.T.contiguous().T)
        assert not changed(one, torch.nn.Parameter(one, requires_grad=False))
        assert changed(one, one.T)
        assert changed(one[0], one[0, 1])


def test_a_pyg_layer_does_not_tell_how_many_were_made_before():
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("torch_geometric.nn")

    def made(width: int) -> str:
        torch.manual_seed(0)
        return identity(nn.GINEConv(torch.nn.Linear(2, width), edge_dim=3))

    assert made(2) == made(2) != made(3)
