"""Processes that have loaded starcert already: each is forked from one that has done nothing but import it.

Loading takes a second or more, a fork a few milliseconds, and what runs there is as alone as in a process of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SERVER = """
import json, os, resource, sys, traceback
exec(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(asked["said"], 1):
            os.dup2(os.open(path, os.O_WRONLY), number)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.path[:0] = asked["environment"].get("PYTHONPATH", "").split(os.pathsep)
        if asked["memory"] is not None:
            pages = int(open("/proc/self/statm").read().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + asked["memory"],) * 2)
        status = 1
        try:
            exec(asked["code"], {"__name__": "__main__"})
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Warm:
    """A process that has imported what it was given, and runs code in forks of itself, one after the other."""

    def __init__(self, imports: str, environment: Mapping[str, str] | None = None) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER, imports],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        atexit.register(self._server.communicate)  # nothing more is asked of it: it ends

    def run(
        self,
        code: str,
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        memory: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """What code prints and how it ends; it may take at most `memory` bytes beyond what the imports take."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as place:
            said = [Path(place) / name for name in ("out", "errors")]
            for file in said:
                file.touch()
            asked = {
                "code": code, "folder": str(folder or Path.cwd()), "memory": memory, "said": [*map(str, said)],
                "environment": dict(os.environ if environment is None else environment),
            }  # fmt: skip
            self._server.stdin.write(json.dumps(asked) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            return subprocess.CompletedProcess(code, status, *(file.read_text(encoding="utf-8") for file in said))

    def command(self, *words: object, **how: object) -> subprocess.CompletedProcess[str]:
        """The command starcert with these words; `starcert.cli` must be among the imports."""
        code = f"import sys; from starcert.cli import main; sys.argv = {['starcert', *map(str, words)]!r}; main()"
        return self.run(code, **how)  # type: ignore[arg-type]
