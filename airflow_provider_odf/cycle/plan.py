"""What must be appended to a dataset's chain so that it says what its manifest says.

A pure function from the chain's state and the manifest's events to new events. What may not change under existing
data is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.manifest.load import Manifest


def plan(state: ChainState | None, manifest: Manifest) -> tuple[model.MetadataEvent, ...]:
    """The events to append, in order; all of the manifest's own where the dataset does not exist yet (``state`` None).

    :raises InvalidInput: the manifest changes what existing data depend on.
    """
    events = manifest.snapshot.metadata
    if state is None:
        return tuple(events)
    if state.kind != manifest.snapshot.kind:
        raise InvalidInput(
            f"{manifest.place('kind')}: dataset {manifest.snapshot.name} exists as {state.kind}, "
            f"not {manifest.snapshot.kind}: a dataset never changes its kind; choose another name"
        )
    return (*_changed(state, manifest), *_disabled(state, events))


def _changed(state: ChainState, manifest: Manifest) -> Iterator[model.MetadataEvent]:
    last = {_role(event): index for index, event in enumerate(manifest.snapshot.metadata)}
    for index, event in enumerate(manifest.snapshot.metadata):
        current = _current(state, event)
        if current == event or last[_role(event)] != index:
            continue
        if state.has_data:
            _refuse_under_data(state, current, event, str(manifest.place("metadata", index)))
        yield event


def _role(event: model.MetadataEvent) -> tuple[str, str | None]:
    """Events of one role replace each other; the last one counts."""
    return event.kind, getattr(event, "source_name", None)


def _current(state: ChainState, event: model.MetadataEvent) -> model.MetadataEvent | None:
    """The event of the same role that is in force."""
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


def _refuse_under_data(
    state: ChainState, current: model.MetadataEvent | None, event: model.MetadataEvent, place: str
) -> None:
    if isinstance(event, model.SetVocab) and ddl.vocabulary(event) != state.vocab:
        raise InvalidInput(
            f"{place}: the dataset has data under the column names {', '.join(state.vocab.columns)}; "
            "names of system columns cannot change: put SetVocab back, or start a dataset of another name"
        )
    before, after = primary_key(current), primary_key(event)
    if current is not None and before != after:
        raise InvalidInput(
            f"{place}: the dataset has data merged under the key ({', '.join(before)}), not ({', '.join(after)}): "
            "put the key back, or start a dataset of another name"
        )


def primary_key(event: model.MetadataEvent | None) -> tuple[str, ...]:
    """The key columns of a source's merge strategy; none for Append and for events that are no source."""
    return tuple(getattr(getattr(event, "merge", None), "primary_key", ()))


def _disabled(state: ChainState, events: Sequence[model.MetadataEvent]) -> Iterator[model.MetadataEvent]:
    """Sources in force that the manifest no longer has."""
    if state.polling_source and not any(isinstance(e, model.SetPollingSource) for e in events):
        yield model.DisablePollingSource()
    named = {e.source_name for e in events if isinstance(e, model.AddPushSource)}
    for name in state.push_sources:
        if name not in named:
            yield model.DisablePushSource(source_name=name)
