"""From settings to a folder: data × methods × threats × folds in parts that are computed once, then page and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from starcert.benchmark.archives import SIZES, keep, read_theirs
from starcert.benchmark.data import called, data_of, digest_of, file_name, notes_on
from starcert.benchmark.folds import Fold, Nodes, cut_of
from starcert.benchmark.methods import BenchmarkMethod, TriedMethod
from starcert.benchmark.networks import MODELS, Networks
from starcert.benchmark.node_networks import NodeNetworks
from starcert.benchmark.outcomes import fewer, kind_of
from starcert.benchmark.pages import write_outputs
from starcert.benchmark.settings import METHODS, Benchmark, own
from starcert.benchmark.table import Line, lines_of
from starcert.benchmark.work import DRAWN, here
from starcert.runs.user_code import running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number
from starcert.system.files import versions, write_whole
from starcert.system.parts import Part, PartsFolder, claim_folder
from starcert.system.processes import one_torch_thread


def parts_of(setting: Benchmark, kept: Path | None = None) -> list[Part]:
    """One for each data set, fold, group of methods, and network that it trains; `kept` is for certificates."""
    made, digests = [], setting.digests()
    for group, name in product(setting.methods, setting.data):
        word, trains = file_name(Path(group).name.replace(":", "-")), _trains(setting, group)
        for model in setting.models if trains else setting.models[:1]:
            about = f"{word}-{file_name(Path(model).name.replace(':', '-'))}"
            for number, (run, fold) in enumerate(product(setting.runs(), range(setting.folds))):
                arguments = run, name, number, fold, group, model, digests[called(name)], kept
                made.append(Part(f"{called(name)}-{number}-{about}", judge, arguments))
    return made


def _trains(setting: Benchmark, group: str) -> bool:
    return any(make(Networks(setting)).trains for make in setting.makers(group))


def methods_for(setting: Benchmark, group: str, model: str, cut: Fold) -> list[BenchmarkMethod]:
    """The methods of a group that can be used on a fold."""
    networks = (NodeNetworks if isinstance(cut.taught, Nodes) else Networks)(setting, model)
    made = [make(networks) for make in setting.makers(group)]
    return [each for each in made if each.of_nodes in (None, networks.of_nodes) and each.fits(cut.taught)]


def judge(
    setting: Benchmark, name: str, number: int, fold: int, group: str, model: str, digest: str, kept: Path | None
) -> list[dict[str, Any]]:
    """What the methods of a group found on a fold: a row for each method and threat, with its objects one by one.

    Folds of all seeds are numbered together. Certificates go into files in `kept`, before the rows are done.
    """
    if digest_of(setting, name) != digest:
        hint = "Let its function return the same whenever it is called: fix its seed, and sort what has no order."
        raise StarcertError(f"{name}: gives other data in another process. {hint}")
    cut, rows = cut_of(setting, name, fold), []
    n_classes = 1 + max(map(max, (cut.taught.labels, cut.held.labels, cut.tested.labels)))
    with ExitStack() as stack:
        stack.enter_context(one_torch_thread())
        for text, parameter, known in ((model, "models", MODELS), (group, "methods", METHODS)):
            if text not in known:
                stack.enter_context(running_user_code(own(text, parameter, known).file))
        for made, threat in product(methods_for(setting, group, model, cut), setting.threats):
            _, most = kind_of(threat)
            sizes = [*dict.fromkeys(min(size, most) for size in setting.chosen_for)]
            for chosen_for in (sizes if isinstance(made, TriedMethod) else sizes[:1]) if made.speaks_of(threat) else ():
                fitted = made.fit(cut.taught, cut.held, fewer(threat, chosen_for))
                found = made.certify(cut.objects, threat)
                found.check(threat, len(cut.tested), n_classes)
                network = [made.network] if made.network and len(setting.models) > 1 else []
                choice = [f"for {chosen_for}"] if isinstance(made, TriedMethod) and len(setting.chosen_for) > 1 else []
                title = ", ".join([made.name, *network, *choice])
                if kept is not None and found.certificates is not None:
                    data = None if name in DRAWN else data_of(name, setting.columns)
                    file = file_name(f"{called(name)}-{number}-{title}-{threat.replace(':', '-')}")
                    keep(kept / f"{file}.json", found.certificates, cut, data)
                certifies = made.certifies if group in METHODS else f"{made.certifies} (as its author states)"
                rows.append({
                    "data": called(name), "objects": "nodes" if isinstance(cut.tested, Nodes) else "graphs",
                    "fold": number, "method": title, "model": made.network, "certifies": certifies, "threat": threat,
                    "alpha": found.alpha, "asked": found.asked, "tries": dict(fitted.tries), "chosen": fitted.chosen,
                    "numbers": cut.numbers, "truth": cut.tested.labels.tolist(),
                    "edges": cut.edges, "outcomes": [(one.answer, one.certified, one.broken) for one in found.outcomes],
                    "votes": found.votes, "forward_passes": found.forward_passes, "device": here()[1],
                    "seconds": {"training": fitted.train_seconds, "choosing": fitted.seconds,
                                "certifying": found.seconds},
                })  # fmt: skip
    return rows


def run_benchmark(
    setting: Benchmark, out: Path, *, theirs: Sequence[str] = (), workers: int = 1, progress: bool | None = None
) -> list[Line]:
    """Runs or continues a benchmark, and writes `index.html`, `benchmark.csv`, `.json`, `.tex` and `timings.json`.

    Args:
        setting: what is compared.
        out: the folder; if it holds the same benchmark, that is continued.
        theirs: archives of other methods, or folders of them; before each DATA= where there are several.
        workers: worker processes. The results do not depend on them.
        progress: whether to draw a progress bar; None: on a terminal only.
    """
    whole_number("workers", workers, 1)
    known = {called(name): name for name in setting.data}
    others = [each for given in theirs for each in read_theirs(given, known, setting, setting.threats)]
    notes = {called(name): notes_on(setting, name) for name in setting.data}
    setting.check_names()
    work = parts_of(setting, out / "certificates" if setting.certificates else None)
    claim_folder(out, setting.record(), "benchmark")
    if setting.certificates:
        (out / "certificates").mkdir(exist_ok=True)
    found = PartsFolder(out / "parts", workers=workers, progress=progress).run(work, "benchmark")
    rows = [row for each in found.values() for row in each]
    if not rows:
        hint = "Some need node labels, two classes, or nodes of a graph; not every method speaks of every threat."
        raise InvalidParameterError("methods", "fit the data and threats", ", ".join(setting.methods), hint)
    lines = lines_of(rows, SIZES)
    about: Mapping[str, Any] = {"settings": setting.record(), "provenance": versions(), "notes": notes,
                                "devices": sorted({row["device"] for row in rows})}  # fmt: skip
    write_outputs(out, lines, others, about)
    timings = [{name: row[name] for name in ("data", "fold", "method", "threat")} | row["seconds"] for row in rows]
    write_whole(out / "timings.json", [json.dumps(timings, indent=1), "\n"])
    return lines
