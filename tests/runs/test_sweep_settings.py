import sys

import pytest
import runs_worlds as worlds

from starcert.runs.grid import parse_grid, sweep_settings
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import run_settings
from starcert.system.errors import InvalidParameterError, StarcertError

GRID = parse_grid(["hub=0.02,0.1"])


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run(tmp_path):
    return worlds.project(tmp_path / "project")


def with_table(run, table):
    run.write_text(run.read_text() + table)
    return read_run_file(run)


def test_what_is_for_certifying_plays_no_part(run):
    settings = sweep_settings(read_run_file(run), {}, GRID)
    assert (settings.run.samples, settings.run.selection_samples) == (1000, 100)
    assert settings.run.store is None
    assert settings.run.seed == 3
    assert len(settings.levels) == 2
    assert settings.run.noise == settings.levels[0]
    assert (
        settings.seed
        == sweep_settings(read_run_file(run), {}, GRID).seed
        != sweep_settings(read_run_file(run), {"seed": 4}, GRID).seed
        != 4
    )


def test_the_table_of_a_run_file(run):
    table = '\n[sweep]\nsamples = 70\nlimit = 2\nout = "chosen"\n[sweep.grid]\nhub = [0.02, 0.1]\n'
    file = with_table(run, table + "rest = { delete = [0.1], add = [0.2, 0.3] }\n")
    settings = sweep_settings(file, {}, None)
    assert (settings.run.samples, settings.run.limit, settings.run.out) == (70, 2, run.parent / "chosen")
    assert str(settings.grid) == "hub=0.02,0.1,rest.delete=0.1,rest.add=0.2,0.3"
    assert sweep_settings(file, {"samples": 50}, GRID).run.samples == 50
    assert len(sweep_settings(file, {}, GRID).levels) == 2
    assert run_settings(file.values).samples == 400  # certify goes its own way


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("\n[sweep]\nhub = [0.1]\n", "run.toml: There is no setting 'sweep.hub'"),
        ("\n[sweep]\nsamples = 0\n", "'sweep.samples' must be a whole number from 1"),
        ("\n[sweep.grid]\nhub = [0.1, 3]\n", "'sweep.grid.hub' must be a probability from 0 to 1. Got 3"),
        ('\n[sweep]\ngrid = "hub"\n', "'sweep.grid' must be a table of regions and their levels"),
        ("\n[[sweep]]\n", "'sweep' must be a table"),
    ],
)
def test_mistakes_in_the_table_are_named(run, table, words):
    with pytest.raises(StarcertError) as caught:
        with_table(run, table)
    assert words in str(caught.value)


def test_validation_graphs_are_used_where_there_are_any(run):
    assert sweep_settings(read_run_file(run), {}, GRID).run.split == "all"
    assert sweep_settings(read_run_file(run), {"split": "validation"}, GRID).run.split == "validation"
    run.write_text('split = "test"\n' + run.read_text())
    assert sweep_settings(read_run_file(run), {}, GRID).run.split == "validation"
    assert sweep_settings(read_run_file(run), {"split": "all"}, GRID).run.split == "all"
    with pytest.raises(InvalidParameterError, match=r"'split' cannot be test in a sweep"):
        sweep_settings(read_run_file(run), {"split": "test"}, GRID)


@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_model_that_asks_for_a_part_of_the_data_gets_it(run, part):
    (run.parent / "model.py").write_text(worlds.MODEL + f"\ndef trained({part}): return classifier()\n")
    run.write_text(run.read_text().replace("model.py:classifier", "model.py:trained"))
    assert sweep_settings(read_run_file(run), {}, GRID).run.split == "validation"


def test_a_grid_is_needed(run):
    with pytest.raises(InvalidParameterError, match=r"Missing setting: grid. .*--grid motif=0.02"):
        sweep_settings(read_run_file(run), {}, None)


def test_a_sweep_with_evidence_draws_no_votes_at_attacked_graphs_unless_asked(run):
    assert sweep_settings(read_run_file(run), {}, GRID).run.own_samples is None
    assert sweep_settings(read_run_file(run), {"evidence": True}, GRID).run.own_samples == 0
    assert sweep_settings(read_run_file(run), {"evidence": True, "own_samples": 7}, GRID).run.own_samples == 7
    run.write_text("evidence = true\nown_samples = 50\n" + run.read_text())
    file = read_run_file(run)
    settings = sweep_settings(file, {}, GRID)
    assert (settings.run.evidence, settings.run.own_samples) == (True, 0)
    assert settings.certifying["own_samples"] == 50
    assert sweep_settings(file, {"evidence": False}, GRID).run.own_samples is None
    assert sweep_settings(with_table(run, "\n[sweep]\nown_samples = 9\n"), {}, GRID).run.own_samples == 9
