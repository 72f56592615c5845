"""Events of a manifest that the chain does not have yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.difference import Difference, differences, is_same
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.manifest.manifest import Manifest


@dataclass(frozen=True)
class Change:
    """A block to append: its event, the event that it replaces, and the place in the manifest."""

    event: model.MetadataEvent
    before: model.MetadataEvent | None = None
    place: Place | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the block is appended with the first data of its source, see `evolution.pending`."""
        return isinstance(self.event, columns.Source) and columns.needs_data(self.event)

    @property
    def differences(self) -> list[Difference]:
        """Differences to the replaced event, property by property; none where it replaces no event."""
        if self.before is None or self.before.kind != self.event.kind:
            return []
        return differences(self.before, self.event)


def all_changes(state: ChainState | None, manifest: Manifest) -> tuple[Change, ...]:
    """Return every block to append, in order: sources in force are disabled before others take their place. All
    events of the manifest are new where the dataset does not exist yet."""
    if state is None:
        return tuple(Change(event, None, place) for event, place in _events(manifest))
    return (*_disabled(state, manifest), *edits(state, manifest))


def edits(state: ChainState, manifest: Manifest) -> Iterator[Change]:
    """Yield the events of a manifest that differ from those in force, in their order."""
    last = {_role(event): event for event in manifest.snapshot.metadata}
    for event, place in _events(manifest):
        before = current(state, event)
        if last[_role(event)] is event and not is_same(before, event):
            yield Change(event, before, place)


def _role(event: model.MetadataEvent) -> tuple[str, str | None]:
    """Return what an event is for: events of one role replace each other, the last one counts."""
    return event.kind, getattr(event, "source_name", None)


def current(state: ChainState, event: model.MetadataEvent) -> model.MetadataEvent | None:
    """Return the event of the same role that is in force, or None."""
    match event:
        case model.SetPollingSource():
            return state.polling_source
        case model.AddPushSource():
            return state.push_sources.get(event.source_name)
        case model.SetTransform():
            return state.transform
        case model.SetInfo():
            return state.info
        case model.SetLicense():
            return state.license
        case model.SetAttachments():
            return state.attachments
        case model.SetVocab():
            return state.set_vocab
        case model.SetDataSchema():
            return state.schema
        case _:
            return None


def _disabled(state: ChainState, manifest: Manifest) -> Iterator[Change]:
    """Yield the sources in force that the manifest no longer has."""
    if state.polling_source and manifest.snapshot.last(model.SetPollingSource) is None:
        yield Change(model.DisablePollingSource(), state.polling_source)
    named = {e.source_name for e in manifest.snapshot.events(model.AddPushSource)}
    for name, source in state.push_sources.items():
        if name not in named:
            yield Change(model.DisablePushSource(source_name=name), source)


def _events(manifest: Manifest) -> Iterator[tuple[model.MetadataEvent, Place]]:
    for index, event in enumerate(manifest.snapshot.metadata):
        yield event, manifest.place("metadata", index)
