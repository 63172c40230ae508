"""The settings of a run: what is certified, how, and where to.

Each is declared once, in a field of `RunSettings`. Its key in a run file, its option on the command line with help and
default, and its check follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starcert.objects.noise import check_box
from starcert.runs import setting_values as values_of
from starcert.runs.setting_values import Setting, SettingCheck
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from starcert.certificates.certify import Certificates
    from starcert.certificates.smoothing import Problem, SmoothedClassifier
    from starcert.math.confidence import Family
    from starcert.objects.noise import Noise, Threat

__all__ = [
    "MAX_SAMPLES",
    "SETTINGS",
    "SWEEP_SAMPLES",
    "RunSettings",
    "UnknownSettingError",
    "check_options",
    "check_values",
    "option_name",
    "run_settings",
]

SWEEP_SAMPLES = 1_000
"""Estimation votes for each graph and level of a sweep, where nothing else is said."""


class UnknownSettingError(InvalidParameterError):
    """A setting has a name that means nothing."""

    def __str__(self) -> str:
        parameter, _, _, hint = self.args
        return f"There is no setting {parameter!r}. {hint}"


def _about(check: SettingCheck, text: str, **more: Any) -> dict[str, Setting]:  # noqa: ANN401  (what a setting has)
    """The metadata of a field of `RunSettings`."""
    return {"setting": Setting(check=check, help=text, **more)}


def _declared(field: Field[Any]) -> Setting:
    """The setting of a field; its default is shown as it is, unless there are words for it."""
    setting: Setting = field.metadata["setting"]
    whole = isinstance(field.default, int) and not isinstance(field.default, bool)
    shown = f"{field.default:,}" if whole else str(field.default)
    known = field.default is not MISSING and field.default is not None
    return replace(setting, shown=setting.shown or shown * known, optional=field.default is None)


MAX_SAMPLES = 10**10
"""At most as many votes for each graph as an archive keeps (`starcert.files.record.MOST_VOTES`)."""

_SAMPLES, _SEED = values_of.whole_number(1, MAX_SAMPLES), values_of.whole_number(0, 2**64 - 1)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a run needs to know; the help of each setting says what it is.

    Paths are absolute. `data` is a text where it names a TU data set, `regions` where it names a builder. `max_radius`
    has the order of the noise's axes. None stands for: all node pairs in the one region of the noise (`regions`), all
    that can be flipped (`max_radius`, `threat`), as many as samples (`own_samples`), all graphs (`limit`), columns
    called after what they hold (`columns`), edges without types (`edge_types`), parts that are drawn (`splits`), where
    the model function left the module (`device`), `votes.db` in the output folder (`store`).
    """

    model: Reference = field(
        metadata=_about(
            values_of.as_model,
            "A function that returns a starcert classifier, a PyG module (its forward gets x, edge_index, edge_attr, "
            "batch or data by their names), a fitted scikit-learn estimator on graphs, or a function from a networkx "
            "graph to its class. It may have the parameters device, data, train and validation (these parts, under "
            "--split), noise and regions (to train with them).",
            metavar="FILE.PY:FUNCTION",
            example="model.py:classifier",
            in_training=True,
        )
    )
    weights: Path | None = field(
        default=None,
        metadata=_about(
            values_of.as_path,
            "The file that the module's weights are read from, such as model.pt: what starcert train wrote, or a state "
            "dict from torch.save.",
            shown="as the model function returns it",
            kind=Path,
            metavar="FILE",
            in_training=True,
            changes="nothing",  # it is the content that counts
        ),
    )
    data: Path | str | Reference = field(
        metadata=_about(
            values_of.as_data,
            "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, "
            "with the classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
            "molecules (a file .smi, or .csv with a column smiles); one graph of labelled nodes (.npz); or "
            "file.py:function, which returns starcert objects of any kind and their classes.",
            metavar="NAME|PATH",
            example="MUTAG",
            changes="nothing",  # it is the content that counts
            in_training=True,
        ),
    )
    columns: dict[str, str] | None = field(
        default=None,
        metadata=_about(
            values_of.as_columns,
            "Which columns of a .csv file of molecules, or of labels.csv, hold what, where they are not called smiles, "
            "label and name: smiles=SMILES,label=activity,name=mol_id. part=COLUMN says train, validation or test.",
            parse=values_of.parse_columns,
            metavar="WHAT=COLUMN,…",
            shown="smiles, label, name",
            in_training=True,
            changes="nothing",  # as with data
        ),
    )
    edge_types: str | None = field(
        default=None,
        metadata=_about(
            values_of.as_name,
            "The edge attribute that is the type of an edge, which noise may change and a module gets as edge_attr: "
            "bond in molecules (single, double, triple, aromatic), edge_labels in TU data, otherwise the attribute's "
            "name, such as edge_attr in a PyG file.",
            metavar="NAME",
            shown="edges have no types",
            in_training=True,
            changes="nothing",  # as with data
        ),
    )
    targets: Literal["graphs", "nodes"] = field(
        default="graphs",
        metadata=_about(
            values_of.one_of("graphs", "nodes"),
            "What is classified: each graph, or the nodes of one graph, each by itself. Their classes are its node "
            "data y.",
            metavar="graphs|nodes",
            in_sweeps=False,
            unsaid="graphs",
            in_training=True,
        ),
    )
    nodes: str | None = field(
        default=None,
        metadata=_about(
            values_of.as_name,
            "With targets = nodes, the node data of zeros and ones that says which, such as test_mask.",
            shown="all nodes",
            metavar="NAME",
            in_sweeps=False,
        ),
    )
    regions: Reference | str | dict[str, object] | None = field(
        default=None,
        metadata=_about(
            values_of.as_regions,
            "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
            "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its "
            'Partition. In a run file also a table: the layer of each region (bonds = "pairs", atoms = "element"), '
            "or, of vectors, its columns. Without it, all node pairs are one region.",
            metavar="BUILDER|FILE.PY:FUNCTION",
            in_training=True,
        ),
    )
    noise: Noise = field(
        metadata=_about(
            values_of.as_noise,
            "Flip probabilities by region: motif=0.02,random=0.45. "
            "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add. "
            "delete/add/change is for edges with types: bonds=0.1/0.05/0.1 has bonds.change too.",
            parse=values_of.parse_noise,
            metavar="REGION=P[/P[/P]],…",
            example="motif=0.02,random=0.45",
            sweep_help="The flip probabilities of regions that the grid does not vary, as certify takes them.",
            in_training=True,
        )
    )
    samples: int = field(
        default=10_000,
        metadata=_about(
            _SAMPLES,
            "Noisy copies of each graph that bound its class.",
            kind=int,
            of_sweeps=True,
            sweep_help="Noisy copies of each graph at each level; more tell levels apart whose radii are long.",
            sweep_shown=f"{SWEEP_SAMPLES:,}",
            changes="certificates",
        ),
    )
    selection_samples: int | None = field(
        default=None,
        metadata=_about(
            _SAMPLES,
            "Noisy copies that choose the class.",
            shown="a hundredth of the samples, at least 100; with plan decided, as few as the question takes",
            kind=int,
            of_sweeps=True,
            changes="certificates",
        ),
    )
    plan: Literal["fixed", "decided"] = field(
        default="fixed",
        metadata=_about(
            values_of.one_of("fixed", "decided"),
            "fixed draws all samples. With decided they are an upper limit: a graph gets no more votes once all of "
            "max_radius is certified, or is unlikely to be certified even with all samples. Bounds are then a little "
            "wider, as they hold whenever somebody looks.",
            metavar="fixed|decided",
            unsaid="fixed",
            changes="certificates",
        ),
    )
    evidence: bool = field(
        default=False,
        metadata=_about(
            values_of.as_flag,
            "Look at where the flips of the votes fell, too, and not only at how many votes each class has (p_A). "
            "Far more is certified, and every number of flips is certified, broken (an attack is found) or open. "
            "alpha is shared between both arguments.",
            shown="no",
            kind=bool,
            panel="Evidence",
            sweep_help="Look at where the flips of the votes fell, too: radii by p_A and with evidence stand side by "
            "side, and levels are compared by the latter.",
            unsaid=False,
            changes="certificates",
        ),
    )
    own_samples: int | None = field(
        default=None,
        metadata=_about(
            values_of.whole_number(0, 10**12),
            "With evidence, the most noisy copies of attacked versions of a graph: they settle what its own copies "
            "leave open, and find attacks. 0: none.",
            shown="as many as samples",
            kind=int,
            panel="Evidence",
            of_sweeps=True,
            sweep_shown="0",
            changes="certificates",
        ),
    )
    alpha: float = field(
        default=0.01,
        metadata=_about(
            values_of.as_alpha,
            "The probability that a graph's certificate fails (not the confidence).",
            kind=float,
            changes="certificates",
        ),
    )
    family: Family = field(
        default="each",
        metadata=_about(
            values_of.as_family,
            "What fails with probability alpha: each certificate by itself, or any of all (alpha is divided by their "
            "number, so that all hold together).",
            metavar="each|all",
            changes="certificates",
        ),
    )
    seed: int = field(default=0, metadata=_about(_SEED, "The seed of all noise.", kind=int))
    max_radius: tuple[int, ...] | None = field(
        default=None,
        metadata=_about(
            values_of.as_radius,
            "The box of radii to look at: motif=3,random=45. Without it, all that can be flipped.",
            parse=values_of.parse_by_axis,
            metavar="AXIS=COUNT,…",
            changes="certificates",
        ),
    )
    threat: Threat | None = field(
        default=None,
        metadata=_about(
            values_of.as_threat,
            "What the attacker can do: flips:2 is at most two flips, wherever they are. The results count the graphs "
            "that are certified, broken and open under any 1 and any 2 flips, and evidence spends no votes on more.",
            shown="none: all that can be flipped",
            metavar="flips:K",
            sweep_help="What the attacker can do, such as flips:2: each level says how many graphs are certified, "
            "broken and open under any 2 flips.",
            changes="certificates",
        ),
    )
    limit: int | None = field(
        default=None,
        metadata=_about(
            _SAMPLES,
            "Certify so many graphs: the first, or of every class its share (by --split-seed) where the first ones "
            "have not.",
            shown="all",
            kind=int,
            of_sweeps=True,
            sweep_help="Try so many graphs: the first, or of every class its share.",
        ),
    )
    split: str = field(
        default="all",
        metadata=_about(
            values_of.one_of("all", "train", "validation", "test"),
            "The part to certify: all, or train, validation or test (--splits, or 80/10/10% of every class).",
            metavar="PART",
            of_sweeps=True,
            sweep_help="The part to try the levels on: all, train or validation.",
            sweep_shown="validation if the run file divides the data or the model asks for a part, else all",
        ),
    )
    splits: Path | None = field(
        default=None,
        metadata=_about(
            values_of.as_splits,
            'Your own parts for --split: {"train": [0, 1], "validation": [2], "test": [3]} in a file .json, indices '
            "from 0 or names of graphs; or a file .csv with the columns name and part.",
            metavar="FILE",
            shown="80/10/10% of every class",
            in_training=True,
            changes="nothing",  # as with data
        ),
    )
    split_seed: int = field(default=0, metadata=_about(_SEED, "The seed of that division.", kind=int, in_training=True))
    device: str | None = field(
        default=None,
        metadata=_about(
            values_of.as_device,
            "Where a torch module runs: cpu, cuda, cuda:1.",
            shown="where the model is",
            in_training=True,
        ),
    )
    workers: int = field(
        default=1,
        metadata=_about(
            values_of.whole_number(1, 1024),
            "Processes that count votes, each with one torch thread.",
            kind=int,
            changes="nothing",
        ),
    )
    store: Path | None = field(
        default=None,
        metadata=_about(
            values_of.as_path,
            "The file of votes, to share between runs.",
            shown="votes.db in the output",
            kind=Path,
            in_sweeps=False,
            written=False,
            changes="nothing",
        ),
    )
    out: Path = field(
        default=Path("certified"),
        metadata=_about(
            values_of.as_out_folder,
            "The output folder.",
            shown="certified, beside the run file",
            kind=Path,
            of_sweeps=True,
            sweep_shown="sweep, beside the run file",
            written=False,
            changes="nothing",
        ),
    )

    @property
    def data_title(self) -> str:
        """What the data are called in a title: of a file or folder the name, without folders and ending."""
        if isinstance(self.data, Path):
            return self.data.stem if self.data.is_file() else self.data.name
        return str(self.data)

    def certify(
        self,
        smoothed: SmoothedClassifier,
        problem: Problem,
        *,
        seed: int,
        store: Path,
        executor: Executor | None,
        title: str = "votes",
    ) -> Certificates:
        """The certificates that these settings ask for, of graphs that are read and bound; labels are class numbers."""
        return smoothed.certify(
            problem,
            samples=self.samples,
            selection_samples=self.selection_samples,
            alpha=self.alpha,
            family=self.family,
            seed=seed,
            max_radius=self.max_radius,
            evidence=self.evidence,
            own_samples=self.own_samples,
            threat=self.threat,
            plan=self.plan,
            store=store,
            executor=executor,
            title=title,
        ).numbered

    def __post_init__(self) -> None:
        for key, setting in SETTINGS.items():
            object.__setattr__(self, key, setting.value(getattr(self, key), Path.cwd(), key))
        if self.selection_samples is None and self.plan == "fixed":  # "decided" finds how many the question takes
            object.__setattr__(self, "selection_samples", max(100, self.samples // 100))
        if self.own_samples is not None and not self.evidence:
            hint = "Ask for evidence too: --evidence, or evidence = true in a run file."
            raise InvalidParameterError("own_samples", "be left out without evidence", self.own_samples, hint)
        if self.nodes is not None and self.targets != "nodes":
            hint = 'Say targets = "nodes" too.'
            raise InvalidParameterError("nodes", "be left out where graphs are classified", self.nodes, hint)
        if self.targets == "nodes" and self.split != "all":
            hint = 'Say which nodes by a mask: nodes = "test_mask".'
            raise InvalidParameterError("split", "be all where nodes are classified", self.split, hint)
        if self.targets == "nodes" and self.splits is not None:
            hint = 'Say which nodes by a mask: nodes = "test_mask".'
            raise InvalidParameterError("splits", "be left out where nodes are classified", str(self.splits), hint)
        if self.max_radius is not None:
            object.__setattr__(self, "max_radius", self.noise.radius(self.max_radius, "max_radius"))
        if self.threat is not None:
            check_box(self.max_radius, self.threat)
        if self.regions is None and len(self.noise.regions) > 1:
            raise InvalidParameterError(
                "regions",
                f"say where the {len(self.noise.regions)} regions of the noise are ({', '.join(self.noise.regions)})",
                None,
                "Name a builder, such as communities, or a function file.py:function from a graph to its Partition.",
            )


SETTINGS: dict[str, Setting] = {each.name: _declared(each) for each in fields(RunSettings)}
"""The settings by their keys."""


def option_name(key: str) -> str:
    """What the option for a setting is called.

    Example:
        >>> option_name("split_seed")
        '--split-seed'
    """
    return f"--{key.replace('_', '-')}"


def check_values(
    values: Mapping[str, object],
    *,
    base: Path,
    named: Callable[[str], str] = str,
    known: Mapping[str, Setting] = SETTINGS,
) -> dict[str, object]:
    """Settings as a file or a command line has them, each checked, paths made absolute from `base`.

    Args:
        values: the settings by their keys.
        base: where relative paths begin.
        named: how a message calls the setting with this key.
        known: the settings that there are.

    Raises:
        InvalidParameterError: names the key that is unknown, or whose value is of no use.

    Example:
        >>> check_values({"samples": 500, "alpha": 0.05}, base=Path())
        {'samples': 500, 'alpha': 0.05}
    """
    for key in values:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(known)}."
            raise UnknownSettingError(named(key), "be a setting of a run", key, hint)
    return {key: known[key].value(value, base, named(key)) for key, value in values.items()}


def check_options(given: Mapping[str, Any], known: Mapping[str, Setting] = SETTINGS) -> dict[str, object]:
    """The settings that options give, each checked; an option that is None was not given."""
    values = {}
    for key, word in given.items():
        if word is not None:
            parse = known[key].parse
            values[key] = word if parse is None else parse(word, option_name(key))
    return check_values(values, base=Path.cwd(), named=option_name, known=known)


def _joined(there: object, given: object) -> object:
    """Which columns hold what, by a run file and by an option, which has the last word on each of them."""
    return {**there, **given} if isinstance(there, Mapping) and isinstance(given, Mapping) else given or there


def run_settings(values: Mapping[str, object], options: Mapping[str, object] | None = None) -> RunSettings:
    """The settings of a run from checked values and options, which override them; what must be given is asked for."""
    options = options or {}
    given: dict[str, Any] = {**values, **options}
    given["columns"] = _joined(values.get("columns"), options.get("columns"))
    for key, setting in SETTINGS.items():
        if setting.example and given.get(key) is None:
            how = f"{option_name(key)} {setting.example}, or {key} in a run file"
            hint = f"For example {how}; `starcert init` writes one that runs."
            raise InvalidParameterError(key, "be given", None, hint)
    if "samples" in options and "selection_samples" not in options:
        given.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    if options.get("evidence") is False and "own_samples" not in options:
        given.pop("own_samples", None)  # a run file has them for evidence
    if given.get("max_radius") is not None:
        noise = values_of.as_noise(given["noise"], Path.cwd(), "noise")
        called = option_name("max_radius") if "max_radius" in options else "max_radius"
        given["max_radius"] = noise.radius(given["max_radius"], called)
    return RunSettings(**given)
