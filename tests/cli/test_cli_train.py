"""`starcert train`, and `certify` and `sweep` with the weights that it wrote."""

import json
import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
from runs_worlds import full_disk

import starcert as sc

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
worlds = pytest.importorskip("training_worlds")
fitting = pytest.importorskip("starcert.models.fitting")


@pytest.fixture
def untrained(tmp_path, monkeypatch):
    worlds.project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_example_is_trained_and_certified(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    _, out, _ = here("init", "--example", "pyg")
    assert "Next: starcert train run.toml" in out
    status, _, err = here("certify", "run.toml")
    assert status == 2
    assert "model.pt: there is no such file of weights. Train first: starcert train run.toml" in err
    status, out, err = here("train", "run.toml")
    assert (status, err) == (0, "")
    assert "Trained Net on 48 graphs, 6 for validation: 60 epochs in" in out
    assert "Wrote model.pt." in out
    assert out.endswith("Next: starcert certify run.toml\n")
    said = json.loads(here("train", "run.toml", "--json")[1])
    assert (said["trained_before"], len(said["epochs"]), said["next"]) == (True, 60, "starcert certify run.toml")
    assert said["majority_share"] < said["accuracy"] <= 1
    status, out, err = here("certify", "run.toml", "--samples", 300)
    assert (status, err) == (0, "")
    assert re.search(r"│ answered right +│ 100\.0%", out)


def test_a_run_that_says_how_to_train_and_has_no_weights_is_said_to_be_untrained(untrained, here):
    text = Path("run.toml").read_text().replace('weights = "weights/model.pt"\n', "")
    Path("bare.toml").write_text(text if "[train]" in text else f"{text}\n[train]\nepochs = 2\n")
    status, _, err = here("certify", "bare.toml", "--out", "bare")
    assert (status, "the model votes as its function makes it" in err) == (0, True), err


def test_certify_votes_with_the_weights_and_says_which(untrained, here):
    assert here("train", "run.toml")[0] == 0
    assert here("certify", "run.toml")[0] == 0
    module = sc.models.load_weights(sc.models.GIN(2, 2, hidden=8, layers=2), "weights/model.pt")
    described = sc.classifiers.from_pyg(module, n_classes=2).description
    written = tomllib.loads(Path("certified/run.toml").read_text())
    assert written["weights"] == "../weights/model.pt"
    assert written["expected"]["classifier"] == described
    assert here("certify", "certified/run.toml", "--out", "again")[0] == 0
    assert Path("again/certificates.json").read_bytes() == Path("certified/certificates.json").read_bytes()
    # Trained anew, it is another classifier: neither the folder nor its run file takes it for the old one.
    assert here("train", "run.toml", "--again", "--seed", 1)[0] == 0
    status, _, err = here("certify", "certified/run.toml", "--out", "other")
    assert status == 2
    assert "Changed since this run was recorded: classifier" in err
    status, _, err = here("certify", "run.toml")
    assert status == 2
    assert "holds another run (content of classifier" in err


def test_a_description_of_ones_own_tells_the_weights_too(untrained, here):
    words = ("run.toml", "--model", "model.py:described")
    assert here("train", *words)[0] == 0
    assert here("certify", *words)[0] == 0
    told = tomllib.loads(Path("certified/run.toml").read_text())["expected"]["classifier"]
    assert told.startswith("mine weights ")
    assert here("train", *words, "--again", "--epochs", 2)[0] == 0
    status, _, err = here("certify", *words)
    assert status == 2
    assert "content of classifier: there mine weights" in err


def test_other_noise_is_said_and_other_tensors_are_refused(untrained, here):
    assert here("train", "run.toml")[0] == 0
    status, _, err = here("certify", "run.toml", "--noise", "all=0.2/0.05", "--out", "noisier")
    assert status == 0
    assert "Note: The weights in model.pt were trained with Noise(all=Flip(delete=0.1, add=0.05)), not with" in err
    status, _, err = here("sweep", "run.toml", "--grid", "all=0.1/0.05,0.2/0.05", "--samples", 50)
    assert status == 0
    assert "add=0.05)): every level votes with them." in err
    assert tomllib.loads(Path("sweep/run.toml").read_text())["weights"] == "../weights/model.pt"
    status, _, err = here("certify", "run.toml", "--model", "model.py:wider", "--out", "wider")
    assert status == 2
    assert "The weights do not fit model.py:wider" in err
    assert "size mismatch" in err
    assert err.count("\n") == 1
    status, _, err = here("certify", "run.toml", "--model", "model.py:function", "--out", "function")
    assert status == 2
    assert "'weights' needs a torch module" in err


def test_the_next_command_repeats_the_options_and_leaves_training_graphs_out(untrained, here):
    words = ["--model", "model.py:module", "--data", "data.pt", "--noise", "all=0.1/0.05", "--weights", "my model.pt"]
    status, out, _ = here("train", *words, "--epochs", 2)
    assert status == 0
    told = "starcert certify --model model.py:module --weights 'my model.pt' --data data.pt --noise all=0.1/0.05"
    assert f"Next: {told} --split test" in out
    status, out, _ = here("train", *words, "--epochs", 2)
    assert status == 0
    assert "my model.pt was trained so before; --again trains it anew." in out


def test_a_state_dict_of_ones_own_is_read_and_never_replaced(untrained, here):
    module = sc.models.GIN(2, 2, hidden=8, layers=2)
    torch.save(module.state_dict(), "weights/model.pt")
    content = Path("weights/model.pt").read_bytes()
    status, _, err = here("certify", "run.toml", "--limit", 2)
    assert (status, err) == (0, "")
    described = sc.classifiers.from_pyg(module, n_classes=2).description
    assert tomllib.loads(Path("certified/run.toml").read_text())["expected"]["classifier"] == described
    for words in ((), ("--again",)):
        status, _, err = here("train", "run.toml", *words)
        assert status == 2
        assert "model.pt: holds weights that starcert train has not written. Give another --weights." in err
    assert Path("weights/model.pt").read_bytes() == content


def test_ctrl_c_ends_it_in_one_sentence(untrained, here, monkeypatch):
    monkeypatch.setattr("starcert.models.fitting._descend", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    status, out, err = here("train", "run.toml")
    assert (status, out, err) == (130, "", "Interrupted.\n")  # nothing was learned yet


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at open files in /proc")
@pytest.mark.parametrize("name", ["model.pt", "model.pt.partial"])
def test_a_full_disk(untrained, here, monkeypatch, name):
    monkeypatch.setattr("starcert.models.files.SECONDS", 0.0)
    monkeypatch.setattr(os, "fsync", full_disk(name))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        status, out, err = here("train", "run.toml")
    problem = f"weights/{name}: cannot be written (No space left on device). Free some space on its disk"
    assert problem in err
    assert err.count("\n") == 1
    if name == "model.pt":
        assert (status, out) == (2, "")
    else:
        assert status == 0
        assert err.startswith("Note: ")
        assert "Wrote weights/model.pt." in out


def test_damaged_weights_are_neither_certified_nor_replaced(untrained, here):
    assert here("train", "run.toml")[0] == 0
    file = Path("weights/model.pt")
    damaged = bytearray(file.read_bytes())
    weights = torch.load(file, weights_only=True)["weights"]
    damaged[damaged.index(max(weights.values(), key=torch.numel).numpy().tobytes()) + 3] ^= 1
    file.write_bytes(damaged)
    for command in ("certify", "train"):
        status, out, err = here(command, "run.toml")
        assert (status, out) == (2, "")
        assert "model.pt: is damaged: its content and its digest do not agree." in err
        assert err.count("\n") == 1
    assert not Path("certified").exists()
    assert file.read_bytes() == damaged


def test_nodes(tmp_path, here, monkeypatch):
    worlds.project(tmp_path, worlds.NODES_RUN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    status, out, _ = here("train", "run.toml")
    assert status == 0
    assert "Trained NodeGCN on 10 nodes, 10 for validation: 40 epochs" in out
    status, out, _ = here("certify", "run.toml")
    assert status == 0
    assert re.search(r"│ nodes +│ 10 ", out)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--epochs", 0), "'--epochs' must be a whole number from 1"),
        (("--learning-rate", -1), "'--learning-rate' must be a number, 0 or more"),
        (("--model", "model.py:function"), "There is nothing to train"),
        (("--weights", "nowhere/model.pt"), "'weights' must be a file in a folder that can be written"),
    ],
)
def test_mistakes_end_in_one_line(untrained, here, words, complaint):
    status, out, err = here("train", "run.toml", *words)
    assert (status, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_device_that_is_not_there(untrained, here):
    if torch.cuda.is_available():
        pytest.skip("there is one")
    status, _, err = here("train", "run.toml", "--device", "cuda")
    assert status == 2
    assert "'device' must be one that torch can use here. Got 'cuda' instead." in err
    assert "Use --device cpu, or a machine that has a GPU." in err
    assert not Path("weights/model.pt").exists()
