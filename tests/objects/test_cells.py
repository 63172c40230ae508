"""Rows of tables and texts as objects: how they are read, what a copy shows, and how they fit scikit-learn."""

import pickle

import numpy as np
import pytest

import starcert as sc
from starcert.objects.cells import COPIES, TABLE, TEXT

pd = pytest.importorskip("pandas")
ensemble = pytest.importorskip("sklearn.ensemble")
base_module = pytest.importorskip("sklearn.base")
selection = pytest.importorskip("sklearn.model_selection")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
words = pytest.importorskip("sklearn.feature_extraction.text")
bayes = pytest.importorskip("sklearn.naive_bayes")


def a_table(n=120, seed=0):
    """Who pays back: by income and job, whatever their age and the day are."""
    rng = np.random.default_rng(seed)
    paid = rng.integers(0, 2, n)
    columns = {
        "income": paid * 3 + rng.normal(size=n),
        "job": pd.Categorical(np.where(rng.random(n) < 0.1, 1 - paid, paid).astype(str), categories=["0", "1", "2"]),
        "savings": paid * 2.0 + rng.normal(size=n),
        "age": rng.integers(20, 60, n),
        "owner": rng.random(n) < 0.5,
    }
    return pd.DataFrame(columns), paid


def smoothed(p=0.5, **options):
    base = ensemble.HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    return sc.SmoothedClassifier(base, sc.Noise(columns=sc.Mask(p)), samples=300, **options)


def copies_of(row, shown):
    return TABLE.as_copies(row, np.array(shown, dtype=np.uint8))


def test_a_frame_keeps_its_types_and_hides_cells_as_missing():
    table, _ = a_table(5)
    table.loc[2, "job"] = None
    rows = sc.TableRow.rows(table)
    seen = copies_of(rows[0], [[1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
    assert list(seen.columns) == list(table.columns)
    assert seen["job"].dtype == "category"
    assert list(seen["job"].cat.categories) == ["0", "1", "2"]
    assert seen.iloc[1].isna().all()
    assert seen.iloc[0]["income"] == table["income"][0]
    assert rows[2].contents[1] is None
    assert copies_of(rows[2], [[1] * 5])["job"].isna().all()


def test_an_array_stays_one():
    rows = sc.TableRow.rows(np.array([[1.0, 2.0], [3.0, np.nan]]))
    np.testing.assert_array_equal(copies_of(rows[0], [[1, 0]]), [[1.0, np.nan]])
    assert rows[0] == sc.TableRow.rows(np.array([[1.0, 2.0]]))[0]
    assert rows[0] != rows[1]
    assert pickle.loads(pickle.dumps(rows[0])) == rows[0]


def test_what_an_attacker_writes_is_never_shown():
    row = sc.TableRow({"a": 1, "b": "x"})
    with pytest.raises(ValueError, match="cannot be tried"):
        copies_of(row, [[1, 2]])
    base = sc.classifiers.from_callable(lambda rows: [0] * len(rows), on="vectors")
    with pytest.raises(sc.ClassifierError, match="cannot be tried"):
        sc.ExactClassifier(base).certify([row], threat="columns:1")


def test_a_text_shows_its_mask():
    text = sc.Tokens("free money now")
    assert TEXT.as_copies(text, np.array([[1, 0, 1]], dtype=np.uint8)) == [["free", "[MASK]", "now"]]
    assert TEXT.as_copies(text, np.array([[1, 0, 1]], dtype=np.uint8), estimator=True) == ["free [MASK] now"]
    assert sc.Tokens(["free", "money", "now"]) == text
    assert pickle.loads(pickle.dumps(text)).key == text.key
    with pytest.raises(sc.InvalidParameterError, match="list of words"):
        sc.Tokens([1, 2])


def test_fit_trains_on_masked_rows():
    table, paid = a_table()
    seen = []

    class Spy(ensemble.HistGradientBoostingClassifier):
        def fit(self, X, y):  # noqa: N803
            seen.append((X, y))
            return super().fit(X, y)

    sc.SmoothedClassifier(Spy(max_iter=2), sc.Noise(some=sc.Mask(0.8)), {"some": ["income", "job"]}).fit(table, paid)
    ((rows, labels),) = seen
    assert len(rows) == COPIES * len(table)
    np.testing.assert_array_equal(labels[::COPIES], paid)
    assert 0.7 < rows["income"].isna().mean() < 0.9
    assert 0.7 < rows["job"].isna().mean() < 0.9
    assert not rows[["savings", "age", "owner"]].isna().any().any()


def test_fixed_columns_are_what_a_blind_model_sees():
    table, _ = a_table(3)
    problem = sc.SmoothedClassifier(
        sc.classifiers.from_callable(len, on="vectors"), sc.Noise(some=sc.Mask(0.5)), {"some": ["income", "age"]}
    ).problem(table)
    shown = TABLE.untouched(problem.sites[0], problem.noise).values
    assert set(shown) == {"job", "savings", "owner"}
    assert shown["job"] == table["job"][0]


def test_regions_of_texts_are_positions_and_a_tail_ends_with_its_text():
    base = sc.classifiers.from_callable(lambda texts: [int(text[0] == "a") for text in texts], on="vectors")
    made = sc.SmoothedClassifier(base, sc.Noise(user=sc.Mask(0.5)), {"user": range(1, 10**6)})
    assert made.problem(["a b c", "a b"]).capacities == ((2,), (1,))
    found = made.certify(["a b c", "b b"], samples=100, threat="words:3")
    assert [each.label for each in found] == [1, 0]


@pytest.mark.parametrize("law", [0.1, sc.Categorical(0.1), sc.Flip(delete=0.1, add=0.1)])
def test_laws_of_listed_values_are_refused_on_cells(law):
    base = sc.classifiers.from_callable(lambda rows: [0] * len(rows), on="vectors")
    with pytest.raises((sc.InvalidParameterError, sc.ClassifierError)):
        sc.SmoothedClassifier(base, sc.Noise(all=law)).certify(np.ones((1, 2)), samples=10, seed=1)


def test_hidden_values_are_refused_on_listed_ones():
    base = sc.classifiers.from_callable(lambda rows: [0] * len(rows), on="vectors")
    with pytest.raises(sc.InvalidParameterError, match="hides cells and words"):
        sc.SmoothedClassifier(base, sc.Noise(all=sc.Mask(0.5))).certify(
            sc.Categories.rows([[0, 1]], values=3), samples=10, seed=1
        )


def test_counts_have_all_of_alpha_where_evidence_is_wanted():
    table, paid = a_table(60)
    made = smoothed().fit(table, paid)
    with pytest.warns(UserWarning, match="which have all of alpha"):
        weighed = made.certify(table[:3], evidence=True)
    assert [one.frontier for one in weighed] == [one.frontier for one in made.certify(table[:3])]


def test_it_is_an_estimator_like_any_other():
    table, paid = a_table(80)
    made = smoothed().set_params(samples=100)
    assert base_module.clone(made).noise == made.noise
    search = selection.GridSearchCV(made, {"noise": [sc.Noise(columns=sc.Mask(p)) for p in (0.3, 0.98)]}, cv=2).fit(
        table, paid
    )
    assert search.best_params_["noise"] == sc.Noise(columns=sc.Mask(0.3))
    numbers = table.drop(columns="job")
    piped = pipeline.make_pipeline(preprocessing.StandardScaler(), base_module.clone(made)).fit(numbers, paid)
    assert (piped.predict(numbers) == paid).mean() > 0.7


def test_texts_go_through_a_pipeline_as_it_is():
    texts = ["free money now click here", "see the report of the team"] * 10
    made = sc.SmoothedClassifier(
        pipeline.make_pipeline(words.CountVectorizer(), bayes.MultinomialNB()), sc.Noise(words=sc.Mask(0.6))
    )
    found = made.fit(texts, [1, 0] * 10).certify(texts[:2], samples=2000, threat="words:2")
    assert found.labels.tolist() == [1, 0]
    assert found[0].certified({"words": 1})


def test_polars_frames_stay_polars():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"a": [1, 2], "b": pl.Series(["x", "y"], dtype=pl.Categorical), "c": ["u", None]})
    rows = sc.TableRow.rows(table)
    seen = copies_of(rows[0], [[1, 0, 1]])
    assert isinstance(seen, pl.DataFrame)
    assert seen.rows() == [(1.0, None, "u")]


def test_anything_else_is_no_table():
    with pytest.raises(sc.InvalidParameterError, match="be a table"):
        sc.TableRow.rows([1, 2])
    with pytest.raises(sc.InvalidParameterError, match="numbers, categories or texts"):
        sc.TableRow.rows(pd.DataFrame({"day": pd.to_datetime(["2024-01-01"])}))


def test_a_blind_model_answers_where_no_class_is_likely_enough():
    """It sees the fixed columns alone, and one that peeks is refused."""
    table, paid = a_table(80)
    regions = {"columns": ["income", "savings", "age", "owner"]}
    made = smoothed(0.9, regions=regions).fit(table, paid)

    class Peeks:
        def predict(self, rows):
            return [int(row.contents[0] > 1) for row in rows]

    class Blind:
        def predict(self, rows):
            return [int(row.contents[1]) for row in rows]

    def certified_by(blind):
        chosen = sc.Fallback(blind, threshold=0.7)
        both = sc.SmoothedClassifier(made.classifier, made.noise, regions, fallback=chosen)
        return both.certify(table[:20], samples=500, threat="columns:2")

    with pytest.raises(sc.InvalidParameterError, match="whatever is attacked"):
        certified_by(Peeks())
    assert certified_by(Blind()).certified_accuracy(paid[:20], 1) > 0.4
