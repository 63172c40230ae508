"""Votes, stores and certificates of many targets of one graph: rows keyed by graph and target."""

import numpy as np
import pytest
from asking import how_to
from target_worlds import WANTED, Busy, FirstNode, Some, graphs, named_star, nodes

import starcert as sc
from starcert.archive import Archive
from starcert.claims import question
from starcert.claims.verdict import Verdict
from starcert.methods import evidence
from starcert.system.errors import ClassifierError, InvalidParameterError, StoreError, StoreSettingsError
from starcert.voting import vote_loop
from starcert.voting.store import VoteStore


def test_every_row_says_whose_it_is():
    votes = nodes().vote(graphs(), **WANTED)
    assert votes.objects.tolist() == [0] * 5 + [1] * 3 + [2] * 6
    assert votes.targets.tolist() == [*range(5), *range(3), *range(6)]
    assert (votes.counts.sum(axis=1) == 2000).all()
    assert (votes.selection.sum(axis=1) == 200).all()
    np.testing.assert_array_equal(votes.counts[votes.targets == 0], nodes(FirstNode()).vote(graphs(), **WANTED).counts)


def test_one_target_looks_as_it_always_did():
    votes = nodes(FirstNode()).vote(graphs(), **WANTED)
    assert votes.objects.tolist() == [0, 1, 2]
    assert votes.targets.tolist() == [0, 0, 0]
    result = nodes(FirstNode()).certify(graphs(), **WANTED)
    assert [(row["graph"], "target" in row) for row in result.rows()] == [(0, False), (1, False), (2, False)]


def test_certificates_are_those_of_the_targets():
    result = nodes().certify(graphs(), **WANTED)
    hub = result[0]
    assert (hub.object, hub.target, hub.label, hub.capacity) == (0, 0, 1, (10,))
    assert not hub.abstained
    assert [one.label for one in result if one.object == 0] == [1, 0, 0, 0, 0]
    assert [one.capacity for one in result] == [(10,)] * 5 + [(3,)] * 3 + [(15,)] * 6
    assert [(row["graph"], row["target"]) for row in result.rows()][4:7] == [(0, 4), (1, 0), (1, 1)]
    assert nodes().predict(graphs(), **WANTED).shape == (14,)
    assert nodes().certify(graphs(), **how_to(family="all", **WANTED)).bounds.family_size == 14


def test_the_smoothed_probability_of_a_node_is_what_enumeration_finds():
    """The hub of a star with four leaves keeps more than two of four edges, each with probability 0.8."""
    votes = nodes().vote(graphs()[:1], samples=40_000, seed=5)
    exact = 0.8**4 + 4 * 0.8**3 * 0.2
    assert abs(votes.counts[0, 1] / 40_000 - exact) < 5 * np.sqrt(exact * (1 - exact) / 40_000)


@pytest.mark.parametrize("batch_size", [1, 13])
def test_they_do_not_depend_on_batches(batch_size):
    np.testing.assert_array_equal(
        nodes().vote(graphs(), **how_to(batch_size=batch_size, **WANTED)).counts,
        nodes().vote(graphs(), **WANTED).counts,
    )


def test_a_store_keeps_them_and_continues(tmp_path):
    file = tmp_path / "votes.db"
    nodes().vote(graphs()[:2], **how_to(store=file, **(WANTED | {"samples": 1500})))
    votes = nodes().vote(graphs(), **how_to(store=file, **WANTED))
    np.testing.assert_array_equal(votes.counts, nodes().vote(graphs(), **WANTED).counts)
    with VoteStore.read(file) as store:
        assert [record.n_targets for record in store.graphs] == [5, 3, 6]
        assert store.rows == list(zip(votes.objects.tolist(), votes.targets.tolist(), strict=True))
        np.testing.assert_array_equal(store.counts("estimation"), votes.counts)
        assert [chunk[:2] for chunk in store.tallies(2, "estimation")] == [(0, 1024), (1, 976)]
        with pytest.raises(InvalidParameterError, match="'target' must be a whole number from 0 to 2"):
            store.attack_chunks(1, [3], target=3)


def test_a_store_serves_no_other_number_of_targets(tmp_path):
    file = tmp_path / "votes.db"
    nodes(FirstNode()).vote(graphs(), **how_to(store=file, **WANTED))
    with pytest.raises(StoreSettingsError, match="graph 0 n_targets: stored 1, now 5"):
        nodes().vote(graphs(), **how_to(store=file, **WANTED))


def test_a_classifier_that_changed_on_one_target_cannot_continue(tmp_path):
    class Changed(Busy):
        def classify(self, graphs):
            answers = super().classify(graphs)
            answers[:, 2] ^= True
            return answers

    file = tmp_path / "votes.db"
    nodes().vote(graphs(), **how_to(store=file, **WANTED))
    with pytest.raises(StoreError, match="other votes on graph 0, estimation, chunk 0, target 2"):
        nodes(Changed()).vote(graphs(), **how_to(store=file, **WANTED))


def test_answers_of_another_shape_are_refused():
    class Transposed(Busy):
        def classify(self, graphs):
            return super().classify(graphs).T

    with pytest.raises(ClassifierError, match=r"shape \(5, \d+\) for \d+ graphs; one class for each of 5 targets"):
        nodes(Transposed()).vote(graphs()[:1], **WANTED)


def test_targets_that_look_at_other_copies_are_refused():
    class Comparing(Busy):
        def classify(self, graphs):
            return graphs.degrees() > graphs.degrees().mean(axis=0)

    with pytest.raises(ClassifierError, match=r"with classes \[.* in a batch of \d+, but with classes"):
        nodes(Comparing()).vote(graphs()[:1], **WANTED)


def test_keys_are_checked():
    for keys in ({"objects": [0]}, {"targets": [0, -1]}, {"objects": [0.5, 1.0]}, {"objects": [1, 1]}):
        with pytest.raises(InvalidParameterError, match=r"'objects'|'targets'"):
            sc.Votes([[1, 0], [1, 0]], **keys)


def test_an_archive_names_graph_and_target(tmp_path):
    result = nodes().certify(graphs(), **WANTED)
    archive = sc.archive.Archive.from_result(result)
    assert archive.names[:6] == ("0.0", "0.1", "0.2", "0.3", "0.4", "1.0")
    sc.archive.write(tmp_path / "certificates.json", archive)
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"


class TestNodes:
    def test_rows_name_the_nodes(self):
        result = nodes(Some()).certify([named_star()], **WANTED)
        assert [(one.target, one.node) for one in result] == [(0, "hub"), (1, "b")]
        assert [(row["graph"], row["target"], row["node"]) for row in result.rows()] == [(0, 0, "hub"), (0, 1, "b")]
        assert result.names == ["0.hub", "0.b"]
        assert result.nodes.index.tolist() == [0, 2]
        assert repr(result).startswith("Certificates(2 nodes, ")
        assert nodes().certify(graphs()[:1], **WANTED)[3].node == 3
        assert "for the node 3 of " in str(nodes().certify(graphs()[:1], **WANTED)[3])
        assert nodes(FirstNode()).certify(graphs()[:1], **WANTED)[0].node is None

    def test_every_node_is_meant_where_there_are_as_many_targets(self):
        assert Busy().target_nodes(named_star().frame).tolist() == [0, 1, 2, 3, 4]
        assert FirstNode().target_nodes(named_star().frame) is None

    def test_votes_are_those_of_all_nodes_at_these(self):
        some = nodes(Some()).vote([named_star()], **WANTED)
        every = nodes().vote([named_star()], **WANTED)
        np.testing.assert_array_equal(some.counts, every.counts[[0, 2]])

    def test_labels_are_of_the_rows_or_of_all_nodes(self):
        result = nodes(Some()).certify([named_star()], **WANTED)
        of_all, of_rows = [1, 9, 0, 9, 9], [1, 0]
        for labels in (of_all, of_rows):
            assert result.truth(labels).tolist() == of_rows
            assert result.certified_accuracy(labels, 0) == sc.metrics.accuracy(result, labels) == 1.0
            assert sc.metrics.certified_share(result, labels, max_radius=1).shape == (2,)
        assert sc.metrics.accuracy(result, [1, 9, None, 9, 9]) == 1.0
        assert sc.metrics.accuracy(result, [0, 9, 0, 9, 9]) == 0.5
        with pytest.raises(InvalidParameterError, match=r"for each of 2 nodes, or for each of all 5 nodes. Got .*3"):
            result.certified_accuracy([1, 0, 0], 0)

    def test_of_several_graphs_labels_are_of_the_rows(self):
        result = nodes().certify(graphs(), **WANTED)
        assert sc.metrics.accuracy(result, result.labels) > 0.5
        with pytest.raises(InvalidParameterError, match=r"one class for each of 14 nodes. Got"):
            result.truth([0] * 5)

    @pytest.mark.parametrize("wrong", [[0, 5], [-1, 0], [0.0, 1.0], [1, 1], [[0, 1], [2, 3]]])
    def test_indices_that_are_no_nodes_are_refused_before_any_vote(self, wrong):
        class Wrong(Some):
            def target_nodes(self, frame):
                return np.array(wrong)

            def classify(self, graphs):
                raise AssertionError("asked")

        with pytest.raises(InvalidParameterError, match="be indices of the 5 nodes of graph 0, each once"):
            nodes(Wrong()).certify([named_star()], **WANTED)

    def test_nodes_come_in_any_order_but_labels_of_all_of_them_must_be_clear(self):
        class Turned(Some):
            def target_nodes(self, frame):
                return np.array([2, 0])

        class All(Busy):
            def target_nodes(self, frame):
                return np.arange(frame.n_nodes)[::-1]

        assert nodes(Turned()).certify([named_star()], **WANTED).truth([0, 6, 1, 8, 9]).tolist() == [
            1,
            0,
        ]  # others: any
        with pytest.raises(InvalidParameterError, match="distinguish rows from nodes, which are in another order"):
            nodes(All()).certify([named_star()], **WANTED).truth([5, 6, 7, 8, 9])

    def test_as_many_nodes_as_targets(self):
        class Wrong(Some):
            def target_nodes(self, frame):
                return np.arange(3)

        with pytest.raises(InvalidParameterError, match=r"a node for each of the 2 targets of graph 0. Got '3 nodes'"):
            nodes(Wrong()).certify([named_star()], **WANTED)


def test_listed_attacks_are_grouped_once_for_all_targets_of_a_graph(monkeypatch, tmp_path):
    calls, grouped = [], question.group_attacks
    monkeypatch.setattr(question, "group_attacks", lambda *given: calls.append(given) or grouped(*given))
    result = nodes().certify(graphs(), **WANTED, threat="rewire:1", evidence=sc.Evidence(own_samples=0))
    assert (len(result), len(calls)) == (14, 3)
    alone = [
        evidence.verdicts_of(one, result.votes.row(row), each.grounds.axes, alpha=0.01, own=None, asked=one.asked)
        for row, (one, each) in enumerate(zip(result.by_p_A, result.verdicts, strict=True))
    ]
    assert alone == list(result.verdicts)
    sc.archive.write(tmp_path / "c.json", Archive.from_result(result))
    calls.clear()
    assert list(sc.archive.read(tmp_path / "c.json").certificates.verdicts) == alone
    assert len(calls) == 3


class Degree(Busy):
    """Nodes by their degree, in four classes."""

    n_classes = 4

    def classify(self, graphs):
        return np.minimum(graphs.degrees(), 3)


class TestCleanAnswersWithoutFlips:
    """Listed attacks cannot be weighed where flips are numbers by axis; what is answered without attack can."""

    @staticmethod
    def certified(**options):
        edges = [(i, j) for i in range(12) for j in range(i) if (i * j) % 7 == 3]
        smoothed = sc.SmoothedClassifier(Degree(), sc.Noise(all=sc.Flip(delete=0.3, add=0.05)))
        given = {"samples": 100, "seed": 1, "alpha": 0.05, "threat": "rewire:1"} | options
        return smoothed.certify([sc.Graph(12, edges)], evidence=sc.Evidence(own_samples=0), **given)

    @pytest.fixture
    def by_numbers(self, monkeypatch):
        monkeypatch.setattr(vote_loop, "MAX_FLIP_BYTES", 2_000)

    @pytest.mark.parametrize("options", [{}, {"family": "all"}, {"voting": sc.Voting(plan="decided")}])
    def test_fewer_abstain_and_the_file_proves_it(self, by_numbers, tmp_path, options):
        result = self.certified(**options)
        assert not any(record.complete for record in result.votes.records)
        abstained = result.by_p_A.abstained
        assert (result.abstained <= abstained).all()
        assert result.abstained.sum() < abstained.sum()
        assert [each is not None for each in result.verdicts] == abstained.tolist()
        gained = [one for one, before in zip(result, abstained, strict=True) if before and not one.abstained]
        assert {one.verdict("rewire:1") for one in gained} == {"open"}
        assert {one.certified_size for one in gained} == {0}
        sc.archive.write(tmp_path / "c.json", Archive.from_result(result))
        again = sc.archive.read(tmp_path / "c.json").certificates
        assert again.abstained.tolist() == result.abstained.tolist()
        assert sc.archive.verify(tmp_path / "c.json", progress=False).verdict == "proved"

    def test_as_few_abstain_as_where_flips_are_known(self, monkeypatch):
        known = self.certified()
        monkeypatch.setattr(vote_loop, "MAX_FLIP_BYTES", 2_000)
        assert self.certified().abstained.tolist() == known.abstained.tolist()

    def test_a_clean_answer_that_votes_do_not_show_is_not_proved(self, by_numbers, tmp_path, monkeypatch):
        """A control: what a rule that answers always claims is refuted."""
        monkeypatch.setattr(evidence, "_clean_verdict", lambda *_: Verdict("certified", "always"))
        sc.archive.write(tmp_path / "c.json", Archive.from_result(self.certified()))
        assert sc.archive.verify(tmp_path / "c.json", progress=False).verdict == "refuted"


def test_flips_are_kept_where_listed_attacks_change_something(monkeypatch, tmp_path):
    """Where those of all sites would take too much: nothing that is asked depends on the others."""
    edges = [(i, j) for i in range(12) for j in range(i) if (i * j) % 7 == 3]
    smoothed = sc.SmoothedClassifier(Degree(), sc.Noise(all=sc.Flip(delete=0.2, add=0.01)))

    def certified(store=None):
        how = {"samples": 2_000, "seed": 1, "threat": "deletions:1", "voting": sc.Voting(store=store)}
        return smoothed.certify([sc.Graph(12, edges)], evidence=sc.Evidence(own_samples=8_000), **how)

    known = certified(tmp_path / "votes.db")
    monkeypatch.setattr(vote_loop, "MAX_FLIP_BYTES", 30_000)
    for store in (None, tmp_path / "votes.db", tmp_path / "votes.db"):
        result = certified(store)
        (kept,) = result.votes.ballots
        assert len(kept.sites) == len(edges) < kept.n_sites == 66
        kinds = [one.verdict("deletions:1") for one in result]
        assert kinds == [one.verdict("deletions:1") for one in known]
        assert {"certified", "broken"} <= set(kinds)
        assert any("by weighing" in one.verdicts.sizes[1].why for one in result if 1 in one.verdicts.sizes)
        assert result.at_most_changed("deletions:1") == known.at_most_changed("deletions:1")
    file = tmp_path / "certificates.json"
    sc.archive.write(file, Archive.from_result(result, claims=[result.at_most_changed("deletions:1")]))
    assert sc.archive.verify(file, progress=False).verdict == "proved"
    again = sc.archive.read(file)
    assert all(each.record.agrees_with(mine) for each, mine in zip(again.evidence, result.votes.records, strict=True))
    assert [one.verdict("deletions:1") for one in again.certificates] == kinds
