"""The blocks that a manifest appends to a dataset's chain, or why its records, columns or rules forbid that.

Pure functions from the chain's state and the manifest to a ``Plan``: what `odf plan` shows is what `apply` appends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import append, begin
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import BlockRejected, ManifestInvalid, Problem
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.evolution.columns import column_text
from airflow_provider_odf.evolution.difference import Change, all_changes, is_same, persistent
from airflow_provider_odf.evolution.inputs import in_positions
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, fetch_kinds, model
from airflow_provider_odf.merge_strategies import can_follow
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.findings import Finding
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Column

_CLEARED = {
    "SetInfo": "an empty SetInfo clears it",
    "SetAttachments": "a SetAttachments with `items: []` removes the attachments",
}


@dataclass(frozen=True)
class Plan:
    """Blocks that a run appends before it polls, or with the data if a note says so. With ``problems`` it appends
    nothing."""

    dataset: str
    is_new: bool
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise all problems at once.

        :raises ManifestInvalid: there are problems.
        """
        if self.problems:
            raise ManifestInvalid(self.problems)


def plan(state: ChainState | None, manifest: Manifest) -> Plan:
    """Return the plan for a dataset in a state, None where it does not exist yet."""
    name = manifest.snapshot.name
    if state is not None and state.kind != manifest.snapshot.kind:
        message = (
            f"dataset {name} exists as {state.kind}, not {manifest.snapshot.kind}: a dataset never changes its kind"
        )
        return Plan(name, False, problems=(Problem(manifest.place("kind"), message, "choose another name"),))
    if state is not None:
        manifest = in_positions(manifest, state)
    changes = all_changes(state, manifest)
    columns_problems, columns_notes = _declared_columns(state, manifest, changes)
    problems = tuple(sorted({*_records(state, manifest, changes), *columns_problems}))
    problems = problems or tuple(_chain_rules(state, manifest, changes)) or _queries(manifest, changes)
    notes = (*columns_notes, *_pending(changes), *_leftovers(state, manifest))
    return Plan(name, state is None, changes, problems, notes)


def _pending(changes: Sequence[Change]) -> Iterator[str]:
    """Yield notes on sources that are appended later."""
    for change in changes:
        if change.is_pending:
            yield f"{change.event.kind} will take effect with its next input; its query is validated only then"


def _leftovers(state: ChainState | None, manifest: Manifest) -> Iterator[str]:
    """Yield notes on events that are no longer in the manifest but still apply."""
    if state is None:
        return
    for current in persistent(state):
        if current is not None and manifest.snapshot.last(type(current)) is None and not is_same(None, current):
            clear = _CLEARED.get(current.kind)
            yield f"{current.kind} is no longer in the manifest but still applies" + (f"; {clear}" if clear else "")


def _records(state: ChainState | None, manifest: Manifest, changes: Sequence[Change]) -> Iterator[Problem]:
    if state is None:
        return
    for change in changes:
        event = change.event
        index = next((i for i, declared in enumerate(manifest.snapshot.metadata) if declared is event), 0)
        if isinstance(event, model.SetVocab) and state.schema is not None and ddl.vocabulary(event) != state.vocab:
            yield Problem(
                manifest.place("metadata", index),
                f"the dataset has the system columns {', '.join(state.vocab.columns)}; their names cannot change",
                "restore SetVocab, or start a new dataset with another name",
            )
        if isinstance(event, model.SetTransform):
            yield from _removed_inputs(state, event, manifest, index)
        if isinstance(event, model.SetPollingSource | model.AddPushSource) and state.has_data:
            before = change.before.merge if isinstance(change.before, type(event)) else state.merge
            yield from _merge(before, event.merge, manifest, index)
        if isinstance(event, model.SetPollingSource) and state.polling_state is not None:
            yield from _order(state.polling_fetch, event.fetch, manifest, index)


def _removed_inputs(state: ChainState, event: model.SetTransform, manifest: Manifest, index: int) -> Iterator[Problem]:
    present = {item.dataset_ref for item in event.inputs}
    aliases = {i.dataset_ref: i.alias for i in (state.transform.inputs if state.transform else ())}
    removed = [f"{aliases.get(i) or 'input'} ({i})" for i in state.query_inputs if i not in present]
    if removed:
        name = manifest.snapshot.name
        message = f"the dataset was computed from {listed(removed)}, which the transform no longer has as input"
        fix = f"restore it, or compute the dataset anew: run `odf reset {name}`, then `odf run` with this manifest"
        yield Problem(manifest.place("metadata", index, "inputs"), message, fix)


def _merge(
    before: model.MergeStrategy | None, after: model.MergeStrategy, manifest: Manifest, index: int
) -> Iterator[Problem]:
    """Yield why a merge strategy cannot continue a history that another one has written."""
    if before is None:
        return
    old, new = before.primary_key, after.primary_key
    alternative = "or start a new dataset with another name"
    if not can_follow(before.kind, after.kind):
        message = f"the dataset has data merged by {before.kind}, which {after.kind} cannot continue"
        yield Problem(manifest.place("metadata", index, "merge"), message, f"restore {before.kind}, {alternative}")
    elif new and {k.lower() for k in old} != {k.lower() for k in new}:
        message = f"the dataset has data merged under the key ({', '.join(old)}), not ({', '.join(new)})"
        place = manifest.place("metadata", index, "merge", "primary_key")
        yield Problem(place, message, f"restore the key, {alternative}")


def _order(before: model.FetchStep | None, after: model.FetchStep, manifest: Manifest, index: int) -> Iterator[Problem]:
    """Yield why files cannot be ingested in a new order."""
    order = fetch_kinds.kind_of(after).order
    if order is None or before is None or before.kind != after.kind:
        return
    old, new = order(before), order(after)
    if old != new:
        message = f"files were ingested in the order {old}; in the order {new} all of them would be ingested again"
        place = manifest.place("metadata", index, "fetch", "order")
        yield Problem(place, message, f"restore the order {old}, or start a new dataset with another name")


def _declared_columns(
    state: ChainState | None, manifest: Manifest, changes: Sequence[Change]
) -> tuple[list[Problem], tuple[str, ...]]:
    """Return problems of declared columns beside those of the dataset, and notes on columns that it gains."""
    snapshot = manifest.snapshot
    final = snapshot.last(model.SetDataSchema)
    schema = final or (state.schema if state else None)
    vocab = ddl.vocabulary(snapshot.last(model.SetVocab) or (state.set_vocab if state else None))
    if schema is None:
        return [], ()
    changed = [change.event for change in changes]
    findings: list[tuple[int, Finding]] = []
    added: dict[str, Column] = {}
    for index, event in enumerate(snapshot.metadata):
        if event is final and event in changed:
            findings += ((index, f) for f in columns.system_columns(final, vocab))
        elif isinstance(event, columns.Source) and (event in changed or final in changed):
            compared = columns.compare(event, schema, vocab, is_final=final is not None)
            findings += ((index, f) for f in compared.findings)
            added |= {column.name.lower(): column for column in compared.added}
    for index, event in enumerate(snapshot.metadata):
        if isinstance(event, columns.Source) and added:
            findings += ((index, f) for f in columns.absent(event, tuple(added.values()), vocab))
    texts = ", ".join(column_text(column).strip() for column in added.values())
    problems = [Problem(manifest.place("metadata", index, *f.path), f.message, f.fix) for index, f in findings]
    return problems, (f"these columns will be added with the next data: {texts}",) if added else ()


def _queries(manifest: Manifest, changes: Sequence[Change]) -> tuple[Problem, ...]:
    """Return problems of the SQL of changed sources; other queries were checked before."""
    if not any(getattr(change.event, "preprocess", None) for change in changes):
        return ()
    from airflow_provider_odf.dialect.check import check as check_queries  # It takes a third of a second.

    return tuple(check_queries([manifest]))


def _chain_rules(state: ChainState | None, manifest: Manifest, changes: Sequence[Change]) -> Iterator[Problem]:
    """Yield the first change that breaks a rule of the chain, before any block is written."""
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
