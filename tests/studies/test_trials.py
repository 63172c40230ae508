"""Studies: votes in parts are the votes of a smoothed classifier, whoever computes them."""

import json

import pytest
import study_worlds as worlds

import starcert as sc
from starcert.system.parts import PartsFolder
from starcert_studies import STUDIES, find_study
from starcert_studies.trials import motif_machine, split_accuracies
from starcert_studies.voted import ALPHA


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    return folder, *worlds.Halves().votes(PartsFolder(folder))


@pytest.mark.parametrize("name", STUDIES)
def test_the_command_line_changes_the_settings_of_a_study(name):
    for package in ("matplotlib", "grakel", "sklearn", "torch_geometric", "rdkit"):
        pytest.importorskip(package)
    study = find_study(name)
    assert study.from_options(None, 2, False) == study(seed=2)
    assert study.from_options(None, 3, True) == study(**study.quick, seed=3)
    given = study.from_options(50, 1, True)
    assert (given.samples, given.seed) == (50, 1)


def test_options_change_the_settings():
    assert worlds.Tiny.from_options(None, 5, False) == worlds.Tiny(40, 5)
    assert worlds.Tiny.from_options(None, 5, True) == worlds.Tiny(20, 5)
    assert worlds.Tiny.from_options(33, 5, True) == worlds.Tiny(33, 5)


def test_votes_in_blocks_are_those_of_the_smoothed_classifier(halves):
    folder, found, results = halves
    assert {path.stem for path in folder.iterdir()} == {"at-0.3-0", "at-0.3-4", "at-0.4-0", "at-0.4-4", "clean"}
    data, base = worlds.small_data(0), worlds.Halves().model(0)
    for p, voted in found.items():
        noise = sc.Noise(motif=p, random=0.4)
        smoothed = sc.SmoothedClassifier(base, noise, data.partition)
        expected = smoothed.certify(data.test.graphs, samples=60, alpha=ALPHA, seed=3)
        assert voted.votes.counts.tolist() == expected.votes.counts.tolist()
        assert voted.votes.selection.tolist() == expected.votes.selection.tolist()
        assert [one.frontier.radii for one in voted.certificates] == [one.frontier.radii for one in expected]
        assert voted.certificates.capacity == [(45, 45)] * 6
        assert not any(voted.certificates.anchored)
        assert voted.smallest_p_lower == min(one.p_lower for one in expected)
        assert voted.labels.tolist() == data.test.labels.tolist()
        assert voted.clean.tolist() == data.test.labels.tolist()
    assert results["clean"] == voted.clean_accuracy == 1


def test_votes_do_not_depend_on_the_workers(halves, tmp_path):
    folder, found, _ = halves
    again, _ = worlds.Halves().votes(PartsFolder(tmp_path, workers=2))
    assert len({json.dumps(voted.votes.counts.tolist()) for voted in found.values()}) == 2
    for p, voted in found.items():
        assert again[p].votes.counts.tolist() == voted.votes.counts.tolist()
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_the_data_of_the_studies_have_the_papers_sizes():
    pytest.importorskip("grakel")
    machine, data = motif_machine(3)
    assert [len(split) for split in (data.train, data.validation, data.test)] == [1000, 1000, 100]
    assert data.test.graphs[0].key == sc.datasets.motif(seed=3).test.graphs[0].key
    assert data.test.graphs[0].key != sc.datasets.motif(seed=4).test.graphs[0].key
    small = worlds.small_data(0)
    accuracies = split_accuracies(sc.classifiers.from_sklearn(machine), small)
    assert accuracies["test"] == (machine.predict(list(small.test.graphs)) == small.test.labels).mean()
    assert list(accuracies) == ["training", "validation", "test"]
