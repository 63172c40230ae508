"""`file.py:function`: code of the user's, found, imported, and named by its line where it fails; here and in workers.

The file is imported as a module of its own, under a name made from its place and its content. Whoever imports the same
file gets the same name, so what is defined in it can travel to a worker process that has imported it too. Each process
that counts votes for a run does so first, with one torch thread. Votes do not depend on any of this.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean
from starcert.system.output import harden_streams
from starcert.system.processes import available_cores, one_thread, worker_processes

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier

_EXTRAS = {"torch": ("torch", "torch_geometric"), "kernels": ("sklearn", "grakel"), "molecules": ("rdkit",)}
_PREFIX = "starcert_user_"  # names of modules that are files of the user's begin so


class UserCodeError(StarcertError):
    """Code in a file of the user's failed; the message names the file, the line and the exception."""


@dataclass(frozen=True)
class Reference:
    """Something that a Python file defines: the file, absolute, and the name in it.

    Example:
        >>> str(Reference(Path("/project/model.py"), "classifier"))
        'model.py:classifier'
    """

    file: Path
    name: str

    @classmethod
    def parse(cls, text: str, base: Path, parameter: str) -> Reference:
        """What `path/to/file.py:function` refers to, relative paths taken from `base`."""
        file, _, name = text.rpartition(":")
        if not (file.endswith(".py") and name.isidentifier()):
            hint = "Write path/to/file.py:function."
            raise InvalidParameterError(parameter, "name a Python file and a function in it", text, hint)
        path = place_of(file, base, parameter)
        if not os.path.isfile(path):  # also false for a name that is too long
            raise InvalidParameterError(parameter, "name a Python file that exists", str(path), _nearest_file(path))
        return cls(path, name)

    @cached_property
    def digest(self) -> str:
        """A digest of the whole file."""
        return _digest_of(self.file)

    def load(self) -> object:
        """What the file defines under this name, once it has been imported."""
        module = import_file(self.file)
        try:
            return getattr(module, self.name)
        except AttributeError:
            known = [name for name, item in vars(module).items() if callable(item) and not name.startswith("_")]
            hint = did_you_mean(self.name, known, f"It defines {', '.join(known) or 'no function'}.")
            raise UserCodeError(f"{self.file} defines no {self.name!r}. {hint}") from None

    def __str__(self) -> str:
        return f"{self.file.name}:{self.name}"


def import_file(file: Path) -> ModuleType:
    """The module that a Python file is, imported once as long as it does not change.

    As for a script that is run, the file's folder comes first where it imports others; no compiled copies are left.
    """
    name = f"{_PREFIX}{blake2b(f'{file} {_digest_of(file)}'.encode(), digest_size=8).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # noqa: PT018  (a path that ends in .py always has one)
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    sys.modules[name] = module  # before it runs, as importing does: what it defines can be pickled
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with running_user_code(file):
            spec.loader.exec_module(module)
    except UserCodeError:
        del sys.modules[name]
        raise
    finally:
        sys.dont_write_bytecode = writes
    return module


def place_of(path: str | Path, base: Path, parameter: str) -> Path:
    """Where a path leads from a folder, absolute; `~` is somebody's home."""
    try:
        return Path(os.path.abspath(base / Path(path).expanduser()))
    except RuntimeError:  # expanduser knows no such user, or no home
        hint = "Write the whole path."
        raise InvalidParameterError(parameter, "begin with a home folder that is known here", str(path), hint) from None


class TuName(str):
    """The name of a TU data set; `path` is the file or folder that it would name, if that were there."""

    path: Path


@contextmanager
def running_user_code(file: Path) -> Iterator[None]:
    """Turns whatever the user's code raises inside into one line that names file, line and exception."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise UserCodeError(f"{place_in(file, error)}: {_explained(error)}") from error


def place_in(file: Path, error: BaseException) -> str:
    """Where in a file an exception comes from: the last of its lines that the exception went through."""
    if isinstance(error, SyntaxError) and error.filename == str(file) and error.lineno:
        return f"{file}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file) and frame.lineno]
    return f"{file}, line {lines[-1]}" if lines else str(file)


def place_of_user_code(error: BaseException) -> str:
    """The last line of the user's own files that an exception went through; "" if it went through none."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith(_PREFIX):
            place = f"{trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _explained(error: BaseException) -> str:
    """An exception on one line: its kind, unless it is one of ours, its message, and what to install."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    kind = "" if isinstance(error, StarcertError) else type(error).__name__
    explained = ": ".join(part for part in (kind, " ".join(text.split())) if part)
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return explained
    package = error.name.partition(".")[0]
    wanted = next((f"'starcert[{extra}]'" for extra, packages in _EXTRAS.items() if package in packages), package)
    return f"{explained}. Try: pip install {wanted}"


def _digest_of(file: Path) -> str:
    return blake2b(file.read_bytes(), digest_size=16).hexdigest()


def _nearest_file(path: Path) -> str:
    folder = path.parent
    if not os.path.isdir(folder):
        return f"There is no folder {folder}."
    names = sorted(each.name for each in folder.glob("*.py"))
    return did_you_mean(path.name, names, f"{folder} has {', '.join(names[:5]) or 'no Python file'}.")


def useful_workers(classifier: Classifier, workers: int) -> tuple[int, str]:
    """How many workers can count votes, and why it is only one; "" if nothing keeps them from being more."""
    workers = min(workers, available_cores())
    reason = "" if workers == 1 else _why_only_here(classifier)
    return (1 if reason else workers), reason


@contextmanager
def voting_workers(
    classifier: Classifier, file: Path, workers: int, note: Callable[[str], None]
) -> Iterator[Executor | None]:
    """At most this many worker processes, no more than there are cores; None if votes are counted in this process.

    The workers import the user's file that made the classifier. `note` receives why there are fewer than requested.
    """
    cores = available_cores()
    if workers > cores:
        note(f"Votes are counted by {cores} of {workers:,} workers: this machine has no more cores.")
    workers, reason = useful_workers(classifier, workers)
    if reason:
        note(f"All votes are counted in one process: {reason}.")
    with one_thread(classifier.backend):
        if workers == 1:
            yield None
            return
        kept = "The votes that were counted are kept."
        with worker_processes(workers, kept, begin=_begin_worker, arguments=(file,)) as executor:
            yield executor


def _why_only_here(classifier: Classifier) -> str:
    if classifier.backend != "cpu":
        return "the model is on a device, which processes would have to share"
    try:
        pickle.dumps(classifier)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return f"the classifier cannot travel to others ({reason}); define it at the top of its file"
    return ""


def _begin_worker(file: Path) -> None:
    harden_streams()  # the user's code may print
    try:
        import_file(file)
    except StarcertError as error:
        raise StarcertError(f"A worker process cannot import what this one could: {error}") from error
