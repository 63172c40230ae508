"""The limit on address space (`ulimit -v`): too low, it ends the command before OpenBLAS tries for memory for ever."""

import subprocess
import sys

import pytest
import runs_worlds as worlds

import starcert.system as address_space

pytest.importorskip("resource")


def limited(n_bytes: int, *words: object, **more: str) -> subprocess.CompletedProcess:
    start = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2);"
    start += "sys.argv = ['-m', *sys.argv[2:]]; runpy.run_module('starcert', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", start, n_bytes, *words]
    environment = worlds.environment() | more
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env=environment, timeout=120
    )


@pytest.mark.parametrize("n_bytes", [409_600 * 1024, 100_000_000])
def test_too_little_address_space_is_refused_before_numpy_is_imported(n_bytes):
    done = limited(n_bytes, "--version", OPENBLAS_NUM_THREADS="1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: The limit on address space is {n_bytes / 1e6:,.0f} MB, but starcert needs at least 600 MB. "
        "Raise it: ulimit -v 585938.\n"
    )


def test_a_run_works_at_the_least_limit(project):
    least = address_space.BYTES + address_space.BYTES_A_THREAD
    words = ("certify", project / "run.toml", "--samples", 100, "--out", project / "out")
    done = limited(least, *words, OPENBLAS_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert (project / "out" / "report.html").exists()


def test_each_thread_of_openblas_takes_some(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: range(8), raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    needed = []
    for chosen in ("", "0", "many", "2", "9"):
        monkeypatch.setenv("OMP_NUM_THREADS", chosen)
        needed.append(address_space.least_bytes())
    assert needed == [1_300_000_000] * 3 + [700_000_000, 1_300_000_000]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert address_space.least_bytes() == 600_000_000
