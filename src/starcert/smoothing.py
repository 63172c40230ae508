"""The smoothed classifier, facade of the whole method: sample noisy copies, let the base classifier vote, certify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.certificate import Certificates, certify
from starcert.classifiers.base import Classifier
from starcert.core.confidence import Votes, check_alpha, clopper_pearson
from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition, Sites
from starcert.graphs.rule import Rule, partition_by_rule
from starcert.noise import Noise, RadiusLike
from starcert.progress import Advance, progress_bar
from starcert.provenance import provenance
from starcert.sampling.sampler import check_regions
from starcert.voting import CHUNK_SIZE, PURPOSES, Chunk, Job, backend_of, chunks_of, count_chunk, tallies

if TYPE_CHECKING:
    from starcert.sampling.streams import Purpose
    from starcert.store import VoteStore

__all__ = ["ABSTAIN", "Regions", "SmoothedClassifier", "capacity"]

ABSTAIN = -1
"""What `predict` answers where no class can be shown to be the likeliest."""

Regions: TypeAlias = Partition | Rule
"""A partition, if all graphs share their nodes, or a rule: a function from a graph to its partition."""


def capacity(sites: Sites, noise: Noise) -> tuple[int, ...]:
    """How many sites an attacker finds on each axis: more flips than these are no further attack."""
    found: dict[str, int] = {}
    for region, size, ones in zip(sites.regions, sites.sizes, sites.ones, strict=True):
        counts = (size,) if noise[region].symmetric else (ones.size, size - ones.size)
        found.update(zip((region + suffix for suffix in noise[region].suffixes), counts, strict=True))
    return tuple(found[axis] for axis in noise.axes)


class SmoothedClassifier:
    """A base classifier, smoothed: it answers the class that the base classifier gives most often on noisy copies.

    Args:
        base: the base classifier; see `starcert.classifiers`.
        noise: a flip law for every region.
        regions: where the regions are: a `Partition`, or a rule from a graph to its partition. Without it, the one
            region of the noise is every node pair.

    Example:
        >>> import networkx as nx
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7), n_classes=2)
        >>> smoothed = SmoothedClassifier(base, sc.Noise(all=0.1))
        >>> ring, clique = (sc.Graph.from_networkx(g) for g in (nx.cycle_graph(6), nx.complete_graph(6)))
        >>> smoothed.predict([ring, clique], samples=2000, seed=1).tolist()
        [0, 1]
    """

    def __init__(self, base: Classifier, noise: Noise, regions: Regions | None = None) -> None:
        if not isinstance(base, Classifier):
            raise InvalidParameterError(
                "base", "be a classifier", base, "Wrap a function: starcert.classifiers.from_callable(f, n_classes=2)."
            )
        if not isinstance(noise, Noise):
            raise InvalidParameterError(
                "noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45)."
            )
        if regions is None and len(noise.regions) > 1:
            raise InvalidParameterError(
                "regions",
                f"say where the {len(noise.regions)} regions of the noise are",
                None,
                "Give a Partition, for instance Partition.from_node_sets({...}), or a rule from a graph to one.",
            )
        if not (regions is None or isinstance(regions, Partition) or callable(regions)):
            raise InvalidParameterError("regions", "be a Partition or a function from a graph to one", regions)
        self.base = base
        self.noise = noise
        self.regions = regions

    def __repr__(self) -> str:
        return f"SmoothedClassifier({self.base.description}, {self.noise!r})"

    def sites(self, graph: Graph) -> Sites:
        """The sites of a graph: its partition, bound to it."""
        if not isinstance(graph, Graph):
            hint = "Convert it first, for instance with Graph.from_networkx(graph)."
            raise InvalidParameterError("graphs", "be starcert Graphs", type(graph).__name__, hint)
        if self.regions is None:
            partition = Partition.everything(self.noise.regions[0])
        elif isinstance(self.regions, Partition):
            partition = self.regions
        else:
            partition = partition_by_rule(self.regions, graph)
        return partition.sites(graph)

    def vote(
        self,
        graphs: Sequence[Graph],
        *,
        samples: int,
        selection_samples: int | None = None,
        seed: int,
        store: str | PathLike[str] | None = None,
        executor: Executor | None = None,
        chunk_size: int | None = None,
        batch_size: int | None = None,
        progress: bool | None = None,
    ) -> Votes:
        """The votes of the base classifier on noisy copies of each graph.

        They depend on the graphs, the noise, the classifier, the seed and the chunk size, and on nothing else: neither
        on batch sizes, workers or their order, nor on interruptions.

        Args:
            graphs: the clean graphs.
            samples: estimation votes for each graph.
            selection_samples: selection votes for each graph; by default a hundredth of `samples`, at least 100.
            seed: a whole number, 0 or more.
            store: a file that keeps the votes as they come, and that a later call continues.
            executor: where to count: any `concurrent.futures.Executor`, or None for this process.
            chunk_size: samples in a unit of work with its own random stream; by default as the classifier wants it,
                1,024 on a CPU.
            batch_size: the most noisy graphs that the classifier sees at once; by default as many as it wants.
            progress: whether to draw a progress bar; by default on a terminal only.
        """
        graphs = _as_list(graphs)
        if executor is not None and not hasattr(executor, "submit"):
            hint = "Give for instance concurrent.futures.ProcessPoolExecutor(4)."
            raise InvalidParameterError("executor", "be a concurrent.futures.Executor", executor, hint)
        samples = _whole(samples, "samples", 1)
        select = max(100, samples // 100) if selection_samples is None else selection_samples
        select = _whole(select, "selection_samples", 1)
        sites = [self.sites(graph) for graph in graphs]
        for each in sites:
            check_regions(each, self.noise)  # before anything is counted
        job = Job(
            self.base,
            self.noise,
            sites,
            _whole(seed, "seed", 0),
            _whole(getattr(self.base, "chunk_size", CHUNK_SIZE) if chunk_size is None else chunk_size, "chunk_size", 1),
            None if batch_size is None else _whole(batch_size, "batch_size", 1),
        )
        if not graphs:
            raise InvalidParameterError("graphs", "hold at least one graph", graphs)
        wanted: dict[Purpose, int] = {"selection": select, "estimation": samples}
        counts = {purpose: np.zeros((len(graphs), self.base.n_classes), dtype=np.int64) for purpose in wanted}
        opened = None if store is None else self._open(store, job)
        try:
            if opened is not None:
                _check_a_stored_chunk(job, opened)
            with progress_bar("votes", len(graphs) * sum(wanted.values()), shown=progress) as advance:
                for chunk, votes in tallies(job, _missing(job, wanted, counts, opened, advance), executor):
                    counts[chunk.purpose][chunk.graph] += votes
                    if opened is not None:
                        opened.add(chunk.graph, chunk.purpose, chunk.number, votes, samples=chunk.samples)
                    advance(chunk.samples)
        finally:
            if opened is not None:
                opened.close()
        return Votes(counts["estimation"], selection=counts["selection"])

    def certify(
        self,
        graphs: Sequence[Graph],
        *,
        samples: int,
        alpha: float = 0.01,
        seed: int,
        max_radius: RadiusLike | None = None,
        **voting: object,
    ) -> Certificates:
        """One certificate for each graph, from fresh or stored votes.

        Args:
            graphs: the clean graphs.
            samples: estimation votes for each graph.
            alpha: the probability that a certificate fails.
            seed: a whole number, 0 or more.
            max_radius: the box of radii to look at; by default all that an attacker can flip.
            voting: further arguments of `vote`.
        """
        check_alpha(alpha)  # before hours of sampling, not after
        limits = None if max_radius is None else self.noise.radius(max_radius, "max_radius")
        graphs = _as_list(graphs)
        votes = self.vote(graphs, samples=samples, seed=seed, **voting)  # type: ignore[arg-type]
        sites = [self.sites(graph) for graph in graphs]
        return certify(
            clopper_pearson(votes, alpha=alpha),
            self.noise,
            max_radius=limits,
            capacity=[capacity(each, self.noise) for each in sites],
            anchored=[each.reason for each in sites],
        )

    def predict(
        self, graphs: Sequence[Graph], *, samples: int, alpha: float = 0.01, seed: int, **voting: object
    ) -> npt.NDArray[np.int64]:
        """The smoothed classifier's answer for each graph, `ABSTAIN` where it cannot be shown to be the likeliest."""
        certificates = self.certify(graphs, samples=samples, alpha=alpha, seed=seed, **voting)  # type: ignore[arg-type]
        return np.array([ABSTAIN if one.abstained else one.label for one in certificates], dtype=np.int64)

    def _open(self, path: str | PathLike[str], job: Job) -> VoteStore:
        from starcert.store import GraphRecord, Settings, VoteStore  # noqa: PLC0415  (sqlite: only with a store)

        settings = Settings(
            noise=self.noise.to_dict(),
            classifier=self.base.description,
            n_classes=self.base.n_classes,
            seed=job.seed,
            chunk_size=job.chunk_size,
            backend=backend_of(self.base),
        )
        records = [
            GraphRecord(
                graph=i,
                key=each.graph.key,
                sites=each.key,
                sizes=dict(zip(self.noise.axes, capacity(each, self.noise), strict=True)),
                anchored=each.reason,
                name="",
            )
            for i, each in enumerate(job.sites)
        ]
        return VoteStore.open(path, settings, records, provenance=provenance())


def _missing(
    job: Job,
    wanted: Mapping[Purpose, int],
    counts: Mapping[Purpose, npt.NDArray[np.int64]],
    store: VoteStore | None,
    advance: Advance,
) -> Iterator[Chunk]:
    """The chunks that are left to do; what the store has is added to the counts on the way."""
    for graph in range(len(job.sites)):
        for purpose, samples in wanted.items():
            stored = {} if store is None else {c: (n, votes) for c, n, votes in store.chunks(graph, purpose)}
            for chunk in chunks_of(graph, purpose, samples, job.chunk_size):
                n, votes = stored.get(chunk.number, (0, None))
                if votes is not None and n == chunk.samples:
                    counts[purpose][graph] += votes
                    advance(chunk.samples)
                else:  # not there, or with another number of samples: the last chunk of another run
                    yield chunk


def _check_a_stored_chunk(job: Job, store: VoteStore) -> None:
    """Counts one stored chunk again: a classifier that has changed without its description must not go on here."""
    for graph in range(len(job.sites)):
        stored = [(n, number, purpose) for purpose in PURPOSES for number, n in store.done(graph, purpose).items()]
        if stored:
            samples, number, purpose = min(stored)
            chunk = Chunk(graph, purpose, number, samples)
            votes = count_chunk(job.classifier, job.sites[graph], job, chunk).counts
            store.add(graph, purpose, number, votes, samples=samples)  # refuses other votes than the stored ones
            return


def _as_list(graphs: Sequence[Graph]) -> list[Graph]:
    if isinstance(graphs, Graph):
        raise InvalidParameterError("graphs", "be a list of graphs", graphs, "Wrap a single one in a list: [graph].")
    return list(graphs)


def _whole(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidParameterError(name, f"be a whole number, {least} or more", value)
    return int(value)
