"""How much memory there is, for those who would rather refuse than fail."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["available", "in_words"]


def available() -> int | None:
    """The bytes that this process can still take, as far as the system tells; None where it does not.

    The least of what the machine has left, what a container is allowed, and what the process is.
    """
    found = [each for each in (_machine(), _container(), _process()) if each is not None]
    return max(0, min(found)) if found else None


def in_words(n_bytes: float) -> str:
    """A number of bytes for people.

    Example:
        >>> in_words(25_600_000_000), in_words(4096)
        ('25.6 GB', '4,096 bytes')
    """
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes:,.0f} bytes"


def _machine() -> int | None:
    """Free memory, and what the system would give back: Linux tells; elsewhere all that the machine has."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with suppress(OSError, ValueError, AttributeError):  # no such name, or no such system
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _container() -> int | None:
    """What the control group of a container has left."""
    with suppress(OSError, ValueError):  # no such file, or no limit ("max")
        group = Path("/sys/fs/cgroup")
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    return None


def _process() -> int | None:
    """What the process may still ask for, where it has a limit."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  (not on every system)

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return None
