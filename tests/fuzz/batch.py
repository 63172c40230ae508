"""A batch of inputs of one kind in a process of its own, under limits: `python batch.py KIND SEED FIRST COUNT`.

Prints one JSON object: how many inputs there were and how many were taken, the longest time, the most memory, and what
went wrong. An input is a function of its kind, the seed and its number, so whatever went wrong can be done again.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random

SECONDS = 20
BYTES = 2**30
MAX_FAILURES = 20


class TooLongError(Exception):
    """An input takes longer than it may."""


def run(kind: str, seed: int, first: int, count: int) -> dict[str, object]:
    """The outcome of these inputs."""
    from fuzz.kinds import KINDS  # noqa: PLC0415

    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    chosen, failures, taken, longest = KINDS[kind], [], 0, 0.0
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        os.chdir(folder)
        chosen.prepare(folder)
        for number in range(first, first + count):
            began = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor: these machines are shared
            try:
                taken += chosen.try_one(Random(f"{kind} {seed} {number}"), folder)
            except Exception as error:  # noqa: BLE001  (whatever is no right outcome)
                failures.append({"number": number, "error": repr(error)[:300], "where": traceback.format_exc()[-1500:]})
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            longest = max(longest, time.process_time() - began)
            if len(failures) == MAX_FAILURES:
                break
        os.chdir("/")
    peak = peak_memory()
    return {"inputs": number + 1 - first, "taken": taken, "seconds": longest, "bytes": peak, "failures": failures}


def peak_memory() -> int:
    """The most bytes that this process had; its resource usage would count those of the process that started it."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGALRM))
    resource.setrlimit(resource.RLIMIT_DATA, (3 * BYTES,) * 2)  # a run away ends here, and not the machine
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)  # of numpy: a number that is none
    kind, *numbers = sys.argv[1:]
    print(json.dumps(run(kind, *map(int, numbers))))
