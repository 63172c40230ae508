"""A certification from its settings to its output folder: load, try, certify by a method, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.archive import BLIND, write
from starcert.objects.noise import Noise
from starcert.report.blocks import Report
from starcert.report.document import write_page
from starcert.runs.blind_run import blind_row, with_fallback
from starcert.runs.folder import OutputFolder, RunRecord, plain_value
from starcert.runs.inputs import RunInputs, TriedModel, describe_rule, read_inputs, try_model
from starcert.runs.models import other_noise
from starcert.runs.run_file import CERTIFICATES, REPORT, RESULTS
from starcert.runs.run_methods import RunMethod, method_of
from starcert.runs.settings import SETTINGS, RunSettings
from starcert.runs.user_code import voting_workers
from starcert.system.errors import StarcertError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

Say = Callable[[str], None]  # receives a sentence


@dataclass(frozen=True)
class FinishedRun:
    """The result of a run."""

    archive: Any  # an `Archive`, `ExactArchive` or `IntervalArchive`, as the method makes it
    found: Report  # what it shows
    folder: Path  # the output folder

    @property
    def report(self) -> Path:
        """The page to show."""
        return self.folder / REPORT


def certify_run(
    settings: RunSettings,
    *,
    expected: Mapping[str, str] | None = None,
    note: Say = print,
    before: Say | None = None,
) -> FinishedRun:
    """Certifies the graphs of a run and writes its output folder.

    A run that was interrupted goes on where it was: its votes are kept.

    Args:
        settings: what to certify, and how.
        expected: digests of what a repeated run was made from; others are refused.
        note: receives what a user may want to know on the way.
        before: receives, sentence by sentence, what is known before the first vote; None: not reported.
    """
    place = OutputFolder(settings.out)
    with place.held():
        inputs = read_inputs(settings)
        ready = tried_model(settings, inputs, [settings.noise], note)
        method = _checked_method(ready)
        check_expected(ready.digests, expected or {})
        record = RunRecord(settings, ready.digests)
        place.begin(record)
        about = _provenance(ready, method)
        if method.blind:
            about[BLIND] = blind_row(inputs, ready).to_json()
        if before is not None and not place.finished:
            for sentence in method.forecast(ready, dry=False):
                before(sentence)
        with voting_workers(ready.base, settings.model, settings.workers, note, ready.sent) as executor:
            archive = method.certify(ready, place, executor, about)
        place.write_run_file(record)
        write(place.kept / CERTIFICATES, archive)
        write_whole(place.kept / RESULTS, csv_lines(method.rows(archive, ready)))
        found = method.report(archive, ready, f"{method.title}: {settings.data_title}")
        write_page(place.kept / REPORT, found)
        place.finish()
    return FinishedRun(archive, found, place.final)


def forecast(settings: RunSettings) -> Iterator[str]:
    """The forecast of a run before it begins, sentence by sentence; nothing is written anywhere."""
    inputs = read_inputs(settings)
    yield from inputs.notes
    ready = try_model(settings, inputs)
    yield from other_noise(settings.weights, [settings.noise])
    yield from _checked_method(ready).forecast(ready, dry=True)


def _checked_method(ready: TriedModel) -> RunMethod:
    """The method that the settings ask for, which accepts them."""
    method = method_of(ready)
    method.check(ready)
    return method


def tried_model(settings: RunSettings, inputs: RunInputs, noises: Sequence[Noise], note: Say) -> TriedModel:
    """The model of a run, tried on its graphs; notes what there is to know about data and weights."""
    for sentence in inputs.notes:
        note(sentence)
    ready = with_fallback(inputs, try_model(settings, inputs))
    for sentence in other_noise(settings.weights, noises):
        note(sentence)
    return ready


def check_expected(digests: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuses to repeat a run from something else than it was made from."""
    changed = [name for name, content in expected.items() if digests.get(name) != content]
    if changed:
        raise StarcertError(
            f"Changed since this run was recorded: {', '.join(changed)}. Restore it, or delete [expected] in the run "
            "file to certify what is there now."
        )


def _provenance(ready: TriedModel, method: RunMethod) -> dict[str, object]:
    """The provenance of the run's certificates: whatever their content depends on, but no place of any file."""
    settings = ready.settings
    word, always = ready.problem.kind.word, {"limit", "nodes"} if settings.targets == "nodes" else {"limit"}
    used: dict[str, object] = {
        "noise": settings.noise.to_dict(),
        "own_samples": settings.max_own_votes if settings.evidence else None,
        "max_attacks": settings.max_attacks if settings.exact else None,
    }
    beside: dict[str, dict[str, object]] = {
        "model": {"classifier": ready.digests["classifier"]},
        "limit": {"objects": None if word == "graph" else f"{word}s"},
        "regions": {"regions": describe_rule(ready.rule)},
        "seed": {"chunk_size": ready.base.chunk_size, "backend": ready.base.backend},
    }
    found: dict[str, object] = {}
    for key, each in SETTINGS.items():
        if each.recorded:
            value = plain_value(getattr(settings, key), lambda file: file.name)
            found[key] = used.get(key, None if each.implied and value == each.default else value)
        found |= beside.get(key, {})
    found["digests"] = {name: content for name, content in ready.digests.items() if name != "classifier"}
    said = {key: each for key, each in found.items() if each is not None or key in always}
    return {key: each for key, each in said.items() if key not in method.unused}
