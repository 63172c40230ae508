"""The state of a training in a file: whole and of this training, or not used; and training never fails for its sake."""

import pytest

from starcert.system.errors import StarcertWarning

torch = pytest.importorskip("torch")
weights = pytest.importorskip("starcert.models.weights")
checkpoint = pytest.importorskip("starcert.models.checkpoint")

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
    state = checkpoint.TrainingCheckpoint(path, STORY)
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
        assert checkpoint.TrainingCheckpoint(path, STORY).restore(other, CPU) == {"first": 4, "history": [1.0]}
        assert content(other) == content(parts())
        assert torch.equal(torch.rand(3), drawn)


def test_what_is_saved_is_the_end_of_the_epoch(tmp_path):
    """An interruption comes in the middle of the next one."""
    path, made = tmp_path / "model.pt.partial", parts()
    state = checkpoint.TrainingCheckpoint(path, STORY)
    assert not state.save()  # nothing was learned
    history = [0.5]
    state.keep(made, CPU, first=1, history=history)
    before = content(made)
    made["optimizer"].step()
    history.append(0.4)
    assert content(made) != before
    assert state.save()
    other = parts(seed=1)
    assert checkpoint.TrainingCheckpoint(path, STORY).restore(other, CPU) == {"first": 1, "history": [0.5]}
    assert content(other) == before


def test_a_damaged_file_counts_as_none_and_is_named(tmp_path):
    path = tmp_path / "model.pt.partial"
    saved(path, parts())
    good, before = path.read_bytes(), content(parts(seed=1))
    damaged = [good[:1000], b"", b"nothing", good[:-82] + b"\0\0"]
    damaged += [
        good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :] for place in range(0, len(good), 37)
    ]
    for each in damaged:
        path.write_bytes(each)
        untouched, random = parts(seed=1), torch.random.get_rng_state()
        with pytest.warns(StarcertWarning, match=r"model\.pt\.partial: .* is not used .*starts from the beginning"):
            assert checkpoint.TrainingCheckpoint(path, STORY).restore(untouched, CPU) is None
        assert content(untouched) == before
        assert torch.equal(torch.random.get_rng_state(), random)
    path.unlink()
    path.mkdir()
    with pytest.warns(StarcertWarning, match="Is a directory"):
        assert checkpoint.TrainingCheckpoint(path, STORY).restore(parts(), CPU) is None


def test_that_of_another_training_counts_as_none(tmp_path):
    path = tmp_path / "model.pt.partial"
    saved(path, parts())
    wider, before = parts(width=4), content(parts(width=4))
    assert checkpoint.TrainingCheckpoint(path, STORY).restore(wider, CPU) is None
    assert content(wider) == before
    assert checkpoint.TrainingCheckpoint(path, STORY).restore({"model": wider["model"]}, CPU) is None
    assert checkpoint.TrainingCheckpoint(path, {"seed": 2}).restore(parts(), CPU) is None
    weights.save_file({"weights": {}}, path)
    assert checkpoint.TrainingCheckpoint(path, STORY).restore(parts(), CPU) is None


def test_one_that_cannot_be_written_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    path = tmp_path / "nowhere" / "model.pt.partial"
    state = checkpoint.TrainingCheckpoint(path, STORY)
    with pytest.warns(
        StarcertWarning, match=r"model\.pt\.partial: cannot be written .*training goes on, but an interruption loses"
    ):
        state.keep(parts(), CPU, first=0)
    state.keep(parts(), CPU, first=1)  # without a second warning, which would be an error here
    assert not state.save()
    path.parent.mkdir()  # now it can be
    state.keep(parts(), CPU, first=3)
    assert path.exists()
