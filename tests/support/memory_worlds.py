"""Code in a process of its own that may take this much memory and no more."""

import subprocess
from functools import lru_cache

import runs_worlds

from warm import Warm

LOADED = """
import numpy, scipy.sparse.csgraph, starcert.archive, starcert.datasets, starcert.runs.sources
import starcert.cli.run_commands, starcert.runs.certification, rich.console, rich.table
from starcert.cli import main
"""


@lru_cache(4)
def loaded(imports: str = LOADED) -> Warm:
    """A process with everything loaded that reading and proving takes, or other imports."""
    return Warm(imports, runs_worlds.environment())


def run_with_memory(allowed: int, code: str, *, imports: str) -> subprocess.CompletedProcess:
    """Runs code that may take at most `allowed` bytes beyond what its imports take; the limit ends it otherwise."""
    return loaded(imports).run(f"{imports}\n{code}", memory=allowed, environment=runs_worlds.environment())


def command_with_memory(allowed: int, *words: object) -> subprocess.CompletedProcess:
    """The command `starcert`."""
    return loaded().command(*words, memory=allowed, environment=runs_worlds.environment())
