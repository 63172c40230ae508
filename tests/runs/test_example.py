import pytest

from starcert.datasets.graph_files import read_folder
from starcert.runs.example import EXAMPLES, files_of, write_example
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import run_settings
from starcert.system.errors import InvalidParameterError


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_whole_project(tmp_path, example):
    written = write_example(tmp_path / "new" / "place", example)
    settings = run_settings(read_run_file(written[0]).values)
    data = read_folder(settings.data)
    assert written[0] == tmp_path / "new" / "place" / "run.toml"
    assert data.class_names == ("clique", "ring", "star")
    assert all(data.known.count(label) == len(data) / 3 for label in range(3))
    assert settings.model.file == written[1]
    assert settings.noise.regions == ("motif", "random")


def test_examples_are_the_same_every_time():
    assert files_of("function") == files_of("function")


@pytest.mark.parametrize("there", ["run.toml", "model.py", "graphs/labels.csv", "graphs/graph_03.graphml"])
def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path, there):
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_text("mine")
    with pytest.raises(InvalidParameterError, match=f"{there}.*Nothing was written"):
        write_example(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / there]
    assert (tmp_path / there).read_text() == "mine"


def test_an_unknown_example(tmp_path):
    with pytest.raises(InvalidParameterError, match="'--example' must be one of function, sklearn"):
        write_example(tmp_path, "quantum")
