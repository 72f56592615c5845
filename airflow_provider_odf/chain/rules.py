"""The rules of the metadata chain: which block may follow (specification: Metadata Chain, event by event).

Each rule has a name, the attribute ``rule`` of a ``BlockRejected``:

================  ====================================================================================================
seed              the first block, and no other, is a Seed
sequence          sequence numbers count from 0, and each block names the hash of the one before
system-time       system time never goes back
kind              root datasets have sources and AddData, derivative ones SetTransform and ExecuteTransform
watermark         once there is a watermark, every data block has one, and it never goes back
offsets           data continue at the offset after the last one, and prevOffset is that last one
checkpoint        prevCheckpoint is the checkpoint of the last data block
schema-first      SetDataSchema comes before the first data
empty             a data block has data, a checkpoint, a watermark or a source state
no-op             an event changes something
polling-source    at most one kind of source; only an existing source can be disabled
push-source       the same for push sources
read-schema       a read step has ``schema`` or ``ddlSchema``, not both
fetch             EthereumLogs has chainId or nodeUrl
transform         ``query`` is converted to ``queries``; all but the last have an alias
transform-inputs  inputs are distinct datasets, named by id, each with an alias
query-inputs      ExecuteTransform has the inputs of SetTransform in their order, each continues at its last position
input-positions   each of these inputs continues at the last position of the input at its place; of new blocks
schema-change     a new schema only adds optional columns, reorders them, or changes their attributes
================  ====================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import data_rules
from airflow_provider_odf.chain.data_rules import require
from airflow_provider_odf.errors import BlockRejected
from airflow_provider_odf.manifest import fetch_kinds, model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState

_SOURCES = model.SetPollingSource | model.AddPushSource | model.DisablePollingSource | model.DisablePushSource


def check_seed(block: model.MetadataBlock) -> model.Seed:
    """Return the event of a first block.

    :raises BlockRejected: the block cannot be the first.
    """
    event = block.event
    if not isinstance(event, model.Seed):
        raise BlockRejected("seed", f"a chain starts with a Seed, not with {event.kind}")
    require(block.prev_block_hash is None, "seed", "a Seed must not have prevBlockHash")
    require(
        block.sequence_number == 0, "sequence", "the first block has sequenceNumber {}, not 0", block.sequence_number
    )
    return event


def check(state: ChainState, block: model.MetadataBlock) -> None:
    """Check that the block may follow the state.

    :raises BlockRejected: the block violates a rule; the message names the rule.
    """
    event = block.event
    expected = state.sequence_number + 1
    require(not isinstance(event, model.Seed), "seed", "a Seed is allowed only as the first block")
    require(
        block.prev_block_hash == state.head,
        "sequence",
        "prevBlockHash is {}, not {}",
        block.prev_block_hash,
        state.head,
    )
    require(
        block.sequence_number == expected, "sequence", "sequenceNumber is {}, not {}", block.sequence_number, expected
    )
    require(
        block.system_time >= state.system_time,
        "system-time",
        "systemTime {} is before that of the previous block, {}",
        block.system_time,
        state.system_time,
    )
    _check_kind(state, event)
    if (check_event := _CHECKS.get(event.kind)) is not None:
        check_event(state, event)


def check_new(state: ChainState, block: model.MetadataBlock) -> None:
    """Check the rule that earlier blocks of a chain need not follow for it to be read.

    :raises BlockRejected: the block violates it.
    """
    if isinstance(block.event, model.ExecuteTransform):
        data_rules.check_positions(state.query_inputs.values(), block.event)


def _check_kind(state: ChainState, event: model.MetadataEvent) -> None:
    kind = None
    if isinstance(event, _SOURCES | model.AddData):
        kind = "Root"
    elif isinstance(event, model.SetTransform | model.ExecuteTransform):
        kind = "Derivative"
    require(kind in (None, state.kind), "kind", "{} does not belong in a {} dataset", event.kind, state.kind)


# --- sources and transforms -----------------------------------------------------------------------------------------


def _check_polling_source(state: ChainState, event: model.SetPollingSource) -> None:
    names = ", ".join(state.push_sources)
    require(not state.push_sources, "polling-source", "the dataset has push sources ({}); disable them first", names)
    lacking = fetch_kinds.lacks(event.fetch)
    require(not lacking, "fetch", "{}", lacking)
    _check_source(event)


def _check_push_source(state: ChainState, event: model.AddPushSource) -> None:
    require(state.polling_source is None, "push-source", "the dataset has a polling source; disable it first")
    is_unchanged = state.push_sources.get(event.source_name) == event
    require(not is_unchanged, "no-op", "AddPushSource repeats push source {} without a change", event.source_name)
    _check_source(event)


def _check_source(event: model.SetPollingSource | model.AddPushSource) -> None:
    both = event.read.schema_ is not None and event.read.ddl_schema is not None
    require(not both, "read-schema", "the read step has both `schema` and `ddlSchema`")
    if event.preprocess is not None:
        _check_transform(event.preprocess)


def _check_disable_polling(state: ChainState, event: model.DisablePollingSource) -> None:
    require(state.polling_source is not None, "polling-source", "there is no polling source to disable")


def _check_disable_push(state: ChainState, event: model.DisablePushSource) -> None:
    exists = event.source_name in state.push_sources
    require(exists, "push-source", "there is no push source {!r} to disable", event.source_name)


def _check_transform(transform: model.TransformSql) -> None:
    require(transform.query is None, "transform", "the block has `query`; blocks must have `queries`")
    queries = transform.queries or ()
    require(bool(queries), "transform", "a transform needs at least one query")
    last = queries[-1].alias
    require(last is None, "transform", "the last query must not have an alias, but has {!r}", last)
    require(all(q.alias for q in queries[:-1]), "transform", "every query except the last needs an alias")


def _check_set_transform(state: ChainState, event: model.SetTransform) -> None:
    rule, refs = "transform-inputs", [i.dataset_ref for i in event.inputs]
    require(bool(refs), rule, "a transform needs at least one input")
    for item in event.inputs:
        require(item.dataset_ref.startswith("did:odf:"), rule, "input {} is not resolved to an id", item.dataset_ref)
        require(item.alias is not None, rule, "input {} has no alias", item.dataset_ref)
    twice = [ref for ref in dict.fromkeys(refs) if refs.count(ref) > 1]
    require(not twice, rule, "duplicate input {}", ", ".join(twice))
    _check_transform(event.transform)


# --- schemas --------------------------------------------------------------------------------------------------------


def _check_schema(state: ChainState, event: model.SetDataSchema) -> None:
    one = (event.schema_ is None) != (event.raw_arrow_schema is None)
    require(one, "schema-change", "SetDataSchema needs exactly one of `schema` and `rawArrowSchema`")
    if state.schema is None:
        return
    from airflow_provider_odf.chain import schema

    old, new = (schema.with_defaults(schema.data_schema(declaration)) for declaration in (state.schema, event))
    require(old != new, "no-op", "SetDataSchema repeats the current schema without a change")
    types = {f.name: f.type for f in new.fields}
    for field in old.fields:
        require(field.name in types, "schema-change", "the new schema has no column {}", field.name)
        has_type = types.pop(field.name) == field.type
        require(has_type, "schema-change", "column {} cannot change its type or nullability", field.name)
    for name, added in types.items():
        optional = isinstance(added, model.DataTypeOption)
        require(optional, "schema-change", "the new column {} is required; only optional ones can be added", name)


_CHECKS: dict[str, Callable[[ChainState, Any], None]] = {
    "AddData": data_rules.check_add_data,
    "ExecuteTransform": data_rules.check_execute_transform,
    "SetPollingSource": _check_polling_source,
    "AddPushSource": _check_push_source,
    "DisablePollingSource": _check_disable_polling,
    "DisablePushSource": _check_disable_push,
    "SetTransform": _check_set_transform,
    "SetDataSchema": _check_schema,
}
