"""Weights in a file: what was trained comes back, and what does not fit is named; and the state of a training."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
files = pytest.importorskip("starcert.models.files")

NOISE = sc.Noise(all=0.1)
GRAPHS = [
    sc.Graph(6, [(u, v) for v in range(6) for u in range(v) if v < size], node_data={"x": np.ones((6, 1), np.float32)})
    for size in (2, 6) * 4
]
LABELS = [0, 1] * 4
CODE = """
from pathlib import Path
import starcert as sc

def model():
    return sc.models.load_weights(sc.models.GIN(1, 2, hidden=4, layers=2), Path(__file__).with_name("model.pt"))
"""


def gin(width=4):
    return sc.models.GIN(1, 2, hidden=width, layers=2)


def trained():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(gin(), n_classes=2), NOISE)
    training = sc.models.fit_with_noise(smoothed, GRAPHS, LABELS, validation=(GRAPHS, LABELS), epochs=5)
    return smoothed, training


def test_what_was_trained_comes_back_with_how_it_was_made(tmp_path):
    smoothed, training = trained()
    sc.models.save_weights(smoothed, tmp_path / "model.pt", training)
    again, twice = (sc.models.load_weights(gin(), tmp_path / "model.pt") for _ in range(2))
    for name, weights in smoothed.classifier.model.state_dict().items():
        assert torch.equal(again.state_dict()[name], weights)
    described = [sc.classifiers.from_pyg(each, n_classes=2).description for each in (again, twice, gin())]
    assert described[0] == described[1] != described[2]
    assert not again.training
    made = sc.models.how_made(tmp_path / "model.pt")
    assert (made["module"], made["noise"], made["best_epoch"]) == ("GIN", repr(NOISE), training.best_epoch)
    assert made["validation_accuracy"] == training.validation_accuracy
    assert made["versions"]["torch"] == version("torch")


def loaded(path):
    """The weights and the history of a file; None if it is refused."""
    try:
        module = sc.models.load_weights(gin(), path)
        return {name: each.tolist() for name, each in module.state_dict().items()}, sc.models.how_made(path)
    except StarcertError:
        return None


def test_no_flipped_bit_gives_other_weights(tmp_path):
    smoothed, training = trained()
    path = tmp_path / "model.pt"
    sc.models.save_weights(smoothed, path, training)
    content, expected = path.read_bytes(), loaded(path)
    assert expected is not None
    for place in range(0, len(content), 29):
        path.write_bytes(flipped(content, place))
        assert loaded(path) is None, place
    path.write_bytes(content)
    assert loaded(path) == expected


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def test_damage_is_named_with_the_next_step(tmp_path):
    smoothed, training = trained()
    path = tmp_path / "model.pt"
    sc.models.save_weights(smoothed, path, training)
    content = path.read_bytes()
    problem = "is damaged: its content and its digest do not agree. Restore a good copy, or delete it and train again."
    for damaged in (flipped(content, 2000), content[:-82] + b"\0\0", flipped(content, len(content) - 80)):
        path.write_bytes(damaged)
        for read in (sc.models.how_made, lambda path: sc.models.load_weights(gin(), path)):
            with pytest.raises(StarcertError) as refused:
                read(path)
            assert str(refused.value) == f"{path}: {problem}"


def test_files_without_a_digest_are_read(tmp_path):
    """State dicts of others."""
    smoothed, training = trained()
    path = tmp_path / "model.pt"
    sc.models.save_weights(smoothed, path, training)
    expected = loaded(path)
    kept = torch.load(path, weights_only=True)  # torch reads it as any other file of its own
    for new in (True, False):
        torch.save(kept["weights"], path, _use_new_zipfile_serialization=new)
        assert loaded(path) == (expected[0], {})


class Hostile:
    def __reduce__(self):
        return pytest.fail, ("this must never be called",)


def test_what_does_not_fit_is_named(tmp_path):
    smoothed, training = trained()
    path = tmp_path / "model.pt"
    with pytest.raises(StarcertError, match=r"model.pt: cannot be read \(No such file"):
        sc.models.load_weights(gin(), path)
    sc.models.save_weights(smoothed, path, training)
    with pytest.raises(
        InvalidParameterError, match=r"'module' must fit the weights of .*size mismatch.*It holds a GIN"
    ):
        sc.models.load_weights(gin(5), path)
    torch.save({"weights": {}}, path)
    with pytest.raises(StarcertError, match="holds no weights of starcert"):
        sc.models.load_weights(gin(), path)
    path.write_text("nothing")
    with pytest.raises(StarcertError, match="is no file of weights"):
        sc.models.how_made(path)
    torch.save({"weights": Hostile()}, path)  # nothing in a file is run
    with pytest.raises(StarcertError, match="is no file of weights"):
        sc.models.load_weights(gin(), path)
    plain = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda graph: 0), NOISE)
    with pytest.raises(InvalidParameterError, match="'smoothed' must smooth a classifier from a torch module"):
        sc.models.save_weights(plain, path, training)


def test_a_run_votes_with_the_weights_of_a_file(tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    smoothed, training = trained()
    sc.models.save_weights(smoothed, "model.pt", training)
    Path("code.py").write_text(CODE)
    torch.save([graph.to_pyg().to_dict() for graph in GRAPHS[:2]], "data.pt")
    words = ("--model", "code.py:model", "--data", "data.pt", "--noise", "all=0.1", "--samples", 200, "--seed", 3)
    assert here("certify", *words)[0] == 0
    rows = sc.archive.read("certified/certificates.json").rows()
    votes = smoothed.vote([sc.Graph.from_pyg(each.to_pyg()) for each in GRAPHS[:2]], samples=200, seed=3)
    assert [[row["votes_0"], row["votes_1"]] for row in rows] == votes.counts.tolist()


# ---- the state of a training: whole and of this training, or not used; and training never fails for its sake


CPU = torch.device("cpu")
STORY = {"seed": 1}


def parts(width=3, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = torch.nn.Linear(width, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, width)).sum().backward()
    optimizer.step()
    return {"model": model, "optimizer": optimizer}


def content(made):
    return repr({name: part.state_dict() for name, part in made.items()})


def saved(path, made):
    state = files.TrainingCheckpoint(path, STORY)
    state.keep(made, CPU, first=4, history=[1.0])
    assert not path.exists()  # it is not time yet
    assert state.save()
    return state


def test_what_was_saved_is_restored(tmp_path):
    path = tmp_path / "model.pt.partial"
    with torch.random.fork_rng():
        saved(path, parts())
        drawn = torch.rand(3)
        other = parts(seed=1)
        assert content(other) != content(parts())
        assert files.TrainingCheckpoint(path, STORY).restore(other, CPU) == {"first": 4, "history": [1.0]}
        assert content(other) == content(parts())
        assert torch.equal(torch.rand(3), drawn)


def test_what_is_saved_is_the_end_of_the_epoch(tmp_path):
    """An interruption comes in the middle of the next one."""
    path, made = tmp_path / "model.pt.partial", parts()
    state = files.TrainingCheckpoint(path, STORY)
    assert not state.save()  # nothing was learned
    history = [0.5]
    state.keep(made, CPU, first=1, history=history)
    before = content(made)
    made["optimizer"].step()
    history.append(0.4)
    assert content(made) != before
    assert state.save()
    other = parts(seed=1)
    assert files.TrainingCheckpoint(path, STORY).restore(other, CPU) == {"first": 1, "history": [0.5]}
    assert content(other) == before


def test_a_damaged_file_counts_as_none_and_is_named(tmp_path):
    path = tmp_path / "model.pt.partial"
    saved(path, parts())
    good, before = path.read_bytes(), content(parts(seed=1))
    damaged = [good[:1000], b"", b"nothing", good[:-82] + b"\0\0"]
    damaged += [
        good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :] for place in range(0, len(good), 131)
    ]
    for each in damaged:
        path.write_bytes(each)
        untouched, random = parts(seed=1), torch.random.get_rng_state()
        with pytest.warns(StarcertWarning, match=r"model\.pt\.partial: .* is not used .*starts from the beginning"):
            assert files.TrainingCheckpoint(path, STORY).restore(untouched, CPU) is None
        assert content(untouched) == before
        assert torch.equal(torch.random.get_rng_state(), random)
    path.unlink()
    path.mkdir()
    with pytest.warns(StarcertWarning, match="Is a directory"):
        assert files.TrainingCheckpoint(path, STORY).restore(parts(), CPU) is None


def test_that_of_another_training_or_version_counts_as_none(tmp_path, monkeypatch):
    path = tmp_path / "model.pt.partial"
    with monkeypatch.context() as patch:
        patch.setattr(files, "_CHECKPOINT_FORMAT", 1)
        saved(path, parts())
    assert files.TrainingCheckpoint(path, STORY).restore(parts(), CPU) is None
    path.unlink()
    saved(path, parts())
    wider, before = parts(width=4), content(parts(width=4))
    assert files.TrainingCheckpoint(path, STORY).restore(wider, CPU) is None
    assert content(wider) == before
    assert files.TrainingCheckpoint(path, STORY).restore({"model": wider["model"]}, CPU) is None
    assert files.TrainingCheckpoint(path, {"seed": 2}).restore(parts(), CPU) is None
    files.save_file({"weights": {}}, path)
    assert files.TrainingCheckpoint(path, STORY).restore(parts(), CPU) is None


def test_one_that_cannot_be_written_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SECONDS", 0.0)
    path = tmp_path / "nowhere" / "model.pt.partial"
    state = files.TrainingCheckpoint(path, STORY)
    with pytest.warns(
        StarcertWarning, match=r"model\.pt\.partial: cannot be written .*training goes on, but an interruption loses"
    ):
        state.keep(parts(), CPU, first=0)
    state.keep(parts(), CPU, first=1)  # without a second warning, which would be an error here
    assert not state.save()
    path.parent.mkdir()  # now it can be
    state.keep(parts(), CPU, first=3)
    assert path.exists()
