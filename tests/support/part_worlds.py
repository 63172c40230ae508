"""PartsFolder of work that leave a trace of who did them, fail, or die."""

import os
import time
from pathlib import Path

from starcert.system.parts import Part, PartsFolder


def noted(log: Path, name: str, seconds: float = 0.0) -> str:
    """Notes that it was begun, and by whom; takes its time."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{name} {os.getpid()}\n")
    time.sleep(seconds)
    return name.upper()


def fails(log: Path, name: str) -> None:
    noted(log, name)
    raise ValueError(f"{name} cannot be had")


def no_json(log: Path, name: str) -> set[str]:
    return {noted(log, name)}


def dies(log: Path, name: str) -> None:
    noted(log, name)
    os._exit(9)


def trace(log: Path) -> list[tuple[str, int]]:
    """Who was begun, and by which process."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return [(name, int(pid)) for name, pid in map(str.split, lines)]


def long_parts(folder: Path, seconds: float) -> list[Part]:
    return [Part(f"part-{k}", noted, (folder / "log", f"part-{k}", seconds)) for k in range(20)]


def long_work(folder: str) -> None:
    PartsFolder(Path(folder) / "parts", workers=2).run(long_parts(Path(folder), 0.2), "work that will be killed")
