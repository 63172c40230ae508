"""The benchmarks' table and floors; the device's benchmark, tried small on the CPU."""

import json

import pytest

import compare
import floors
import starcert as sc
import table
import threats
from table import Table, Work


def test_a_line_has_ratio_and_distance():
    work = Work("votes", 2e-6, 1e-3, 5e-7, "random bits", target="8 ×")
    assert (work.ratio, work.distance) == (pytest.approx(500), pytest.approx(4))
    assert work.cells == ("votes (target 8 ×)", "1 ms", "2 µs", "500 ×", "500 ns", "4 ×")
    assert Work("votes", 2.0).cells == ("votes", "–", "2 s", "–", "–", "–")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1.234e-8, "12.3 ns"),
        (9.996e-7, "1 µs"),
        (0.25, "250 ms"),
        (1.5, "1.5 s"),
        (99.96, "100 s"),
        (12_345, "12,345 s"),
    ],
)
def test_times_are_shown_in_the_unit_that_they_are_read_in(seconds, words):
    assert table.shown(seconds) == words


def test_a_table_is_kept_with_its_machine_versions_and_settings(tmp_path, capsys):
    made = Table("small", "A vote.", votes=7)
    made.add(Work("one", 2e-6, 1e-3, 5e-7, "random bits", note="p_A 0.9", more={"runs": 3}))
    made.add(Work("two", 2e-6))
    made.fail("three", ValueError("no room"))
    kept = json.loads(made.write(tmp_path).read_text(encoding="utf-8"))
    assert (tmp_path / "small-cpu.json").is_file()
    last = {"peak_megabytes", "works", "failures"}
    assert set(kept) == {"name", "about", "machine", "versions", "load_before", "settings", *last}
    assert kept["machine"]["cores"] >= 1
    assert {"python", "numpy"} <= set(kept["versions"])
    assert kept["settings"] == {"votes": 7}
    assert kept["works"][0]["ratio"] == pytest.approx(500)
    assert kept["works"][0]["runs"] == 3
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| one; p_A 0.9 | 1 ms | 2 µs | 500 × | 500 ns | 4 × |" in page
    assert "Floor: random bits." in page
    assert "Not measured: three (ValueError: no room)." in page
    assert "one" in capsys.readouterr().out


def test_the_page_of_results_is_that_of_their_files():
    assert (table.RESULTS / "README.md").read_text(encoding="utf-8") == table.page()


@pytest.fixture
def release_and_now(tmp_path):
    """The figures of a release, and the results of a run on a machine that is half as fast."""
    old = {"small-cpu": {"slower": 100.0, "faster": 10.0, "same": 5.0, "by its floor": 0.5, "gone": 2.0}, "other": {}}
    (tmp_path / "0.2.0.json").write_text(json.dumps({"speeds": old}), encoding="utf-8")
    (tmp_path / "new").mkdir()
    made = Table("small", "A vote.")
    for work in (
        Work("slower", 2.0, 158.0),
        Work("faster", 2.0, 24.2),
        Work("same", 2.0, 11.8),
        Work("by its floor", 2.0, floor=0.5),
        Work("seconds alone", 2.0),
        Work("new", 2.0, 9.0),
    ):
        made.add(work)
    made.write(tmp_path / "new")
    return ["--against", str(tmp_path / "0.2.0.json"), "--new", str(tmp_path / "new")]


def test_a_change_by_a_fifth_in_either_direction_is_a_warning(release_and_now, capsys):
    capsys.readouterr()
    assert compare.main(release_and_now) == 0
    assert capsys.readouterr().out.splitlines() == [
        "5 pieces of work next to starcert 0.2.0: 4 changed by more than 20%",
        "Warning: small-cpu: slower: 100 × before, 79 × now (-21%, SLOWER)",
        "Warning: small-cpu: faster: 10 × before, 12.1 × now (+21%, faster)",
        "Warning: small-cpu: by its floor: 0.5 × before, 0.25 × now (-50%, SLOWER)",
        "Warning: small-cpu: gone: not measured now",
    ]
    assert compare.main([*release_and_now, "--strict"]) == 1


def test_the_last_release_has_figures_of_every_quick_benchmark(tmp_path):
    assert {f"{name}-cpu" for name in compare.QUICK} <= json.loads(compare.last_release().read_text())["speeds"].keys()
    for version in ("0.9.0", "0.10.0", "0.2.1"):
        (tmp_path / f"{version}.json").write_text("{}")
    assert compare.last_release(tmp_path).stem == "0.10.0"


def test_loads_by_hand():
    assert floors.edges_left(153, 19, 0.04, 0.2) == pytest.approx(19 * 0.96 + 134 * 0.2)
    dense = floors.dense_gcn(18, 153)
    assert (dense.bytes, dense.multiply_adds) == (153 + 8 * 324 + 8 * 18 * 64 + 8, 324 * 64 + 128)
    one = floors.gin(10, 45, 12.0, layers=1)
    # drawn bits, the list of arcs written; read with its rows; 7 wide in, summed, read, 64 out, in, out; pooled
    assert one.bytes == 45 + 8 * 24 + 4 * (24 + 10) + 4 * 10 * (2 * 7 + 7 + 64 + 128) + 4 * (640 + 2)
    assert one.multiply_adds == 24 * 7 + 10 * (7 * 64 + 64 * 64) + 640 + 128
    rates = floors.Rates(bytes=1e9, multiply_adds=1e9, random_numbers=1.0)
    assert rates.floor(floors.Load(10, 5)) == pytest.approx(1e-8)
    assert rates.floor(floors.Load(10, 20)) == pytest.approx(2e-8)


def test_a_list_has_as_many_attacks_as_the_level_that_it_is_measured_beside():
    noise = sc.Noise(all=0.1)
    sites, evidence = threats.votes_on(sc.Bits([0] * 30), noise)
    level, listed = threats.weigh_level(evidence), threats.weigh_list(evidence, sites, noise, sc.threats.AnyFlips(2))
    assert level[0] == listed[0] == 30 * 29 // 2
    assert (set(level[1]), set(listed[1])) == ({"weigh"}, {"list", "group", "weigh"})


@pytest.mark.filterwarnings("default")
def test_the_device_benchmark_tried_small_on_the_cpu(monkeypatch, capsys):
    pytest.importorskip("torch_geometric")
    import gpu  # noqa: PLC0415

    monkeypatch.setattr(gpu, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(gpu, "TRIED", 64)
    found = gpu.measure(
        "cpu", sizes=(64, 128), nodes=(12, 104), large_nodes=200, large_votes=16, loop_votes=208, matrix=64
    )
    assert found.failures == {}
    names = [work.name for work in found.works]
    assert len(names) == len(set(names)) == 2 * 5 + 3 + 2 + 1
    assert all(work.floor > 0 and work.starcert > 0 for work in found.works)
    assert [work.loop is None for work in found.works] == ["recorded" in name for name in names]
    capsys.readouterr()
    if not gpu.torch.cuda.is_available():
        gpu.main()
        assert capsys.readouterr().out == "no CUDA device here: nothing is measured\n"
