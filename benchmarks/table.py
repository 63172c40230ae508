"""One table for all benchmarks: work, obvious loop, starcert, ratio, floor, and the distance from it.

A table is printed line by line as it is measured, and written with the machine, the versions and the settings to
`benchmarks/results/NAME-cpu.json` or `NAME-cuda.json`; `results/README.md` shows all of them.

    python benchmarks/table.py     # writes results/README.md again
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starcert.system.files import versions
from starcert.system.processes import available_cores

RESULTS_VARIABLE = "STARCERT_BENCHMARK_RESULTS"
RESULTS = Path(os.environ.get(RESULTS_VARIABLE) or Path(__file__).parent / "results")
COLUMNS = ("work", "obvious loop", "starcert", "ratio", "floor", "from it")


@dataclass(frozen=True)
class Work:
    """One piece of work, measured; all times in seconds.

    Attributes:
        name: what is done.
        starcert: the time that starcert takes.
        loop: the time of the loop that people write; None: there is none to compare with.
        floor: the time that the hardware allows; None: not known.
        floor_is: what the floor is made of.
        target: what was aimed at, in words.
        note: what else there is to say.
        more: further numbers, for the file.
    """

    name: str
    starcert: float
    loop: float | None = None
    floor: float | None = None
    floor_is: str = ""
    target: str = ""
    note: str = ""
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times as long the loop takes."""
        return None if self.loop is None else self.loop / self.starcert

    @property
    def distance(self) -> float | None:
        """How many times the floor it is."""
        return None if not self.floor else self.starcert / self.floor

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of the table in words."""
        name = f"{self.name} (target {self.target})" if self.target else self.name
        times = (shown(self.loop), shown(self.starcert), factor(self.ratio), shown(self.floor), factor(self.distance))
        return (name, *times)

    def to_dict(self) -> dict[str, object]:
        """What a file keeps."""
        return {
            "work": self.name,
            "loop_seconds": self.loop,
            "starcert_seconds": self.starcert,
            "ratio": self.ratio,
            "floor_seconds": self.floor,
            "floor_is": self.floor_is,
            "distance": self.distance,
            **({"target": self.target} if self.target else {}),
            **({"note": self.note} if self.note else {}),
            **self.more,
        }


class Table:
    """The table of one benchmark.

    Args:
        name: that of the benchmark, and of its file.
        about: what the times are of, in a sentence.
        device: "cpu" or "cuda".
        settings: what was measured with what.
    """

    def __init__(self, name: str, about: str, *, device: str = "cpu", **settings: object) -> None:
        self.name, self.about, self.device, self.settings = name, about, device, settings
        self.works: list[Work] = []
        self.failures: dict[str, str] = {}
        self.load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
        print(f"{name}: {about}\n{'; '.join(f'{key} {value}' for key, value in machine(device).items())}")
        print(line(COLUMNS))

    def add(self, work: Work) -> Work:
        """Prints a line, and keeps it."""
        self.works.append(work)
        print(line(work.cells) + (f"  {work.note}" if work.note else ""), flush=True)
        return work

    def fail(self, name: str, error: Exception) -> None:
        """Says that something could not be measured, and keeps it."""
        self.failures[name] = f"{type(error).__name__}: {error}"
        print(f"{name} failed: {self.failures[name]}", flush=True)

    def write(self, folder: Path = RESULTS) -> Path:
        """Writes the file of this table, and the page of all of them again."""
        print(f"peak memory of this process: {peak_megabytes():.0f} MB\n")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{self.device}.json"
        path.write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(page(folder), encoding="utf-8")
        return path

    def to_dict(self) -> dict[str, object]:
        """What the file holds."""
        return {
            "name": self.name,
            "about": self.about,
            "machine": machine(self.device),
            "versions": versions(),
            "load_before": self.load,
            "settings": self.settings,
            "peak_megabytes": round(peak_megabytes()),
            "works": [work.to_dict() for work in self.works],
            **({"failures": self.failures} if self.failures else {}),
        }


def page(folder: Path = RESULTS) -> str:
    """All tables of a folder, as one page."""
    return "\n".join(_lines(folder)) + "\n"


def _lines(folder: Path) -> Iterator[str]:
    yield "# Measured"
    yield ""
    yield "Written by the benchmarks, not by hand: `make bench` and `make bench-gpu` measure again."
    yield "Ratios are within one run. The floor is what the hardware allows, measured in the same run."
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        yield from ("", f"## {path.stem}", "", found["about"], "")
        yield f"On {', '.join(f'{key} {value}' for key, value in found['machine'].items())}; " + ", ".join(
            f"{name} {version}" for name, version in found["versions"].items()
        )
        if found["load_before"] is not None:
            yield f"(load of the machine before: {found['load_before']}; times on a busy one are too long)"
        if found["settings"]:
            yield f"({', '.join(f'{key}: {value}' for key, value in found['settings'].items())})"
        yield from ("", f"| {' | '.join(COLUMNS)} |", "| --- | ---: | ---: | ---: | ---: | ---: |")
        for each in found["works"]:
            work = Work(
                each["work"],
                each["starcert_seconds"],
                each["loop_seconds"],
                each["floor_seconds"],
                target=each.get("target", ""),
            )
            note = f"; {each['note']}" if "note" in each else ""
            yield f"| {work.cells[0]}{note} | {' | '.join(work.cells[1:])} |"
        floors = dict.fromkeys(each["floor_is"] for each in found["works"] if each["floor_is"])
        if floors:
            yield from ("", f"Floor: {'; '.join(floors)}.")
        for name, error in found.get("failures", {}).items():
            yield from ("", f"Not measured: {name} ({error}).")


def line(cells: tuple[str, ...]) -> str:
    """The cells of a line, side by side."""
    return f"{cells[0]:<72}" + "".join(f"{cell:>14}" for cell in cells[1:])


def shown(seconds: float | None) -> str:
    """A time in the unit that it is read in.

    Example:
        >>> shown(1.234e-6), shown(0.25), shown(None)
        ('1.23 µs', '250 ms', '–')
    """
    if seconds is None:
        return "–"
    for unit, factor_of in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor_of < 999.5:
            return f"{seconds * factor_of:.3g} {unit}"
    return f"{seconds:,.0f} s" if seconds >= 99.95 else f"{seconds:.3g} s"


def factor(ratio: float | None) -> str:
    """A ratio in words."""
    return "–" if ratio is None else f"{ratio:,.0f} ×" if ratio >= 99.5 else f"{ratio:.3g} ×"


def machine(device: str) -> dict[str, object]:
    """Where it was measured."""
    found: dict[str, object] = {"CPU": _cpu_name(), "cores": available_cores()}
    if device != "cpu":
        import torch  # noqa: PLC0415  (only where a device is measured)

        if torch.cuda.is_available():
            found["GPU"] = torch.cuda.get_device_name()
    return found


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (each.partition(":")[2].strip() for each in lines if each.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def peak_megabytes() -> float:
    """The most memory that this process had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def best(work: Callable[[], object], units: int = 1, repetitions: int = 5) -> float:
    """Seconds for one unit of work, from the shortest of several runs after a warm-up."""
    work()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) / units


if __name__ == "__main__":
    (RESULTS / "README.md").write_text(page(), encoding="utf-8")
