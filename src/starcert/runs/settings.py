"""The settings of a run: what is certified, how, and where to.

Each is declared once, as a field. Its key in a run file, its option with help and default, and its check follow.
"""

# ruff: noqa: RUF009  (a setting is a field)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

from starcert.classifiers.values import ValueRange
from starcert.math.confidence import Family
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.runs import setting_values as checks
from starcert.runs.data_settings import DataSettings, as_kind
from starcert.runs.exact_settings import ExactSettings
from starcert.runs.setting_values import Setting, declared, option_name, setting
from starcert.runs.threats import as_threat
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError

SWEEP_SAMPLES = 1_000  # for each graph and level of a sweep, by default
THRESHOLD = 0.7  # of a fallback, by default
MAX_SAMPLES = 10**10  # for each graph: an archive keeps no more (`starcert.files.record.MAX_VOTES`)
_SAMPLES, _SEED = checks.whole(1, MAX_SAMPLES), checks.whole(0, 2**64 - 1)

_of_data = partial(setting, in_training=True, changes="nothing")  # it is the content that counts
_of_certificates = partial(setting, changes="certificates")
_of_evidence = partial(_of_certificates, panel="Evidence")


@dataclass(frozen=True, kw_only=True)
class RunSettings(ExactSettings, DataSettings):
    """What a run needs to know. Paths are absolute; the threat names the axes of the noise."""

    model: Reference = setting(
        checks.as_reference,
        "A function that returns a starcert classifier, a PyG module (its forward gets x, edge_index, edge_attr, "
        "batch or data by their names), a fitted scikit-learn estimator on graphs, or a function from a networkx "
        "graph to its class. It may have the parameters device, data, train and validation (these parts, under "
        "--split), noise and regions (to train with them).",
        metavar="FILE.PY:FUNCTION|MODULE:FUNCTION",
        example="model.py:classifier",
        in_training=True,
    )
    weights: Path | None = _of_data(
        checks.as_path,
        "The file of the module's weights, such as model.pt: from starcert train, or a state dict from torch.save.",
        shown="as the model function returns it",
        metavar="FILE",
    )
    data: Path | str | Reference = _of_data(
        checks.as_data,
        "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, "
        "with the classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
        "molecules (a file .smi, or .csv with a column smiles); one graph of labelled nodes (.npz); or "
        "file.py:function, which returns starcert objects of any kind and their classes.",
        metavar="NAME|PATH",
        example="MUTAG",
    )
    kind: Reference | str | None = _of_data(
        as_kind,
        "What reads the data, where that does not follow from the file's name: table for a .csv file of categories, "
        "or a kind of your own as FILE.PY:NAME or MODULE:NAME.",
        metavar="table|FILE.PY:NAME|MODULE:NAME",
        shown="by the file's name",
    )
    columns: dict[str, str] | None = _of_data(
        checks.as_columns,
        "Which columns of a .csv file, or of labels.csv, hold what, where they are not called smiles, label and name: "
        "smiles=SMILES,label=activity,name=mol_id. part=COLUMN says train, validation or test; skip=A/B leaves columns "
        "of a table out. label also names classes in a PyG file (target, or y:3, a column of y) and of nodes (club).",
        parse=checks.parse_columns,
        metavar="WHAT=COLUMN,…",
        shown="smiles, label, name",
    )
    edge_types: str | None = _of_data(
        checks.as_text,
        "The edge attribute that is the type of an edge, which noise may change and a module gets as edge_attr: "
        "bond in molecules (single, double, triple, aromatic), edge_labels in TU data, otherwise the attribute's "
        "name, such as edge_attr in a PyG file.",
        metavar="NAME",
        shown="edges have no types",
    )
    outputs: ValueRange | None = setting(
        checks.as_outputs,
        "The least and the largest number that the model gives, where it gives numbers in place of classes: intervals "
        "for them are certified. Labels are numbers then. In a run file outputs = [-4, 8].",
        parse=checks.parse_outputs,
        metavar="LOW..HIGH",
        shown="it answers classes",
        in_sweeps=False,
    )
    targets: Literal["graphs", "nodes"] = setting(
        checks.one_of("graphs", "nodes"),
        "What is classified: each graph, or the nodes of one graph, each by itself. Their classes are its node data y.",
        metavar="graphs|nodes",
        in_sweeps=False,
        implied="graphs",
        in_training=True,
        default="graphs",
    )
    nodes: str | None = setting(
        checks.as_text,
        "With targets = nodes, the node data of zeros and ones that says which, such as test_mask.",
        shown="all nodes",
        metavar="NAME",
        in_sweeps=False,
    )
    regions: Reference | str | dict[str, object] | None = setting(
        checks.as_regions,
        "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
        "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its "
        'Partition. In a run file also a table: the layer of each region (bonds = "pairs", atoms = "element"), '
        "or, of vectors, its columns. Without it, all node pairs are one region.",
        metavar="BUILDER|FILE.PY:FUNCTION",
        in_training=True,
    )
    noise: Noise = setting(
        checks.as_noise,
        "Flip probabilities by region: motif=0.02,random=0.45. "
        "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add. "
        "delete/add/change is for edges with types: bonds=0.1/0.05/0.1 has bonds.change too.",
        parse=checks.parse_noise,
        metavar="REGION=P[/P[/P]],…",
        example="motif=0.02,random=0.45",
        sweep_help="The flip probabilities of regions that the grid does not vary, as certify takes them.",
        in_training=True,
    )
    samples: int = _of_certificates(
        _SAMPLES,
        "Noisy copies of each graph that bound its class.",
        of_sweeps=True,
        sweep_help="Noisy copies of each graph at each level; more tell levels apart whose radii are long.",
        sweep_shown=f"{SWEEP_SAMPLES:,}",
        default=10_000,
    )
    selection_samples: int | None = _of_certificates(
        _SAMPLES,
        "Noisy copies that choose the class.",
        shown="a hundredth of the samples, at least 100; with plan decided, as few as the question takes",
        of_sweeps=True,
    )
    plan: Literal["fixed", "decided"] = _of_certificates(
        checks.one_of("fixed", "decided"),
        "fixed draws all samples. With decided they are an upper limit: a graph gets no more votes once all of the "
        "threat is certified, or unlikely to be. Bounds are then a little wider: they hold whenever somebody looks.",
        metavar="fixed|decided",
        implied="fixed",
        default="fixed",
    )
    fallback: Reference | str | None = _of_certificates(
        checks.as_fallback,
        "What to answer where no other class is likelier than the threshold: blind, a model that learns from the "
        "training part (--split test) and sees nothing that an attack changes; or FILE.PY:FUNCTION, which returns a "
        "model of yours that is blind, with a method predict on a list of objects. It may have the parameters of the "
        "model function. The blind answer is certified as far as no other class can rise above the threshold.",
        metavar="blind|FILE.PY:FUNCTION",
        shown="none: the likeliest class is the answer",
    )
    threshold: float | None = _of_certificates(
        checks.as_threshold,
        "With a fallback, the probability that another class must exceed, from 0.5 to below 1. Choose it on the "
        "validation part: larger ones lean on the blind answer.",
        shown=f"{THRESHOLD}",
    )
    evidence: bool = _of_evidence(
        checks.as_flag,
        "Look at where the flips of the votes fell, too, not only at how many votes each class has (p_A). More is "
        "certified; every number of flips is certified, broken (an attack is found) or open. Both share alpha.",
        shown="no",
        sweep_help="Look at where the flips of the votes fell, too: levels are compared by what that certifies.",
        implied=False,
        default=False,
    )
    own_samples: int | None = _of_evidence(
        checks.whole(0, 10**12),
        "With evidence, the most noisy copies of attacked versions of a graph: they settle what its own copies "
        "leave open, and find attacks. 0: none.",
        shown="as many as samples",
        of_sweeps=True,
        sweep_shown="0",
    )
    collective: bool = _of_evidence(
        checks.as_flag,
        "With evidence and a threat, also claim about all answers together that no attack changes more than k of them: "
        "alpha is divided neither between answers nor between attacks. It takes memory for all votes side by side.",
        shown="no",
        in_sweeps=False,
        implied=False,
        default=False,
    )
    alpha: float = _of_certificates(
        checks.as_alpha, "The probability that a graph's certificate fails (not the confidence).", default=0.01
    )
    family: Family = _of_certificates(
        checks.as_family,
        "What fails with probability alpha: each certificate by itself, or any of all (each has a part of alpha).",
        metavar="each|all",
        default="each",
    )
    seed: int = setting(_SEED, "The seed of all noise.", default=0)
    threat: Threat | None = _of_certificates(
        as_threat,
        "What the attacker can do: the results count the graphs that are certified, broken and open under it. flips:2 "
        "is any two flips, box:motif=3,random=45 the radii to look at. Narrower ones, whose attacks are all listed: "
        "deletions:2, additions:2, changes:1 (of values, types), rewire:1 (another end), swap:1 (two edges exchange "
        "ends), local:3,per_node=1, controlled:2,nodes=a|b, where:1,name=FILE.PY:FUNCTION, valence:1, delete_node:1, "
        "inject:2 (edges of a spare node). 'a | b' is either, 'a & b' what both allow, 'a + b' one after the other. "
        "Your own: FILE.PY:NAME:2 or MODULE:NAME:2.",
        shown="none: all that can be flipped",
        metavar="NAME:NUMBER",
        sweep_help="What the attacker can do, such as flips:2, box:motif=1,random=10 or rewire:1 (see starcert certify "
        "--help): the best level has most graphs right and certified under it.",
        sweep_shown="none: the best is the most accurate of the unbeaten levels that certify a flip",
    )
    spare_node: dict[str, object] | None = setting(
        checks.must('be a table: [spare_node], and below it lines such as element = "C"', checks.is_table, dict),
        "With inject: the data of the node that every graph gets, without edges, for an attacker to use: element=C.",
        parse=checks.parse_spare_node,
        metavar="DATUM=VALUE,…",
        shown="none, where nodes have no data",
        changes="nothing",
    )
    limit: int | None = setting(
        _SAMPLES,
        "At most this many graphs: the first, or a share of every class (by --split-seed) where the first ones "
        "are not representative.",
        shown="all",
        of_sweeps=True,
        sweep_help="At most this many graphs: the first, or a share of every class.",
    )
    split: str = setting(
        checks.one_of("all", "train", "validation", "test"),
        "The part to certify: all, or train, validation or test (--splits, --fractions, or 80/10/10% of every class).",
        metavar="PART",
        of_sweeps=True,
        sweep_help="The part to try the levels on: all, train or validation.",
        sweep_shown="validation if the run file divides the data or the model asks for a part, else all",
        default="all",
    )
    splits: Path | None = _of_data(
        checks.as_splits,
        'Your own parts for --split: {"train": [0, 1], "validation": [2], "test": [3]} in a file .json, indices '
        "from 0 or names of graphs; or a file .csv with the columns name and part.",
        metavar="FILE",
        shown="80/10/10% of every class",
    )
    split_seed: int = setting(_SEED, "The seed of that division.", default=0, in_training=True)
    device: str | None = setting(
        checks.as_device, "Where a torch module runs: cpu, cuda, cuda:1.", shown="where the model is", in_training=True
    )
    workers: int = setting(
        checks.whole(1, 1024), "Processes that count votes, each with one torch thread.", changes="nothing", default=1
    )
    store: Path | None = setting(
        checks.as_path,
        "The file of votes, to share between runs.",
        shown="votes.db in the output",
        in_sweeps=False,
        written=False,
        changes="nothing",
    )
    out: Path = setting(
        checks.as_out_folder,
        "The output folder.",
        shown="certified, beside the run file",
        of_sweeps=True,
        sweep_shown="sweep, beside the run file",
        written=False,
        changes="nothing",
        default=Path("certified"),
    )

    @property
    def data_title(self) -> str:
        """What the data are called in a title: of a file or folder the name, without folders and ending."""
        if isinstance(self.data, Path):
            return self.data.stem if self.data.is_file() else self.data.name
        return str(self.data)

    @property
    def max_own_votes(self) -> int:
        """The most votes at attacked versions of a graph; its targets share them."""
        return (self.samples if self.own_samples is None else self.own_samples) if self.evidence else 0

    @property
    def limits(self) -> tuple[int, ...] | None:
        """The box of radii to look at; None: all that can be flipped."""
        return self.threat.limits(self.noise) if self.threat is not None and self.threat.by_radius else None

    def __post_init__(self) -> None:
        for key, each in SETTINGS.items():
            object.__setattr__(self, key, each.value(getattr(self, key), Path.cwd(), key))
        super().__post_init__()
        self.check_data(self.kind, self.splits)
        if self.selection_samples is None and self.plan == "fixed":  # "decided" finds how many the question takes
            object.__setattr__(self, "selection_samples", max(100, self.samples // 100))
        if self.own_samples is not None and not self.evidence:
            hint = "Ask for evidence too: --evidence, or evidence = true in a run file."
            raise InvalidParameterError("own_samples", "be left out without evidence", self.own_samples, hint)
        self._check_fallback()
        if self.nodes is not None and self.targets != "nodes":
            hint = 'Say targets = "nodes" too.'
            raise InvalidParameterError("nodes", "be left out where graphs are classified", self.nodes, hint)
        if self.targets == "nodes" and (self.split != "all" or self.splits is not None):
            name, must = ("split", "be all") if self.split != "all" else ("splits", "be left out")
            hint = 'Say which nodes by a mask: nodes = "test_mask".'
            raise InvalidParameterError(name, f"{must} where nodes are classified", str(getattr(self, name)), hint)
        if self.threat is not None:
            object.__setattr__(self, "threat", self.threat.for_noise(self.noise))
        if self.collective and (self.threat is None or not self.evidence):
            hint = "For example --evidence --collective --threat deletions:1."
            raise InvalidParameterError("collective", "come with evidence and a threat", self.collective, hint)
        if self.regions is None and len(self.noise.regions) > 1:
            requirement = f"say where the {len(self.noise.regions)} regions of the noise are"
            hint = "Name a builder, such as communities, or a function file.py:function from a graph to its Partition."
            raise InvalidParameterError("regions", f"{requirement} ({', '.join(self.noise.regions)})", None, hint)

    def _check_fallback(self) -> None:
        if self.fallback is None and self.threshold is not None:
            hint = "Say what to fall back to: --fallback blind."
            raise InvalidParameterError("threshold", "be left out without a fallback", self.threshold, hint)
        if self.fallback is not None and self.outputs is not None:
            raise InvalidParameterError("fallback", "be left out where outputs are numbers", str(self.fallback))
        if self.fallback is not None and self.threshold is None:
            object.__setattr__(self, "threshold", THRESHOLD)


GROUPS = {"voting": ("selection_samples", "plan", "store"), "exact": ("max_attacks",),
          "evidence": ("own_samples", "collective")}  # fmt: skip
"""Settings that may stand in a table too; one that is named after a setting means that it is true."""

SETTINGS: dict[str, Setting] = {each.name: declared(each) for each in fields(RunSettings)}
"""The settings of a run by their keys."""

CERTIFICATE_SETTINGS = tuple(key for key, each in SETTINGS.items() if each.changes == "certificates")
"""Those that make other certificates from the same votes."""


def run_settings(values: Mapping[str, object], options: Mapping[str, object] | None = None) -> RunSettings:
    """The settings of a run from checked values and options, which override them."""
    given: dict[str, Any] = {**values, **(options := options or {})}
    if isinstance(values.get("columns"), Mapping) and isinstance(options.get("columns"), Mapping):
        given["columns"] = {**values["columns"], **options["columns"]}  # type: ignore[dict-item]
    for key, each in SETTINGS.items():
        if each.example and given.get(key) is None:
            hint = f"For example {option_name(key)} {each.example}, or {key} in a run file"
            raise InvalidParameterError(key, "be given", None, f"{hint}; `starcert init` writes one that runs.")
    if "samples" in options and "selection_samples" not in options:
        given.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    for key in {"own_samples", "collective"} - {*options} if options.get("evidence") is False else ():
        given.pop(key, None)  # a run file has them for evidence
    return RunSettings(**given)
