"""Ask a source for what is new: FetchStep and PrepStep of the specification, from source state to files.

A poll never records a state of other bytes than those it read, and its files do not change afterwards: they are
downloads, or copies of local files. What was fetched over a network is kept until it is merged (see `savepoint`).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.seal import seal
from airflow_provider_odf.source import savepoint, states
from airflow_provider_odf.source.context import Context
from airflow_provider_odf.source.fetch import Fetch, fetch_of
from airflow_provider_odf.source.files import SourceFile, SourceFiles
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.prepare import prepare as prepared

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import FetchStep, PrepStep, SourceState

__all__ = ["Options", "SourceFile", "SourceFiles", "poll"]


def poll(
    step: FetchStep,
    prepare: Sequence[PrepStep],
    *,
    base: Path,
    state: SourceState | None,
    system_time: Instant,
    work: Path,
    dataset_id: str | None,
    environment: Mapping[str, str],
    progress: Callable[[str], None],
    warn: Callable[[str], None] | None = None,
    past_states: Callable[[], Collection[str]] | None = None,
    allows: Callable[[str], bool] | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
) -> SourceFiles | None:
    """Return the new data of the source after ``state`` as files in ``work``, or None if there are none.

    Paths are relative to ``base``. ``work`` is one dataset's own directory, the same for each of its polls. The files
    are sealed for the dataset of ``dataset_id``; without one they are neither sealed nor kept for retries.

    :param environment: variables for templates.
    :param past_states: returns the values of all states of the source in the chain, each as often as it has them. It is
        called only where files of a glob may have come too late.
    :param progress: receives messages about long transfers.
    :param warn: receives warnings when there are no new data that carry them; without it ``progress`` receives all.
    :param allows: returns whether a redirect may lead to a URL, for sources from an untrusted author.
    :raises InvalidInput: the step itself is wrong: a template, a pattern, a program that does not exist.
    :raises SourceError: the source is not there, or is not what the step says.
    :raises SourceUnavailable: the source cannot be had now.
    :raises StorageError: the work area cannot be written.
    """
    if isinstance(step, FetchStepUrl) and step.cache is not None and state is not None:
        return None
    variables = Environment(environment)
    with _reported(variables, work), savepoint.polling(work) as directory:
        context = Context(
            base=base,
            state=state,
            system_time=system_time,
            directory=directory,
            environment=variables,
            tell=lambda message: progress(variables.redact(message)),
            options=options,
            unpacks_gzip=any(isinstance(s, PrepStepDecompress) and s.format == "Gzip" for s in prepare[:1]),
            allows=allows,
        )
        polled = _Poll(step, prepare, context, work, dataset_id, fetch_of(step, context, past_states)).run()
        polled = dataclasses.replace(polled, warnings=tuple(variables.redact(warning) for warning in polled.warnings))
        for warning in polled.warnings:
            if warn is None:
                context.tell(f"warning: {warning}")
            elif not polled.files:
                warn(warning)
        if polled.files:
            return polled
        shutil.rmtree(directory, ignore_errors=True)
        return None


class _Poll:
    """One poll: asks the source, falls back on what was kept, prepares what came."""

    def __init__(
        self,
        step: FetchStep,
        prepare: Sequence[PrepStep],
        context: Context,
        work: Path,
        dataset_id: str | None,
        fetch: Fetch,
    ) -> None:
        self.prepare, self.context, self.work, self.fetch = prepare, context, work, fetch
        self.dataset_id = dataset_id
        self.key = savepoint.key(step, prepare, context.state, fetch.filled)

    def run(self) -> SourceFiles:
        saved = self._saved()
        if saved is None:
            return self._fetched(self.context.state)
        if saved.state is None or saved.state.kind not in self.fetch.askable:
            is_young = saved.age < self.context.options.savepoint_age
            return self._kept(saved) if is_young else self._fetched(self.context.state)
        return self._newest(saved, saved.state)

    def _saved(self) -> savepoint.Savepoint | None:
        if self.dataset_id is None or not self.fetch.is_kept:
            return None
        return savepoint.load(self.work, self.key, self.dataset_id)

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
        if files and self.dataset_id is not None:
            paths = [path for file in files for path in file.paths]
            seal(polled.directory, paths, dataset=self.dataset_id)
            if self.fetch.is_kept:
                savepoint.keep(self.work, self.key, polled, self.dataset_id)
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
