"""What other packages add: found by name, loaded on demand, and refused in one message that names the package."""

import json
import sys

import pytest
from plugin_worlds import declaring, install

import starcert as sc
from starcert.certificates.estimator import as_objects
from starcert.objects.binding import known_kinds
from starcert.objects.laws import law_from_json, law_from_text
from starcert.objects.threats import Rewire, Threat, Where, read_threat
from starcert.runs.run_file import _plain, read_run_file
from starcert.runs.setting_values import as_bound, from_package
from starcert.runs.threats import as_threat
from starcert.runs.user_code import UserCodeError
from starcert.system.errors import InvalidParameterError, StarcertWarning
from starcert.system.plugins import GROUPS, PluginError, find_plugin, plugins

LAW = """
import starcert as sc
from fractions import Fraction
class Coin(sc.Law):
    'A fair coin.'
    name = "{name}"
    alphabet, suffixes, moves = 2, ("",), (((0, 1), (1, 0)),)
    numbers = {{}}
    def transitions(self, value):
        return Fraction(1, 2), Fraction(1, 2)
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Installs a package: its module of the same name, and its entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(name: str, group: str, code: str = "thing = 1\n", **entries: str) -> None:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        install(tmp_path, declaring(name, group, **(entries or {name: f"{name}:thing"})))

    before = set(sys.modules)
    yield add
    for module in set(sys.modules) - before:
        del sys.modules[module]


def test_nothing_is_loaded_before_it_is_named(packages):
    packages("harmful", "bounds", "1 / 0\n")
    found = plugins("bounds")["harmful"]
    assert (found.origin, found.place) == ("harmful 1.0", "harmful:thing")
    assert "harmful" not in sys.modules
    with pytest.raises(PluginError, match=r"harmful 1\.0: .*harmful = 'harmful:thing'.*ZeroDivisionError: division"):
        found.load()
    assert sc.SmoothedClassifier  # and whatever does not name it goes on


@pytest.mark.parametrize("place", ["absent:thing", "lacking:other", "lacking:thing.more"])
def test_what_is_not_there_is_named(packages, place):
    packages("lacking", "laws", it=place)
    with pytest.raises(PluginError, match=r"lacking 1\.0.*cannot be imported \((ModuleNotFound|Attribute)Error"):
        plugins("laws")["it"].load()


def test_two_packages_with_one_name_are_refused_with_both_named(packages):
    packages("first", "laws", coin="first:thing")
    packages("second", "laws", coin="second:thing")
    with pytest.raises(PluginError, match=r"'coin' in starcert\.laws is claimed by first 1\.0, and by second 1\.0"):
        law_from_json({"law": "coin"})
    assert law_from_json(0.1) == sc.Flip(0.1)


def test_a_name_of_starcerts_own_is_refused(packages):
    packages("greedy", "laws", LAW.format(name="flip"), flip="greedy:Coin")
    with pytest.raises(PluginError, match=r"claimed by greedy 1\.0, and by starcert itself"):
        law_from_json({"law": "flip"})


def test_a_name_that_nobody_has():
    with pytest.raises(PluginError, match=r"no 'fog' in starcert\.laws here\. Install the package"):
        find_plugin("laws", "fog")


def test_a_law_is_found_and_written_by_its_name(packages):
    packages("coins", "laws", LAW.format(name="coin"), coin="coins:Coin")
    law = law_from_json({"law": "coin"})
    assert type(law).__module__ == "coins"
    assert law.to_json() == {"law": "coin"}
    assert law.to_text() == "coin()"
    assert type(law_from_text("coin()", "--noise")) is type(law)
    assert sc.Noise(all=law, other=0.1).outside == ("coin",)
    for wrong in ({"law": "coin", "p": 0.1}, {"law": "coin", "values": 3}):
        with pytest.raises(InvalidParameterError, match=r"be what coin takes.*TypeError"):
            law_from_json(wrong)
    with pytest.raises(InvalidParameterError, match="'--noise all' must be what coin takes"):
        law_from_text("coin(a)", "--noise all")


def test_a_law_that_calls_itself_otherwise_is_refused(packages):
    packages("coins", "laws", LAW.format(name="toss"), coin="coins:Coin", number="coins:Fraction")
    with pytest.raises(PluginError, match=r"coins 1\.0: 'coins:Coin' is no Law with the name 'coin'.*itself 'toss'"):
        law_from_json({"law": "coin"})
    with pytest.raises(PluginError, match="'coins:Fraction' is no Law"):
        law_from_json({"law": "number"})


def test_a_file_from_elsewhere_imports_nothing(packages):
    packages("trap", "kinds", LAW.format(name="trap:Coin"))
    with pytest.raises(InvalidParameterError, match="Import trap first"):
        law_from_json({"law": "trap:Coin"})
    assert "trap" not in sys.modules
    with pytest.raises(PluginError, match="'os:system' is no Law"):
        law_from_json({"law": "os:system"})
    assert law_from_json({"law": "trap:Coin"}, imports=True).name == "trap:Coin"
    assert law_from_json({"law": "trap:Coin"}).name == "trap:Coin"  # now that it is imported


def test_channels_that_are_not_those_of_the_transitions_are_refused(packages):
    code = LAW.format(name="coin") + "    channels = sc.Flip(0.4).channels\n"
    packages("coins", "laws", code, coin="coins:Coin")
    with pytest.raises(InvalidParameterError, match="channels are those of their transitions"):
        _ = sc.Noise(all=law_from_json({"law": "coin"})).product


def test_a_law_that_only_derives_from_another_is_not_written_as_that(tmp_path):
    class Sly(sc.Flip):
        pass

    bounds = sc.clopper_pearson(sc.Votes([[990, 10]], [[99, 1]]))
    archive = sc.archive.Archive.from_result(sc.certify(bounds, sc.Noise(all=Sly(0.1)), max_radius=2))
    with pytest.raises(InvalidParameterError, match="laws that are read as they are written"):
        sc.archive.write(tmp_path / "certificates.json", archive)


def test_a_kind_is_found_and_a_broken_one_does_no_harm(packages):
    packages("trees", "kinds", "import starcert.objects as o\nclass thing(o.Kind):\n    word = 'tree'\n")
    packages("broken", "kinds", "1 / 0\n")
    with pytest.warns(StarcertWarning, match=r"broken 1\.0.*ZeroDivisionError"):
        assert [kind.word for kind in known_kinds()] == ["graph", "row", "tree"]


@pytest.mark.parametrize(("group", "parse"), [("classifiers", from_package("classifiers")), ("bounds", as_bound)])
def test_models_and_bounds_by_name_or_import(group, parse, packages, tmp_path):
    packages("own", group, "class box:\n    thing = 1\n", mine="own:box.thing", fog="own:box")
    packages("other", group, fog="other:thing")
    for text, name in (("mine", "box.thing"), ("own:box", "box")):
        found = parse(text, tmp_path, "it")
        assert (found.module, found.name, str(found), found.file.name) == ("own", name, text, "own.py")
    assert parse("mine", tmp_path, "it").load() == 1
    assert parse("mine", tmp_path, "it").digest == parse("own:box", tmp_path, "it").digest
    with pytest.raises(PluginError, match=r"'fog' .* is claimed by other 1\.0, and by own 1\.0"):
        parse("fog", tmp_path, "it")
    for unknown in ("absent", "absent:f", "own.absent:f", "math:sin"):
        with pytest.raises(InvalidParameterError, match=r"'it' must name a Python file.*starcert plugins"):
            parse(unknown, tmp_path, "it")
    packages("failing", "kinds", "import absent\n")
    with pytest.raises(UserCodeError, match=r"failing\.py, line 1: ModuleNotFoundError.*pip install absent"):
        parse("failing:f", tmp_path, "it").load()


def test_a_name_that_is_nearly_right(packages, tmp_path):
    packages("boards", "kinds", "import starcert as sc\nthing = type('K', (sc.Kind,), {'word': 'board'})()\n")
    packages("bernstein", "bounds")
    with pytest.raises(InvalidParameterError, match=r"Got 'bernstien' instead. Did you mean bernstein\?"):
        as_bound("bernstien", tmp_path, "--bound")
    with pytest.raises(InvalidParameterError, match=r"Got 'bord' instead. Did you mean boards\?"):
        from_package("kinds")("bord", tmp_path, "--kind")
    with pytest.raises(InvalidParameterError, match="be a starcert Graph, a board, a PyG Data or a networkx graph"):
        as_objects(["X"])


def test_the_command_lists_everything_and_says_what_is_wrong(packages, here):
    packages("coins", "laws", LAW.format(name="coin"), coin="coins:Coin", flip="coins:Coin", toss="coins:Coin")
    packages("broken", "bounds", "import absent\n")
    status, said, _ = here("plugins", "--json")
    found = {(each["group"], each["name"], each["from"]): each for each in json.loads(said)["plugins"]}
    assert status == 0
    assert found["laws", "flip", f"starcert {sc.__version__}"]["about"].startswith("Flips of bits")
    assert found["laws", "coin", "coins 1.0"] == {
        "group": "laws", "name": "coin", "about": "A fair coin.", "from": "coins 1.0", "problem": ""
    }  # fmt: skip
    assert "starcert itself" in found["laws", "flip", "coins 1.0"]["problem"]
    assert found["laws", "toss", "coins 1.0"]["problem"] == "It calls itself 'coin': both names must be the same."
    assert "No module named 'absent'" in found["bounds", "broken", "broken 1.0"]["problem"]
    assert {group for group, _, _ in found} <= set(GROUPS)
    status, said, _ = here("plugins")
    assert (status, "Cannot be used: broken in starcert.bounds. broken 1.0" in said) == (0, True)


THREAT = """
from dataclasses import dataclass
import starcert as sc
@dataclass(frozen=True)
class First(sc.Threat):
    'Flips the first site.'
    word, label = "{word}", "the first flip"
    most: int = 1
    def attacks(self, sites, size):
        return sc.threats.Attacks.from_lists([[(0, 1)]] if size == 1 else [])
def near(frame, u, v):
    return u + 1 == v
"""


def test_a_threat_of_another_package_is_read_by_its_word(packages):
    packages("firsts", "threats", THREAT.format(word="first"), first="firsts:First")
    found = read_threat("first:1 | rewire:1")
    assert (str(found), found.label) == ("first:1 | rewire:1", "the first flip or 1 rewired edge")
    assert type(found.parts[0]).__module__ == "firsts"
    with pytest.raises(InvalidParameterError, match=r"Did you mean first\?$"):
        read_threat("frst:1")
    with pytest.raises(InvalidParameterError, match=r"'threat' must be written first:NUMBER\. Got 'first:1,x=2'"):
        read_threat("first:1,x=2")


def test_a_word_keeps_its_meaning(packages, here):
    packages("firsts", "threats", THREAT.format(word="flips"), flips="firsts:First", second="firsts:First")
    assert type(read_threat("flips:1")) is sc.threats.AnyFlips
    with pytest.raises(PluginError, match=r"firsts 1\.0: 'firsts:First' is no Threat with the word 'second'"):
        read_threat("second:1")
    listed = json.loads(here("plugins", "--json")[1])["plugins"]
    problems = {each["name"]: each["problem"] for each in listed if each["problem"]}
    assert "claimed by firsts 1.0, and by starcert itself" in problems["flips"]
    assert problems["second"] == "It calls itself 'flips': both names must be the same."


def test_a_threat_needs_no_package(packages, tmp_path):
    packages("firsts", "threats", THREAT.format(word="first"), other="firsts:near")
    for text, written in {
        "firsts.py:First:1": f"{tmp_path.as_posix()}/firsts.py:First:1",
        "firsts:First:1": "firsts:First:1",
        "(firsts.py:First:1 | rewire:1)": f"{tmp_path.as_posix()}/firsts.py:First:1 | rewire:1",
        "where:2,name=firsts.py:near": f"where:2,name={tmp_path.as_posix()}/firsts.py:near",
    }.items():
        found = as_threat(text, tmp_path, "threat")
        assert str(found) == written
        assert as_threat(written, tmp_path / "elsewhere", "threat").label == found.label
    assert isinstance(as_threat("where:2,name=firsts:near", tmp_path, "threat"), Where)
    assert as_threat(Rewire(1), tmp_path, "threat") == Rewire(1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("firsts.py:Second:1", "defines no 'Second'. It defines First"),
        ("absent.py:First:1", "name a Python file that exists"),
        ("firsts.py:near:1", "is not a class derived from starcert.Threat"),
        ("absent:First:1", "a module that can be imported"),
        ("firsts.py:First:0", "must be a whole number"),
        ("where:2,name=near", "name a Python file and a function in it"),
        ("where:2", "name a Python file and a function in it"),
        ("first:1", "be a threat with its number"),
    ],
)
def test_a_threat_that_is_not_there_is_one_message(packages, tmp_path, text, why):
    packages("firsts", "laws", THREAT.format(word="first"))
    with pytest.raises((InvalidParameterError, UserCodeError)) as refused:
        as_threat(text, tmp_path, "--threat")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_imports_nothing_by_itself(packages):
    """The text of an archive may come from anywhere."""
    packages("harmful", "laws", "1 / 0\n")
    for text in ("harmful:Thing:1", "harmful.py:Thing:1", "where:1,name=harmful:thing"):
        with pytest.raises(InvalidParameterError, match="must refer to what is known here"):
            read_threat(text)
    assert "harmful" not in sys.modules


def test_a_run_file_names_the_file_of_a_threat_from_its_own_folder(packages, tmp_path):
    packages("firsts", "laws", THREAT.format(word="first"))
    run = tmp_path / "run.toml"
    run.write_text('threat = "firsts.py:First:1"\n', encoding="utf-8")
    threat = read_run_file(run).values["threat"]
    assert isinstance(threat, Threat)
    (tmp_path / "out").mkdir()
    assert _plain(threat, tmp_path / "out") == "../firsts.py:First:1"
