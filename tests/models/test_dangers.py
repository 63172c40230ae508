"""The attacks that evidence finds most dangerous: on four nodes all of them are known exactly."""

from contextlib import contextmanager
from itertools import combinations, product

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
dangers = pytest.importorskip("starcert.models.dangers")
Against = sc.models.Against

PAIRS = list(combinations(range(4), 2))
BITS = np.array(list(product((0, 1), repeat=6)))
NOISE = sc.Noise(bonds=sc.Flip(delete=0.2, add=0.1))
CLEAN = np.array([1, 0, 1, 0, 1, 0])


class Table(torch.nn.Module):
    """Answers each graph on four nodes by a table."""

    def __init__(self, answers):
        super().__init__()
        self.answers = torch.nn.Parameter(torch.nn.functional.one_hot(torch.tensor(answers)).float())

    def forward(self, x, edge_index, batch):
        code = torch.zeros(len(x) // 4, dtype=torch.int64)
        for u, v in edge_index.T.tolist():
            if u < v:
                code[u // 4] += 2 ** (5 - PAIRS.index((u % 4, v % 4)))
        return self.answers[code]


def graph_of(bits):
    edges = [pair for pair, bit in zip(PAIRS, bits, strict=True) if bit]
    return sc.Graph(4, edges, node_data={"x": np.ones((4, 1))})


def world(seed, flips, votes=4096, noise=NOISE, regions=None, answers=None):
    answers = np.random.default_rng(seed).integers(0, 2, size=len(BITS)) if answers is None else answers
    base = sc.classifiers.from_pyg(Table(answers), n_classes=2)
    problem = sc.SmoothedClassifier(base, noise, regions).problem([graph_of(CLEAN)])
    label = int(chances(answers, CLEAN) > 0.5)
    copies = dangers.DangerousCopies(base, problem, [label], Against(dangerous=flips, votes=votes), seed)
    return copies, answers, label


def chances(answers, bits) -> float:
    """P(class 1) at a graph, exactly."""
    p = np.where(bits, 0.2, 0.1)
    return float(np.where(bits != BITS, p, 1 - p).prod(axis=1) @ answers)


def failures(answers, label, flips):
    """P(not the class) at every attacked graph, by the attacked pairs."""
    found = {}
    for attack in (each for size in range(flips + 1) for each in combinations(range(6), size)):
        bits = CLEAN.copy()
        bits[list(attack)] ^= 1
        found[attack] = abs(label - chances(answers, bits))
    return found


@pytest.mark.parametrize(("flips", "votes"), [(1, 4096), (2, 16384)])
@pytest.mark.parametrize("seed", range(5))
def test_the_chosen_attack_is_the_one_that_fails_most(seed, flips, votes):
    copies, answers, label = world(seed, flips, votes)
    copies.choose(0)
    (attack,), exact = copies.attacks, failures(answers, label, flips)
    sites = copies.problem.sites[0]
    place = {int(site): number for number, site in enumerate(sites.locate(*np.array(PAIRS).T))}
    worst, second = sorted(exact.values())[-1:-3:-1]
    chosen = tuple(sorted(place[site] for site in attack))
    assert worst - second < 0.02 or chosen == max(exact, key=exact.get)
    assert worst - exact[chosen] < 0.02
    drawn = np.concatenate([copies.block(0, 64 * block)[0].adjacency() for block in range(40)])
    shown = np.array([drawn[:, u, v].mean() for u, v in PAIRS])
    bits = CLEAN.copy()
    bits[list(chosen)] ^= 1
    assert shown == pytest.approx(np.where(bits, 0.8, 0.1), abs=0.05)  # copies are of the attacked graph


def test_what_fails_nowhere_or_by_no_attack_is_not_attacked():
    always, _, _ = world(0, 2, answers=np.ones(64, dtype=np.int64) - (np.arange(64) == 0))
    always._classes = [1]
    blind, _, _ = world(0, 2, answers=np.arange(64) * 0 + 1)
    for copies in (always, blind):
        copies.choose(0)
    assert blind.attacks == [()]
    # Only the graph without edges fails: deleting edges is the danger, and never adding one.
    site = always.problem.sites[0].locate(*np.array(PAIRS).T)
    edges = {int(site[number]) for number in np.flatnonzero(CLEAN)}
    assert len(always.attacks[0]) == 2
    assert set(always.attacks[0]) <= edges


def test_invisible_pairs_are_never_attacked():
    regions = sc.Partition.from_pairs({"seen": PAIRS[:1], "hidden": PAIRS[1:]})
    noise = sc.Noise(seen=sc.Flip(delete=0.2, add=0.1), hidden=sc.Flip(delete=1, add=0))
    copies, _, label = world(1, 2, votes=256, noise=noise, regions=regions, answers=BITS[:, 0])
    assert label == 1
    copies.choose(0)
    assert copies.attacks == [(0,)]


def test_too_many_attacks_are_not_weighed(monkeypatch):
    copies, _, _ = world(2, 2)
    copies.choose(0)
    assert copies.attacks != [()]
    monkeypatch.setattr(dangers, "MAX_WEIGHED", 2)
    copies.choose(0)
    assert copies.attacks == [()]


def trained(**how):
    graphs = [graph_of(bits) for bits in BITS[1::3]]
    labels = (BITS[1::3].sum(axis=1) > 2).astype(int)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = sc.models.GIN(1, 2, hidden=8, layers=2)
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), NOISE)
    against = Against(copies=3, flips=1, dangerous=1, every=2, votes=64)
    how = {"epochs": 7, "against": against, "validation": (graphs, labels), "learning_rate": 0.02} | how
    return model, sc.models.fit_with_noise(smoothed, graphs, labels, **how)


class StoppedError(Exception):
    pass


def test_a_training_goes_on_with_the_attacks_that_it_had(tmp_path, monkeypatch):
    whole, training = trained()
    assert training.validation_accuracy > 0.6
    chosen = []
    monkeypatch.setattr(dangers.DangerousCopies, "choose", _counted(dangers.DangerousCopies.choose, chosen))
    files = pytest.importorskip("starcert.models.files")
    monkeypatch.setattr(files, "SECONDS", 0)
    fitting = pytest.importorskip("starcert.models.fitting")
    checkpoint = lambda: sc.models.TrainingCheckpoint(tmp_path / "state", {})  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "progress_bar", _stopping(fitting.progress_bar, after=6))
        with pytest.raises(StoppedError):
            trained(checkpoint=checkpoint())
    assert chosen == [2, 4]  # the epoch after the last one kept was begun with the attacks of epoch 4
    continued, _ = trained(checkpoint=checkpoint())
    assert chosen == [2, 4, 6]
    assert all(map(torch.equal, whole.state_dict().values(), continued.state_dict().values()))


def _counted(choose, chosen):
    def counted(self, number):
        chosen.append(number)
        assert self._base.model.training
        choose(self, number)
        assert self._base.model.training

    return counted


def _stopping(progress_bar, after):
    @contextmanager
    def stopping(name, total, first, *, shown):
        done = first

        def advance(number):
            nonlocal done
            done += number
            if done == after:
                raise StoppedError

        with progress_bar(name, total, first, shown=shown):
            yield advance

    return stopping


def test_where_it_cannot_be_done_it_is_refused():
    graph, labels = graph_of(CLEAN), [0, 1, 0, 1]
    against = Against(dangerous=1)
    base = sc.classifiers.from_pyg(sc.models.NodeGCN(1, 2), n_classes=2, targets="nodes")
    with pytest.raises(InvalidParameterError, match="'dangerous' must be 0 where nodes are classified"):
        sc.models.fit_nodes_with_noise(sc.SmoothedClassifier(base, NOISE), graph, labels, train=[0, 1],
                                       validation=[2, 3], against=against)  # fmt: skip
    numbers = sc.classifiers.from_pyg(sc.models.GIN(1, 1), outputs=sc.ValueRange(0, 1))
    smoothed = sc.SmoothedRegressor(numbers, NOISE)
    with pytest.raises(InvalidParameterError, match="'dangerous' must be 0 where outputs are numbers"):
        sc.models.fit_with_noise(smoothed, [graph], [0.5], validation=([graph], [0.5]), against=against)
