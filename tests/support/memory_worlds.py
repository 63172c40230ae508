"""Code in a process of its own that may take so much memory and no more."""

import subprocess
import sys

import runs_worlds

LIMITED = """
import resource, sys
{imports}
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + {allowed},) * 2)
{code}
"""


def run_with_memory(allowed: int, code: str, *, imports: str) -> subprocess.CompletedProcess:
    """Runs code that may take at most `allowed` bytes beyond what its imports take; the limit ends it otherwise."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(imports=imports, allowed=allowed, code=code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=runs_worlds.environment(),
    )


def command_with_memory(allowed: int, *words: object) -> subprocess.CompletedProcess:
    """The command `starcert`, with everything loaded that reading and proving takes."""
    return run_with_memory(
        allowed,
        f"sys.argv = {['starcert', *map(str, words)]!r}; main()",
        imports="import numpy, scipy.sparse.csgraph, starcert.files, starcert.datasets, starcert.runs.sources\n"
        "import starcert.cli.run_views, starcert.runs.certification, rich.console, rich.table\n"
        "from starcert.cli import main",
    )
