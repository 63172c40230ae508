"""Processes that are killed at their n-th file operation or at a random moment, and what they leave in a folder."""

import io
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections import Counter
from contextlib import closing, redirect_stdout, suppress
from itertools import count
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "sqlite3.connect", "open"}


class _Steps:
    """Counts the file operations below a folder, and kills this process at one of them."""

    def __init__(self, folder: Path, last: int) -> None:
        self.folder, self.left = str(folder), last

    def concerns(self, path: object) -> bool:
        named = isinstance(path, str | bytes | os.PathLike)
        return named and os.path.abspath(os.fsdecode(path)).startswith(self.folder)

    def step(self) -> bool:
        self.left -= 1
        return self.left == 0

    def see(self, event: str, arguments: tuple) -> None:
        if event not in CHANGES or not self.concerns(arguments[0]):
            return
        if (event != "open" or arguments[2] & WRITES) and self.step():
            end()


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(folder: Path, last: int) -> _Steps:
    """Lets this process end at the `last`-th file operation below a folder; what it writes to a file ends halfway."""
    steps, plain_open, plain_fsync = _Steps(folder, last), io.open, os.fsync

    class Raw(io.FileIO):
        def write(self, data) -> int:
            if steps.step():
                super().write(bytes(data)[: len(data) // 2])
                end()
            return super().write(data)

    def opened(path, mode="r", *more, **options):
        if set(mode) & set("wxa") and "b" in mode and steps.concerns(path):
            return io.BufferedWriter(Raw(path, mode.replace("b", "")))
        return plain_open(path, mode, *more, **options)

    def fsync(handle) -> None:
        if steps.step():
            end()
        plain_fsync(handle)

    io.open, os.fsync = opened, fsync
    sys.addaudithook(steps.see)
    return steps


def fork(work, *, quiet: bool = False) -> int:
    """Begins some work in a process of its own, in a session of its own."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.setsid()
        if quiet:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
        work()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:  # noqa: BLE001  (nothing may go on in the copy of a test)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed(folder: Path, last: int, work, *, quiet: bool = False) -> bool:
    """Whether some work was killed at its `last`-th file operation; if not, it came to its end."""

    def armed() -> None:
        arm(folder, last)
        work()

    status = ended(fork(armed, quiet=quiet))
    assert status in (0, -signal.SIGKILL), status
    return status != 0


def contents(folder: Path) -> dict[str, object]:
    """What a folder holds: bytes, but of a file of votes the votes, and of a study what does not tell the time."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".db" and path.stat().st_size:
            with closing(sqlite3.connect(path)) as db:
                found[name] = (
                    db.execute("SELECT * FROM chunks ORDER BY 1, 2, 3").fetchall(),
                    db.execute("SELECT * FROM records WHERE kind != 'session' ORDER BY 1, 2").fetchall(),
                )
        elif path.name == "results.json":
            found[name] = {
                key: value
                for key, value in json.loads(path.read_text("utf-8")).items()
                if key not in ("seconds", "provenance")
            }
        elif path.name == "index.html":
            found[name] = None
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def left_of(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, theirs = place.read_text("utf-8").rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(theirs) == session and state != "Z":
            found.append(place.parent.name)
    return found


def nothing_left(session: int) -> None:
    """Asserts that all processes of a session end by themselves, and kills those that do not."""
    deadline = time.monotonic() + 20
    while left_of(session) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = left_of(session)
    for process in left:
        os.kill(int(process), signal.SIGKILL)
    assert left == []


class Attack:
    """Commands that are killed again and again, and then run to their end.

    Args:
        seed: of what is killed when.
        seconds: how long a process may outlive the one that began it.
    """

    def __init__(self, seed: int, seconds: float = 30) -> None:
        self.draw = random.Random(seed)
        self.seconds = seconds
        self.kills: Counter[str] = Counter()
        self.different: list[str] = []
        self.stuck: list[str] = []
        self.left: list[str] = []

    def time(self, name: str, work) -> float:
        """How long some work takes."""
        start = time.monotonic()
        status = self._once(name, work)
        assert status == 0, f"{name} ends with status {status}"
        return time.monotonic() - start

    def steps(self, folder: Path, work) -> int:
        """How many file operations some work has when it begins with nothing."""
        shutil.rmtree(folder)
        counter, answer = os.pipe()

        def counted() -> None:
            steps = arm(folder.parent, 10**9)
            try:
                work()
            finally:
                os.write(answer, str(10**9 - steps.left).encode())

        assert ended(fork(counted, quiet=True)) == 0
        os.close(answer)
        with open(counter, encoding="ascii") as file:
            return int(file.read())

    def on(self, name: str, folder: Path, work, *, kills: int, steps: int, longest: float = 0) -> None:
        """Kills some work that often: at one of its first `steps` file operations, or within `longest` seconds.

        After each kill the same work is done again, killed or to its end; at the end the folder must hold what it
        holds now. Half of the time the finished folder is where the next kill takes place.
        """
        everything, expected = folder.parent, contents(folder)
        while self.kills[name] < kills:
            if self.draw.random() < 0.5:
                shutil.rmtree(folder)
            for _ in range(self.draw.choice((1, 1, 2, 4))):
                self._kill(name, everything, work, steps, longest)
            self._finish(name, folder, work, expected)

    def at_every_step(self, name: str, folder: Path, work) -> None:
        """Kills some work at each of its file operations in turn, and each time does it again to its end."""
        expected = contents(folder)
        for fresh in (True, False):  # the finished folder next
            for step in count(1):
                if fresh:
                    shutil.rmtree(folder)
                if not killed(folder.parent, step, work, quiet=True):
                    break
                self.kills[name] += 1
                self._finish(name, folder, work, expected)

    def _finish(self, name: str, folder: Path, work, expected: dict[str, object]) -> None:
        status = self._once(name, work)
        beside = sorted(each.name for each in folder.parent.iterdir())
        if status != 0:
            self.stuck.append(f"{name}: status {status} after {self.kills[name]} kills")
            for each in beside:
                shutil.rmtree(folder.parent / each)
            self._once(name, work)
        elif (found := contents(folder)) != expected or beside != [folder.name]:
            others = sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))
            self.different.append(f"{name}: {others}, {beside} after {self.kills[name]} kills")

    def _once(self, name: str, work) -> int:
        process = fork(work, quiet=True)
        status = ended(process)
        self._look_for_processes(name, process)
        return status

    def _kill(self, name: str, folder: Path, work, steps: int, longest: float) -> None:
        if longest and self.draw.random() < 0.5:
            process = fork(work, quiet=True)
            time.sleep(self.draw.uniform(0, longest))
            os.kill(process, signal.SIGKILL)
        else:
            last = self.draw.randint(1, steps)
            process = fork(lambda: (arm(folder, last), work()), quiet=True)
        self.kills[name] += ended(process) == -signal.SIGKILL  # it may have been done before
        self._look_for_processes(name, process)

    def _look_for_processes(self, name: str, session: int) -> None:
        deadline = time.monotonic() + self.seconds
        while left_of(session) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in left_of(session):
            self.left.append(f"{name}: process {process}")
            os.kill(int(process), signal.SIGKILL)

    def report(self) -> dict[str, object]:
        return {"kills": self.kills, "different": self.different, "stuck": self.stuck, "left": self.left}


NAMES = (
    "certify",
    "certify with two workers",
    "sweep",
    "reproduce",
    "reproduce with two workers",
    "archive",
)


def attack(kills: dict[str, int], *, every_step: bool, seed: int) -> dict[str, object]:
    """Kills the commands of a project, in the folder that it is in; what came of it.

    Args:
        kills: how often, by the name of the work.
        every_step: whether to kill at every file operation of each work in turn, too.
        seed: of what is killed when.
    """

    from starcert import archive  # noqa: PLC0415
    from starcert.cli import main  # noqa: PLC0415
    from starcert_studies import STUDIES, reproduce  # noqa: PLC0415

    STUDIES["tiny"] = "study_worlds:Tiny"

    def command(*words):
        def work() -> None:
            sys.argv = ["starcert", *words]
            main()

        return work

    out = {name: Path(name).absolute() / "out" for name in NAMES}
    run = ("run.toml", "--samples", "60")
    work = {
        "certify": command("certify", *run, "--out", "certify/out"),
        "certify with two workers": command("certify", *run, "--workers", "2", "--out", "certify with two workers/out"),
        "sweep": command("sweep", *run, "--grid", "hub=0.02,0.1", "--out", "sweep/out"),
        "reproduce": lambda: reproduce("tiny", out["reproduce"], workers=1),
        "reproduce with two workers": lambda: reproduce("tiny", out["reproduce with two workers"], workers=2),
        "archive": lambda: (out["archive"].mkdir(exist_ok=True), archive.write(out["archive"] / "c.json", kept)),
    }
    for name in ("certify", "sweep", "reproduce"):  # here, so that every copy of this process has loaded what it needs
        with suppress(SystemExit), redirect_stdout(io.StringIO()):
            work[name]()
    kept = archive.read("certify/out/certificates.json")
    found = Attack(seed)
    for name, number in kills.items():
        if number:
            out[name].parent.mkdir(exist_ok=True)
            seconds, steps = found.time(name, work[name]), found.steps(out[name], work[name])
            if every_step:
                found.at_every_step(name, out[name], work[name])
            found.on(name, out[name], work[name], kills=number, steps=steps, longest=seconds)
    return found.report()


if __name__ == "__main__":
    print(json.dumps(attack(**json.loads(sys.argv[1]))))
