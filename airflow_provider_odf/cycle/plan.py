"""What must be appended to a dataset's chain so that it says what its manifest says, or why it cannot be.

Pure functions from the chain's state and the manifest to a ``Plan``: what `odf plan` shows is what `apply` appends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import append, begin
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle import columns
from airflow_provider_odf.cycle.difference import Difference, column_text, differences, is_same
from airflow_provider_odf.errors import BlockRejected, ManifestInvalid, Place, Problem
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.push_rules import BY_KEY

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.finding import Finding
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Column

_GOES_ON_AS = {"Ledger": ("Append", *BY_KEY), **dict.fromkeys(BY_KEY, BY_KEY)}
"""Merge strategy of existing data -> others that read them rightly. A ledger has each key once, and only additions."""

_KEPT: tuple[type[model.Variant], ...] = (model.SetInfo, model.SetLicense, model.SetAttachments, model.SetVocab)
_CLEARED = {
    "SetInfo": "an empty SetInfo clears it",
    "SetAttachments": "one with `items: []` clears them",
}


@dataclass(frozen=True)
class Change:
    """A block to append: its event, the event that it takes the place of, and where the manifest says so."""

    event: model.MetadataEvent
    before: model.MetadataEvent | None = None
    place: Place | None = None

    @property
    def waits(self) -> bool:
        """Whether the block is appended with the first data of its source, see `cycle.waiting`."""
        return isinstance(self.event, columns.Source) and columns.only_data_tell(self.event)

    @property
    def differences(self) -> list[Difference]:
        """Property by property; none for an event that has none before it."""
        if self.before is None or self.before.kind != self.event.kind:
            return []
        return differences(self.before, self.event)


@dataclass(frozen=True)
class Plan:
    """What a run appends before it asks for data, or with the data where a note says so; nothing of it where there are
    ``problems``."""

    dataset: str
    is_new: bool
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def check(self) -> None:
        """:raises ManifestInvalid: something is refused; with every reason."""
        if self.problems:
            raise ManifestInvalid(self.problems)


def plan(state: ChainState | None, manifest: Manifest) -> Plan:
    """The plan for a dataset in a state, None where it does not exist yet."""
    name = manifest.snapshot.name
    if state is None:
        changes = tuple(Change(e, None, place) for e, place in _events(manifest))
        problems = (*_columns(None, manifest, changes).problems, *_rehearsed(None, manifest, changes))
        return Plan(name, True, changes, problems or _queries(manifest, changes), tuple(_waiting(changes)))
    if state.kind != manifest.snapshot.kind:
        message = (
            f"dataset {name} exists as {state.kind}, not {manifest.snapshot.kind}: a dataset never changes its kind"
        )
        return Plan(name, False, problems=(Problem(manifest.place("kind"), message, "choose another name"),))
    changes = (*_disabled(state, manifest), *changed(state, manifest))
    looked = _columns(state, manifest, changes)
    problems = tuple(sorted({*_under_data(state, manifest, changes), *looked.problems}))
    problems = problems or tuple(_rehearsed(state, manifest, changes)) or _queries(manifest, changes)
    return Plan(name, False, changes, problems, (*looked.notes, *_waiting(changes), *_kept(state, manifest)))


def _events(manifest: Manifest) -> Iterator[tuple[model.MetadataEvent, Place]]:
    for index, event in enumerate(manifest.snapshot.metadata):
        yield event, manifest.place("metadata", index)


# --- what is appended -----------------------------------------------------------------------------------------------


def changed(state: ChainState, manifest: Manifest) -> Iterator[Change]:
    """Return the events of a manifest that say something new, in their order."""
    last = {_role(event): event for event in manifest.snapshot.metadata}
    for event, place in _events(manifest):
        before = current(state, event)
        if last[_role(event)] is event and not is_same(before, event):
            yield Change(event, before, place)


def _role(event: model.MetadataEvent) -> tuple[str, str | None]:
    """Events of one role replace each other; the last one counts."""
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
    """Sources in force that the manifest no longer has; before others take their place."""
    if state.polling_source and manifest.snapshot.last(model.SetPollingSource) is None:
        yield Change(model.DisablePollingSource(), state.polling_source)
    named = {e.source_name for e in manifest.snapshot.events(model.AddPushSource)}
    for name, source in state.push_sources.items():
        if name not in named:
            yield Change(model.DisablePushSource(source_name=name), source)


def _waiting(changes: Sequence[Change]) -> Iterator[str]:
    """Sources that are appended later than the rest."""
    for change in changes:
        if change.waits:
            yield f"{change.event.kind} is appended with its first input: only data show whether its query is valid"


def _kept(state: ChainState, manifest: Manifest) -> Iterator[str]:
    """What the manifest no longer says, but no block takes back."""
    for event, current in zip(_KEPT, (state.info, state.license, state.attachments, state.set_vocab), strict=True):
        if current is not None and manifest.snapshot.last(event) is None and not is_same(None, current):
            clear = _CLEARED.get(current.kind)
            yield f"{current.kind} is no longer in the manifest and stays in force" + (f"; {clear}" if clear else "")


# --- what is refused ------------------------------------------------------------------------------------------------


def _under_data(state: ChainState, manifest: Manifest, changes: Sequence[Change]) -> Iterator[Problem]:
    """Changes of what the records that are there depend on."""
    for change in changes:
        event, index = change.event, _index(manifest, change)
        if isinstance(event, model.SetVocab) and state.schema is not None and ddl.vocabulary(event) != state.vocab:
            yield Problem(
                manifest.place("metadata", index),
                f"the dataset has columns under the names {', '.join(state.vocab.columns)}; "
                "names of system columns cannot change",
                "put SetVocab back, or start a dataset of another name",
            )
        if isinstance(event, model.SetPollingSource | model.AddPushSource) and state.has_data:
            before = change.before.merge if isinstance(change.before, type(event)) else state.merge
            yield from _merge(before, event.merge, manifest, index)
        if isinstance(event, model.SetPollingSource) and state.polled is not None:
            yield from _order(state.polled_fetch, event.fetch, manifest, index)


def _merge(
    before: model.MergeStrategy | None, after: model.MergeStrategy, manifest: Manifest, index: int
) -> Iterator[Problem]:
    """Whether another merge strategy can go on with records that the one before has merged."""
    if before is None:
        return
    old, new = primary_key(before), primary_key(after)
    other = "or start a dataset of another name"
    if before.kind != after.kind and after.kind not in _GOES_ON_AS.get(before.kind, ()):
        message = f"the dataset has data merged by {before.kind}, which {after.kind} cannot go on with"
        yield Problem(manifest.place("metadata", index, "merge"), message, f"put {before.kind} back, {other}")
    elif new and {k.lower() for k in old} != {k.lower() for k in new}:
        message = f"the dataset has data merged under the key ({', '.join(old)}), not ({', '.join(new)})"
        place = manifest.place("metadata", index, "merge", "primary_key")
        yield Problem(place, message, f"put the key back, {other}")


def _order(before: model.FetchStep | None, after: model.FetchStep, manifest: Manifest, index: int) -> Iterator[Problem]:
    """Whether the place in a glob up to which files were taken means anything in its new order."""
    if not isinstance(before, model.FetchStepFilesGlob) or not isinstance(after, model.FetchStepFilesGlob):
        return
    old, new = (fetch.order or "ByName" for fetch in (before, after))
    if old != new:
        message = f"files were taken in the order {old}; in the order {new} all of them would be taken again"
        place = manifest.place("metadata", index, "fetch", "order")
        yield Problem(place, message, f"put {old} back, or start a dataset of another name")


def primary_key(merge: model.MergeStrategy) -> tuple[str, ...]:
    """The key columns of a merge strategy; none for Append."""
    return tuple(getattr(merge, "primary_key", ()))


def _index(manifest: Manifest, change: Change) -> int:
    return next((i for i, event in enumerate(manifest.snapshot.metadata) if event is change.event), 0)


@dataclass(frozen=True)
class _Looked:
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def _columns(state: ChainState | None, manifest: Manifest, changes: Sequence[Change]) -> _Looked:
    """Declared columns beside those of the dataset."""
    snapshot = manifest.snapshot
    final = snapshot.last(model.SetDataSchema)
    schema = final or (state.schema if state else None)
    vocab = ddl.vocabulary(snapshot.last(model.SetVocab) or (state.set_vocab if state else None))
    if schema is None:
        return _Looked()
    changed = [change.event for change in changes]
    found: list[tuple[int, Finding]] = []
    added: dict[str, Column] = {}
    for index, event in enumerate(snapshot.metadata):
        if event is final and event in changed:
            found += ((index, f) for f in columns.system_columns(final, vocab))
        elif isinstance(event, columns.Source) and (event in changed or final in changed):
            compared = columns.compare(event, schema, vocab, is_final=final is not None)
            found += ((index, f) for f in compared.findings)
            added |= {column.name.lower(): column for column in compared.added}
    for index, event in enumerate(snapshot.metadata):
        if isinstance(event, columns.Source) and added:
            found += ((index, f) for f in columns.lacking(event, tuple(added.values()), vocab))
    texts = ", ".join(column_text(column).strip() for column in added.values())
    return _Looked(
        tuple(Problem(manifest.place("metadata", index, *f.path), f.message, f.fix) for index, f in found),
        (f"new columns come with the next data: {texts}",) if added else (),
    )


def _queries(manifest: Manifest, changes: Sequence[Change]) -> tuple[Problem, ...]:
    """What is wrong with the SQL of sources that change; without a change, none of it is looked at again."""
    if not any(getattr(change.event, "preprocess", None) for change in changes):
        return ()
    # Reading SQL takes a third of a second to import.
    from airflow_provider_odf.dialect.check import check

    return tuple(check([manifest]))


def _rehearsed(state: ChainState | None, manifest: Manifest, changes: Sequence[Change]) -> Iterator[Problem]:
    """The first change that breaks a rule of the chain, found before any block is written."""
    if manifest.snapshot.kind == "Derivative":
        return  # its inputs become ids only when it runs
    time = state.system_time if state else Instant(0)
    if state is None:
        seed = model.Seed(dataset_id="did:odf:fed01" + "0" * 64, dataset_kind=manifest.snapshot.kind)
        state = begin("", model.MetadataBlock(system_time=time, sequence_number=0, event=seed))
    for change in changes:
        block = model.MetadataBlock.model_construct(
            system_time=time, prev_block_hash=state.head, sequence_number=state.sequence_number + 1, event=change.event
        )
        try:
            state = append(state, state.head, block)
        except BlockRejected as e:
            yield Problem(change.place or manifest.place("metadata"), str(e))
            return
