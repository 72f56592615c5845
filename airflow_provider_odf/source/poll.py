"""Poll a source for new data: FetchStep and PrepStep of the specification, from source state to files.

A poll records the state of exactly the bytes that it read. Its files are downloads or copies, and do not change
afterwards. Downloads are kept until they are merged (see `savepoint`).
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import redaction
from airflow_provider_odf.error_conversion import as_odf_error, storage_error
from airflow_provider_odf.errors import (
    InvalidInput,
    OdfError,
    SourceError,
    SourceUnavailable,
    StorageError,
    UnexpectedError,
)
from airflow_provider_odf.manifest.model import PrepStepDecompress
from airflow_provider_odf.seal import seal
from airflow_provider_odf.source import decompress, savepoint, source_state, work_area
from airflow_provider_odf.source.fetchers import fetch_of
from airflow_provider_odf.source.program import Program

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStep, PrepStep, PrepStepPipe, SourceState
    from airflow_provider_odf.manifest.template import Environment
    from airflow_provider_odf.source.fetching import Context, SourceFile, SourceFiles


def poll(step: FetchStep, prepare: Sequence[PrepStep], context: Context) -> SourceFiles | None:
    """Return the new data of a source as files in the context's directory, or None if there are none.

    :raises InvalidInput: a step is not valid (a template, a pattern, a program that does not exist) or forbidden here.
    :raises SourceError: the source does not exist, or does not fit a step; or a program fails or exceeds a limit.
    :raises SourceUnavailable: the source is unavailable now; retry later.
    :raises StorageError: the work area cannot be written.
    """
    work, redact = context.directory, context.environment.redact
    with _redacted_errors(context.environment, work), work_area.polling(work) as directory:
        steps = dataclasses.replace(
            context,
            directory=directory,
            tell=lambda message: context.tell(redact(message)),
            unpacks_gzip=any(isinstance(s, PrepStepDecompress) and s.format == "Gzip" for s in prepare[:1]),
        )
        result = _Poll(step, prepare, steps, work).run()
        result = dataclasses.replace(result, warnings=tuple(map(redact, result.warnings)))
        for warning in result.warnings:
            if context.warn is None:
                context.tell(f"warning: {warning}")
            elif not result.files:
                context.warn(warning)
        if result.files:
            return result
        shutil.rmtree(directory, ignore_errors=True)
        return None


class _Poll:
    """One poll: fetch from the source or from a savepoint, and prepare the files."""

    def __init__(self, step: FetchStep, prepare: Sequence[PrepStep], context: Context, work: Path) -> None:
        self.prepare, self.context, self.work = prepare, context, work
        self.fetch = fetch_of(step, context)
        self.key = savepoint.key(step, prepare, context.state, self.fetch.texts)

    def run(self) -> SourceFiles:
        saved = self._load()
        if saved is None:
            return self._fetch(self.context.state)
        if saved.state is None or saved.state.kind not in self.fetch.comparable_states:
            is_young = saved.age < self.context.options.savepoint_age
            return self._reuse(saved) if is_young else self._fetch(self.context.state)
        return self._newest(saved, saved.state)

    def _load(self) -> savepoint.Savepoint | None:
        dataset = self.context.dataset_id
        if dataset is None or not self.fetch.has_savepoint:
            return None
        return savepoint.load(self.work, self.key, dataset)

    def _newest(self, saved: savepoint.Savepoint, state: SourceState) -> SourceFiles:
        """Return the savepoint's files, or newer ones if the source has any."""
        try:
            result = self._fetch(state)
        except SourceUnavailable as e:
            return self._reuse(saved, f"{e}; using the data fetched {saved.age:.0f} s ago")
        if not result.files:
            return self._reuse(saved)
        is_back = source_state.is_same(result.files[-1].state, self.context.state)
        return dataclasses.replace(result, files=()) if is_back else result

    def _reuse(self, saved: savepoint.Savepoint, *warnings: str) -> SourceFiles:
        self.context.tell(f"{saved.result.files[0].label}: reusing the data that an earlier attempt fetched")
        return savepoint.take(saved, self.context.directory, warnings) or self._fetch(self.context.state)

    def _fetch(self, state: SourceState | None) -> SourceFiles:
        batch = self.fetch.run(dataclasses.replace(self.context, state=state))
        files = tuple(_prepared(file, self.prepare, self.context) for file in batch.files)
        result, dataset = dataclasses.replace(batch, files=files), self.context.dataset_id
        if files and dataset is not None:
            seal(result.directory, [path for file in files for path in file.paths], dataset=dataset)
            if self.fetch.has_savepoint:
                savepoint.keep(self.work, self.key, result, dataset)
        return result


@contextmanager
def _redacted_errors(environment: Environment, work: Path) -> Iterator[None]:
    """Redact errors. Their causes may contain secrets too, and are dropped."""
    try:
        yield
    except SourceError as e:
        kind = SourceUnavailable if isinstance(e, SourceUnavailable) else SourceError
        raise kind(environment.redact(str(e)), e.at) from None
    except OdfError as e:
        kinds = (InvalidInput, StorageError)
        other = next((kind for kind in kinds if isinstance(e, kind)), OdfError)
        raise other(environment.redact(str(e))) from None
    except OSError as e:
        if e.filename and not Path(os.fsdecode(e.filename)).is_relative_to(work):
            raise StorageError(environment.redact(str(storage_error(e)))) from None
        message = f"work area {work}: {e.strerror or e}: {e.filename or ''}".rstrip(": ")
        raise StorageError(environment.redact(f"{message} (free space there, or set another work area)")) from None
    except Exception as e:
        raise UnexpectedError(environment.redact(str(as_odf_error(e)))) from None


def _prepared(file: SourceFile, steps: Sequence[PrepStep], context: Context) -> SourceFile:
    """Return the input after all steps; intermediate files are deleted."""
    for index, step in enumerate(steps):
        made = [new for path in file.paths for new in _apply(step, path, file.label, index, context)]
        for path in file.paths:
            path.unlink()
        file = dataclasses.replace(file, paths=tuple(made))
    return file


def _apply(step: PrepStep, path: Path, label: str, index: int, context: Context) -> tuple[Path, ...]:
    target = context.directory / f"{path.name}-{index}"
    if not isinstance(step, PrepStepDecompress):
        _pipe(step, path, target, label, context)
    elif step.format == "Zip":
        return decompress.unzip(path, target, step.sub_path, label, context.options, context.tell)
    else:
        decompress.gunzip(path, target, label, context.options, context.tell)
    return (target,)


def _pipe(step: PrepStepPipe, source: Path, target: Path, label: str, context: Context) -> None:
    """Run a program without a shell in the manifest's folder, from a file to ``target``."""
    context.options.check_allowed(step.kind, f"{label}: prepare step")
    program = Program(step.command, label, context.base, context.options)
    code = program.run(source, target, "pipe_timeout")
    if code:
        # The program inherits the worker's environment and may print secrets that no template uses.
        context.environment.hide(*redaction.secrets_of(os.environ))
        raise SourceError(f"{label}: {program.failure(code, context.environment.redact)}")
