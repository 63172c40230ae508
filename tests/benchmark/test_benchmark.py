"""Methods side by side: the same folds for all, what single graphs come to, the page, and results of others."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from msgspec.structs import asdict

import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")


from starcert.benchmark import methods, outcomes, run
from starcert.benchmark.data import DRAWN, core_and_rest, has_core
from starcert.benchmark.methods import METHODS, BenchmarkMethod, Blind, Fitted
from starcert.benchmark.networks import Networks
from starcert.benchmark.outcomes import Outcome, Result, Timed
from starcert.benchmark.results import Cell, lines_of
from starcert.benchmark.run import methods_of, parts_of, run_benchmark
from starcert.benchmark.settings import Benchmark
from starcert.objects.threats import AnyFlips

LITTLE = {
    "data": ("motif",), "folds": 1, "held": 4, "samples": 300, "own_samples": 100, "choosing_samples": 100,
    "max_attacks": 200, "drawn_epochs": 2, "hidden": 4, "drawn": 16, "drawn_graphs": 4,
    "threats": ("flips:3", "rewire:1"),
}  # fmt: skip
TINY = Benchmark(**LITTLE)
CHEAP = Benchmark(**LITTLE | {"models": ("gin", "gcn"), "methods": ("plain", "blind"), "threats": ("flips:1",)})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark") / "out"
    return folder, run_benchmark(TINY, folder, progress=False)


def test_every_method_answers_the_same_graphs(done):
    folder, lines = done
    parts = [folder / "parts" / f"{part.name}.json" for part in parts_of(TINY)]
    rows = [row for part in parts for row in json.loads(part.read_text())]
    names = [name for group in METHODS if group != "links" for name in [each.name for each in methods_of(TINY, group)]]
    assert [row["method"] for row in rows] == [name for name in names for _ in TINY.threats]
    assert all((row["numbers"], row["truth"]) == (rows[0]["numbers"], rows[0]["truth"]) for row in rows)
    for row in rows:
        assert len(row["tries"]) == (1 if row["method"] == "blind" else 3)
        assert row["chosen"] in row["tries"]
        assert (row["alpha"] is None) == row["method"].startswith(("blind", "plain", "hashed", "statistics"))
        assert row["forward_passes"] > 0
        for _, certified, broken in row["outcomes"]:
            assert broken is None or broken > certified
    shown = sorted(names, key="blind".__ne__)  # which is the first
    assert [(line.threat, line.method) for line in lines] == [(each, name) for each in TINY.threats for name in shown]


def test_exact_voting_certifies_whatever_counting_does(done):
    by_name = {line.method: line for line in done[1] if line.kind == "flips"}
    exact, counting = by_name["hashed, exact"], by_name["hashed, counting"]
    if exact.chosen == counting.chosen:
        assert all(a.certified >= b.certified for a, b in zip(exact.cells, counting.cells, strict=True))


def test_the_page_and_its_tables_say_the_same_and_no_time(done):
    folder, lines = done
    page, table = (folder / "index.html").read_text(), (folder / "benchmark.csv").read_text().splitlines()
    assert len(table) == 1 + sum(len(line.cells) for line in lines)
    assert page.count("data-curves=") == len(TINY.threats)
    assert all(f'<th scope="row">{line.method}</th>' in page and str(line.cells[1]) in page for line in lines)
    assert "seconds" not in page
    rows = [line[2:-2].split(" | ") for line in (folder / "benchmark.md").read_text().splitlines() if line[:2] == "| "]
    figures = [row for row in rows if row[0] not in ("method", "---")]
    assert figures == [[*line.texts().values()] for line in lines]


@pytest.mark.parametrize(
    ("delete", "threat", "largest"),
    [(0.5, "flips:3", 0), (0.5, "additions:2", 0), (0.5, "rewire:1", 0), (0.5, "deletions:3", None),
     (0.6, "flips:3", 1), (0.8, "flips:3", None), (0.8, "flips:5", 3)],
)  # fmt: skip
def test_a_method_speaks_of_what_its_noise_can_certify(delete, threat, largest):
    noise = sc.Noise(pairs=sc.Flip(delete=delete, add=0))
    votes = sc.Votes([[520, 480]] * 2, selection=[[9, 1]] * 2)
    found = sc.certify(sc.clopper_pearson(votes), noise, capacity=[(6, 20)] * 2)
    assert outcomes.speaks_to(found, [outcomes.outcome_of(one, threat) for one in found], threat) == largest


def test_a_method_that_was_asked_about_two_flips_says_nothing_of_three():
    found = sc.certify(sc.clopper_pearson(sc.Votes([[520, 480]], selection=[[9, 1]])), sc.Noise(pairs=0.1))
    asked, known = replace(found, threat=AnyFlips(2)), [Outcome(0, 0)]
    assert outcomes.speaks_to(found, known, "flips:3") is None
    assert [outcomes.speaks_to(asked, known, each) for each in ("flips:3", "flips:2", "rewire:2")] == [2, None, 1]
    assert outcomes.speaks_to(asked, [Outcome(0, 3)], "flips:3") is None


def test_a_killed_run_goes_on_to_the_same_files(tmp_path, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    lines = run_benchmark(CHEAP, whole, progress=False)
    assert [(line.method, line.model) for line in lines] == [
        ("blind", ""), ("plain, gin", "gin"), ("plain, gcn", "gcn")]  # fmt: skip
    judged, calls = run.judge, []

    def killed(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return judged(*arguments)

    monkeypatch.setattr(run, "judge", killed)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(CHEAP, cut, progress=False)
    assert len(list((cut / "parts").iterdir())) == 1
    run_benchmark(CHEAP, cut, progress=False)
    assert len(calls) == 4
    files = [path.relative_to(whole) for path in whole.rglob("*.*") if path.parent.name != "parts"]
    assert len(files) == 7
    for name in files:
        assert name.name == "timings.json" or (whole / name).read_bytes() == (cut / name).read_bytes(), name
    with pytest.raises(sc.InvalidParameterError, match="seed: there 1, now 2"):
        run_benchmark(Benchmark(**{**asdict(CHEAP), "seed": 2}), cut, progress=False)


def row(method, fold, found, threat="flips:3"):
    return {"data": "D", "objects": "graphs", "fold": fold, "method": method, "certifies": "", "threat": threat,
            "alpha": None,
            "asked": 2 if method == "plain" else None, "tries": {"a": 1, "b": 0}, "chosen": "a",
            "numbers": [100 * fold + place for place in range(len(found))],
            "truth": [1] * len(found), "outcomes": found,
            "model": "", "votes": 5, "forward_passes": 6}  # fmt: skip


def test_abstentions_are_wrong_and_gains_are_paired_fold_by_fold():
    found = [[1, 3, None], [None, 0, None], [0, 9, None], [1, 0, 1]] * 5
    blind = [row("blind", fold, [[fold, -1, None]] * 20) for fold in (0, 1)]
    _, line = lines_of([row("p_A", fold, found) for fold in (1, 0)] + blind)
    assert (line.right, line.abstained, line.blind, line.folds, line.graphs) == (0.5, 0.25, 0.5, 2, 40)
    assert (line.tries, line.chosen, line.votes, line.forward_passes) == (2, "a (2)", 10, 12)
    assert [(each.size, each.certified, each.broken, each.open) for each in line.cells] == [
        (0, 0.5, 0, 0), (1, 0.25, 0.25, 0), (2, 0.25, 0.25, 0), (3, 0.25, 0.25, 0)]  # fmt: skip
    # 5 graphs of fold 0 are gained, 15 of fold 1 are lost
    assert line.cells[1].gain == -0.25
    assert line.cells[1].low < -0.25 < line.cells[1].high
    # the same objects in both folds are counted once: half as many, and what they say twice is no more certain
    same = [each | {"numbers": [*range(20)]} for each in [row("p_A", fold, [[1, 1, None]] * 15 + [[0, 0, None]] * 5)
                                                          for fold in (0, 1)]]  # fmt: skip
    wise = [row("blind", fold, [[0, -1, None]] * 20) for fold in (0, 1)]
    (_, apart), (_, once) = (lines_of([each | {"data": data} for each in [*same, *wise]]) for data in ("motif", "D"))
    assert once.cells[1].gain == apart.cells[1].gain == 0.75
    assert once.cells[1].low == pytest.approx(0.75 - 1.96 * np.sqrt(0.75 * 0.25 / 20))
    (plain,) = lines_of([row("plain", 0, found)])
    assert [*plain.texts().values()] == ["plain", "50.0", "25.0", "25.0", "25.0", "–", ""]
    assert [each["certified"] for each in plain.rows()][3:5] == [None]
    assert plain.cells[3] == Cell(3)


def test_trying_attacks_on_a_plain_model_within_a_budget():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 6), n_classes=2)
    graphs = [sc.Graph.from_networkx(nx.cycle_graph(6)), sc.Graph(6, [(0, 1)]),
              sc.Graph.from_networkx(nx.complete_graph(6))]  # fmt: skip

    def tried(threat, most):
        found = outcomes.exact_result(base, graphs, threat, farthest=2, max_attacks=most)
        return [one[:3] for one in found.outcomes]

    assert tried("flips:10", 1_000) == [(0, 0, 1), (0, 2, None), (1, 2, None)]
    assert tried("deletions:10", 1_000) == [(0, 2, None), (0, 2, None), (1, 2, None)]
    assert tried("additions:10", 1_000) == [(0, 0, 1), (0, 2, None), (1, 2, None)]
    assert [certified for _, certified, _ in tried("flips:10", 100)] == [0, 1, 1]
    assert tried("deletions:1 | additions:1", 1_000) == [(0, 0, 1), (0, 1, None), (1, 1, None)]
    assert [tried("rewire:1", most)[0] for most in (100, 5)] == [(0, 1, None), (0, 0, None)]  # 54 ways to move an edge
    asked = [outcomes.exact_result(base, graphs[:1], "flips:2", farthest=2, max_attacks=most) for most in (120, 119, 1)]
    assert [(one.asked, one.outcomes[0].broken) for one in asked] == [(2, 1), (1, 1), (0, None)]


def test_an_outcome_is_what_the_certificate_proves():
    noise, bounds = sc.Noise(pairs=sc.Flip(delete=0.9, add=0)), sc.Bounds.certain([0.95, 0.75, 0.4])
    found = list(sc.certify(bounds, noise, capacity=[(20, 100)] * 3))

    def reach(threat):
        return [outcomes.outcome_of(one, threat)[:3] for one in found]

    # k added edges stay unseen with probability 0.9^k: 0.9^k · p > 1/2. For k deleted ones, 1 − p < 0.9^k / 2.
    assert reach("flips:10") == [(0, 6, None), (0, 3, None), (None, 0, None)]
    assert reach("deletions:10") == [(0, 10, None), (0, 6, None), (None, 0, None)]
    assert reach("additions:4") == [(0, 4, None), (0, 3, None), (None, 0, None)]
    for one, outcome in zip(found[:2], reach("rewire:9"), strict=False):
        assert one.certified((outcome[1],) * 2)
        assert not one.certified((outcome[1] + 1,) * 2)
    assert not outcomes.Outcome(None, 0).withstands(0)
    assert outcomes.Outcome(0, outcomes.ANY).withstands(1_000)


def test_noise_of_one_rate_does_not_tell_deletions_from_additions():
    (one,) = sc.certify(sc.Bounds.certain([0.95]), sc.Noise(pairs=0.2), capacity=[(50,)])
    flips, moved = (outcomes.outcome_of(one, threat) for threat in ("flips:9", "rewire:9"))
    assert flips == outcomes.outcome_of(one, "deletions:9") == outcomes.outcome_of(one, "additions:9")
    assert moved.certified == flips.certified // 2


def test_broken_levels_count_for_the_attacks_that_they_are():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 5), n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(pairs=sc.Flip(delete=0.01, add=0.001)))
    graphs = [sc.Graph.from_networkx(nx.cycle_graph(6))]
    (one,) = smoothed.certify(graphs, samples=2_000, seed=1, threat="flips:1", evidence=sc.Evidence(own_samples=2_000))
    found = {kind: outcomes.outcome_of(one, f"{kind}:1") for kind in outcomes.KINDS}
    assert [found[kind].state(1) for kind in ("flips", "deletions", "additions")] == ["broken", "broken", "certified"]
    assert found["rewire"].broken is None
    known = {"abstained": False, "label": 0, "asked": None, "verdicts": (), "noise": smoothed.noise, "max_radius": None}
    both = SimpleNamespace(**known, broken=[(1, 1), (3, 0)], certified=lambda _: False)
    assert [outcomes.outcome_of(both, f"{kind}:9").broken for kind in ("deletions", "additions")] == [3, None]


@pytest.mark.parametrize("core", [0.1, 0.45, sc.Flip(delete=0.4, add=0.1)])
def test_changes_in_several_regions_are_certified_however_they_are_divided(core):
    noise = sc.Noise(core=core, rest=0.15)
    (one,) = sc.certify(sc.Bounds.certain([0.97]), noise, capacity=[(6, 9, 12)[: len(noise.axes)]])
    fits = {kind: np.array([not axis.endswith(other) for axis in noise.axes])
            for kind, other in (("flips", "?"), ("deletions", ".add"), ("additions", ".delete"))}  # fmt: skip
    levels = list(np.ndindex(*(5,) * len(noise.axes)))
    for kind, axes in fits.items():
        failing = [sum(level) for level in levels if not np.any(np.array(level)[~axes]) and not one.certified(level)]
        assert 0 < min(failing) <= 4
        assert outcomes.outcome_of(one, f"{kind}:4")[:3] == (0, min(failing) - 1, None)
    single = np.eye(len(noise.axes), dtype=int)
    moved = [
        one.certified(tuple(map(int, a + b))) for a in single[fits["deletions"]] for b in single[fits["additions"]]
    ]
    assert outcomes.outcome_of(one, "rewire:1").certified == int(all(moved))


def test_regions_follow_from_labels_alone_and_hold_every_pair():
    x = np.eye(3, dtype=int)[[0, 1, 1, 2, 1]]
    graphs = [sc.Graph(5, edges, node_data={"x": x}) for edges in ([(0, 1)], [(1, 2), (2, 4)], [])]
    rule = core_and_rest(sc.datasets.Dataset(graphs, [0, 1, 0]))
    noise = sc.Noise(core=0.1, rest=0.2)
    for graph in graphs:
        problem = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda _: 0, n_classes=2), noise, rule).problem(
            [graph]
        )
        assert problem.anchored == ("",)
        assert problem.capacities == ((3, 7),)
    alone = sc.Graph(2, [], node_data={"x": np.eye(3, dtype=int)[[0, 1]]})
    assert sc.SmoothedClassifier(sc.classifiers.from_callable(lambda _: 0, n_classes=2), noise, rule).problem(
        [alone]
    ).capacities == ((0, 1),)
    for name in DRAWN:
        drawn = DRAWN[name](1, train=4, validation=2, test=2).train
        assert has_core(drawn)
        graph, rule = drawn.graphs[0], core_and_rest(drawn)
        sites = rule(graph).sites(graph)
        assert sites.n_sites == graph.n_nodes * (graph.n_nodes - 1) // (1 if graph.directed else 2)
        assert min(sites.sizes) > 0


class Renamed(Blind):
    """A method with a name that is taken."""


class Twice(BenchmarkMethod):
    name, certifies, trains = "twice", "a claim", False
    what = Outcome(0, 3, 2)

    def fit(self, train, validation, threat):
        return Fitted({"": 1}, "", 0, 0)

    def certify(self, objects, threat):
        return Result(threat, (self.what,) * len(objects), None)


def test_methods_of_ones_own_have_names_of_their_own_and_outcomes_that_fit(tmp_path, monkeypatch):
    place = str(Path(__file__))
    with pytest.raises(sc.InvalidParameterError, match="'blind', also starcert's own"):
        run_benchmark(Benchmark(**LITTLE | {"methods": (f"{place}:Renamed",)}), tmp_path / "a", progress=False)
    setting = Benchmark(**LITTLE | {"methods": (f"{place}:Twice",), "threats": ("flips:3",)})
    with pytest.raises(sc.StarcertError, match=r"test_benchmark\.py.*ValueError: outcome 0 is certified and broken at"):
        run_benchmark(setting, tmp_path / "b", progress=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outcomes": (Outcome(2, 1),)}, "the answer must be a class from 0 to 1"),
        ({"outcomes": (Outcome("1", 1),)}, "the answer must be a class"),
        ({"outcomes": (Outcome(0, 1.5),)}, "sizes must be whole numbers"),
        ({"outcomes": (Outcome(0, -3),)}, "sizes must be whole numbers"),
        ({"outcomes": (Outcome(0, outcomes.ANY, 4),)}, "is certified and broken at size 4"),
        ({"outcomes": ()}, "1 outcomes, one for each object, not 0"),
        ({"alpha": 2}, "alpha must be between 0 and 0.5"),
        ({"threat": "flips:2"}, "a Result about flips:3, not about 'flips:2'"),
    ],
)
def test_records_that_cannot_be_true_are_refused(given, message):
    fine = {"threat": "flips:3", "outcomes": (Outcome(0, 1, 2),), "alpha": None}
    Result(**fine).check("flips:3", 1, 2)
    with pytest.raises(ValueError, match=message):
        Result(**fine | given).check("flips:3", 1, 2)


def test_a_folder_is_not_continued_by_other_versions(tmp_path, monkeypatch):
    setting = Benchmark(**LITTLE | {"methods": ("blind",), "threats": ("flips:1",)})
    run_benchmark(setting, tmp_path / "out", progress=False)
    monkeypatch.setattr("starcert.benchmark.run.versions", lambda: {"starcert": "0.0"})
    with pytest.raises(sc.InvalidParameterError, match="versions: there"):
        run_benchmark(setting, tmp_path / "out", progress=False)


def test_methods_that_do_not_fit_the_data_are_named(tmp_path):
    setting = Benchmark(**LITTLE | {"methods": ("links",), "threats": ("flips:1",)})
    with pytest.raises(sc.StarcertError, match="No method fits the data and threats: links"):
        run_benchmark(setting, tmp_path / "out", progress=False)


def test_settings_come_from_a_file_and_options(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('data = ["motif", "arcs"]\nfolds = 2\nsamples = 500\n')
    setting = Benchmark.of(file, False, folds=3, seed=None)
    assert (setting.data, setting.folds, setting.samples, setting.seed) == (("motif", "arcs"), 3, 500, 1)
    assert Benchmark.of(None, True, data=["motif"]).folds == 1
    assert len({part.name for part in parts_of(setting)}) == 2 * 3 * len(METHODS)
    file.write_text("sampels = 5")
    with pytest.raises(sc.StarcertError, match="no setting 'sampels'"):
        Benchmark.of(file, False)
    for wrong in (
        {"data": ["motiv"]},
        {"methods": ["magic"]},
        {"threats": ["storms:1"]},
        {"folds": 11},
        {"models": ["svm"]},
        {"data": "motif"},
        {"nodes": "most"},
        {"chosen_for": [0]},
        {"seeds": ["one"]},
        {"models": 3},
        {"rates": {"two-way": [0.1, 0.2]}},
        {"rates": {"one-way": [[0.5, 1.5]]}},
        {"rates": {"hashed": [[0.5, 0]]}},
    ):
        with pytest.raises(sc.InvalidParameterError):
            Benchmark.of(None, False, **wrong)


class Fixed(methods.TriedMethod):
    """A method whose third try is best under one change, and whose first is under more."""

    name, certifies, trains = "fixed", "nothing", False
    settings, form = ((0.1, 0.1), (0.2, 0.2), (0.3, 0.3)), "{:g}/{:g}"

    def model(self, setting, train, validation):
        return Timed(setting, 1.0)

    def judge(self, model, objects, threat, *, choosing=False):
        size = 3 if model[0] < 0.15 else 1 if model[0] > 0.25 else 0
        answers = [number % 2 if model[0] > 0.25 or number else None for number in range(len(objects))]
        return outcomes.Result(threat, tuple(Outcome(each, size) for each in answers), None)


def test_validation_chooses_at_each_size_that_is_asked():
    data = sc.datasets.Dataset([sc.Graph(2, [])] * 3, [0, 1, 0])
    made = Fixed(Networks(Benchmark()))
    one, three = (made.fit(data, data, f"flips:{size}") for size in (1, 3))
    assert (one.chosen, one.train_seconds) == ("0.3/0.3", 3)
    assert dict(one.tries) == {"0.1/0.1": 0.6667, "0.2/0.2": 0, "0.3/0.3": 1}
    assert (three.chosen, dict(three.tries)["0.3/0.3"]) == ("0.1/0.1", 0)


NETWORK = """
from starcert.models import GCN

def shallow(columns, n_classes, *, hidden, layers):
    return GCN(columns, n_classes, hidden=hidden, layers=1)
"""
THREAT = """
def near(frame, u, v):
    return abs(u - v) == 1
"""


def test_studies_are_runs(tmp_path, monkeypatch):
    """Rates, seeds, several sizes to choose for, threats of any text and networks in files, all from one file."""
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("own/nets.py").write_text(NETWORK)
    Path("own/rules.py").write_text(THREAT)
    settings = {name: value for name, value in LITTLE.items() if name != "threats"} | {
        "graphs": "all", "models": ["nets.py:shallow"], "methods": ["two-way", "one-way", "plain", "hashed", "blind"],
        "threats": ["deletions:2", "local:2,per_node=1 & deletions:2", "where:1,name=rules.py:near"], "seeds": [1, 2],
        "chosen_for": [1, 2], "voters": [3], "folds": 1,
    }  # fmt: skip
    written = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    Path("own/run.toml").write_text("\n".join([*written, "rates.two-way = [[0.3, 0.1]]", "rates.one-way = [[0.5, 0]]"]))
    setting = Benchmark.of(Path("own/run.toml"), False)
    assert (setting.models, setting.threats[2]) == (("own/nets.py:shallow",), "where:1,name=own/rules.py:near")
    assert {*run.record_of(setting)["code"]} == {"own/nets.py:shallow", setting.threats[2]}
    lines = run_benchmark(setting, Path("out"), progress=False)
    names = {line.method for line in lines}
    assert {"p_A, one-way, for 1", "p_A, one-way, for 2", "evidence, for 2", "plain, for 1", "blind"} <= names
    assert {line.folds for line in lines} == {2}
    assert {line.graphs for line in lines} == {8}
    assert {line.chosen for line in lines if line.method == "p_A, one-way, for 1"} == {"0.5/0 (2)"}
    assert {line.model for line in lines} == {"", "shallow"}
    hashed = {line.threat for line in lines if line.method.startswith("hashed")}
    assert hashed == {"deletions:2"}  # it does not speak of threats that do not divide over groups
    by_name = {(line.threat, line.method): line for line in lines}
    for method, size in (("evidence, for 1", 2), ("plain, for 1", 1), ("evidence, fallback, for 1", 2)):
        whole, narrow = (by_name[threat, method] for threat in setting.threats[:2])
        if whole.chosen == narrow.chosen and whole.right == narrow.right:
            assert narrow.cells[size].certified >= whole.cells[size].certified  # fewer attacks
    page = Path("out/index.html").read_text()
    assert "motif: at most 2 flips, 1 at each node, and at most 2 deletions" in page
