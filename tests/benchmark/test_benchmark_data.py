"""Data of a benchmark from files and functions, certificates that it keeps, and results of others that are proved."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from json_schemas import faults
from typer.testing import CliRunner

import schemas
import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

import torch

from starcert.benchmark import data as source
from starcert.benchmark import run
from starcert.benchmark.folds import apart_from, cut_of
from starcert.benchmark.outcomes import KINDS, outcome_of
from starcert.benchmark.run import Benchmark, run_benchmark
from starcert.benchmark.theirs import read_theirs
from starcert.benchmark.theirs_proofs import _reach
from starcert.benchmark.work import Work
from starcert.cli import app
from starcert.files import is_exact, verify, verify_exact

OWN = """
import starcert as sc

def ring(n, kind, number=0):
    edges = [(node, (node + 1) % n) for node in range(n - 1 + kind)]
    names = [f"{number}.{node}" for node in range(n)]  # no graph is there twice
    return sc.Graph(n, edges, nodes=names, edge_types=["a"] * len(edges), type_names=("a", "b"))

def twice():
    return [ring(5 + kind, kind) for kind in [0, 1] * 12], [0, 1] * 12

def rings():
    kinds = [number % 2 for number in range(24)]
    return [ring(5 + number % 4, kind, number) for number, kind in enumerate(kinds)], kinds

def data():
    graphs, kinds = rings()
    return sc.datasets.Dataset(graphs, kinds, label_names=("path", "ring"))

def third():
    graphs, kinds = rings()
    return [*graphs, ring(41, 1)], [*("ab"[kind] for kind in kinds), "c"]

def large():
    graphs, kinds = rings()
    return [*graphs, ring(41, 1)], [*kinds, 1]

def unknown():
    graphs, kinds = rings()
    return graphs, [None, *kinds[1:]]

def few():
    graphs, kinds = rings()
    return graphs[:10], kinds[:10]

def one_class():
    return rings()[0], [0] * 24

def mixed():
    graphs, kinds = rings()
    return [sc.Graph(3, [], directed=True), *graphs[1:]], kinds

def widths():
    graphs, kinds = rings()
    return [sc.Graph(3, [], node_data={"x": [[1.0]] * 3}), *graphs[1:]], kinds

def bits():
    return [sc.Bits([0, 1, 1])] * 24, rings()[1]
"""
LITTLE = {
    "data": ("own.py:rings",), "folds": 1, "graphs": 4, "held": 2, "samples": 200, "own_samples": 60,
    "choosing_samples": 60, "max_attacks": 60, "max_epochs": 2, "hidden": 4, "threats": ("flips:3", "deletions:2"),
    "methods": ("two-way", "one-way", "plain"), "certificates": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    (made / "own.py").write_text(OWN)
    return made


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


# Where data come from -----------------------------------------------------------------------------------------------


def test_a_function_gives_graphs_without_types_of_edges():
    found = source.data_of("own.py:rings")
    assert (len(found), found.of_nodes, found.graphs[0].type_names) == (24, False, ())
    assert source.notes_on(Work(), "own.py:rings") == [
        "Types and other data of edges are left out: noise and attacks are on node pairs."]  # fmt: skip
    assert source.data_of("own.py:data").labels.tolist() == found.labels.tolist()
    cut = cut_of(Work(graphs=2), "own.py:rings", 3)
    assert (len(cut.taught), len(cut.held), len(cut.tested)) == (19, 2, 2)
    assert all(graph is found.graphs[number] for graph, number in zip(cut.objects, cut.numbers, strict=True))


def test_graphs_that_choose_equal_none_that_is_tested():
    with pytest.raises(sc.StarcertError, match=r"own\.py:twice: all validation graphs of a fold equal a test graph"):
        cut_of(Work(), "own.py:twice", 0)
    one, other = sc.Graph(2, []), sc.Graph(3, [])
    tested, held = sc.datasets.Dataset([one], [0]), sc.datasets.Dataset([other, sc.Graph(2, [])], [1, 1])
    assert list(apart_from(tested, held, "D").graphs) == [other]


def test_large_graphs_are_left_out_and_counted():
    assert source.notes_on(Work(), "own.py:large")[1:] == [
        "1 of 25 graphs have more than 40 nodes (max_nodes): they are left out."]  # fmt: skip
    with pytest.raises(sc.StarcertError, match="24 of 24 graphs have more than 4 nodes"):
        source.notes_on(Work(max_nodes=4), "own.py:rings")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("unknown", "1 of 24 graphs have no class"),
        ("few", "class '0' has 5 graphs; the folds need 10 of each"),
        ("one_class", "its 24 graphs are of fewer than two classes"),
        ("mixed", "be graphs of one kind"),
        ("widths", "have one width of node data 'x'"),
        ("bits", "be graphs of one kind"),
    ],
)
def test_data_that_cannot_be_compared_on_are_refused_before_any_work(function, message, tmp_path):
    setting = Benchmark(**LITTLE | {"data": (f"own.py:{function}",)})
    with pytest.raises(sc.StarcertError, match=message):
        run_benchmark(setting, tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_files_of_tables_tensors_and_arrays():
    pytest.importorskip("rdkit")
    lines = [("C" * (2 + n % 5) + ("N" if n % 2 else "O"), "yes" if n % 2 else "no") for n in range(24)]
    Path("sub dir").mkdir()
    Path("sub dir/mols.csv").write_text("mol,active\n" + "\n".join(map(",".join, lines)))
    columns = {"smiles": "mol", "label": "active"}
    setting = Benchmark(data=("sub dir/mols.csv", "MUTAG"), columns=columns)
    assert source.data_of("sub dir/mols.csv", setting.columns).labels.tolist() == [n % 2 for n in range(24)]
    assert hash(setting) == hash(Benchmark(data=("sub dir/mols.csv", "MUTAG"), columns=columns))
    assert not source.is_of_nodes("sub dir/mols.csv", columns)
    with pytest.raises(sc.InvalidParameterError, match="be left out: no data have any"):
        Benchmark(data=("MUTAG", "own.py:rings"), columns=columns)

    links = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [{"edge_index": links, "num_nodes": 3, "y": torch.tensor([n % 2])} for n in range(20)]
    torch.save(graphs, "graphs.pt")
    assert source.data_of("graphs.pt").labels.tolist() == [0, 1] * 10
    classes = torch.tensor([0, 1, 1])
    torch.save([{"edge_index": links, "num_nodes": 3, "target": classes}], "nodes.pt")
    nodes = source.data_of("nodes.pt", {"label": "target"})
    assert (nodes.of_nodes, nodes.labels.tolist(), list(nodes.graph.node_data)) == (True, [0, 1, 1], [])


def test_an_npz_file_is_a_graph_whose_nodes_are_classified():
    n = 60
    at = np.arange(n)
    np.savez("cycle.npz", adj_data=np.ones(n), adj_indices=(at + 1) % n, adj_indptr=np.arange(n + 1), adj_shape=[n, n],
             attr_data=np.ones(n), attr_indices=at, attr_indptr=np.arange(n + 1), attr_shape=[n, n],
             labels=at % 2)  # fmt: skip
    assert source.is_of_nodes("cycle.npz")
    cut = cut_of(Work(of_a_class=5), "cycle.npz", 0)
    assert (len(cut.taught), len(cut.held), len(cut.tested)) == (10, 10, 40)
    with pytest.raises(sc.StarcertError, match="class '0' has 30 nodes; the folds need 41 of each"):
        source.notes_on(Work(), "cycle.npz")
    with pytest.raises(sc.InvalidParameterError, match="fit the data"):
        run_benchmark(Benchmark(data=("cycle.npz",), of_a_class=5, methods=("regions",)), Path("none"), progress=False)
    np.savez("bare.npz", **{name: each for name, each in np.load("cycle.npz").items() if "attr" not in name})
    with pytest.raises(sc.StarcertError, match="its nodes have no data x"):
        run_benchmark(Benchmark(data=("bare.npz",), of_a_class=5), Path("none"), progress=False)


def test_names_are_those_of_data_sets_first_and_nearest():
    assert source.source_of("MUTAG") == "MUTAG"
    for wrong, near in (("mutag", "MUTAG"), ("motiv", "motif"), ("cora-ml", "Cora-ML"), ("own.py:", "file")):
        with pytest.raises(sc.InvalidParameterError, match=near):
            Benchmark(data=(wrong,))
    with pytest.raises(sc.InvalidParameterError, match="names of their own"):
        Benchmark(data=("own.py:rings", "./own.py:rings"))


def test_paths_of_a_file_begin_at_its_folder(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "run.toml").write_text('data = ["mine.py:rings", "motif"]\nmethods = ["blind", "mine.py:ring"]')
    setting = Benchmark.of(tmp_path / "run.toml", False)
    assert setting.data == (str(tmp_path / "mine.py:rings"), "motif")
    assert setting.methods == ("blind", str(tmp_path / "mine.py:ring"))
    assert setting.record()["data"] == ["mine-rings", "motif"]


def test_data_that_change_are_refused(tmp_path, monkeypatch):
    shutil.copy("own.py", tmp_path / "own.py")
    monkeypatch.chdir(tmp_path)
    setting = Benchmark(**LITTLE | {"methods": ("blind",), "threats": ("flips:1",), "certificates": False})
    run_benchmark(setting, Path("out"), progress=False)
    with pytest.raises(sc.StarcertError, match="gives other data in another process"):
        run.judge(setting, "own.py:rings", 0, "blind", "gin", "another", None)
    (tmp_path / "own.py").write_text(OWN.replace("5 + number % 4", "6 + number % 4"))
    source._data_of.cache_clear()
    with pytest.raises(sc.InvalidParameterError, match="digests: there"):
        run_benchmark(setting, Path("out"), progress=False)
    source._data_of.cache_clear()


# Certificates that are kept, and results of others -------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder / "out", run_benchmark(Benchmark(**LITTLE), folder / "out", progress=False)


def written(folder, **given):
    path = folder / "theirs.json"
    path.write_text(json.dumps({"method": "M", "data": "own-rings"} | given))
    return path


def read(folder, **given):
    """What a file comes to on a page about the rings, and about `votes` of its own."""
    known = {
        "own-rings": source.classes_of(Work(), "own.py:rings"),
        "votes": source.Classes((0,) * 5, (), (), (10,) * 5),
    }
    return read_theirs(written(folder, **given), known)


def test_kept_certificates_are_proved_and_have_the_shares_of_the_table(done):
    out, lines = done
    files = sorted((out / "certificates").glob("*.json"))
    assert len(files) == len(lines) == 2 * 5
    for line in lines:
        name = source.file_name(f"own-rings-0-{line.method}-{line.threat}".replace(":", "-"))
        file = out / "certificates" / f"{name}.json"
        assert is_exact(file) is (line.method == "plain")
        verdict = "consistent" if is_exact(file) else "proved"
        assert (verify_exact(file) if is_exact(file) else verify(file)).verdict == verdict
        found = read(out, certificates=f"certificates/{file.name}", threat=line.kind)
        assert (found.standing, found.objects, found.threat) == (verdict, line.graphs, line.kind)
        ours = {int(cell.size): cell.certified for cell in line.cells if cell.certified is not None}
        ours[0] = line.right
        assert {size: found.certified[size] for size in ours} == ours, line.method


def test_a_page_shows_what_files_prove_and_what_is_stated(done, tmp_path):
    out, lines = done
    copy = shutil.copytree(out, tmp_path / "copy")
    plain = next(line for line in lines if line.method == "plain")
    names = f"{out}/certificates/own-rings-0-plain-flips-3.json"
    proved, stated = written(tmp_path, certificates=names, note="N"), tmp_path / "stated.json"
    stated.write_text(json.dumps({"method": "S", "data": "D", "objects": 9, "certified": {"1": 0.5}}))
    run_benchmark(Benchmark(**LITTLE), copy, theirs=[proved, stated], progress=False)
    page = (copy / "index.html").read_text()
    assert f"1: {100 * plain.cells[1].certified:.1f}%" in page
    assert page.count(">consistent</td>") == page.count(">as stated</td>") == 1
    assert ">proved</td>" not in page
    found = json.loads((copy / "benchmark.json").read_text())
    assert [each["objects"] for each in found["theirs"]] == [plain.graphs, 9]
    schema = json.loads((schemas.FOLDER / "benchmark.schema.json").read_text())
    assert faults(schema, found) == []
    assert faults(schema, found | {"lines": [{}]}) != []


def test_a_part_that_is_made_again_writes_the_same_bytes(done, tmp_path):
    out, _ = done
    copy = shutil.copytree(out, tmp_path / "copy")
    shutil.rmtree(copy / "certificates")
    for part in (copy / "parts").glob("*plain*"):
        part.unlink()
    run_benchmark(Benchmark(**LITTLE), copy, progress=False)
    made = list((copy / "certificates").iterdir())
    assert [each.name for each in made if "plain" not in each.name] == []
    assert all(each.read_bytes() == (out / "certificates" / each.name).read_bytes() for each in made)


def test_false_and_unfit_files_are_refused(done, tmp_path):
    file = tmp_path / "plain.json"
    kept = (done[0] / "certificates" / "own-rings-0-plain-flips-3.json").read_text()
    file.write_text(kept)
    with pytest.raises(sc.StarcertError, match=r'is about flips:2, not about deletions. Say "threat": "flips"'):
        read(tmp_path, certificates="plain.json", threat="deletions")
    file.write_text(kept.replace('"certified_size": 0', '"certified_size": 1').replace(
        '"certified_size": 1', '"certified_size": 2'))  # fmt: skip
    with pytest.raises(sc.StarcertError, match="of its claims are false"):
        read(tmp_path, certificates=["plain.json"])
    twice = ["plain.json", "plain.json"]
    for wrong, why in (
        ("nothing.json", "nothing.json"),
        ([], "a list of different files"),
        (twice, "a list of different files"),
    ):
        with pytest.raises(sc.StarcertError, match=why):
            read(tmp_path, certificates=wrong)
    with pytest.raises(sc.StarcertError, match="'thread' is none of"):
        read(tmp_path, certificates="plain.json", thread="flips")


@pytest.mark.parametrize("law", [sc.Flip(0.2), sc.Flip(delete=0.4, add=0.1), sc.Flip(delete=0.9, add=0)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_reaches_as_far_as_the_certificate_itself(law, kind):
    noise = sc.Noise(pairs=law)
    n_axes = len(noise.axes)
    bounds = sc.Bounds.certain([0.999, 0.95, 0.75])
    for ours, theirs in zip(
        sc.certify(bounds, noise, capacity=[(100,) * n_axes] * 3),
        sc.certify(bounds, noise, max_radius=(20,) * n_axes),  # how many sites there are is not known
        strict=True,
    ):
        assert _reach(theirs, kind, 9) == outcome_of(ours, f"{kind}:9").certified


def test_files_of_several_regions_count_changes_anywhere():
    bounds = sc.Bounds.certain([0.99])
    (one,) = sc.certify(bounds, sc.Noise({"a": sc.Flip(0.2), "b": sc.Flip(delete=0.3, add=0.05)}), max_radius=(20,) * 3)
    for kind, allowed in (("flips", (1, 1, 1)), ("deletions", (1, 1, 0)), ("additions", (1, 0, 1))):
        reach = _reach(one, kind, 9)
        every = [level for level in np.ndindex(4, 4, 4) if sum(level) == reach + 1]
        inside = [level for level in every if all(ok or not n for n, ok in zip(level, allowed, strict=True))]
        assert reach < 3
        assert not all(one.certified(level) for level in inside)
        assert all(one.certified(tuple(np.eye(3, dtype=int)[axis] * reach)) for axis in range(3) if allowed[axis])


def test_voters_are_counted_with_ties_against_the_method(tmp_path):
    votes = [[10, 0, 0], [6, 4, 0], [5, 5, 0], [4, 3, 3], [0, 10, 0]]
    given = {"data": "votes", "voters": 10, "votes": votes, "labels": [0, 0, 0, 0, 0], "names": [*"01234"]}
    found = read(tmp_path, **given)
    # leads 10, 2, 0, 1: n_A − n_B > 2R for R up to 4 and 0; a tie is not right
    assert [found.certified[size] for size in (0, 1, 2, 3, 5)] == [0.6, 0.2, 0.2, 0.2, 0]
    assert found.standing == "proved"
    assert read(tmp_path, **given, certified={"4": 0.2}).certified == {4: 0.2}
    moved = read(tmp_path, **given, threat="rewire", certified={"2": 0.2})  # two pairs for each edge
    assert moved.certified == {2: 0.2}
    for more in ({"certified": {"5": 0.2}}, {"certified": {"3": 0.2}, "threat": "rewire"}, {"voters": 11},
                 {"labels": [0]}, {"names": ["0"]}, {"votes": [[10]] * 5}, {"labels": [3] * 5},
                 {"votes": [[11, -1]] * 5}):  # fmt: skip
        with pytest.raises(sc.StarcertError):
            read(tmp_path, **given | more)


def test_shares_are_proved_of_known_objects_and_classes_alone(tmp_path):
    """Whoever chooses the objects and their classes chooses the share: these are those of the data, or as stated."""
    names = ("path 0", "ring 1", "path 2", "path 3")
    known = {"rings": source.Classes((1, 1, 0, 0), ("1", "2"), names, (6,) * 4)}
    given = {"data": "rings", "voters": 5, "votes": [[5, 0], [1, 4]], "labels": [0, 1], "names": ["path 3", "ring 1"]}

    def standing(**more):
        found = read_theirs(written(tmp_path, **given | more), known)
        assert found.certified[0] == 1
        return found.standing, found.of

    assert standing() == standing(names=["3", "1"]) == ("proved", 4)
    assert standing(names=None) == ("as stated", 4)
    assert standing(data="others") == ("as stated", None)
    for more, message in (
        ({"labels": [0, 0]}, "object 'ring 1' is of class 2 in rings, and of class 0 in the file"),
        ({"labels": [1, 1]}, "object 'path 3' is of class 1 in rings, and of class 1 in the file"),
        ({"names": ["3", "3"], "labels": [0, 0]}, "counts object '3' of rings 2 times"),
        ({"names": ["3", "4"]}, "rings has no object '4'. Call it by its name in the data, or all of them"),
        ({"names": ["3", "ring 1"]}, "rings has no object 'ring 1'"),
    ):
        with pytest.raises(sc.StarcertError, match=message):
            standing(**more)


def test_classes_of_a_file_are_those_of_the_data_by_name_or_by_number():
    for class_names, meant in ((("1", "2"), [0, 1]), (("2", "1"), [1, 0]), (("0", "1"), [0, 1]), (("1", "1"), None),
                               (("0", "2"), None), (("2", "1", "0"), [1, 0, -1]), (("0",), None)):  # fmt: skip
        assert source.Classes((0, 1), ("1", "2"), (), (1, 1)).numbers_of(class_names) == meant
    assert source.Classes((0, 1), ("c", "b", "a"), (), (1, 1)).numbers_of(("b", "c")) == [1, 0]


def test_certificates_are_kept_where_the_graphs_of_the_last_class_are_too_large(tmp_path):
    setting = Benchmark(**LITTLE | {"data": ("own.py:third",), "methods": ("one-way",), "threats": ("flips:1",)})
    run_benchmark(setting, tmp_path / "out", progress=False)
    (file,) = (tmp_path / "out" / "certificates").iterdir()
    known = {"own-third": source.classes_of(setting, "own.py:third")}
    found = read_theirs(written(tmp_path, data="own-third", certificates=str(file)), known)
    assert (found.standing, found.of) == ("proved", 25)


def test_files_about_other_changes_than_those_of_edges_prove_nothing_about_them(tmp_path):
    """Regions that leave pairs out, words in place of edges, rows of bits, classes left out, and fallbacks."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    graphs = [sc.Graph(4, [(0, 1)]), sc.Graph(4, [(0, 1), (1, 2), (2, 3)])]
    known = {"own-rings": source.Classes((0, 1), (), (), (6, 6))}

    def read_of(smoothed, objects=graphs, labels=(0, 1), **how):
        found = smoothed.certify(objects, samples=300, seed=1, alpha=how.get("alpha", 0.01))
        sc.archive.write(tmp_path / "certificates.json", sc.archive.Archive.from_result(found, labels=labels))
        return read_theirs(written(tmp_path, certificates="certificates.json"), known)

    whole = read_of(sc.SmoothedClassifier(base, sc.Noise(pairs=sc.Flip(delete=0.2, add=0.1))), alpha=0.4)
    assert (whole.standing, whole.alpha) == ("proved", 0.4)
    few = sc.Partition.from_node_sets({"few": range(2)})
    part = read_of(sc.SmoothedClassifier(base, sc.Noise(few=0.2), few))
    assert part.standing == "as stated"
    assert "its regions have 1 of 6 node pairs of object '0'" in part.note
    with pytest.raises(sc.StarcertError, match="1 of its graphs have no class"):
        read_of(sc.SmoothedClassifier(base, sc.Noise(pairs=0.2)), labels=(0, None))
    leaning = sc.SmoothedClassifier(base, sc.Noise(pairs=0.2), fallback=sc.Fallback([0, 1], 0.9))
    assert "In doubt it answers as a blind model: its answers are as stated." in read_of(leaning).note
    bits = sc.classifiers.from_callable(lambda rows: rows[:, 0].astype(int), n_classes=2, on="vectors")
    with pytest.raises(sc.StarcertError, match="is about rows, and the benchmark about changed edges of graphs"):
        read_of(sc.SmoothedClassifier(bits, sc.Noise(pixels=0.2)), [sc.Bits([0, 1, 1]), sc.Bits([1, 1, 1])])


def test_counting_never_certifies_what_turned_voters_can_change():
    rng = np.random.default_rng(3)
    for row in rng.integers(0, 3, size=(40, 5)):
        counts = np.bincount(row, minlength=3)
        answer = int(counts.argmax())
        given = {"voters": 5, "votes": [counts.tolist()], "labels": [answer], "certified": {"0": 0, "1": 0, "2": 0}}
        found = read(Path(), data="unknown", **given)
        for size in (1, 2):
            safe = all(
                np.bincount(turned, minlength=3).argmax() == answer
                and (np.sort(np.bincount(turned, minlength=3))[-2:] @ [-1, 1]) > 0
                for turned in turned_by(row, size)
            )
            assert (found.certified[size] == 1) is safe


def turned_by(row, size):
    """The votes after any changes of at most `size` voters."""
    found = [row]
    for _ in range(size):
        found = [np.where(np.arange(5) == voter, to, each) for each in found for voter in range(5) for to in range(3)]
    return found


def test_limits_of_attacks_may_differ_between_graphs():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 9), n_classes=2)
    graphs = [sc.Graph(4, [(0, 1)]), sc.Graph(5, [])]
    found = sc.ExactClassifier(base).certify(graphs, threat="flips:2", max_attacks=[6, 55])
    assert (found.limits, found.certified_sizes.tolist()) == ((6, 55), [1, 2])
    with pytest.raises(sc.InvalidParameterError, match="one for each of 2 graphs"):
        sc.ExactClassifier(base).certify(graphs, threat="flips:2", max_attacks=[6])


def test_the_command_takes_models_threats_and_columns(tmp_path):
    Path("little.toml").write_text(
        "\n".join(
            f"{key} = {json.dumps(value)}"
            for key, value in LITTLE.items()
            if key not in ("threats", "methods", "graphs")
        )
    )
    words = ["benchmark", "little.toml", "--method", "plain", "--model", "gcn", "--threat", "flips:1", "--graphs", "2",
             "--max-nodes", "20", "--out", str(tmp_path / "out"), "--workers", "1"]  # fmt: skip
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert (settings["models"], settings["threats"], settings["max_nodes"]) == (["gcn"], ["flips:1"], 20)
    assert len(list((tmp_path / "out" / "certificates").iterdir())) == 1
    shown = CliRunner().invoke(app, ["benchmark", "--help"]).output
    assert [group for group in run.METHODS if group not in shown] == []
    Path("wrong.toml").write_text("fold = 1")
    with pytest.raises(sc.StarcertError, match=r"no setting 'fold'. Did you mean folds\?"):
        CliRunner().invoke(app, ["benchmark", "wrong.toml"], catch_exceptions=False)
