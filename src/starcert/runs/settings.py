"""The settings of a run: what is certified, how, and where to.

Each is declared once, as a field. Its key in a run file, its option with help and default, its check and its schema
follow.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct, structs

from starcert.classifiers.values import ValueRange
from starcert.math.confidence import Family, check_alpha
from starcert.math.fallback import check_threshold
from starcert.methods.exhaustive import MAX_ATTACKS
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Threat
from starcert.runs.declaration import MissingSettingError, declared
from starcert.runs.setting_values import (
    FRACTIONS_HINT,
    TABLE,
    Columns,
    Form,
    NoiseTable,
    RunSetting,
    Seed,
    Shares,
    Values,
    as_alphabets,
    as_data,
    as_fallback,
    as_fractions,
    as_kind,
    as_noise,
    as_out_folder,
    as_regions,
    as_seed,
    as_splits,
    as_threat,
    parse_alphabets,
    parse_columns,
    parse_fractions,
    parse_node_sites,
    parse_noise,
    parse_outputs,
    parse_spare_node,
)
from starcert.runs.user_code import Reference, place_of
from starcert.system.errors import InvalidParameterError

SWEEP_SAMPLES = 1_000  # for each graph and level of a sweep, by default
THRESHOLD = 0.7  # of a fallback, by default
MAX_SAMPLES = 10**10  # for each graph: an archive keeps no more (`starcert.archive.record.MAX_VOTES`)

_LINK_RUN = "starcert.runs.link_run"

# What is made anew where an option changes it: a model may be trained on the data, and regions derived from the model.
_DATA, _MODEL = ("data", "classifier", "regions"), ("classifier", "regions")


class RunSettings(Struct, frozen=True, kw_only=True):
    """The settings of a run. Paths are absolute; the threat names the axes of the noise."""

    model: Annotated[Reference, RunSetting(
        "A function that returns a starcert classifier, a PyG module (its forward gets x, edge_index, edge_attr, "
        "batch or data by their names), a fitted scikit-learn estimator on graphs, or a function from a networkx "
        "graph to its class. It may have the parameters device, data, train and validation (these parts, under "
        "--split), noise and regions (to train with them), and threat.",
        form=str, read=Reference.parse, metavar="FILE.PY:NAME", example="model.py:classifier",
        brief="A function that returns a classifier, PyG module or scikit-learn estimator.",
        main=True, in_training=True, unsettles=("model", *_MODEL),
    )]  # fmt: skip
    weights: Annotated[Path | None, RunSetting(
        "The file of the module's weights, such as model.pt: from starcert train, or a state dict from torch.save.",
        form=str, read=place_of, metavar="FILE", shown="as the model function returns it",
        brief="The file of the module's weights, from starcert train or torch.save.",
        main=True, in_training=True, changes="nothing", unsettles=_MODEL, recorded=False,
    )] = None  # fmt: skip
    data: Annotated[Path | str | Reference, RunSetting(
        "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, "
        "with the classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
        "molecules (a file .smi, or .csv with a column smiles); one graph of labelled nodes (.npz); or "
        "file.py:function, which returns starcert objects of any kind and their classes.",
        form=str, read=as_data, metavar="NAME|PATH", example="MUTAG",
        brief="The graphs: a TU data set, a file, a folder, or a function (starcert list data).",
        main=True, in_training=True, changes="nothing", unsettles=_DATA,
    )]  # fmt: skip
    kind: Annotated[Reference | str | None, RunSetting(
        "How the data are read, if the file's name does not tell: table for a .csv file of categories, "
        "or a kind of your own as FILE.PY:NAME or MODULE:NAME.",
        form=str, read=as_kind, metavar="table|FILE.PY:NAME|MODULE:NAME", shown="by the file's name",
        in_training=True, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    columns: Annotated[dict[str, str] | None, RunSetting(
        "Which columns of a .csv file, or of labels.csv, hold what, where they are not called smiles, label and name: "
        "smiles=SMILES,label=activity,name=mol_id. part=COLUMN says train, validation or test; skip=A/B leaves columns "
        "of a table out. label also names classes in a PyG file (target, or y:3, a column of y) and of nodes (club).",
        form=Columns, parse=parse_columns, metavar="WHAT=COLUMN,…", shown="smiles, label, name",
        hint='Write a table: [columns], and below it a line such as label = "activity".',
        in_training=True, changes="nothing", unsettles=_DATA, recorded=False,
    )] = None  # fmt: skip
    edge_types: Annotated[str | None, RunSetting(
        "The edge attribute that is the type of an edge, which noise may change and a module gets as edge_attr: "
        "bond in molecules (single, double, triple, aromatic), edge_labels in TU data, otherwise the attribute's "
        "name, such as edge_attr in a PyG file.",
        metavar="NAME", shown="edges have no types", in_training=True, changes="nothing", unsettles=_DATA,
    )] = None  # fmt: skip
    split: Annotated[Literal["all", "train", "validation", "test"], RunSetting(
        "The part to certify: all, or train, validation or test (--splits, --fractions, or 80/10/10% of every class).",
        metavar="PART",
        brief="The part to certify: all, train, validation or test.",
        main=True, of_sweeps=True, unsettles=_DATA,
        sweep_shown="validation if the run file divides the data or the model asks for a part, else all",
    )] = "all"  # fmt: skip
    split_seed: Annotated[int, RunSetting(
        "The seed of that division.", form=Seed, read=as_seed, in_training=True, unsettles=_DATA
    )] = 0  # fmt: skip
    splits: Annotated[Path | None, RunSetting(
        'Your own parts for --split: {"train": [0, 1], "validation": [2], "test": [3]} in a file .json, indices '
        "from 0 or names of graphs; or a file .csv with the columns name and part.",
        form=str, read=as_splits, metavar="FILE", shown="80/10/10% of every class",
        in_training=True, changes="nothing", unsettles=_DATA,
    )] = None  # fmt: skip
    fractions: Annotated[dict[str, float] | None, RunSetting(
        "The shares of train, validation and test for --split: 0.6/0.2/0.2, or by name, train=0.5,test=0.5. Every "
        "class is divided so, by --split-seed. In a run file [0.6, 0.2, 0.2], or a table.",
        form=Shares, read=as_fractions, parse=parse_fractions, metavar="TRAIN/VALIDATION/TEST", shown="0.8/0.1/0.1",
        must="be a share from 0 to 1 for each of train, validation and test", hint=FRACTIONS_HINT,
        in_training=True, changes="nothing",
    )] = None  # fmt: skip
    node_sites: Annotated[dict[str, Form] | None, RunSetting(
        "Node data that noise and attacks may change, each a layer of sites by its name: x=categories (one-hot rows, "
        "or all values that occur), x=bits (zeros and ones). Other node data that say the same are kept for regions "
        "alone. A region is such a layer: --regions 'functional_groups | layers:atoms=x'.",
        parse=parse_node_sites, metavar="DATUM=FORM,…", shown="none: node data are fixed",
        hint='Write a table: [node_sites], and below it a line such as x = "categories".', in_training=True,
    )] = None  # fmt: skip
    alphabets: Annotated[dict[str, list[str] | int] | None, RunSetting(
        "With kind table, all values that a column may have: colour=red/green/blue, or doors=4 for 0 to 3. In a run "
        "file a table. An attacker may set any of them.",
        form=dict[str, Values], read=as_alphabets, parse=parse_alphabets, metavar="COLUMN=VALUES,…",
        must="be 2 to 256 different values, or how many there are",
        hint='Write colour = ["red", "green"], or colour = 4 for the values 0, 1, 2, 3.',
        shown="the values that occur in the file", in_training=True, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    spare_node: Annotated[dict[str, Any] | None, RunSetting(
        "With inject: the data of the node that every graph gets, without edges, for an attacker to use: element=C.",
        parse=parse_spare_node, metavar="DATUM=VALUE,…", shown="none, where nodes have no data",
        hint='Write a table: [spare_node], and below it a line such as element = "C".',
        changes="nothing", unsettles=("data", "regions"), recorded=False,
    )] = None  # fmt: skip
    limit: Annotated[int | None, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "At most this many graphs: the first, or a share of every class (by --split-seed) where the first ones "
        "are not representative.",
        shown="all",
        brief="Certify at most this many graphs.",
        main=True, of_sweeps=True, unsettles=("data", "regions"),
    )] = None  # fmt: skip
    targets: Annotated[Literal["graphs", "nodes"], RunSetting(
        "What is classified: each graph, or the nodes of one graph, each by itself. Their classes are its node data y.",
        metavar="graphs|nodes", in_sweeps=False, implied=True, in_training=True,
    )] = "graphs"  # fmt: skip
    nodes: Annotated[str | None, RunSetting(
        "With targets = nodes, the node data of zeros and ones that says which, such as test_mask.",
        metavar="NAME", shown="all nodes", in_sweeps=False,
    )] = None  # fmt: skip
    of_a_class: Annotated[int | None, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "With targets = nodes: where train_mask and val_mask are not both there, so many nodes of each class "
        "to learn from and as many to choose by are drawn (by --split-seed), and test_mask has all others.",
        shown="masks are as they are; 20 for links", in_sweeps=False, in_training=True, changes="nothing",
        unsettles=_DATA,
    )] = None  # fmt: skip
    outputs: Annotated[ValueRange | None, RunSetting(
        "The least and the largest number that the model gives, where it gives numbers in place of classes: intervals "
        "for them are certified. Labels are numbers then. In a run file outputs = [-4, 8].",
        form=Annotated[list[int | float], Meta(min_length=2, max_length=3)], read=lambda ends, *_: ValueRange(*ends),
        parse=parse_outputs, must="be the least and the largest number that the model gives",
        hint="Write outputs = [-4, 8], or --outputs=-4..8.", metavar="LOW..HIGH", shown="it answers classes",
        in_sweeps=False, unsettles=_DATA,
    )] = None  # fmt: skip
    regions: Annotated[Reference | str | dict[str, Any] | None, RunSetting(
        "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
        "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its "
        'Partition. In a run file also a table: the layer of each region (bonds = "pairs", atoms = "element"), '
        "or, of vectors, its columns. Without it, all node pairs are one region.",
        form=str | dict[str, str | list[int | str]], read=as_regions, metavar="BUILDER",
        must="name a region builder, FILE.PY:FUNCTION, or for each region a layer or its columns",
        hint='In a table write a layer, such as bonds = "pairs", or columns, such as border = [0, 1, 2].',
        brief="A builder of regions (starcert list regions), or FILE.PY:NAME.",
        main=True, in_training=True, recorded=False,
    )] = None  # fmt: skip
    device: Annotated[str | None, Meta(pattern=r"^(cpu|mps|(cuda|xpu)(:\d+)?)$"), RunSetting(
        "Where a torch module runs: cpu, cuda, cuda:1.",
        must="name a device of torch", hint="Write cpu, cuda or cuda:1.", shown="where the model is",
        in_training=True, recorded=False,
    )] = None  # fmt: skip

    noise: Annotated[Noise, RunSetting(
        "Flip probabilities by region: motif=0.02,random=0.45. "
        "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add. "
        "delete/add/change is for edges with types: bonds=0.1/0.05/0.1 has bonds.change too.",
        form=NoiseTable, read=as_noise, parse=parse_noise, must="map regions to flip probabilities",
        hint="Write a table: [noise], and below it a line such as motif = 0.02 for every region.",
        metavar="REGION=P,…", example="motif=0.02,random=0.45",
        brief="The flip probability of each region; delete/add tells the two apart.",
        main=True, in_training=True,
    )]  # fmt: skip
    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "Noisy copies per graph.",
        main=True, of_sweeps=True, changes="certificates", sweep_shown=f"{SWEEP_SAMPLES:,}",
    )] = 10_000  # fmt: skip
    selection_samples: Annotated[int | None, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "Noisy copies that choose the class.", table="voting", of_sweeps=True, changes="certificates",
        shown="a hundredth of the samples, at least 100; with plan decided, as few as the question takes",
    )] = None  # fmt: skip
    evidence: Annotated[bool, RunSetting(
        "Look at where the flips of the votes fell, too, not only at how many votes each class has (p_A). More is "
        "certified; every number of flips is certified, broken (an attack is found) or open. Both share alpha.",
        shown="no",
        brief="Certify more: look at where flips fell, and draw votes at attacked graphs.",
        main=True, implied=True, changes="certificates",
    )] = False  # fmt: skip
    own_samples: Annotated[int | None, Meta(ge=0, le=10**12), RunSetting(
        "With evidence, at most this many noisy copies of attacked versions of a graph. They settle what its own "
        "copies leave open, and find attacks. 0: none.",
        shown="as many as samples", sweep_shown="0", table="evidence", of_sweeps=True,
        changes="certificates",
    )] = None  # fmt: skip
    collective: Annotated[bool, RunSetting(
        "With evidence and a threat, also claim about all answers together that no attack changes more than k of them: "
        "alpha is divided neither between answers nor between attacks.",
        shown="no", table="evidence", in_sweeps=False, implied=True, changes="certificates",
    )] = False  # fmt: skip
    plan: Annotated[Literal["fixed", "decided"], RunSetting(
        "fixed draws all samples. With decided they are an upper limit: a graph gets no more votes once all of the "
        "threat is certified, or unlikely to be. Bounds are then a little wider: they hold at any time.",
        metavar="fixed|decided", table="voting", implied=True, changes="certificates",
    )] = "fixed"  # fmt: skip
    fallback: Annotated[Reference | str | None, RunSetting(
        "What to answer where no other class is likelier than the threshold: blind, a model that learns from the "
        "training part (--split test) and sees nothing that an attack changes; or FILE.PY:FUNCTION, which returns a "
        "model of yours that is blind, with a method predict on a list of objects. It may have the parameters of the "
        "model function. The blind answer is certified as far as no other class can rise above the threshold.",
        form=str, read=as_fallback, metavar="blind|FILE.PY:FUNCTION", changes="certificates",
        shown="none: the likeliest class is the answer",
    )] = None  # fmt: skip
    threshold: Annotated[float | None, RunSetting(
        "With a fallback, the probability that another class must exceed, from 0.5 to below 1. Choose it on the "
        "validation part: larger ones lean on the blind answer.",
        read=lambda value, *_: check_threshold(value), must="be a number such as 0.7", shown=f"{THRESHOLD}",
        changes="certificates",
    )] = None  # fmt: skip
    threat: Annotated[Threat | None, RunSetting(
        "What the attacker can do: the results count the graphs that are certified, broken and open under it. flips:2 "
        "is any two flips, box:motif=3,random=45 the radii to look at. Narrower ones, whose attacks are all listed: "
        "deletions:2, additions:2, changes:1 (of values, types), rewire:1 (another end), swap:1 (two edges exchange "
        "ends), local:3,per_node=1, controlled:2,nodes=a|b, where:1,name=FILE.PY:FUNCTION, valence:1, delete_node:1, "
        "inject:2 (edges of a spare node). 'a | b' is either, 'a & b' what both allow, 'a + b' one after the other. "
        "Your own: FILE.PY:NAME:2 or MODULE:NAME:2.",
        form=str, read=as_threat, shown="none: all that can be flipped", metavar="NAME:NUMBER",
        brief="What the attacker can do, such as flips:2 (starcert list threats).",
        main=True, changes="certificates",
        sweep_shown="none: the best is the most accurate of the Pareto-optimal levels that certify a flip",
    )] = None  # fmt: skip
    seed: Annotated[int, RunSetting("The seed of all noise.", form=Seed, read=as_seed, main=True)] = 0
    method: Annotated[Literal["smoothed", "exact", "links"], RunSetting(
        "smoothed: votes of noisy copies. exact: as exact = true. links: the nodes of one graph, by one vote of each "
        "linked node on top of a blind model, without --model and --noise; exact for any number of links.",
        metavar="NAME", brief="smoothed, exact, or links, without model and noise (starcert list methods).",
        main=True, in_sweeps=False, implied=True,
    )] = "smoothed"  # fmt: skip
    exact: Annotated[bool, RunSetting(
        "Try every attack of the threat (by default flips:1) on the plain model: no noise, no votes, alpha = 0. The "
        "noise only names the regions. Each graph is certified, broken by an attack, or open where the budget ends.",
        shown="no",
        brief="Short for --method exact.",
        main=True, in_sweeps=False, implied=True,
    )] = False  # fmt: skip
    max_attacks: Annotated[int, Meta(ge=1, le=2**62), RunSetting(
        "With exact, how many attacks are tried on each graph, at most. A larger number resumes where a smaller one "
        "has ended.",
        table="exact", in_sweeps=False, implied=True, changes="nothing",
    )] = MAX_ATTACKS  # fmt: skip
    alpha: Annotated[float, RunSetting(
        "The probability that a graph's certificate fails (not the confidence).",
        read=lambda value, *_: check_alpha(value), must="be a failure probability, a number such as 0.01",
        brief="The probability that a certificate fails.",
        main=True, changes="certificates", recorded=False,
    )] = 0.01  # fmt: skip
    family: Annotated[Family, RunSetting(
        "What fails with probability alpha: each certificate by itself, or any of all (each has a part of alpha).",
        metavar="each|all", changes="certificates", recorded=False,
    )] = "each"  # fmt: skip
    workers: Annotated[int, Meta(ge=1, le=1024), RunSetting(
        "Processes that count votes, each with one torch thread.", main=True, changes="nothing", recorded=False
    )] = 1  # fmt: skip
    store: Annotated[Path | None, RunSetting(
        "The file of votes, to share between runs.",
        form=str, read=place_of, metavar="FILE", shown="votes.db in the output", table="voting",
        in_sweeps=False, written=False, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    out: Annotated[Path, RunSetting(
        "The output folder.",
        form=str, read=as_out_folder, metavar="FOLDER", shown="certified, beside the run file",
        sweep_shown="sweep, beside the run file", main=True, of_sweeps=True, written=False, changes="nothing",
        recorded=False,
    )] = Path("certified")  # fmt: skip

    @property
    def data_title(self) -> str:
        """The name of the data in a title: of a file or folder the name, without folders and ending."""
        if isinstance(self.data, Path):
            return self.data.stem if self.data.is_file() else self.data.name
        return str(self.data)

    def changed(self, **changes: object) -> Self:
        """The same settings with other values for some."""
        return structs.replace(self, **changes)

    @property
    def max_own_votes(self) -> int:
        """The most votes at attacked versions of a graph; its targets share them."""
        return (self.samples if self.own_samples is None else self.own_samples) if self.evidence else 0

    @property
    def limits(self) -> tuple[int, ...] | None:
        """The box of radii to look at; None: all that can be flipped."""
        return self.threat.limits(self.noise) if self.threat is not None and self.threat.by_radius else None

    def __post_init__(self) -> None:
        self._check_inputs()
        if self.selection_samples is None and self.plan == "fixed":  # "decided" finds how many the question takes
            structs.force_setattr(self, "selection_samples", max(100, self.samples // 100))
        if self.exact and self.threat is None:
            structs.force_setattr(self, "threat", AnyFlips(1))
        if self.threat is not None:
            structs.force_setattr(self, "threat", self.threat.for_noise(self.noise))
        if self.fallback is not None and self.threshold is None:
            structs.force_setattr(self, "threshold", THRESHOLD)
        self._check_method()
        if self.regions is None and len(self.noise.regions) > 1:
            where = f"where the {len(self.noise.regions)} regions of the noise are: {', '.join(self.noise.regions)}"
            hint = "Name a builder, such as communities, or a function file.py:function from a graph to its Partition."
            raise MissingSettingError("regions", f"It says {where}. {hint}")

    def _check_inputs(self) -> None:
        """Refuses settings of model and data that do not go together."""
        if self.nodes is not None and self.targets != "nodes":
            raise InvalidParameterError("nodes", 'needs targets = "nodes".')
        if self.targets == "nodes" and (self.split != "all" or self.splits is not None):
            name = "split" if self.split != "all" else "splits"
            raise InvalidParameterError(name, 'divides graphs, not nodes. Choose nodes by a mask: nodes = "test_mask".')
        if self.fractions is not None and self.splits is not None:
            raise InvalidParameterError("fractions", "cannot be combined with splits. Drop one of them.")
        if self.alphabets is not None and self.kind != TABLE:
            hint = "The values of node data are those that occur."
            raise InvalidParameterError("alphabets", f'needs kind = "table". {hint}')
        if self.node_sites is not None and self.kind == TABLE:
            raise InvalidParameterError("node_sites", 'cannot be combined with kind = "table".')

    @property
    def filled(self) -> Mapping[str, object]:
        """The settings that the method brings along."""
        return BROUGHT.get(self.method, {})

    def _check_method(self) -> None:
        """Refuses settings that belong to another way of certifying."""
        if self.method == "links":
            for key in ("exact", "evidence", "fallback", "outputs", "node_sites"):
                if getattr(self, key):
                    raise InvalidParameterError(key, 'cannot be combined with method = "links".')
            if self.targets != "nodes":
                raise InvalidParameterError("targets", 'must be "nodes" with method = "links".')
            from starcert.archive.checker.links import check_threat_on_links  # noqa: PLC0415  (slow to import)

            check_threat_on_links(self.threat)
        if self.max_attacks != MAX_ATTACKS and not self.exact:
            raise InvalidParameterError("max_attacks", "needs exact = true.")
        if self.own_samples is not None and not self.evidence:
            raise InvalidParameterError("own_samples", "needs evidence = true.")
        if self.collective and (self.threat is None or not self.evidence):
            raise InvalidParameterError("collective", "needs evidence = true and a threat, such as deletions:1.")
        if self.fallback is None and self.threshold is not None:
            raise InvalidParameterError("threshold", 'needs a fallback, such as fallback = "blind".')
        if self.fallback is not None and self.outputs is not None:
            raise InvalidParameterError("fallback", "needs a model that answers classes, not numbers.")


BROUGHT: Mapping[str, Mapping[str, object]] = {
    "links": {
        "model": Reference(Path(__file__).with_name("link_run.py"), "link_votes", _LINK_RUN, f"{_LINK_RUN}:link_votes"),
        "targets": "nodes",
        "nodes": "test_mask",
        "of_a_class": 20,
        "threat": AnyFlips(1),
        "noise": Noise(links=0.5),
    }
}
"""The settings that methods bring along, unless they are given; the noise of links says that all pairs are attacked."""

SETTINGS: dict[str, RunSetting] = declared(RunSettings, RunSetting)
"""The settings of a run by their keys."""

GROUPS = {name: tuple(key for key, each in SETTINGS.items() if each.table == name) for name in
          dict.fromkeys(each.table for each in SETTINGS.values() if each.table)}  # fmt: skip
"""Settings that may stand in a table too; one that is named after a setting means that it is true."""

SWEEP_SETTINGS = {key: replace(each, shown=each.sweep_shown or each.shown,
                               default=None if each.sweep_shown or key == "noise" else each.default)
                  for key, each in SETTINGS.items() if each.in_sweeps}  # fmt: skip
"""Those that `starcert sweep` has, with what they mean there."""

CERTIFICATE_SETTINGS = tuple(key for key, each in SETTINGS.items() if each.changes == "certificates")
"""Those that make other certificates from the same votes."""


def run_settings(values: Mapping[str, object], options: Mapping[str, object] | None = None) -> RunSettings:
    """The settings of a run from checked values and options, which override them."""
    given: dict[str, Any] = {**values, **(options := options or {})}
    if isinstance(values.get("columns"), Mapping) and isinstance(options.get("columns"), Mapping):
        given["columns"] = {**values["columns"], **options["columns"]}  # type: ignore[dict-item]
    if given.get("method") == "exact":
        given |= {"method": "smoothed", "exact": True}
    brought = BROUGHT.get(str(given.get("method")), {})
    given = {**brought, **{key: value for key, value in given.items() if value is not None or key not in brought}}
    for key, each in SETTINGS.items():
        if each.example and given.get(key) is None:
            hint = f"For example {each.option} {each.example}, or {key} in a run file"
            raise MissingSettingError(key, f"{hint}; `starcert init` writes one that runs.")
    if "samples" in options and "selection_samples" not in options:
        given.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    for key in {"own_samples", "collective"} - {*options} if options.get("evidence") is False else ():
        given.pop(key, None)  # a run file has them for evidence
    return RunSettings(**given)
