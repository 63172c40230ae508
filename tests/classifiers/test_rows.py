"""Classifiers of rows: functions, estimators of scikit-learn's and modules of torch's see the same noisy copies."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import worlds

import starcert as sc
from starcert.sampling.draws import Method
from starcert.sampling.sampler import check_fits, sampler, site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import clean_copy, view_of
from starcert.system.errors import ClassifierError, InvalidParameterError

pytest.importorskip("sklearn")
pytest.importorskip("torch")

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

RNG = np.random.default_rng(0)
MATRIX = RNG.integers(2, size=(60, 12))
LABELS = (MATRIX[:, :5].sum(axis=1) > 2).astype(int) + (MATRIX[:, 5:].sum(axis=1) > 4)
ROWS = sc.Bits.rows(MATRIX)
NOISE = sc.Noise(head=0.1, tail=sc.Flip(delete=0.2, add=0.3))
REGIONS = {"head": range(0, 10, 2), "tail": range(1, 10, 2)}
WIDE = sc.Bits(RNG.integers(2, size=10_000))
LETTERS = sc.Categories.rows(RNG.integers(3, size=(4, 6)), values=3)


def head_or_tail(rows):
    assert rows.dtype == np.int64
    return ((2 * rows - 1)[:, :6].sum(axis=1) > 0).astype(int)


def smoothed(base) -> sc.SmoothedClassifier:
    return sc.SmoothedClassifier(base, NOISE, REGIONS)


def test_a_function_sees_rows_in_the_order_of_their_columns():
    seen = worlds.Calls()

    def noted(rows):
        seen.append(rows)
        return rows[:, 11]  # a fixed column: as it was

    base = sc.classifiers.from_callable(noted, on="vectors", description="the last column")
    votes = smoothed(base).vote(ROWS[:3], samples=2000, seed=1)
    assert votes.counts.tolist() == [[2000 * (1 - last), 2000 * last] for last in MATRIX[:3, 11].tolist()]
    rows = np.concatenate([*seen])
    assert rows.shape[1] == 12
    assert {*map(tuple, rows[:, 10:])} == {*map(tuple, MATRIX[:3, 10:])}  # in no region
    assert (np.ptp(rows[:, :10], axis=0) == 1).all()


def test_votes_are_those_of_the_table_whatever_the_batches_and_workers():
    base = sc.classifiers.from_callable(head_or_tail, on="vectors")
    one = smoothed(base).vote(ROWS[:4], samples=3000, seed=5)
    with ThreadPoolExecutor(2) as pool:
        other = smoothed(base).vote(ROWS[:4], samples=3000, seed=5, voting=sc.Voting(batch_size=37, executor=pool))
    assert one.counts.tolist() == other.counts.tolist()
    assert one.counts.min() > 0


def test_copies_of_bits_and_of_categories_are_shown_whole():
    for row, noise, regions in (
        (ROWS[0], NOISE, REGIONS),
        (ROWS[0], sc.Noise(all=0.2), None),
        (ROWS[0], sc.Noise(a=0.3, b=0.4), {"b": range(0, 12, 2), "a": range(1, 12, 2)}),
        (WIDE, sc.Noise(all=0.01), None),
        (WIDE, sc.Noise(some=sc.Flip(delete=0.01, add=0.001)), {"some": range(0, 10_000, 2)}),
        (LETTERS[0], sc.Noise(all=sc.Categorical(0.3, 3)), None),
        (LETTERS[0], sc.Noise(some=sc.Categorical(0.3, 3)), {"some": [1, 4]}),
    ):
        sites = sc.SmoothedClassifier(sc.classifiers.from_callable(len), noise, regions).sites(row)
        batch = sampler(sites, noise).draw(WordStream.of_chunk(1, row.key, "estimation", 0), 70)
        expected = np.tile(row.row, (70, 1))
        expected[:, sites.coordinates(np.arange(sites.n_sites))[0]] = batch.values
        np.testing.assert_array_equal(batch.vectors(), expected)
        np.testing.assert_array_equal(batch[3:9].vectors(), expected[3:9])
        assert clean_copy(sites).vectors().tolist() == [row.row.tolist()]
        assert batch.frame is row.frame


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("p", [0.01, 0.3])
def test_rows_that_do_not_fit_are_refused(p, device):
    """However they would be drawn: as the few bits that flip, as all of them, here or on a device."""
    sites = sc.SmoothedClassifier(sc.classifiers.from_callable(len), sc.Noise(all=p)).sites(WIDE)
    check = partial(check_fits, sites, sc.Noise(all=p), name="row 0", device=device, copy_bytes=lambda n, m: 0)
    check(free=9_000_000)
    with pytest.raises(sc.StarcertError, match="noisy copies of row 0 do not fit: there are 10,000 sites"):
        check(free=10_000)


def test_certificates_of_rows_are_archived_proved_and_shown(tmp_path):
    base = sc.classifiers.from_callable(lambda rows: rows[:, :3].sum(axis=1) > 1, on="vectors", description="first")
    noise = sc.Noise(head=sc.Categorical(0.2), tail=sc.Categorical(0.4))
    smoothed = sc.SmoothedClassifier(base, noise, {"head": range(3), "tail": range(3, 6)})
    problem = smoothed.problem(LETTERS[:3])
    archive = sc.archive.Archive.from_result(smoothed.certify(problem, samples=2000, seed=1))
    sc.archive.write(tmp_path / "certificates.json", archive)
    assert sc.archive.read(tmp_path / "certificates.json") == archive
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"
    sc.report.write_report(tmp_path / "report.html", archive, problem)
    assert "head" in (tmp_path / "report.html").read_text("utf-8")


def test_who_classifies_rows_refuses_graphs_and_the_other_way_round():
    graph = sc.Graph(4, [(0, 1)])
    rows = sc.classifiers.from_callable(head_or_tail, on="vectors")
    with pytest.raises(ClassifierError, match="it classifies rows, and these are graphs"):
        sc.SmoothedClassifier(rows, sc.Noise(all=0.1)).predict([graph], samples=100, seed=1)
    graphs = sc.classifiers.from_callable(len)
    with pytest.raises(ClassifierError, match="these are plain vectors: write on='vectors'"):
        sc.SmoothedClassifier(graphs, sc.Noise(all=0.1)).predict(ROWS[:1], samples=100, seed=1)
    with pytest.raises(InvalidParameterError, match="be 'networkx', 'batch' or 'vectors'"):
        sc.classifiers.from_callable(len, on="rows")
    with pytest.raises(InvalidParameterError, match="be the name of a layer"):
        sc.SmoothedClassifier(graphs, NOISE, REGIONS).predict([graph], samples=100, seed=1)
    with pytest.raises(InvalidParameterError, match=r"values of cells.*Bits.rows"):
        sc.SmoothedClassifier(rows, sc.Noise(all=0.1)).predict(MATRIX, samples=100, seed=1)
    with pytest.raises(InvalidParameterError, match="Wrap a single one in a list"):
        sc.SmoothedClassifier(rows, sc.Noise(all=0.1)).predict(ROWS[0], samples=100, seed=1)


class TestScikitLearn:
    def estimators(self):
        signs = make_pipeline(FunctionTransformer(lambda rows: 2 * rows - 1), LogisticRegression())
        return [SVC(), BernoulliNB(), DecisionTreeClassifier(random_state=0), signs]

    def test_any_estimator_answers_rows(self):
        for estimator in self.estimators():
            base = sc.classifiers.from_sklearn(estimator.fit(MATRIX, LABELS))
            told = smoothed(base).vote(ROWS[:2], samples=700, seed=2)
            function = sc.classifiers.from_callable(estimator.predict, n_classes=3, on="vectors", description="same")
            assert told.counts.tolist() == smoothed(function).vote(ROWS[:2], samples=700, seed=2).counts.tolist()
            assert base.description != sc.classifiers.from_sklearn(estimator.fit(MATRIX[:50], LABELS[:50])).description

    def test_scores_are_compared_and_classes_have_names(self):
        base = sc.classifiers.from_sklearn(self.estimators()[0].fit(MATRIX, np.array(["x", "y", "z"])[LABELS]))
        assert base.class_names == ("x", "y", "z")
        sites = smoothed(base).sites(ROWS[0])
        found = base.scored(sampler(sites, NOISE).draw(WordStream.of_chunk(1, ROWS[0].key, "estimation", 0), 5))
        assert found.numbers.shape == (5, 3)

    def test_a_smoothed_classifier_is_fitted_on_rows(self):
        svc = self.estimators()[0]
        fitted = sc.SmoothedClassifier(svc, sc.Noise(all=0.02), samples=500).fit(ROWS, LABELS)
        assert fitted.score(ROWS[:20], LABELS[:20]) > 0.8
        svc.fit(MATRIX, LABELS)
        np.testing.assert_array_equal(fitted.classifier.estimator.predict(MATRIX), svc.predict(MATRIX))


class TestTorch:
    def network(self, columns: int, classes: int = 3):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            first = torch.nn.Flatten() if columns == 18 else torch.nn.Identity()
            return torch.nn.Sequential(
                first, torch.nn.Linear(columns, 16), torch.nn.Tanh(), torch.nn.Linear(16, classes)
            )

    def test_a_module_answers_bits_as_floats(self):
        model = self.network(12)
        base = sc.classifiers.from_torch(model, n_classes=3)
        told = smoothed(base).vote(ROWS[:3], samples=1000, seed=2)

        def same(rows):
            with torch.no_grad():
                return model(torch.tensor(rows, dtype=torch.float32)).argmax(dim=1).numpy()

        function = sc.classifiers.from_callable(same, n_classes=3, on="vectors", description="same")
        assert told.counts.tolist() == smoothed(function).vote(ROWS[:3], samples=1000, seed=2).counts.tolist()
        assert (told.counts > 0).sum() > 3

    def test_a_module_answers_categories_one_by_one(self):
        model = self.network(18)
        base = sc.classifiers.from_torch(model, n_classes=3, one_hot=True)
        noise = sc.Noise(all=sc.Categorical(0.2, 3))
        told = sc.SmoothedClassifier(base, noise).vote(LETTERS, samples=1000, seed=2)

        def same(rows):
            with torch.no_grad():
                return model(torch.tensor(np.eye(3, dtype=np.float32)[rows])).argmax(dim=1).numpy()

        function = sc.classifiers.from_callable(same, n_classes=3, on="vectors", description="same")
        other = sc.SmoothedClassifier(function, noise).vote(LETTERS, samples=1000, seed=2)
        assert told.counts.tolist() == other.counts.tolist()

    def test_what_it_is_is_told_and_it_travels(self):
        model = self.network(12)
        base = sc.classifiers.from_torch(model, n_classes=3)
        assert base.description == pickle.loads(pickle.dumps(base)).description
        assert base.description != sc.classifiers.from_torch(model, n_classes=3, one_hot=True).description
        before = base.description
        with torch.no_grad():
            model[1].bias += 1
        assert base.description != before
        assert sc.classifiers.from_torch(model, n_classes=3, description="mine").description == "mine"

    def test_what_does_not_fit(self):
        with pytest.raises(InvalidParameterError, match="'one_hot' must be True or False"):
            sc.classifiers.from_torch(self.network(12), n_classes=3, one_hot=3)
        with pytest.raises(InvalidParameterError, match=r"be a torch.nn.Module"):
            sc.classifiers.from_torch(len, n_classes=3)
        base = sc.classifiers.from_torch(self.network(12), n_classes=2)
        with pytest.raises(ClassifierError, match="logits of shape"):
            smoothed(base).vote(ROWS[:1], samples=100, seed=1)
        with pytest.raises(ClassifierError, match="it classifies rows, and these are graphs"):
            sc.SmoothedClassifier(base, sc.Noise(all=0.1)).predict([sc.Graph(4, [])], samples=100, seed=1)

    def test_bits_that_are_drawn_on_a_device_stay_there(self):
        device = pytest.importorskip("starcert.sampling.device")
        sites = smoothed(sc.classifiers.from_callable(len)).sites(ROWS[0])
        drawn = site_sampler(sites, NOISE, Method.DEVICE_DENSE)
        stream = WordStream.of_chunk(1, ROWS[0].key, "estimation", 0)
        batch = view_of(sites, Method.DEVICE_DENSE, "cpu")(drawn.draw(stream, 300))
        assert isinstance(batch, device.DeviceVectors)
        there = batch.vectors_on(torch.device("cpu"))
        assert there.dtype == torch.uint8
        np.testing.assert_array_equal(there.numpy(), batch.vectors())
        np.testing.assert_array_equal(batch[5:9].vectors_on(torch.device("cpu")).numpy(), batch.vectors()[5:9])
        assert (batch.vectors()[:, 10:] == MATRIX[0, 10:]).all()
        assert (batch.vectors()[:, :10] != MATRIX[0, :10]).mean() == pytest.approx(0.18, abs=0.04)


def test_an_estimator_of_a_data_frame_is_refused_where_values_have_numbers():
    """Noisy rows hold the numbers of values: such a machine would read 0 where it learned 5."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"visits": [5, 10, 20, 5], "plan": [1, 2, 2, 1]})
    rows, noise = sc.Categories.from_frame(frame), sc.Noise(visits=sc.Categorical(0.1, 3))
    codes = np.array([row.row for row in rows])
    for given, fits in ((frame, False), (codes, True)):
        base = sc.classifiers.from_sklearn(DecisionTreeClassifier(random_state=0).fit(given, [0, 1, 1, 0]))
        smoothed = sc.SmoothedClassifier(base, noise, {"visits": ["visits"]})
        if fits:
            assert smoothed.certify(rows, samples=200, seed=1).labels.tolist() == [0, 1, 1, 0]
        else:
            with pytest.raises(ClassifierError, match=r"fitted on a data frame.*row\.row for row in rows"):
                smoothed.certify(rows, samples=200, seed=1)
