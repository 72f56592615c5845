"""Ask a source for what is new: FetchStep and PrepStep of the specification, from source state to files.

A poll never records a state of other bytes than those it read, and its files do not change afterwards: they are
downloads, or copies of local files. What was fetched over a network is kept until it is merged (see `savepoint`).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import (
    InvalidInput,
    OdfError,
    SourceError,
    SourceUnavailable,
    StorageError,
    UnexpectedError,
)
from airflow_provider_odf.failures import as_odf_error
from airflow_provider_odf.manifest.model import FetchStepUrl, PrepStepDecompress
from airflow_provider_odf.seal import seal
from airflow_provider_odf.source import savepoint, states
from airflow_provider_odf.source.fetch import fetch_of
from airflow_provider_odf.source.files import SourceFiles
from airflow_provider_odf.source.prepare import prepare as prepared

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStep, PrepStep, SourceState
    from airflow_provider_odf.manifest.template import Environment
    from airflow_provider_odf.source.context import Context


def poll(step: FetchStep, prepare: Sequence[PrepStep], context: Context) -> SourceFiles | None:
    """Return the new data of a source as files in the context's directory, or None if there are none.

    :raises InvalidInput: the step itself is wrong: a template, a pattern, a program that does not exist.
    :raises SourceError: the source is missing, or differs from what the step says.
    :raises SourceUnavailable: the source cannot be reached now.
    :raises StorageError: the work area cannot be written.
    """
    if isinstance(step, FetchStepUrl) and step.cache is not None and context.state is not None:
        return None
    work, redact = context.directory, context.environment.redact
    with _reported(context.environment, work), savepoint.polling(work) as directory:
        steps = dataclasses.replace(
            context,
            directory=directory,
            tell=lambda message: context.tell(redact(message)),
            unpacks_gzip=any(isinstance(s, PrepStepDecompress) and s.format == "Gzip" for s in prepare[:1]),
        )
        polled = _Poll(step, prepare, steps, work).run()
        polled = dataclasses.replace(polled, warnings=tuple(map(redact, polled.warnings)))
        for warning in polled.warnings:
            if context.warn is None:
                context.tell(f"warning: {warning}")
            elif not polled.files:
                context.warn(warning)
        if polled.files:
            return polled
        shutil.rmtree(directory, ignore_errors=True)
        return None


class _Poll:
    """One poll: asks the source, falls back on a savepoint, prepares the files."""

    def __init__(self, step: FetchStep, prepare: Sequence[PrepStep], context: Context, work: Path) -> None:
        self.prepare, self.context, self.work = prepare, context, work
        self.fetch = fetch_of(step, context)
        self.key = savepoint.key(step, prepare, context.state, self.fetch.filled)

    def run(self) -> SourceFiles:
        saved = self._saved()
        if saved is None:
            return self._fetched(self.context.state)
        if saved.state is None or saved.state.kind not in self.fetch.askable:
            is_young = saved.age < self.context.options.savepoint_age
            return self._kept(saved) if is_young else self._fetched(self.context.state)
        return self._newest(saved, saved.state)

    def _saved(self) -> savepoint.Savepoint | None:
        dataset = self.context.dataset_id
        if dataset is None or not self.fetch.is_kept:
            return None
        return savepoint.load(self.work, self.key, dataset)

    def _newest(self, saved: savepoint.Savepoint, state: SourceState) -> SourceFiles:
        """What is kept, unless the source says that it has something else by now."""
        try:
            polled = self._fetched(state)
        except SourceUnavailable as e:
            return self._kept(saved, f"{e}; going on with what was fetched {saved.age:.0f} s ago")
        if not polled.files:
            return self._kept(saved)
        is_back = states.is_same(polled.files[-1].state, self.context.state)
        return dataclasses.replace(polled, files=()) if is_back else polled

    def _kept(self, saved: savepoint.Savepoint, *warnings: str) -> SourceFiles:
        self.context.tell(f"{saved.polled.files[0].label}: was fetched before and is still current, not fetched again")
        return savepoint.take(saved, self.context.directory, warnings) or self._fetched(self.context.state)

    def _fetched(self, state: SourceState | None) -> SourceFiles:
        batch = self.fetch.run(dataclasses.replace(self.context, state=state))
        files = tuple(prepared(file, self.prepare, self.context) for file in batch.files)
        polled = SourceFiles(files, self.context.directory, batch.warnings, batch.late, batch.has_more)
        dataset = self.context.dataset_id
        if files and dataset is not None:
            seal(polled.directory, [path for file in files for path in file.paths], dataset=dataset)
            if self.fetch.is_kept:
                savepoint.keep(self.work, self.key, polled, dataset)
        return polled


@contextmanager
def _reported(environment: Environment, work: Path) -> Iterator[None]:
    """Errors without secrets, and without the causes that may hold them."""
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
        message = f"work area {work}: {e.strerror or e}: {e.filename or ''}".rstrip(": ")
        raise StorageError(environment.redact(f"{message} (free space there, or set another work area)")) from None
    except Exception as e:
        raise UnexpectedError(environment.redact(str(as_odf_error(e)))) from None
