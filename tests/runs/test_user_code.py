import os
import pickle
import sys

import pytest

import starcert as sc
from starcert.runs.user_code import Reference, UserCodeError, running_user_code, voting_workers
from starcert.system.errors import InvalidParameterError, StarcertError


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def written(folder, text, name="code.py"):
    (folder / name).write_text(text)
    return Reference(folder / name, "f")


def test_a_file_is_imported_with_its_neighbours_and_leaves_no_litter(tmp_path):
    (tmp_path / "neighbour_of_code.py").write_text("answer = 42")
    found = written(tmp_path, "def f():\n    from neighbour_of_code import answer\n    return answer").load()
    assert found() == 42
    assert not (tmp_path / "__pycache__").exists() or not list((tmp_path / "__pycache__").glob("code*"))


def test_what_a_file_defines_can_be_pickled_by_name(tmp_path):
    found = written(tmp_path, "class f: pass").load()
    assert pickle.loads(pickle.dumps(found)) is found


def test_a_file_that_has_changed_is_imported_again(tmp_path):
    first = written(tmp_path, "def f(): return 1").load()
    again = written(tmp_path, "def f(): return 1").load()
    second = written(tmp_path, "def f(): return 2").load()
    assert first is again
    assert (first(), second()) == (1, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nx = 1 / 0", "code.py, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\n\ndef f(:", "code.py, line 3: SyntaxError: invalid syntax"),
        (
            "import no_such_thing",
            "line 1: ModuleNotFoundError: No module named 'no_such_thing'. Try: pip install no_such_thing",
        ),
        ("import sys\nsys.exit('usage: me')", "line 2: SystemExit: usage: me"),
        ("raise ValueError('two\\nlines')", "line 1: ValueError: two lines"),
        ("def g(): pass", "defines no 'f'. It defines g."),
        ("def ff(): pass", "defines no 'f'. Did you mean ff?"),
    ],
)
def test_mistakes_are_one_line_with_the_place(tmp_path, text, words):
    with pytest.raises(UserCodeError) as caught:
        written(tmp_path, text).load()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failed_import_is_tried_again(tmp_path):
    reference = written(tmp_path, "import os\nif not os.path.exists(__file__ + '.ok'): 1 / 0\nf = 1")
    with pytest.raises(UserCodeError):
        reference.load()
    (tmp_path / "code.py.ok").touch()
    assert reference.load() == 1


def test_the_line_blamed_is_the_users_last_one(tmp_path):
    reference = written(tmp_path, "import json\n\ndef f():\n    return json.loads('{')\n")
    with pytest.raises(UserCodeError, match=r"code\.py, line 4: JSONDecodeError"), running_user_code(reference.file):
        reference.load()()


@pytest.mark.parametrize("text", ["code.py", "code", "code.py:", "code.py:not a name", "code.txt:f", ""])
def test_what_is_no_reference_is_refused(tmp_path, text):
    written(tmp_path, "def f(): pass")
    with pytest.raises(InvalidParameterError, match=r"path/to/file\.py:function"):
        Reference.parse(text, tmp_path, "model")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder from which modules are imported, with the module own."""
    (tmp_path / "own_module.py").write_text("class box:\n    thing = 1\n")
    (tmp_path / "failing_module.py").write_text("import absent\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("own_module", None)


def test_a_module_is_named_as_it_is_imported(own):
    found = Reference.parse("own_module:box.thing", own, "model")
    assert (found.module, found.name, str(found), found.file.name) == (
        "own_module",
        "box.thing",
        "own_module:box.thing",
        "own_module.py",
    )
    assert "own_module" not in sys.modules
    assert found.load() == 1
    assert found.digest == Reference(own / "own_module.py", "box").digest
    with pytest.raises(UserCodeError, match=r"failing_module\.py, line 1: ModuleNotFoundError.*pip install absent"):
        Reference.parse("failing_module:f", own, "model").load()


@pytest.mark.parametrize("text", ["absent:f", "own_module.absent:f", "math:sin"])
def test_a_module_that_is_not_there_is_named(own, text):
    with pytest.raises(
        InvalidParameterError, match="'model' must name a Python file and a function in it, or a module"
    ):
        Reference.parse(text, own, "model")


def classifier_in(folder, text):
    (folder / "code.py").write_text(text)
    reference = Reference(folder / "code.py", "f")
    return sc.classifiers.from_callable(reference.load(), description="f"), reference


GRAPHS = [sc.Graph(5, [(0, 1), (1, 2)])]


def certify(classifier, executor):
    smoothed = sc.SmoothedClassifier(classifier, sc.Noise(all=0.1))
    return smoothed.certify(GRAPHS, samples=3000, seed=1, voting=sc.Voting(executor=executor))


def test_a_worker_that_dies_is_told_in_one_sentence(tmp_path):
    base, model = classifier_in(
        tmp_path, f"import os\ndef f(graph):\n    if os.getpid() != {os.getpid()}: os._exit(9)\n    return 0"
    )
    with (
        pytest.raises(StarcertError, match=r"A worker process died.*fewer workers"),
        voting_workers(base, model, 2, print) as executor,
    ):
        certify(base, executor)


def test_a_file_that_workers_cannot_import(tmp_path):
    base, model = classifier_in(tmp_path, f"import os\nif os.getpid() != {os.getpid()}: 1 / 0\ndef f(graph): return 0")
    with (
        pytest.raises(StarcertError, match=r"A worker process cannot import.*code\.py, line 2: ZeroDivisionError"),
        voting_workers(base, model, 2, print) as executor,
    ):
        certify(base, executor)


def test_errors_in_workers_come_back(tmp_path):
    base, model = classifier_in(tmp_path, "def f(graph): return [][graph.number_of_nodes()]")
    with pytest.raises(sc.ClassifierError, match="IndexError"), voting_workers(base, model, 2, print) as executor:
        certify(base, executor)


def test_one_worker_is_this_process(tmp_path):
    base, model = classifier_in(tmp_path, "def f(graph): return 0")
    notes = []
    with voting_workers(base, model, 1, notes.append) as executor:
        assert executor is None
    assert notes == []
