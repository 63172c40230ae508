"""What a kind from outside may get wrong is found before anything is certified."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import starcert as sc
from starcert.objects.binding import bind, bind_all
from starcert.objects.content import digest
from starcert.objects.kinds import READS_VALUES, kind_of
from starcert.objects.vectors import RowKind
from starcert.system.errors import InvalidParameterError


class TileKind(sc.Kind):
    word = "tile"


@dataclass(frozen=True)
class Size:
    key: str = "4"


@dataclass(frozen=True)
class Tile:
    """Four cells with values from 0 to 2."""

    cells: tuple[int, ...]
    name: str = ""
    places: tuple[int, ...] = (0, 1, 2, 3)
    frame: Size = field(default_factory=Size)
    kind = TileKind()

    @property
    def key(self):
        return self.name or digest("tile", self.cells)

    @property
    def layers(self):
        return (sc.Layer("cells", size=4, alphabet=3),)

    def nonzero(self, _layer):
        values = np.array(self.cells, dtype=np.uint8)
        return (np.array(self.places)[values > 0],), values[values > 0]


NOISE = sc.Noise(all=sc.Categorical(0.2, 3))


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        (
            Tile((0, 1, 2, 1), name="tile"),
            "'tile' must have a key of hexadecimal digits. Got 'tile' instead. See Tile.",
        ),
        (
            Tile((0, 1, 5, 1)),
            r"values from 1 to 2 at different sites below 4. Got '\[1, 5, 1\] at \[1, 2, 3\] in cells'",
        ),
        (Tile((0, 1, 2, 1), places=(0, 1, 2, 12)), r"at \[1, 2, 12\] in cells"),
        (Tile((0, 1, 2, 1), places=(0, 1, 2, 2)), r"at \[1, 2, 2\] in cells"),
        (Tile((0, "X")), "'tile' must say which values of cells are not 0. Got \"ValueError: "),
    ],
)
def test_an_object_that_cannot_be_is_refused(tile, message):
    with pytest.raises(InvalidParameterError, match=message):
        bind(tile, NOISE, None)


def test_objects_that_share_a_key_share_no_votes(tmp_path):
    """The key is the author's; what is stored goes by the values, too."""
    one, other = Tile((0, 0, 0, 0), name="ab"), Tile((2, 2, 2, 2), name="ab")
    base = sc.classifiers.from_callable(lambda rows: rows.sum(axis=1) > 4, on="vectors")
    smoothed = sc.SmoothedClassifier(base, NOISE)
    assert smoothed.predict([one, other], samples=500, seed=0).tolist() == [0, 1]
    voting = sc.Voting(store=tmp_path / "votes.db")
    smoothed.vote([one], samples=500, seed=0, voting=voting)
    with pytest.raises(sc.StarcertError, match="sites"):
        smoothed.vote([other], samples=500, seed=0, voting=voting)


def by_value(tile):
    return {"set": [i for i, value in enumerate(tile.cells) if value], "free": [0]}


def by_place(_tile):
    return {"left": [0, 1], "right": [2, 3]}


by_place.anchored = False


def test_regions_from_a_function_are_anchored_unless_its_author_says_otherwise():
    tile, laws = Tile((0, 1, 2, 1)), [sc.Categorical(0.2, 3)] * 2
    (sites,) = bind_all([tile], sc.Noise(dict(zip(("set", "free"), laws, strict=True))), by_value).sites
    assert (sites.sizes, sites.anchored, sites.reason) == ((3, 1), True, READS_VALUES)
    (sites,) = bind_all([tile], sc.Noise(dict(zip(("left", "right"), laws, strict=True))), by_place).sites
    assert (sites.sizes, sites.anchored) == ((2, 2), False)
    row = sc.Bits([0, 1, 1])
    (sites,) = bind_all([row], sc.Noise(ones=0.1), lambda row: {"ones": np.flatnonzero(row.row)}).sites
    assert (sites.sizes, sites.anchored) == ((2,), True)


class BorrowedKind(RowKind):
    """Derives from a kind of starcert's own, for objects of its own."""


@dataclass(frozen=True)
class Borrowed(Tile):
    kind = BorrowedKind()


def test_objects_of_a_kind_that_derives_from_starcerts_own_are_checked_too():
    with pytest.raises(InvalidParameterError, match="'row' must have a key of hexadecimal digits"):
        bind(Borrowed((0, 1, 2, 1), name="tile"), NOISE, None)
    one, other = (bind(Borrowed(cells, name="ab"), NOISE, None) for cells in ((0, 0, 0, 0), (2, 2, 2, 2)))
    assert one.key != other.key


def test_a_kind_that_reads_no_files_says_what_to_do(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"must be one that reads files. Got 'TileKind' instead. Let"):
        Tile.kind.read(tmp_path)


def test_objects_of_several_kinds_are_just_objects():
    assert kind_of(Tile((0,) * 4), sc.Bits([0])).word == "object"
    assert kind_of(Tile((0,) * 4)).word == "tile"
