"""Poll the source of a dataset for new input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import rejected
from airflow_provider_odf.cycle.messages import Candidate, Input, InputFile, SourceState, UpToDate
from airflow_provider_odf.cycle.sources import POLLING_SOURCE, source_state
from airflow_provider_odf.errors import InvalidInput, SourceError, StillRejected
from airflow_provider_odf.evolution import apply
from airflow_provider_odf.evolution.apply import not_before
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.template import Environment
from airflow_provider_odf.source import fetchers
from airflow_provider_odf.source import poll as source
from airflow_provider_odf.source.fetching import Context

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Limits
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.source.fetching import SourceFile, SourceFiles


def poll(cycle: Cycle) -> Input | UpToDate:
    """Return new input of the polling source, fetched and prepared, or why there is none. The manifest is applied
    first.

    The chain records how far the source was read: in the newest AddData, or in the newest rejected candidate. So
    rejected data is not merged again until the source, the manifest, the contract or ``odf.yaml`` changes.

    :raises StillRejected: they have not changed since the newest input was rejected.
    :raises SourceError: the source cannot be reached, or is not what the manifest says.
    :raises CommitConflict: another writer published first; try again.
    """
    if cycle.manifest is None:
        raise InvalidInput(f"{cycle.dataset}: a poll needs the manifest of the dataset")
    contract, limits = cycle.contract, cycle.limits
    applied: list[str] = []
    state = cycle.apply_manifest(applied.append)
    result = _poll(cycle, cycle.manifest, state, (state.head, contract.digest if contract else None, limits))
    if isinstance(result, UpToDate) and applied:
        return replace(result, reason=f"{result.reason} (manifest applied: {', '.join(applied)})")
    return result


def _poll(
    cycle: Cycle, manifest: Manifest, state: ChainState, conditions: tuple[str, str | None, Limits]
) -> Input | UpToDate:
    new = [s for s in apply.pending_sources(state, manifest) if isinstance(s, model.SetPollingSource)]
    polling = new[0] if new else state.polling_source
    if polling is None:
        return UpToDate("no polling source")
    dataset = cycle.store.dataset(cycle.dataset)
    rejection, discarded = (None, {}) if new else rejected.standing(dataset, *conditions)
    polled = _PolledSource(cycle, manifest, dataset, state.dataset_id, polling, discarded)
    published = _Position(source_state(state, polling.fetch), state.head)
    if rejection is not None:
        files = polled.after_rejection(rejection, published)
        if files is None:
            return _unchanged(dataset, rejection, polled)
    else:
        files = polled.after(published)
    if files is None:
        return UpToDate(notices=(*polled.notices, apply.PENDING) if new else polled.notices)
    base = apply.draft_sources(dataset, state, new, not_before(state, cycle.system_time), cycle.manifest_version)
    return Input(
        str(dataset.alias),
        base.head,
        str(not_before(base, cycle.system_time)),
        tuple(map(_input_file, files.files)),
        head=state.head if base.head != state.head else None,
        directory=files.directory.name,
        has_more=files.has_more,
        warnings=tuple(files.warnings),
    )


@dataclass(frozen=True)
class _Position:
    """How far a source was read: its state, and the block that records it."""

    state: model.SourceState | None
    block_hash: str


@dataclass(frozen=True)
class _PolledSource:
    """The polling source of one cycle. ``discarded`` are stamps by path of files that are not fetched."""

    cycle: Cycle
    manifest: Manifest
    dataset: Dataset
    dataset_id: str
    polling: model.SetPollingSource
    discarded: Mapping[str, str]
    warnings: list[str] = field(default_factory=list)

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings of polls without new input."""
        return tuple(dict.fromkeys(self.warnings))

    def after(self, position: _Position) -> SourceFiles | None:
        """Fetch what the source has after a position.

        :raises SourceError: with its place in the manifest where a value there does not fit the source.
        """
        cycle = self.cycle
        try:
            return source.poll(
                self.polling.fetch,
                self.polling.prepare or (),
                Context(
                    base=self.manifest.file.parent,
                    state=position.state,
                    system_time=cycle.system_time,
                    directory=cycle.store.work(self.dataset.alias),
                    environment=Environment(cycle.environment),
                    tell=cycle.progress,
                    options=cycle.options,
                    warn=self.warnings.append,
                    dataset_id=self.dataset_id,
                    discarded=self.discarded,
                    past_states=lambda: self._recorded(position.block_hash),
                ),
            )
        except SourceError as e:
            if not e.at:
                raise
            raise type(e)(f"{self._place(e.at)}: {e}") from None

    def after_rejection(self, rejection: rejected.Rejection, published: _Position) -> SourceFiles | None:
        """Fetch what the source has after a rejected candidate. Rejected files of a glob are fetched again once one of
        them has changed or there is a new one; discarded files, once they have changed themselves. New content of a URL
        replaces the rejected content."""
        cycle = self.cycle
        stamps = fetchers.stamps(
            self.polling.fetch,
            self.manifest.file.parent,
            published.state,
            cycle.options,
            system_time=cycle.system_time,
            discarded=self.discarded,
        )
        if stamps not in (None, rejection.record.stamps):
            return self.after(published)
        return self.after(_Position(rejection.source_state, rejection.block_hash))

    def _place(self, at: tuple[str, ...]) -> Place:
        """Return the place of a value of the fetch step in the manifest."""
        events = self.manifest.snapshot.metadata
        index = max(i for i, event in enumerate(events) if isinstance(event, model.SetPollingSource))
        return self.manifest.place("metadata", index, "fetch", *at)

    def _recorded(self, block_hash: str) -> list[str]:
        """Return the values of all states of the source that a chain has recorded, with repetitions."""
        events = (block.event for _, block in self.dataset.walk(block_hash))
        states = (event.new_source_state for event in events if isinstance(event, model.AddData))
        return [state.value for state in states if state is not None and state.source_name == POLLING_SOURCE]


def _unchanged(dataset: Dataset, rejection: rejected.Rejection, polled: _PolledSource) -> UpToDate:
    """Return the result of a poll that finds only rejected input.

    :raises StillRejected: nobody has decided on it, and `Options.still_rejected` is ``fail``.
    """
    if rejection.record.is_discarded:
        return UpToDate(f"up to date: the newest input was discarded ({rejection.ref})", polled.notices)
    message = f"the newest input of {dataset.alias} is still rejected; to inspect it: {rejected.hint(dataset)}"
    if polled.cycle.options.still_rejected == "skip":
        return UpToDate(message, polled.notices)
    candidate = Candidate(
        str(dataset.alias), rejection.base, rejection.block_hash, rejection.ref, records=rejection.records
    )
    raise StillRejected(message, candidate, polled.notices)


def _input_file(file: SourceFile) -> InputFile:
    return InputFile(
        paths=tuple(map(str, file.paths)),
        event_time=str(file.event_time),
        label=file.label,
        state=SourceState(file.state.kind, file.state.value) if file.state else None,
        stamp=file.stamp,
    )
