"""Code of the user's, found, imported, and named by its line where it fails; here and in workers.

`file.py:function` is imported as a module of its own, under a name made from its place and its content. So what is
defined in it can travel to a worker process, which imports the file first. `package.module:function` is imported as any
module is.
"""

from __future__ import annotations

import inspect
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from starcert.classifiers.base import Classifier
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean
from starcert.system.files import USER_MODULE, is_user_module
from starcert.system.output import harden_streams
from starcert.system.processes import available_cores, one_thread, worker_processes

_EXTRAS = {"torch": ("torch", "torch_geometric"), "kernels": ("sklearn",), "molecules": ("rdkit",)}


class UserCodeError(StarcertError):
    """Code in a file of the user's failed; the message names the file, the line and the exception."""


@dataclass(frozen=True)
class Reference:
    """Something that a Python file defines: the file, absolute, and the name in it."""

    file: Path
    name: str
    module: str = ""  # the module that the file is, where it is imported by that name
    text: str = ""  # how it is written then

    @classmethod
    def parse(cls, text: str, base: Path, parameter: str) -> Reference:
        """The object that `path/to/file.py:NAME`, relative paths taken from `base`, or `package.module:NAME` means."""
        if not re.search(r"\.py(:|$)", text) and re.fullmatch(r"[\w.]+:[\w.]+", text):
            return cls._of_module(text, parameter)
        file, _, name = text.rpartition(":")
        if not (file.endswith(".py") and name.isidentifier()):
            hint = "Write path/to/file.py:function, or package.module:function."
            raise InvalidParameterError(parameter, "name a Python file and a function in it", text, hint)
        path = place_of(file, base, parameter)
        if not os.path.isfile(path):  # also false for a name that is too long
            raise InvalidParameterError(parameter, "name a Python file that exists", str(path), _nearest_file(path))
        return cls(path, name)

    @classmethod
    def _of_module(cls, text: str, parameter: str) -> Reference:
        module, _, name = text.partition(":")
        try:
            spec = find_spec(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise UserCodeError(f"{module}: cannot be imported: {_explained(error)}") from error
            spec = None
        except Exception as error:
            raise UserCodeError(f"{module}: cannot be imported: {_explained(error)}") from error
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            must = "name a Python file and a function in it, or a module that can be imported"
            hint = "Write path/to/file.py:function, or package.module:function."
            raise InvalidParameterError(parameter, must, text, hint)
        return cls(Path(spec.origin), name, module, text)

    @cached_property
    def digest(self) -> str:
        """A digest of the whole file."""
        return _digest_of(self.file)

    def load(self, wanted: Any = Callable) -> object:  # noqa: ANN401  (a type)
        """The object of this name in the file, once it has been imported; messages list what is `wanted`."""
        module = self.imported()
        try:
            return reduce(getattr, self.name.split("."), module)
        except AttributeError:
            items = [(name, item) for name, item in vars(module).items() if not name.startswith("_")]
            known = [name for name, item in items if isinstance(item, wanted) or _derives(item, wanted)]
            hint = did_you_mean(self.name, known, f"It defines {', '.join(known) or 'none'}.")
            raise UserCodeError(f"{self.file} defines no {self.name!r}. {hint}") from None

    def imported(self) -> ModuleType:
        """The module that the file is."""
        if not self.module:
            return import_file(self.file)
        with running_user_code(self.file):
            return import_module(self.module)

    def asks_for(self, parameter: str) -> bool:
        """True for a function, or a class, with a parameter of this name."""
        found = self.load()
        return is_function(found) and parameter in inspect.signature(found).parameters

    def __str__(self) -> str:
        return self.text or f"{self.file.name}:{self.name}"


def load_instance(reference: Reference, wanted: type, parameter: str) -> Any:  # noqa: ANN401  (one of the type)
    """The object that a setting names, or one of the class that it names; refused unless it is what is wanted."""
    found: Any = reference.load(wanted)
    with running_user_code(reference.file):
        made = found() if is_function(found) else found
    if not isinstance(made, wanted):
        got, hint = f"a {type(made).__name__} from {reference}", f"Derive it from starcert.{wanted.__name__}."
        raise InvalidParameterError(parameter, f"name a {wanted.__name__}", got, hint)
    return made


def _derives(found: object, wanted: type) -> bool:
    return inspect.isclass(found) and found is not wanted and issubclass(found, wanted)


def is_function(found: object) -> TypeGuard[Callable[..., object]]:
    """True for a function or a class: something that makes a model, and is none itself."""
    return inspect.isroutine(found) or inspect.isclass(found)


def import_file(file: Path) -> ModuleType:
    """The module that a Python file is, imported once as long as it does not change; no compiled copies are left."""
    name = f"{USER_MODULE}{blake2b(f'{file} {_digest_of(file)}'.encode(), digest_size=8).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # noqa: PT018  (a path that ends in .py always has one)
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:  # comes first where the file imports others, as for a script
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
        raise InvalidParameterError(parameter, f"names an unknown home folder, {path}. Write the whole path.") from None


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
    return place_of_user_code(error, file) or str(file)


def place_of_user_code(error: BaseException, file: Path | None = None) -> str:
    """The last line of the user's own files, or of one of them, that an exception went through; "" if of none."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        own = is_user_module(frame.f_globals.get("__name__", ""))
        if own if file is None else frame.f_code.co_filename == str(file):
            place = f"{frame.f_code.co_filename}, line {line}"
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
    if not os.path.isdir(path.parent):
        return f"There is no folder {path.parent}."
    names = sorted(each.name for each in path.parent.glob("*.py"))
    return did_you_mean(path.name, names, f"{path.parent} has {', '.join(names[:5]) or 'no Python file'}.")


def useful_workers(classifier: Classifier, workers: int) -> tuple[int, str]:
    """The number of workers that can count votes, and the reason if it is only one; "" if there is none."""
    workers = min(workers, available_cores())
    if workers == 1:
        return 1, ""
    if classifier.backend != "cpu":
        return 1, "the model is on a device, which processes would have to share"
    try:
        pickle.dumps(classifier)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return 1, f"the classifier cannot be pickled ({reason}); define it at module level"
    return workers, ""


@contextmanager
def voting_workers(
    classifier: Classifier, model: Reference, workers: int, note: Callable[[str], None], sent: Sequence[object] = ()
) -> Iterator[Executor | None]:
    """At most this many worker processes, which import the user's files first; None if votes are counted in this one.

    `note` receives why there are fewer than requested. Classes of what is `sent` may be of files of the user's, too.
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
        modules = {type(each).__module__ for each in sent}
        files = [sys.modules[name].__file__ for name in modules if is_user_module(name)]
        with worker_processes(workers, kept, begin=_begin_worker, arguments=(model, files)) as executor:
            yield executor


def _begin_worker(model: Reference, files: Sequence[str]) -> None:
    harden_streams()  # the user's code may print
    try:
        for file in files:
            import_file(Path(file))
        model.imported()
    except StarcertError as error:
        raise StarcertError(f"A worker process cannot import what this one could: {error}") from error
