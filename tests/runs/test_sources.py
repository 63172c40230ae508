import sys
from pathlib import Path

import pytest
import runs_worlds as worlds

from starcert.runs.declaration import check_values
from starcert.runs.settings import SETTINGS
from starcert.runs.sources import load_graphs
from starcert.system.errors import StarcertError

TINY = {"A": "1, 2\n2, 1", "graph_indicator": "1\n1\n2", "graph_labels": "5\n-1"}


def tiny(folder: Path) -> None:
    folder.mkdir(parents=True)
    for kind, text in TINY.items():
        (folder / f"TINY_{kind}.txt").write_text(text)


@pytest.mark.parametrize("place", [".", "raw", "project/raw"])
def test_the_folder_of_a_tu_data_set(tmp_path, place):
    tiny(tmp_path / "project" / place)
    data = load_graphs(tmp_path / "project")
    assert data.names == ("TINY 1", "TINY 2")
    assert tuple(data.labels) == (1, 0)
    assert data.class_names == ("-1", "5")


def test_the_name_of_a_tu_data_set(tmp_path, monkeypatch):
    tiny(tmp_path / "TINY")
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path))
    assert len(load_graphs("TINY")) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys.modules["starcert.datasets.tu_files"], "_download", _no_download)
    with pytest.raises(StarcertError) as caught:
        load_graphs(check_values({"data": "tini"}, SETTINGS, base=tmp_path / "there")["data"])
    message = str(caught.value)
    assert message.startswith(
        f"There is no file or folder {tmp_path / 'there' / 'tini'}, and tini is not a TU data set "
    )
    assert "Did you mean TINY?" in message
    assert "--data tini" in message
    assert "root=" not in message


def _no_download(name):
    from starcert.datasets.tu_files import _CannotDownloadError  # noqa: PLC0415

    raise _CannotDownloadError("no network in tests")


def test_two_data_sets_in_one_folder_are_told_apart(tmp_path):
    tiny(tmp_path / "raw")
    (tmp_path / "raw" / "OTHER_A.txt").touch()
    with pytest.raises(StarcertError, match="folder of one data set"):
        load_graphs(tmp_path)


def test_code_is_no_data(tmp_path):
    run = worlds.project(tmp_path / "project")
    with pytest.raises(StarcertError, match="be graphs, not code"):
        load_graphs(run.parent / "model.py")


@pytest.mark.parametrize("source", ["TINY", "project", "model.py:make", "ring.npz"])
def test_columns_of_what_has_none_are_refused(tmp_path, source):
    folder = worlds.project(tmp_path / "there").parent
    (folder / "ring.npz").touch()
    (folder / "graphs" / "labels.csv").unlink()
    (folder / "graphs").rename(folder / "project")
    given = check_values({"data": source}, SETTINGS, base=folder)["data"]
    with pytest.raises(StarcertError, match=r"'columns' cannot be label=y: "):
        load_graphs(given, columns={"label": "y"})
