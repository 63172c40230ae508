"""From settings to a folder: data × methods × threats × folds in parts that are computed once, then page and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from starcert.benchmark.archives import keep, read_theirs
from starcert.benchmark.data import DRAWN, Nodes, called, cut_of, data_of, digest_of, file_name, notes_on
from starcert.benchmark.methods import METHODS, BenchmarkMethod, TriedMethod
from starcert.benchmark.networks import Networks, NodeNetworks, here
from starcert.benchmark.outcomes import fewer, kind_of, read_threat
from starcert.benchmark.results import Line, lines_of, write_outputs
from starcert.benchmark.settings import GROUPS, MODELS, Benchmark, reference_to
from starcert.runs.setting_values import digest_of_files
from starcert.runs.user_code import running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number
from starcert.system.files import versions, write_whole
from starcert.system.parts import Part, PartsFolder, claim_folder
from starcert.system.processes import one_torch_thread


def makers_of(group: str) -> Sequence[Callable[[Networks], BenchmarkMethod]]:
    """The functions that make the methods of a group, or one of your own."""
    if group in METHODS:
        return METHODS[group]
    found: Any = reference_to(group, "methods").load(BenchmarkMethod)
    if not (isinstance(found, type) and issubclass(found, BenchmarkMethod)):
        raise InvalidParameterError("methods", "name a class that derives from BenchmarkMethod", group)
    for name in ("name", "certifies"):
        if not isinstance(getattr(found, name, None), str):
            hint = f"Write {name} = … in it, a text for the tables."
            raise InvalidParameterError("methods", f"have a {name}", group, hint)
    return (found,)


def methods_of(setting: Benchmark, group: str) -> list[BenchmarkMethod]:
    """The methods of a group, for a look at them."""
    return [make(Networks(setting)) for make in makers_of(group)]


def check_names(setting: Benchmark) -> None:
    """Refuses methods that tables could not tell apart: a row is found by its name, and the blind one, too."""
    taken = dict.fromkeys((each.name for group in METHODS for each in methods_of(setting, group)), "starcert's own")
    for group in (each for each in setting.methods if each not in METHODS):
        (made,) = methods_of(setting, group)
        if made.name in taken:
            got, hint = f"{made.name!r}, also {taken[made.name]}", f"Give {group} another name."
            raise InvalidParameterError("methods", "have names of their own", got, hint)
        taken[made.name] = group


def record_of(setting: Benchmark) -> dict[str, Any]:
    """All that a folder of results must agree on."""
    own = [(name, "methods") for name in setting.methods if name not in METHODS]
    own += [(name, "models") for name in setting.models if name not in MODELS]
    code = {name: reference_to(name, kind).digest for name, kind in own}
    files = ((threat, digest_of_files(read_threat(threat))) for threat in setting.threats)
    return {
        "benchmark": 1,
        **asdict(setting),
        "data": [*map(called, setting.data)],
        "code": code | {threat: digest for threat, digest in files if digest is not None},
        "digests": {called(name): digest_of(setting, name) for name in setting.data},
        "versions": versions(),
    }


def parts_of(setting: Benchmark, kept: Path | None = None) -> list[Part]:
    """One for each data set, fold, group of methods, and network that it trains; `kept` is for certificates."""
    made, digests = [], {name: digest_of(setting, name) for name in setting.data}
    for group, name in product(setting.methods, setting.data):
        word, trains = file_name(Path(group).name.replace(":", "-")), any(m.trains for m in methods_of(setting, group))
        for model in setting.models if trains else setting.models[:1]:
            about = f"{word}-{file_name(Path(model).name.replace(':', '-'))}"
            for number, (run, fold) in enumerate(product(setting.runs(), range(setting.folds))):
                arguments = run, name, number, fold, group, model, digests[name], kept
                made.append(Part(f"{called(name)}-{number}-{about}", judge, arguments))
    return made


def judge(
    setting: Benchmark, name: str, number: int, fold: int, group: str, model: str, digest: str, kept: Path | None
) -> list[dict[str, Any]]:
    """The results of a group's methods on a fold: a row for each method and threat, with its objects one by one.

    Folds of all seeds are numbered together. Certificates go into files in `kept`, before the rows are done.
    """
    if digest_of(setting, name) != digest:
        hint = "Let its function return the same whenever it is called: fix its seed, and sort what has no order."
        raise StarcertError(f"{name}: gives other data in another process. {hint}")
    cut, rows = cut_of(setting, name, fold), []
    n_classes = 1 + max(map(max, (cut.taught.labels, cut.held.labels, cut.tested.labels)))
    with ExitStack() as stack:
        stack.enter_context(one_torch_thread())
        for text, parameter, known in ((model, "models", MODELS), (group, "methods", GROUPS)):
            if text not in known:
                stack.enter_context(running_user_code(reference_to(text, parameter).file))
        networks = (NodeNetworks if isinstance(cut.taught, Nodes) else Networks)(setting, model)
        fit = [made for make in makers_of(group) if (made := make(networks)).of_nodes in (None, networks.of_nodes)]
        for made, threat in product([each for each in fit if each.fits(cut.taught)], setting.threats):
            sizes = dict.fromkeys(min(size, kind_of(threat)[1]) for size in setting.chosen_for)
            several = isinstance(made, TriedMethod) and len(setting.chosen_for) > 1
            for chosen_for in ([*sizes] if several else [*sizes][:1]) if made.speaks_of(threat) else ():
                fitted = made.fit(cut.taught, cut.held, fewer(threat, chosen_for))
                found = made.certify(cut.objects, threat)
                found.check(threat, len(cut.tested), n_classes)
                network = [made.network] if made.network and len(setting.models) > 1 else []
                title = ", ".join([made.name, *network, *([f"for {chosen_for}"] if several else [])])
                if kept is not None and found.certificates is not None:
                    data = None if name in DRAWN else data_of(name, setting.columns, setting.component)
                    file = file_name(f"{called(name)}-{number}-{title}-{threat.replace(':', '-')}")
                    keep(kept / f"{file}.json", found.certificates, cut, data)
                certifies = made.certifies if group in METHODS else f"{made.certifies} (as its author states)"
                rows.append({
                    "data": called(name), "objects": "nodes" if networks.of_nodes else "graphs",
                    "fold": number, "method": title, "model": made.network, "certifies": certifies, "threat": threat,
                    "alpha": found.alpha, "asked": found.asked, "tries": dict(fitted.tries), "chosen": fitted.chosen,
                    "numbers": cut.numbers, "truth": cut.tested.labels.tolist(),
                    "outcomes": [(one.answer, one.certified, one.broken) for one in found.outcomes],
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
    others = [each for given in theirs for each in read_theirs(given, known, setting.columns, setting.threats)]
    notes = {called(name): notes_on(setting, name) for name in setting.data}
    check_names(setting)
    work = parts_of(setting, out / "certificates" if setting.certificates else None)
    claim_folder(out, record := record_of(setting), "benchmark")
    if setting.certificates:
        (out / "certificates").mkdir(exist_ok=True)
    found = PartsFolder(out / "parts", workers=workers, progress=progress).run(work, "benchmark")
    rows = [row for each in found.values() for row in each]
    if not rows:
        hint = "Some need node labels, two classes, or nodes of a graph; not every method speaks of every threat."
        raise StarcertError(f"No method fits the data and threats: {', '.join(setting.methods)}. {hint}")
    lines = lines_of(rows)
    about: Mapping[str, Any] = {"settings": record, "provenance": versions(), "notes": notes,
                                "devices": sorted({row["device"] for row in rows})}  # fmt: skip
    write_outputs(out, lines, others, about)
    timings = [{name: row[name] for name in ("data", "fold", "method", "threat")} | row["seconds"] for row in rows]
    write_whole(out / "timings.json", [json.dumps(timings, indent=1), "\n"])
    return lines
