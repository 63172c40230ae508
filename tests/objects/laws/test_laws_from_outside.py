"""Laws that are not starcert's own: found in what is imported, or where a run names them, and stated, never proved."""

import sys

import pytest

import starcert as sc
from starcert.objects.laws import law_from_json, law_from_text, law_to_text
from starcert.runs.folder import _with_places
from starcert.runs.grid import Grid, parse_grid
from starcert.runs.setting_values import as_noise, parse_noise
from starcert.runs.user_code import UserCodeError
from starcert.system.errors import InvalidParameterError

COIN = """
import starcert as sc
from fractions import Fraction
class Coin(sc.Law):
    'A biased coin.'
    alphabet, suffixes, moves = 2, ("",), (((0, 1), (1, 0)),)
    def __init__(self, p):
        self.p = p
    @property
    def numbers(self):
        return {"p": self.p}
    def transitions(self, value):
        return Fraction(self.p), 1 - Fraction(self.p)
Side = Fraction
"""


@pytest.fixture
def coins(tmp_path, monkeypatch):
    """A folder with the file coins.py, in which a run is."""
    (tmp_path / "coins.py").write_text(COIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - before:
        del sys.modules[module]


@pytest.mark.parametrize("place", ["coins.py:Coin", "coins:Coin"])
def test_a_run_names_a_law_by_its_file_or_its_module(coins, place):
    law = as_noise({"all": {"law": place, "p": 0.25}}, coins, "noise")["all"]
    assert (type(law).__name__, law.p, type(law).name) == ("Coin", 0.25, place)
    assert law.to_json() == {"law": place, "p": 0.25}
    assert law_to_text(law) == f"{place}(0.25)"
    assert type(law_from_json(law.to_json())) is type(law)  # now that it is defined
    again = parse_noise(f"all={place}(0.25),other=0.1")
    assert type(again["all"]) is type(law)
    assert again.outside == (place,)


@pytest.mark.parametrize("place", ["coins.py:Coin", "coins:Coin"])
def test_a_grid_has_laws_from_outside_and_a_run_file_their_places(coins, place):
    grid = Grid.of({"all": [{"law": place, "p": 0.25}, {"law": place, "p": 0.5}]}, "sweep.grid", coins)
    assert [noise["all"].p for noise in grid.levels()] == [0.25, 0.5]
    assert parse_grid([f"all={place}(0.25),{place}(0.5)"]).to_table() == grid.to_table()
    (coins / "out").mkdir()
    written = _with_places({"grid": grid.to_table()}, coins / "out")
    there = place if place == "coins:Coin" else f"../{place}"
    assert written == {"grid": {"all": [{"law": there, "p": 0.25}, {"law": there, "p": 0.5}]}}
    assert _with_places({"law": 0.1}, coins) == {"law": 0.1}  # a region that is called so


def test_a_law_keeps_the_name_that_its_class_gives_and_is_written_with_its_place(coins):
    (coins / "coins.py").write_text(COIN.replace("    alphabet", "    name = 'coin'\n    alphabet"), encoding="utf-8")
    law = as_noise({"all": {"law": "coins.py:Coin", "p": 0.25}}, coins, "noise")["all"]
    assert law.to_json() == {"law": "coin", "p": 0.25}
    assert _with_places(law.to_json(), coins) == {"law": "coins.py:Coin", "p": 0.25}


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("coins.py:Side", "name a class that derives from starcert.Law"),
        ("coins.py:Con", "Did you mean Coin?"),
        ("absent.py:Coin", "name a Python file that exists"),
        ("absent:Coin", "a module that can be imported"),
        ("coin", "name a Python file and a function in it"),
    ],
)
def test_what_is_no_law_is_named(coins, place, why):
    with pytest.raises((InvalidParameterError, UserCodeError), match=why.replace("?", r"\?")):
        as_noise({"all": {"law": place, "p": 0.25}}, coins, "noise")


@pytest.mark.parametrize("numbers", [{}, {"p": 0.1, "q": 1}])
def test_numbers_that_a_law_does_not_take_are_refused(coins, numbers):
    with pytest.raises(InvalidParameterError, match=r"'noise\.all' must be what coins\.py:Coin takes.*TypeError"):
        as_noise({"all": {"law": "coins.py:Coin", **numbers}}, coins, "noise")
    with pytest.raises(InvalidParameterError, match=r"'--noise all' must be what coins\.py:Coin takes"):
        parse_noise("all=coins.py:Coin(a)")


def test_a_text_from_elsewhere_imports_nothing(coins):
    (coins / "traps.py").write_text(COIN.replace("Coin", "Trap"), encoding="utf-8")
    for name in ("traps:Trap", "traps.py:Trap", "os:system", "trap"):
        with pytest.raises(InvalidParameterError, match="nothing is imported because a file names it"):
            law_from_json({"law": name, "p": 0.25})
        with pytest.raises(InvalidParameterError, match="nothing is imported because a file names it"):
            law_from_text(f"{name}(0.25)", "--noise")
    assert "traps" not in sys.modules


def test_channels_that_are_not_those_of_the_transitions_are_refused(coins):
    (coins / "coins.py").write_text(f"{COIN.partition('Side')[0]}    channels = sc.Flip(0.4).channels\n")
    with pytest.raises(InvalidParameterError, match="channels are those of their transitions"):
        _ = as_noise({"all": {"law": "coins.py:Coin", "p": 0.25}}, coins, "noise").product


def test_a_law_that_only_derives_from_another_is_not_written_as_that(tmp_path):
    class Sly(sc.Flip):
        pass

    bounds = sc.clopper_pearson(sc.Votes([[990, 10]], [[99, 1]]))
    archive = sc.archive.Archive.from_result(sc.certify(bounds, sc.Noise(all=Sly(0.1)), max_radius=2))
    with pytest.raises(InvalidParameterError, match="laws that are read as they are written"):
        sc.archive.write(tmp_path / "certificates.json", archive)
