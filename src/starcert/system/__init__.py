"""Services of the machine that starcert runs on: files and their locks, memory, processes, the terminal.

The command ends here where the limit on its address space is too low, before anything is imported that takes much.

numpy and scipy each bring OpenBLAS, which maps memory for every thread. Where that fails it tries again for ever, and
Python hears of no signal meanwhile. So this package is imported first, and looks at the limit as it is imported.
"""

from __future__ import annotations

import os
import sys

BYTES, BYTES_A_THREAD = 500_000_000, 100_000_000
"""The memory that the examples of `starcert init` take: with one thread of OpenBLAS 512 MB, with two 604 MB."""

MAX_THREADS = 64  # of OpenBLAS as numpy and scipy bring it


def least_bytes() -> int:
    """The address space that the command needs, for as many threads as OpenBLAS is going to start."""
    most = min(MAX_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    chosen = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    return BYTES + BYTES_A_THREAD * (min(most, int(chosen)) if chosen.isdecimal() and int(chosen) else most)


def _end_if_too_low() -> None:
    import resource  # noqa: PLC0415  (not on every system)

    limit, least = resource.getrlimit(resource.RLIMIT_AS)[0], least_bytes()
    if limit != resource.RLIM_INFINITY and limit < least:
        fewer = " Or start fewer threads: OPENBLAS_NUM_THREADS=1." if least > BYTES + BYTES_A_THREAD else ""
        print(
            f"Error: The limit on address space is {limit / 1e6:,.0f} MB, but starcert needs at least "
            f"{least / 1e6:,.0f} MB. Raise it: ulimit -v {least // 1024 + 1}.{fewer}",
            file=sys.stderr,
        )
        sys.exit(2)


if sys.platform != "win32" and sys.argv and os.path.basename(sys.argv[0]) in ("starcert", "-m"):
    _end_if_too_low()
