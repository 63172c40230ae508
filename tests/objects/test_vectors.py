import pickle

import numpy as np
import pytest
from scipy import sparse

import starcert as sc
from starcert.objects import CleanObject
from starcert.objects.binding import bind, bind_all
from starcert.objects.columns import VectorFrame
from starcert.objects.vectors import ROWS, join_rows, matrix_of
from starcert.objects.words import AttackWords, Words
from starcert.system.errors import InvalidParameterError

NAMES = ("age", "smoker", "sport")


@pytest.mark.parametrize("given", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0], np.array([0, 1, 1], dtype=np.int8)])
def test_bits_are_known_by_their_content(given):
    row = sc.Bits(given)
    assert isinstance(row, CleanObject)
    assert row.row.tolist() == [0, 1, 1]
    assert row.row.dtype == np.uint8
    assert row == sc.Bits((0, 1, 1))
    assert hash(row) == hash(sc.Bits((0, 1, 1)))
    assert len({row, sc.Bits([1, 1, 0]), sc.Bits([0, 1, 1, 0]), sc.Bits(given, names=NAMES)}) == 4
    assert row != sc.Categories(given, values=2)
    (layer,) = row.layers
    assert (layer.name, layer.size, layer.alphabet) == ("columns", 3, 2)
    (columns,), values = row.nonzero("columns")
    assert (columns.tolist(), values.tolist()) == ([1, 2], [1, 1])


def test_a_row_does_not_change():
    given = np.array([0, 1])
    row = sc.Bits(given)
    given[0] = 1
    assert row.row.tolist() == [0, 1]
    for each in (row, pickle.loads(pickle.dumps(row)), *sc.Bits.rows([[0, 1]])):
        assert each == row
        assert each.key == row.key
        with pytest.raises(ValueError, match="read-only"):
            each.row[0] = 1
        with pytest.raises(AttributeError):
            each.row = given


def test_rows_are_the_rows_of_an_array():
    matrix = np.random.default_rng(1).integers(2, size=(5, 3))
    rows = sc.Bits.rows(matrix, names=NAMES)
    assert rows == [sc.Bits(row, names=NAMES) for row in matrix]
    assert sc.Bits.rows(sparse.csr_array(matrix), names=NAMES) == rows
    np.testing.assert_array_equal(matrix_of(rows), matrix)
    assert join_rows(rows).row.tolist() == matrix.ravel().tolist()
    assert len({row.frame.key for row in rows}) == 1
    assert sc.Bits.rows(np.zeros((0, 3))) == []
    assert sc.Bits([]).layers[0].size == 0


def test_categories_are_numbers_or_names():
    by_number, by_name = sc.Categories([2, 0], values=3), sc.Categories(["c", "a"], values="abc")
    assert by_number.row.tolist() == by_name.row.tolist() == [2, 0]
    assert by_number != by_name
    assert by_name.frame == VectorFrame(2, (), 3, ("a", "b", "c"))
    assert by_number.layers[0].alphabet == 3
    assert pickle.loads(pickle.dumps(by_name)).frame.categories == ("a", "b", "c")
    matrix = [["a", "c"], ["b", "b"]]
    assert sc.Categories.rows(matrix, values="abc") == [sc.Categories(row, values="abc") for row in matrix]
    assert sc.Categories.rows([[0.0, 2.0]], values=3, names=["x", "y"])[0].frame.names == ("x", "y")
    assert sc.Categories(np.arange(256), values=256).row.tolist() == list(range(256))
    letters = sc.Categories("GATTACA", values="ACGT")
    assert letters == sc.Categories(list("GATTACA"), values="ACGT")
    assert sc.Categories.rows(["GAT", "ACA"], values="ACGT") == [
        sc.Categories(row, values="ACGT") for row in ("GAT", "ACA")
    ]
    with pytest.raises(InvalidParameterError, match="red"):
        sc.Categories("red", values=["red", "blue"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sc.Bits([0, 2]), r"'row' must hold zeros and ones alone. Got '2 in column 1'"),
        (lambda: sc.Bits([0, 1, float("nan")]), r"nan in column 2"),
        (lambda: sc.Bits([[0, 1]]), r"'row' must be one row of values. Got 'an array of shape \(1, 2\)'.*rows\(X\)"),
        (lambda: sc.Bits(1), r"'row' must be one row of values. Got 1 instead"),
        (lambda: sc.Bits.rows([0, 1]), r"'X' must be rows of values, .*Bits\(row\) takes one row"),
        (lambda: sc.Bits.rows([[0, 1], [1]]), r"'X' must be rows of values, all of one length"),
        (lambda: sc.Bits(["yes", "no"]), r"'row' must hold zeros and ones alone. Got 'yes'"),
        (lambda: sc.Bits.rows([[0, 1], [2, 0]]), r"2 in row 1, column 0"),
        (lambda: sc.Bits([0, 1], names=["x"]), r"'names' must be 2 names that differ"),
        (lambda: sc.Categories([0, 3], values=3), r"hold whole numbers from 0 to 2. Got '3 in column 1'"),
        (lambda: sc.Categories(["a"], values=3), r"Got 'a' instead. Names of values are given as values="),
        (lambda: sc.Categories(["a", "x"], values="abc"), r"hold the values 'a', 'b', 'c'. Got \"'x' in column 1\""),
        (lambda: sc.Categories.rows([["a", ["b"]]], values="ab"), r"'X' must"),
        (lambda: sc.Categories([0], values=257), r"'values' must be a whole number from 2 to 256. Got 257"),
        (lambda: sc.Categories([0, 1, 2], values=[2, 3, 3]), r"Where columns differ, name them"),
        (lambda: matrix_of([sc.Bits([0]), sc.Bits([0, 1])]), r"'rows' must have the same columns"),
        (lambda: matrix_of([[0, 1]]), r"'rows' must be Bits or Categories. Got 'list'"),
    ],
)
def test_bad_input_has_one_clear_message(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


class TestRegionsOfColumns:
    row = sc.Bits([0, 1, 1, 0, 1])

    @pytest.mark.parametrize(
        "left",
        [[3, 0], (0, 3), np.array([0, 3]), {0, 3}, [True, False, False, True, False], np.array([1, 0, 0, 1, 0]) > 0],
    )
    def test_by_number(self, left):
        sites = ROWS.sites(self.row, {"left": left, "right": [1]})
        assert (sites.regions, sites.sizes, sites.n_fixed) == (("left", "right"), (2, 1), 2)
        assert sites.coordinates([0, 1, 2])[0].tolist() == [0, 3, 1]
        assert sites.counts == ((2, 0), (0, 1))

    def test_by_name(self):
        row = sc.Bits([0, 1, 1], names=NAMES)
        assert ROWS.sites(row, {"all": ["sport", "age", 1]}).sizes == (3,)
        with pytest.raises(
            InvalidParameterError, match=r"'regions\[a\]' must hold numbers from 0 to 2 or names of col"
        ):
            ROWS.sites(row, {"a": ["height"]})

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ([5], r"'regions\[a\]' must hold numbers from 0 to 4. Got 5"),
            ([[0, 1]], r"from 0 to 4. Got \[0, 1\]"),
            ([True, False], "from 0 to 4. Got True"),
            ([1, 1], "hold each column once. Got 1"),
            (3, "be a list of columns. Got 3"),
            ("border", "be a list of columns. Got 'border'"),
        ],
    )
    def test_what_are_no_columns(self, columns, message):
        with pytest.raises(InvalidParameterError, match=message):
            bind(self.row, sc.Noise(a=0.1), {"a": columns})

    def test_how_many_values_there_are_is_known_from_the_row(self):
        noise = sc.Noise(head=sc.Categorical(0.1), tail=sc.Categorical(0.2, 4))
        rows = sc.Categories.rows([[0, 3, 1], [1, 1, 1]], values=4)
        problem = bind_all(rows, noise, {"head": [0], "tail": [1, 2]})
        assert problem.noise == sc.Noise(head=sc.Categorical(0.1, 4), tail=sc.Categorical(0.2, 4))

    def test_a_column_in_two_regions(self):
        with pytest.raises(InvalidParameterError, match=r"be disjoint. Got .site 1 in both 'a' and 'b'"):
            bind(self.row, sc.Noise(a=0.1, b=0.1), {"a": [0, 1], "b": [1, 2]})

    def test_a_law_on_other_values(self):
        with pytest.raises(InvalidParameterError, match="be a law on the 3 values of columns"):
            bind_all([sc.Categories([0, 1], values=3)], sc.Noise(all=0.1), None)


CARS = {"colour": ["blue", "red", "white"], "doors": [2, 4], "size": 3}


def test_columns_have_values_of_their_own():
    cars = sc.Categories.rows([["red", 4, 0], ["white", 2, 2]], values=CARS)
    assert [car.row.tolist() for car in cars] == [[1, 1, 0], [2, 0, 2]]
    assert cars[0] == sc.Categories(["red", 4, 0], values=CARS) == pickle.loads(pickle.dumps(cars[0]))
    assert [(layer.name, layer.size, layer.alphabet) for layer in cars[0].layers] == [
        ("columns of 2", 1, 2),
        ("columns of 3", 2, 3),
    ]
    (columns,), values = cars[1].nonzero("columns of 3")
    assert (columns.tolist(), values.tolist()) == ([0, 2], [2, 2])
    np.testing.assert_array_equal(matrix_of(cars), [[1, 1, 0], [2, 0, 2]])
    assert repr(cars[0]) == "Categories(3 columns, 2 to 3 values)"
    same = sc.Categories([0, 1], values={"a": 2, "b": 2})
    assert same == sc.Categories([0, 1], values=2, names=("a", "b"))
    assert len({sc.Categories([0, 1], values={"a": 2, "b": 3}).key, same.key}) == 2


def test_regions_hold_columns_with_the_same_number_of_values():
    car = sc.Categories(["red", 4, 0], values=CARS)
    noise = sc.Noise(few=sc.Categorical(0.1), many=sc.Categorical(0.2))
    for regions in ({"few": ["doors"], "many": ["colour", "size"]}, {"few": "columns of 2", "many": "columns of 3"}):
        (sites,) = bind_all([car], noise, regions).sites
        assert sites.sizes == (1, 2)
        assert [each.tolist() for each in sites.coordinates([1, 2])] == [[0, 2]]
        assert ROWS.with_values(sites, np.array([0, 2, 1], np.uint8)).row.tolist() == [2, 0, 1]
        assert bind_all([car], noise, regions).noise["many"].alphabet == 3
    assert ROWS.site_name(car, car.layers[1], [0], 2) == "colour: red → white"
    for mixed in ("columns", ["doors", "size"]):
        with pytest.raises(InvalidParameterError, match=r"regions\[all\].*same number of values.*doors with 2"):
            bind(car, sc.Noise(all=sc.Categorical(0.1)), {"all": mixed})
    with pytest.raises(InvalidParameterError, match=r"columns of 2, columns of 3.*Give each a region"):
        bind(car, sc.Noise(all=sc.Categorical(0.1)), None)


def test_copies_keep_to_the_values_of_each_column():
    cars = sc.Categories.rows([["red", 4, 0], ["white", 2, 2]], values=CARS)
    noise = sc.Noise(few=sc.Categorical(0.9), many=sc.Categorical(0.9))
    copies = sc.transforms.noisy_rows(cars, noise, {"few": [1], "many": [0]}, seed=1, copies=200)
    assert set(copies[:, 1].tolist()) == {0, 1}
    assert set(copies[:, 0].tolist()) == {0, 1, 2}
    assert (copies[:, 2].reshape(200, 2) == [0, 2]).all()  # in no region
    assert (copies[::2, 0] != 1).mean() == pytest.approx(0.9, abs=0.08)


@pytest.mark.parametrize(
    ("row", "values", "named"),
    [
        (["red"], CARS, "name the values of each of 1 columns"),
        (["pink", 4, 0], CARS, "column colour.*'pink'"),
        (["red", 4, 3], CARS, "column size"),
        (["red", 4, 0], CARS | {"doors": [2, 2]}, r"values\[doors\]"),
        (["red", 4, 0], CARS | {"doors": [4]}, r"values\[doors\].*one value is left out"),
    ],
)
def test_values_that_do_not_fit_their_column_are_refused(row, values, named):
    with pytest.raises(InvalidParameterError, match=named):
        sc.Categories(row, values=values)


def test_rows_come_from_a_data_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "blue"], "doors": pd.Categorical([2, 4], categories=[2, 4, 5])})
    cars = sc.Categories.from_frame(frame, values={"colour": ["red", "blue", "white", "green"]})
    assert [car.row.tolist() for car in cars] == [[0, 0], [1, 1]]
    assert cars[0].frame.names == ("colour", "doors")
    assert cars[0].frame.alphabets == (4, 3)
    with pytest.raises(InvalidParameterError, match="'values' must name columns"):
        sc.Categories.from_frame(frame, values={"color": 3})


def test_a_table_of_texts_and_one_of_numbers_hold_the_same_rows():
    pandas = pytest.importorskip("pandas")
    numbers = pandas.DataFrame({"visits": [5, 10, 20, 5], "plan": ["b", "a", "a", "b"]})
    here, there = (sc.Categories.from_frame(frame) for frame in (numbers, numbers.astype(str)))
    assert [each.row.tolist() for each in there] == [[0, 1], [1, 0], [2, 0], [0, 1]]
    assert [each.key for each in here] == [each.key for each in there]


def test_regions_that_are_whole_layers_keep_their_names():
    row = sc.Categories.rows([["a", "x", "n"]], values={0: ["a", "b"], 1: ["x", "y", "z"], 2: ["n", "o"]})[0]
    noise = sc.Noise(few=sc.Flip(0.1), many=sc.Categorical(0.1, 3))
    words = Words.of([ROWS.sites(row, {"few": [0, 2], "many": [1]})], nodes=False)
    assert AttackWords(noise, words).level((1, 2)) == "1 column flipped in few and 2 columns changed in many"
