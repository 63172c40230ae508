"""Training of a run's module: what it learns from, and what stands in the file of weights."""

import json
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

import starcert as sc
from starcert.cli.run_commands import _trained_view as trained_view
from starcert.runs.declaration import UnknownSettingError, check_options, check_values
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import SETTINGS
from starcert.runs.training_run import TRAIN_SETTINGS, TrainSettings, train_run, training_settings
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
worlds = pytest.importorskip("training_worlds")
checkpoint = pytest.importorskip("starcert.models.files")
fitting = pytest.importorskip("starcert.models.fitting")


def trained(file, again=False, options=None, **how):
    run, settings = training_settings(read_run_file(file), options or {}, how)
    return train_run(run, settings, again=again)


def tensors(path):
    return torch.load(path, weights_only=True)["weights"]


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_same_seed_gives_the_same_weights_and_the_file_tells_how_it_was_made(tmp_path):
    file = worlds.project(tmp_path)
    state = torch.random.get_rng_state()
    first = trained(file)
    weights = tensors(first.weights)
    assert first.weights == tmp_path / "weights" / "model.pt"
    assert first.what == "32 graphs, 4 for validation"
    assert first.majority == 0.5
    made = sc.models.how_made(first.weights)
    assert made == first.made
    assert made["noise"] == repr(sc.Noise(all=sc.Flip(delete=0.1, add=0.05)))
    assert made["settings"]["epochs"] == 12
    assert made["settings"]["batch_size"] == 32
    assert made["validation_accuracy"] > 0.8
    assert 0 <= made["best_epoch"] < 12
    torch.manual_seed(99)  # whatever the module's maker would draw its first weights from
    again = trained(file, again=True)
    assert same(tensors(again.weights), weights)
    torch.random.set_rng_state(state)
    trained(file, again=True, seed=1)
    assert not same(tensors(again.weights), weights)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_model_function_is_given_the_parts_that_it_asks_for(tmp_path):
    file = worlds.project(tmp_path)
    with open(tmp_path / "model.py", "a") as stream:
        stream.write(
            "\ndef sized(train, validation):\n    return sc.models.GIN(2, 2, hidden=len(validation), layers=2)\n"
        )
    made = trained(file, options=check_values({"model": "model.py:sized"}, SETTINGS, base=tmp_path), epochs=1)
    widths = {each.shape[0] for each in tensors(made.weights).values() if each.dim()}
    assert max(widths) == 4  # graphs of the validation part


def test_weights_that_are_there_are_kept_unless_they_were_made_so(tmp_path):
    file = worlds.project(tmp_path)
    first = trained(file)
    content = first.weights.read_bytes()
    assert trained(file).seconds is None
    with pytest.raises(StarcertError, match=r"trained otherwise \(epochs: there 12, now 3\). --again replaces them"):
        trained(file, epochs=3)
    assert first.weights.read_bytes() == content
    assert trained(file, again=True, epochs=3).made["settings"]["epochs"] == 3
    first.weights.write_bytes(b"somebody's own")
    with pytest.raises(StarcertError, match="is no file of weights"):
        trained(file, again=True)
    assert first.weights.read_bytes() == b"somebody's own"


def test_an_interruption_leaves_what_was_there(tmp_path, monkeypatch):
    file = worlds.project(tmp_path)
    first = trained(file)
    content = first.weights.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("starcert.models.fitting._descend", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trained(file, again=True)
    assert first.weights.read_bytes() == content
    there = sorted(each.name for each in first.weights.parent.iterdir())
    assert there == ["model.pt", "model.pt.html"]  # nothing was learned yet


@pytest.mark.parametrize(("run", "after", "done"), [(worlds.RUN, 3, 2), (worlds.NODES_RUN, 4, 3)])
def test_an_interruption_before_the_first_checkpoint_keeps_what_was_learned(tmp_path, monkeypatch, run, after, done):
    """Within the first seconds; and of nodes, before the validation nodes are asked for the first time."""
    file = worlds.project(tmp_path, run)
    weights = tensors(trained(file).weights)
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "progress_bar", interrupting(fitting.progress_bar, after=after))
        with pytest.raises(KeyboardInterrupt) as interrupted:
            trained(file, again=True)
    assert interrupted.value.__notes__ == ["What was learned is kept: the same command goes on."]
    begun = []
    monkeypatch.setattr(fitting, "progress_bar", noting(fitting.progress_bar, begun))
    assert same(tensors(trained(file, again=True).weights), weights)
    assert begun == [done]


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_another_training_writes_is_refused(tmp_path, monkeypatch, linked):
    file = worlds.project(tmp_path)
    options = {}
    if linked:  # another name of the same file
        (tmp_path / "link.pt").symlink_to(tmp_path / "weights" / "model.pt")
        options = check_values({"weights": "link.pt"}, SETTINGS, base=tmp_path)
    refused = []

    def second(*words, **more):
        monkeypatch.undo()
        with pytest.raises(InvalidParameterError) as error:
            trained(file, options=options)
        refused.append(str(error.value))
        return fitting.progress_bar(*words, **more)

    monkeypatch.setattr(fitting, "progress_bar", second)
    first = trained(file)
    (message,) = refused
    assert message.startswith("'weights' must be a file that no other training is writing. Got")
    assert message.endswith("Wait for it to end or stop it, or give another --weights.")
    assert sorted(each.name for each in first.weights.parent.iterdir()) == ["model.pt", "model.pt.html"]


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(tmp_path, monkeypatch):
    file = worlds.project(tmp_path)
    weights = tensors(trained(file).weights)
    (tmp_path / "weights" / "model.pt.partial").mkdir()
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    with pytest.warns(StarcertWarning) as said:
        assert same(tensors(trained(file, again=True).weights), weights)
    assert [str(each.message).partition("(")[0] for each in said] == [
        f"{tmp_path}/weights/model.pt.partial: this checkpoint is not used ",
        f"{tmp_path}/weights/model.pt.partial: cannot be written ",
    ]


def test_a_module_that_has_a_dense_form_is_trained_on_edges(tmp_path):
    file = worlds.project(tmp_path)
    (tmp_path / "model.py").write_text("import starcert as sc\ndef module():\n    return sc.models.GCN(2, 2)\n")
    assert trained(file, epochs=2).made["module"] == "GCN"


def test_nodes_are_learned_from_their_masks(tmp_path):
    file = worlds.project(tmp_path, worlds.NODES_RUN)
    found = trained(file)
    assert found.what == "10 nodes, 10 for validation"
    assert found.made["validation_accuracy"] > 0.7
    assert found.made["settings"]["batch_size"] is None
    missing = "'data' must have the node data train_mask and val_mask"
    with pytest.raises(InvalidParameterError, match=f"{missing}.*There are: x"):
        trained(file, options=check_values({"data": "maskless.pt", "nodes": None}, SETTINGS, base=tmp_path))
    with pytest.raises(InvalidParameterError, match="'batch_size' is for graphs"):
        trained(file, batch_size=5)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("function", "Got 'function from model.py:function' instead. There is nothing to train"),
        ("estimator", "Got 'DummyClassifier from model.py:estimator' instead. An estimator is fitted by"),
        ("dense", "Got 'model.py:dense' instead. Train it yourself"),
        ("frozen", "'model' must return a module with parameters to learn"),
    ],
)
def test_what_cannot_be_trained_is_told_what_to_do(tmp_path, model, complaint):
    file = worlds.project(tmp_path)
    with pytest.raises(InvalidParameterError, match=complaint):
        trained(file, options=check_values({"model": f"model.py:{model}"}, SETTINGS, base=tmp_path))
    assert not (tmp_path / "weights" / "model.pt").exists()


def test_the_table_train_of_a_run_file(tmp_path):
    file = worlds.project(tmp_path)
    assert read_run_file(file).train == {"epochs": 12, "learning_rate": 0.01}
    for line, complaint in {
        "epoch = 3": "There is no setting 'train.epoch'. Did you mean epochs?",
        "epochs = 0": "'train.epochs' must be a whole number from 1",
        "learning_rate = -1": "'train.learning_rate' must be a number, 0 or more",
    }.items():
        file.write_text(f'model = "model.py:module"\n[train]\n{line}\n')
        with pytest.raises(StarcertError) as error:
            read_run_file(file)
        assert complaint in str(error.value)
    file.write_text("train = 3\n")
    with pytest.raises(StarcertError, match="'train' must be a table"):
        read_run_file(file)


def test_defaults_are_those_that_the_help_shows():
    graphs, nodes = (TrainSettings.of({}, nodes=each) for each in (False, True))
    for key, setting in TRAIN_SETTINGS.items():
        words = {"patience": "all epochs"}
        assert setting.shown == words[key] if key in words else str(getattr(graphs, key)) in setting.shown
        assert getattr(nodes, key) is None or str(getattr(nodes, key)) in setting.shown
    assert np.isclose(nodes.weight_decay, 5e-4)
    with pytest.raises(UnknownSettingError):
        check_values({"rate": 1}, TRAIN_SETTINGS, base=None)


def test_graphs_without_classes_cannot_be_learned_from(tmp_path):
    file = worlds.project(tmp_path)
    torch.save([graph.to_pyg().to_dict() for graph in worlds.graphs()[0]], tmp_path / "data.pt")
    with pytest.raises(InvalidParameterError, match="'data' must have a class for every graph, to train on them"):
        trained(file)


@pytest.mark.parametrize("run", [worlds.RUN, worlds.NODES_RUN])
def test_an_interrupted_training_goes_on_and_gives_the_same_weights(tmp_path, monkeypatch, run):
    file = worlds.project(tmp_path, run)
    whole = trained(file)
    weights, made = tensors(whole.weights), whole.made
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(fitting, "progress_bar", interrupting(fitting.progress_bar, after=11))
    with pytest.raises(KeyboardInterrupt):
        trained(file, again=True)
    state = tmp_path / "weights" / "model.pt.partial"
    assert state.exists()
    assert same(tensors(whole.weights), weights)  # what was there stays until there is something better
    monkeypatch.undo()
    begun = []
    monkeypatch.setattr(fitting, "progress_bar", noting(fitting.progress_bar, begun))
    again = trained(file, again=True)
    assert begun == [10]
    assert same(tensors(again.weights), weights)
    assert again.made == made
    assert not state.exists()


def test_the_state_of_another_training_counts_as_none(tmp_path, monkeypatch):
    file = worlds.project(tmp_path)
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(fitting, "progress_bar", interrupting(fitting.progress_bar, after=5))
    with pytest.raises(KeyboardInterrupt):
        trained(file)
    monkeypatch.undo()
    begun = []
    monkeypatch.setattr(fitting, "progress_bar", noting(fitting.progress_bar, begun))
    other = trained(file, seed=1)
    state = tmp_path / "weights" / "model.pt.partial"
    state.write_bytes(b"nothing")
    with pytest.warns(StarcertWarning, match=r"model\.pt\.partial: this checkpoint is not used"):
        assert same(tensors(trained(file, again=True, seed=1).weights), tensors(other.weights))
    assert not state.exists()
    assert begun == [0, 0]


def interrupting(bar, after):
    """A progress bar that interrupts when so many units are done."""

    @contextmanager
    def begun(*words, **more):
        with bar(*words, **more) as advance:
            done = count(1)

            def advanced(units):
                advance(units)
                if next(done) == after:
                    raise KeyboardInterrupt

            yield advanced

    return begun


def noting(bar, begun):
    """A progress bar that notes how many units were done when it began."""

    def noted(title, total, done=0, **more):
        begun.append(done)
        return bar(title, total, done, **more)

    return noted


def test_parts_of_ones_own_are_learned_from(tmp_path):
    file = worlds.project(tmp_path)
    parts = {"train": list(range(10)), "validation": list(range(10, 16)), "test": list(range(16, 20))}
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    options = check_values({"splits": "parts.json"}, SETTINGS, base=tmp_path)
    assert trained(file, options=options, epochs=2).what == "10 graphs, 6 for validation"


def test_the_worst_of_several_copies_is_recorded_with_the_weights(tmp_path):
    file = worlds.project(tmp_path)
    plain = trained(file).made["settings"]
    assert (
        not {"copies", "worst", "patience", "class_weights"} & plain.keys()
    )  # as in weights from before there were any
    made = trained(file, again=True, copies=3, worst=0.5).made["settings"]
    assert made == plain | {"copies": 3, "worst": 0.5}
    assert trained(file, copies=3, worst=0.5).seconds is None
    with pytest.raises(StarcertError, match=r"otherwise \(copies: there 3, now 1; worst: there 0.5, now 0.0\)"):
        trained(file)


def test_weights_of_0_2_0_are_kept_and_trainings_against_attacks_are_not_taken_for_others(tmp_path):
    """Their epochs hold a figure more, and may have been trained with settings that are gone."""
    file = worlds.project(tmp_path)
    found = trained(file)
    stored, _ = checkpoint.load_file(found.weights)
    stored["made"]["history"] = [(*each[:4], None, *each[4:]) for each in stored["made"]["history"]]
    checkpoint.save_file(stored, found.weights)
    found.page.unlink()
    assert trained(file).seconds is None
    assert not found.page.exists()
    stored["made"]["settings"]["against"] = {"copies": 3}
    checkpoint.save_file(stored, found.weights)
    with pytest.raises(StarcertError, match=r"trained otherwise \(against: there {'copies': 3}, now None\)"):
        trained(file)


def with_rare_class(folder):
    """A project where 5.9% of the training graphs have many edges."""
    file = worlds.project(folder)
    made, labels = worlds.graphs(1000, 1, (0.25, 0.7))
    kept = [i for i, label in enumerate(labels) if label == 0 or i % 32 == 1][:265]
    records = [{**made[i].to_pyg().to_dict(), "y": torch.tensor([labels[i]])} for i in kept]
    torch.save(records, folder / "data.pt")
    return file


def test_a_rare_class_turns_weights_on_and_the_output_says_why(tmp_path):
    file = with_rare_class(tmp_path)
    found = trained(file)
    text = "\n".join(trained_view(found, ""))
    why = "Class weights: balanced by default, because class 1 has 6.1% of the training objects, under 10%"
    assert f"{why} (--class-weights none turns this off). They are 0: 0.53" in text
    assert found.made["settings"]["class_weights"] == list(found.weighting.weights)
    assert why in found.page.read_text()
    plain = trained(file, again=True, class_weights="none", epochs=40)
    assert plain.weighting is None
    assert "class_weights" not in plain.made["settings"]  # nor has a file of weights from before there were any
    chosen = trained(file, again=True, class_weights=(1.0, 5.0), epochs=40)
    assert any(line.startswith("Class weights, as chosen: 0: 0.8") for line in trained_view(chosen, ""))
    with pytest.raises(StarcertError, match="trained otherwise"):
        trained(file, class_weights=(1.0, 6.0), epochs=40)


def test_one_answer_for_everything_is_reported_on_the_page_too(tmp_path):
    file = with_rare_class(tmp_path)
    with pytest.warns(StarcertWarning, match="The kept epoch, .* the same answer: class 0"):
        found = trained(file, class_weights=(1.0, 0.0))
    assert "One answer for everything" in found.page.read_text()


def test_the_page_is_the_same_again_and_is_written_where_it_is_missing(tmp_path):
    file = worlds.project(tmp_path)
    found = trained(file)
    page = found.page.read_bytes()
    assert found.page == tmp_path / "weights" / "model.pt.html"
    assert b"kept" in page
    epochs = [sc.models.Epoch(*each) for each in found.made["history"]]
    assert [each.number for each in epochs] == list(range(12))
    found.page.unlink()
    assert trained(file).seconds is None
    assert found.page.read_bytes() == page


def test_patience_ends_a_run_and_goes_on_after_an_interruption(tmp_path, monkeypatch):
    file = worlds.project(tmp_path)
    whole = trained(file, epochs=60, patience=4)
    weights, done = tensors(whole.weights), whole.made["history"][-1][0] + 1
    assert done == whole.made["best_epoch"] + 5 < 60
    assert f"{done} epochs (of 60; no better one after 4 more) in" in "\n".join(trained_view(whole, ""))
    monkeypatch.setattr(fitting, "progress_bar", interrupting(fitting.progress_bar, after=done - 1))
    with pytest.raises(KeyboardInterrupt):
        trained(file, epochs=60, patience=4, again=True)
    monkeypatch.undo()
    again = trained(file, epochs=60, patience=4, again=True)
    assert same(tensors(again.weights), weights)
    assert again.made == whole.made


def test_class_weights_of_options_and_run_files():
    for text, found in (("1,5", (1.0, 5.0)), ("balanced", "balanced")):
        assert check_options({"class_weights": text}, TRAIN_SETTINGS) == {"class_weights": found}
    for wrong in ("even", "1,x", "-1,2"):
        with pytest.raises(InvalidParameterError, match="'--class-weights' must be one of auto, balanced, none"):
            check_options({"class_weights": wrong}, TRAIN_SETTINGS)


@pytest.mark.filterwarnings("ignore")
def test_a_module_is_trained_on_types_and_elements_of_molecules_as_sites(tmp_path):
    pytest.importorskip("rdkit")
    smiles = ["CCO", "CCN", "CC=O", "CCC", "C=CC", "CCCl", "OCO", "NCN", "CC#N", "CCCC", "OCCO", "C=C=O"] * 2
    rows = [f"{text},{number % 2}" for number, text in enumerate(smiles)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,label", *rows]), encoding="utf-8")
    (tmp_path / "net.py").write_text(
        "from starcert.models import GINE\n"
        "def net(data):\n"
        "    atoms = data.graphs[0].node_sites['x']\n"
        "    assert atoms.categories == ('C', 'Cl', 'N', 'O')\n"
        "    return GINE(atoms.alphabet, 4, 2, hidden=4)\n",
        encoding="utf-8",
    )
    (tmp_path / "run.toml").write_text(
        'model = "net.py:net"\ndata = "m.csv"\nedge_types = "bond"\nnode_sites = { x = "categories" }\n'
        'regions = { bonds = "pairs", atoms = "x" }\nweights = "net.pt"\nthreat = "flips:2"\n'
        "[noise]\nbonds = { delete = 0.2, add = 0.1, change = 0.2 }\natoms = { categorical = 0.2 }\n"
        "[train]\nepochs = 1\n",
        encoding="utf-8",
    )
    assert trained(tmp_path / "run.toml").page.exists()
