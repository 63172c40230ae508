import errno
import os
import shutil
import tomllib
from pathlib import Path

import kills_worlds as kills
import msgspec
import pytest
import runs_worlds as worlds
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from starcert.runs.folder import VOTES, OutputFolder, RunRecord, toml_item
from starcert.runs.run_file import FILES, RUN, read_run_file
from starcert.runs.settings import run_settings
from starcert.system.errors import StarcertError
from starcert.system.files import write_whole

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.one_of(PLAIN, st.lists(st.integers(0, 99)), st.dictionaries(TEXTS, PLAIN, max_size=3))


@given(VALUES)
def test_values_come_back_to_the_last_bit(value):
    document = tomlkit.document()
    document.add("item", toml_item(value))
    text = tomlkit.dumps(document)
    # The escape character is written as of TOML 1.1, which the standard library does not read yet.
    for back in [tomlkit.parse(text).unwrap()["item"], *([] if "\\e" in text else [tomllib.loads(text)["item"]])]:
        assert back == value
        assert type(back) is type(value)
        assert repr(back) == repr(value)


DIGESTS = {"model": "m", "data": "d", "regions": "r", "classifier": "c"}


@pytest.fixture
def settings(tmp_path):
    return run_settings(read_run_file(worlds.project(tmp_path / "project")).values)


def fill(folder, text):
    for name in FILES[1:]:
        (folder / name).write_text(text)


def test_the_name_is_given_when_everything_is_there(settings):
    place = OutputFolder(settings.out)
    place.check_place()
    place.begin(RunRecord(settings, DIGESTS))
    assert place.partial.name == "results.partial"
    assert not place.final.exists()
    place.begin(RunRecord(settings, DIGESTS))  # interrupted, and run again
    fill(place.partial, "1")
    place.finish()
    assert not place.partial.exists()
    assert {path.name for path in place.final.iterdir()} == set(FILES)
    assert read_run_file(place.final / RUN).values["model"] == settings.model


def test_the_same_run_again_replaces_what_is_there(settings):
    place = OutputFolder(settings.out)
    for text in "12":
        place.check_place()
        place.begin(RunRecord(settings, DIGESTS))
        fill(place.kept, text)
        place.finish()
    assert (place.final / "report.html").read_text() == "2"
    assert not place.partial.exists()


def test_a_run_file_keeps_its_comments_until_it_says_something_else(settings):
    place = OutputFolder(settings.out)
    place.begin(RunRecord(settings, DIGESTS))
    file = place.kept / RUN
    mine = file.read_text().replace("\nseed = ", "\n# lucky\nseed = ")
    file.write_text(mine)
    place.write_run_file(RunRecord(settings, DIGESTS))
    assert file.read_text() == mine
    place.write_run_file(RunRecord(settings, DIGESTS, comments=["The noise is that of level 2."]))
    assert "level 2" in file.read_text()
    place.write_run_file(RunRecord(settings.changed(alpha=0.02), DIGESTS))
    assert read_run_file(file).values["alpha"] == 0.02


def test_an_empty_folder_may_be_the_output(settings):
    settings.out.mkdir()
    place = OutputFolder(settings.out)
    place.check_place()
    place.begin(RunRecord(settings, DIGESTS))
    place.finish()
    assert (settings.out / RUN).exists()


@pytest.mark.parametrize("suffix", ["", ".partial"])
def test_a_folder_of_another_run_is_refused(settings, suffix):
    place = OutputFolder(settings.out)
    place.begin(RunRecord(settings, DIGESTS))
    if not suffix:
        place.finish()
    for other, digests, words in (
        ({"samples": 9, "selection_samples": 9}, DIGESTS, "samples: there 400, now 9"),
        ({}, DIGESTS | {"model": "n"}, "content of model: there m, now n"),
    ):
        changed = run_settings({**msgspec.structs.asdict(settings), **other})
        with pytest.raises(StarcertError) as caught:
            place.begin(RunRecord(changed, digests))
        assert f"results{suffix}: holds another run ({words}" in str(caught.value)
        assert "Give another --out, or remove" in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".partial"])
def test_a_folder_with_other_things_is_refused(settings, suffix):
    folder = settings.out.with_name(f"results{suffix}")
    folder.mkdir()
    (folder / "thesis.tex").touch()
    with pytest.raises(StarcertError, match="'out' must be a new folder, or that of an earlier run"):
        OutputFolder(settings.out).check_place()


def test_a_file_is_no_folder(settings):
    settings.out.touch()
    with pytest.raises(StarcertError, match="'out' must be a folder"):
        OutputFolder(settings.out).check_place()


def test_a_run_that_cannot_be_read_is_refused(settings):
    settings.out.mkdir()
    (settings.out / RUN).write_text("model = 3")
    with pytest.raises(StarcertError, match=r"holds a run whose settings cannot be read .*'model' must be text"):
        OutputFolder(settings.out).begin(RunRecord(settings, DIGESTS))


def whole_run(settings, text):
    """The file work of a run."""
    place = OutputFolder(settings.out)
    place.check_place()
    place.begin(RunRecord(settings, DIGESTS))
    (place.kept / VOTES).touch()
    for name in FILES[1:]:
        write_whole(place.kept / name, [f"{name} ", text])
    place.finish()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("before", ["nothing", "an empty folder", "a finished folder", "the drafts of another kill"])
def test_a_run_goes_on_whatever_file_operation_it_was_killed_at(settings, before):
    whole_run(settings, "x")
    expected = kills.contents(settings.out)
    assert set(expected) == {*FILES, VOTES}
    step = 0
    while True:
        step += 1 if before == "nothing" else 2  # they differ in how a run begins
        if before != "a finished folder":
            shutil.rmtree(settings.out)
        if before == "an empty folder":
            settings.out.mkdir()
        if before == "the drafts of another kill":
            kills.killed(settings.out.parent, 1 + step % 9, lambda: whole_run(settings, "x"))
        if not kills.killed(settings.out.parent, step, lambda: whole_run(settings, "x")):
            break
        whole_run(settings, "x")
        assert kills.contents(settings.out) == expected, step
        assert not OutputFolder(settings.out).partial.exists()
    assert step > 15


def test_a_link_leads_to_the_folder_itself(settings, tmp_path):
    real, link = tmp_path / "disk" / "deep" / "real", settings.out
    link.symlink_to(real)  # dangling
    for _ in range(2):
        whole_run(settings, "x")
        assert link.is_symlink()
        assert set(kills.contents(real)) == {*FILES, VOTES}
    for path in (real / RUN, link / RUN):  # the file says the same wherever one comes from
        assert read_run_file(path).values["model"] == settings.model
        assert read_run_file(path).values["data"] == settings.data
    shutil.rmtree(real)
    real.mkdir()  # a link to an empty folder
    whole_run(settings, "x")
    assert link.is_symlink()
    assert os.listdir(real.parent) == ["real"]


@pytest.mark.parametrize("suffix", ["", ".partial"])
def test_a_link_to_itself_is_no_folder(settings, suffix):
    link = settings.out.with_name(f"results{suffix}")
    link.symlink_to(link)
    with pytest.raises(StarcertError, match="'out' must be a folder"):
        OutputFolder(settings.out).check_place()


MOUNTED = [path for path in ("/", "/dev/shm", "/proc") if os.path.ismount(path)]


@pytest.mark.parametrize("mounted", MOUNTED)
def test_a_place_where_a_disk_is_mounted_is_refused_with_the_next_step(mounted):
    with pytest.raises(StarcertError) as caught:
        OutputFolder(Path(mounted)).check_place()
    assert "must be a new folder, not a place where a disk is mounted" in str(caught.value)
    assert f"such as {Path(mounted, 'certified')}" in str(caught.value)


def test_a_finished_folder_may_be_mounted(settings, monkeypatch):
    whole_run(settings, "x")
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) == str(settings.out))
    whole_run(settings, "x")


def test_a_name_that_cannot_be_had_is_told_before_the_first_vote(settings, monkeypatch):
    settings.out.mkdir()

    def busy(_path):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "rmdir", busy)  # as where another folder of the same disk is mounted there
    with pytest.raises(StarcertError, match=r"'out' must be a folder that can get its name .*resource busy.*Give the"):
        OutputFolder(settings.out).begin(RunRecord(settings, DIGESTS))
    assert not OutputFolder(settings.out).partial.exists()


def test_a_finished_folder_is_looked_at_alone(settings):
    """What an interrupted repetition of an older version left beside it is no hindrance."""
    whole_run(settings, "x")
    rest = OutputFolder(settings.out).partial
    rest.mkdir()
    (rest / "report.html").touch()
    whole_run(settings, "x")
    assert (rest / "report.html").exists()
