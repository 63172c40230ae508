"""Certificates that a benchmark keeps, and archives of others, which it proves or refuses."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmark_worlds import LITTLE as SETTINGS
from benchmark_worlds import OWN
from json_schemas import faults

import schemas
import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from starcert.archive import verify
from starcert.benchmark.archives import Proved, check_objects, read_theirs
from starcert.benchmark.data import data_of, file_name
from starcert.benchmark.outcomes import KINDS, outcome_of
from starcert.benchmark.run import run_benchmark
from starcert.benchmark.settings import Benchmark

LITTLE = SETTINGS | {"data": ("rings.py:rings",)}
THREATS = ("flips:3", "deletions:2", "additions:2", "rewire:1")
KNOWN = {"rings-rings": "rings.py:rings", "rings-two": "rings.py:two", "motif": "motif"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("archives")
    (made / "rings.py").write_text(OWN)
    return made


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def done(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder / "out", run_benchmark(Benchmark(**LITTLE), folder / "out", progress=False)


def _reach(one, kind, most):
    return outcome_of(one, f"{kind}:{most}", asked=False).certified


def read(path, data="rings-rings", threats=THREATS):
    return read_theirs(f"{data}={path}", KNOWN, {}, threats)


def test_kept_certificates_are_proved_and_have_the_shares_of_the_table(done):
    out, lines = done
    files = sorted((out / "certificates").glob("*.json"))
    assert len(files) == len(lines) == 2 * 5
    for line in lines:
        file = (
            out / "certificates" / f"{file_name(f'rings-rings-0-{line.method}-{line.threat}'.replace(':', '-'))}.json"
        )
        assert verify(file).verdict == ("consistent" if line.method == "plain" else "proved")
        if line.method == "plain":
            continue
        (found,) = read(file, threats=[line.threat])
        assert (found.method, found.objects, found.of) == (file.stem, line.graphs, 24)
        assert found.alpha == line.alpha
        ours = {int(cell.size): cell.certified for cell in line.cells if cell.certified is not None} | {0: line.right}
        if line.method.startswith("evidence") and line.kind == "deletions":
            # they were asked about deletions alone, and a file does not prove which attacks there are
            assert all(found.certified[size] <= share for size, share in ours.items())
        else:
            assert {size: found.certified[size] for size in ours} == ours, line.method


def test_a_page_shows_what_archives_prove(done, tmp_path):
    out, lines = done
    copy, theirs = shutil.copytree(out, tmp_path / "copy"), tmp_path / "theirs"
    theirs.mkdir()
    shutil.copy(out / "certificates" / "rings-rings-0-p_A_one-way-flips-3.json", theirs)
    run_benchmark(Benchmark(**LITTLE), copy, theirs=[str(theirs)], progress=False)
    page = (copy / "index.html").read_text()
    votes = next(line for line in lines if line.method == "p_A, one-way")
    assert f"1: {100 * votes.cells[1].certified:.1f}%" in page
    assert f"<td>{votes.graphs} of 24</td>" in page
    assert "Noise: pairs" in page
    found = json.loads((copy / "benchmark.json").read_text())
    assert [each["threat"] for each in found["theirs"]] == ["flips:3", "deletions:2"]
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


def test_false_stated_and_unfit_files_are_refused(done, tmp_path):
    kept = done[0] / "certificates"
    tried, votes = ((kept / f"rings-rings-0-{name}-flips-3.json").read_text() for name in ("plain", "p_A_one-way"))
    file = tmp_path / "theirs.json"

    def refused(text, message, **how):
        file.write_text(text)
        with pytest.raises(sc.StarcertError, match=message):
            read(file, **how)

    refused(tried, r"nothing proves what the model answered where attacks were tried\. Run the method here")
    refused(votes, r"says nothing about swap:1. Add one of flips", threats=["swap:1"])
    larger = re.sub(r'"frontier": \[\[(\d+)', lambda found: f'"frontier": [[{int(found[1]) + 1}', votes)
    refused(larger, "false")
    refused(json.dumps({"method": "S", "data": "rings-rings", "objects": 9, "certified": {"1": 0.5}}), "theirs.json")
    law = Path(__file__).parents[1] / "archive" / "stated" / "version_0_2_0" / "law.json"
    refused(law.read_text(), r"stated by the law .* Give a file that starcert verify proves\.")
    refused(votes, "is drawn anew in every fold", data="motif")
    with pytest.raises(sc.InvalidParameterError, match="one of rings-rings, rings-two, motif"):
        read_theirs(str(file), KNOWN, {}, THREATS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sc.StarcertError, match="holds no archive"):
        read(tmp_path / "empty")
    both = tmp_path / "both"
    both.mkdir()
    for name in "ab":
        (both / f"{name}.json").write_text(votes)
    with pytest.raises(sc.StarcertError, match="is counted 2 times"):
        read(both)


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


def test_nothing_is_said_where_noise_has_no_such_axis():
    """Levels that do not exist are no proof."""
    (one,) = sc.certify(sc.Bounds.certain([0.99]), sc.Noise(atoms=sc.Categorical(0.1, 3)), max_radius=(5,))
    assert _reach(one, "deletions", 3) == _reach(one, "additions", 3)
    typed = sc.Noise(pairs=sc.Edges(delete=0.2, add=0.1, change=0.1, types=2))
    (one,) = sc.certify(sc.Bounds.certain([0.99]), typed, max_radius=(2, 2, 0))
    assert _reach(one, "flips", 3) == 0  # types were not looked at
    assert 0 < _reach(one, "deletions", 9) <= 2


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


def test_shares_are_proved_of_known_objects_and_classes_alone(tmp_path):
    """Whoever chooses the objects and their classes chooses the share: these are those of the data."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    names = ("path 0", "ring 1", "path 2", "path 3")
    graphs = [sc.Graph(4, [(0, 1), (1, 2), (2, 3)][: 1 + number % 3]) for number in range(4)]
    rings = sc.datasets.Dataset(graphs, [1, 1, 0, 0], label_names=("1", "2"), names=names)
    found = sc.SmoothedClassifier(base, sc.Noise(pairs=0.2)).certify(graphs[:2], samples=100, seed=1)

    def check(of=("path 3", "ring 1"), labels=(0, 1), class_names=None):
        archive = sc.archive.Archive.from_result(found, names=list(of), labels=list(labels), class_names=class_names)
        sc.archive.write(tmp_path / "one.json", archive)
        check_objects([Proved.of(tmp_path / "one.json")], "rings", rings)

    check()
    check(of=("3", "1"))
    bare = sc.datasets.Dataset(graphs, [1, 1, 0, 0])  # whose classes have no names
    check_objects([Proved.of(tmp_path / "one.json")], "bare", bare)
    check(labels=(1, 0), class_names=("2", "1"))
    for given, message in (
        ({"labels": (0, 0)}, "object 'ring 1' is of class 2 in rings, and of class 1 in the file"),
        ({"labels": (1, 1)}, "object 'path 3' is of class 1 in rings, and of class 2 in the file"),
        ({"of": ("3", "3"), "labels": (0, 0)}, "object '3' of rings is counted 2 times"),
        ({"of": ("3", "4")}, "object '4' is none of rings. Call it by its name in the data, or all of them"),
        ({"of": ("3", "ring 1")}, "object 'ring 1' is none of rings"),
        ({"class_names": ("no", "yes")}, "object 'path 3' is of class 1 in rings, and of class no in the file"),
    ):
        with pytest.raises(sc.StarcertError, match=message):
            check(**given)


def test_certificates_are_kept_where_the_graphs_of_the_last_class_are_too_large(tmp_path):
    setting = Benchmark(**LITTLE | {"data": ("rings.py:third",), "methods": ("one-way",), "threats": ("flips:1",)})
    run_benchmark(setting, tmp_path / "out", progress=False)
    (file,) = (tmp_path / "out" / "certificates").glob("*.json")
    (found,) = read_theirs(str(file), {"rings-third": "rings.py:third"}, {}, ["flips:1"])
    assert found.of == 25


def test_files_about_other_changes_than_those_of_edges_prove_nothing_about_them(tmp_path):
    """Regions that leave pairs out, rows of bits, classes left out; of fallbacks, the blind answers are as stated."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    graphs, labels = data_of("rings.py:two").graphs, (0, 1)

    def read_of(smoothed, objects=graphs, labels=labels, **how):
        found = smoothed.certify(objects, samples=300, seed=1, alpha=how.get("alpha", 0.01))
        sc.archive.write(tmp_path / "theirs.json", sc.archive.Archive.from_result(found, labels=labels))
        return read(tmp_path / "theirs.json", "rings-two", ["flips:1"])[0]

    whole = read_of(sc.SmoothedClassifier(base, sc.Noise(pairs=sc.Flip(delete=0.2, add=0.1))), alpha=0.4)
    assert whole.alpha == 0.4
    few = sc.Partition.from_node_sets({"few": range(2)})
    with pytest.raises(sc.StarcertError, match="object '0': its regions have 1 of 6 node pairs, so it is not"):
        read_of(sc.SmoothedClassifier(base, sc.Noise(few=0.2), few))
    with pytest.raises(sc.StarcertError, match="1 of its graphs have no class"):
        read_of(sc.SmoothedClassifier(base, sc.Noise(pairs=0.2)), labels=(0, None))
    leaning = sc.SmoothedClassifier(base, sc.Noise(pairs=0.2), fallback=sc.Fallback([0, 1], 0.9))
    assert "In doubt it answers as a blind model: its answers are as stated." in read_of(leaning).note
    bits = sc.classifiers.from_callable(lambda rows: rows[:, 0].astype(int), n_classes=2, on="vectors")
    with pytest.raises(sc.StarcertError, match="is about rows, and the benchmark about changed edges of graphs"):
        read_of(sc.SmoothedClassifier(bits, sc.Noise(pixels=0.2)), [sc.Bits([0, 1, 1]), sc.Bits([1, 1, 1])])


def test_limits_of_attacks_may_differ_between_graphs():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 9), n_classes=2)
    graphs = [sc.Graph(4, [(0, 1)]), sc.Graph(5, [])]
    found = sc.ExactClassifier(base).certify(graphs, threat="flips:2", max_attacks=[6, 55])
    assert (found.proof.limits, found.certified_sizes.tolist()) == ((6, 55), [1, 2])
    with pytest.raises(sc.InvalidParameterError, match="one for each of 2 graphs"):
        sc.ExactClassifier(base).certify(graphs, threat="flips:2", max_attacks=[6])
