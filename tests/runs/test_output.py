import pytest

import runs_worlds as worlds
from starcert.errors import StarcertError
from starcert.runs import complete, read
from starcert.runs.output import FILES, RUN, Output

DIGESTS = {"model": "m", "data": "d", "regions": "r", "classifier": "c"}


@pytest.fixture
def settings(tmp_path):
    return complete(read(worlds.project(tmp_path / "project")).values)


def fill(folder, text):
    for name in FILES[1:]:
        (folder / name).write_text(text)


def test_the_name_is_given_when_everything_is_there(settings):
    place = Output(settings.out)
    place.check_place()
    place.begin(settings, DIGESTS)
    assert place.partial.name == "results.partial"
    assert not place.final.exists()
    place.begin(settings, DIGESTS)  # interrupted, and run again
    fill(place.partial, "1")
    place.finish()
    assert not place.partial.exists()
    assert {path.name for path in place.final.iterdir()} == set(FILES)
    assert read(place.final / RUN).values["model"] == settings.model


def test_the_same_run_again_replaces_what_is_there(settings):
    place = Output(settings.out)
    for text in "12":
        place.check_place()
        place.begin(settings, DIGESTS)
        fill(place.kept, text)
        place.finish()
    assert (place.final / "report.html").read_text() == "2"
    assert not place.partial.exists()


def test_an_empty_folder_may_be_the_output(settings):
    settings.out.mkdir()
    place = Output(settings.out)
    place.check_place()
    place.begin(settings, DIGESTS)
    place.finish()
    assert (settings.out / RUN).exists()


@pytest.mark.parametrize("suffix", ["", ".partial"])
def test_a_folder_of_another_run_is_refused(settings, suffix):
    place = Output(settings.out)
    place.begin(settings, DIGESTS)
    if not suffix:
        place.finish()
    for other, digests, words in (
        ({"samples": 9, "selection_samples": 9}, DIGESTS, "samples: there 400, now 9"),
        ({}, DIGESTS | {"model": "n"}, "content of model: there m, now n"),
    ):
        changed = complete({**{key: getattr(settings, key) for key in settings.__dataclass_fields__}, **other})
        with pytest.raises(StarcertError) as caught:
            place.begin(changed, digests)
        assert f"results{suffix}: holds another run ({words}" in str(caught.value)
        assert "Give another --out, or remove" in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".partial"])
def test_a_folder_with_other_things_is_refused(settings, suffix):
    folder = settings.out.with_name(f"results{suffix}")
    folder.mkdir()
    (folder / "thesis.tex").touch()
    with pytest.raises(StarcertError, match="'out' must be a new folder, or that of an earlier run"):
        Output(settings.out).check_place()


def test_a_file_is_no_folder(settings):
    settings.out.touch()
    with pytest.raises(StarcertError, match="'out' must be a folder"):
        Output(settings.out).check_place()


def test_a_run_that_cannot_be_read_is_refused(settings):
    settings.out.mkdir()
    (settings.out / RUN).write_text("model = 3")
    with pytest.raises(StarcertError, match=r"holds a run whose settings cannot be read .*'model' must be text"):
        Output(settings.out).begin(settings, DIGESTS)
