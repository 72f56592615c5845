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

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import BlockRejected
from airflow_provider_odf.manifest import fetch_kinds, model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState, InputPosition


_SOURCES = model.SetPollingSource | model.AddPushSource | model.DisablePollingSource | model.DisablePushSource


def _require(condition: bool, rule: str, message: str, *parts: object) -> None:
    """Check the condition of a rule; ``parts`` fill the braces of the message.

    :raises BlockRejected: the condition is false.
    """
    if not condition:
        raise BlockRejected(rule, message.format(*parts))


def check_seed(block: model.MetadataBlock) -> model.Seed:
    """Return the event of a first block.

    :raises BlockRejected: the block cannot be the first.
    """
    event = block.event
    if not isinstance(event, model.Seed):
        raise BlockRejected("seed", f"a chain starts with a Seed, not with {event.kind}")
    _require(block.prev_block_hash is None, "seed", "a Seed must not have prevBlockHash")
    _require(
        block.sequence_number == 0, "sequence", "the first block has sequenceNumber {}, not 0", block.sequence_number
    )
    return event


def check(state: ChainState, block: model.MetadataBlock) -> None:
    """Check that the block may follow the state.

    :raises BlockRejected: the block violates a rule; the message names the rule.
    """
    event = block.event
    expected = state.sequence_number + 1
    _require(not isinstance(event, model.Seed), "seed", "a Seed is allowed only as the first block")
    _require(
        block.prev_block_hash == state.head,
        "sequence",
        "prevBlockHash is {}, not {}",
        block.prev_block_hash,
        state.head,
    )
    _require(
        block.sequence_number == expected, "sequence", "sequenceNumber is {}, not {}", block.sequence_number, expected
    )
    _require(
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
        _check_positions(state.query_inputs.values(), block.event)


def _check_kind(state: ChainState, event: model.MetadataEvent) -> None:
    kind = None
    if isinstance(event, _SOURCES | model.AddData):
        kind = "Root"
    elif isinstance(event, model.SetTransform | model.ExecuteTransform):
        kind = "Derivative"
    _require(kind in (None, state.kind), "kind", "{} does not belong in a {} dataset", event.kind, state.kind)


# --- sources and transforms -----------------------------------------------------------------------------------------


def _check_polling_source(state: ChainState, event: model.SetPollingSource) -> None:
    names = ", ".join(state.push_sources)
    _require(not state.push_sources, "polling-source", "the dataset has push sources ({}); disable them first", names)
    lacking = fetch_kinds.lacks(event.fetch)
    _require(not lacking, "fetch", "{}", lacking)
    _check_source(event)


def _check_push_source(state: ChainState, event: model.AddPushSource) -> None:
    _require(state.polling_source is None, "push-source", "the dataset has a polling source; disable it first")
    is_unchanged = state.push_sources.get(event.source_name) == event
    _require(not is_unchanged, "no-op", "AddPushSource repeats push source {} without a change", event.source_name)
    _check_source(event)


def _check_source(event: model.SetPollingSource | model.AddPushSource) -> None:
    both = event.read.schema_ is not None and event.read.ddl_schema is not None
    _require(not both, "read-schema", "the read step has both `schema` and `ddlSchema`")
    if event.preprocess is not None:
        _check_transform(event.preprocess)


def _check_disable_polling(state: ChainState, event: model.DisablePollingSource) -> None:
    _require(state.polling_source is not None, "polling-source", "there is no polling source to disable")


def _check_disable_push(state: ChainState, event: model.DisablePushSource) -> None:
    exists = event.source_name in state.push_sources
    _require(exists, "push-source", "there is no push source {!r} to disable", event.source_name)


def _check_transform(transform: model.TransformSql) -> None:
    _require(transform.query is None, "transform", "the block has `query`; blocks must have `queries`")
    queries = transform.queries or ()
    _require(bool(queries), "transform", "a transform needs at least one query")
    last = queries[-1].alias
    _require(last is None, "transform", "the last query must not have an alias, but has {!r}", last)
    _require(all(q.alias for q in queries[:-1]), "transform", "every query except the last needs an alias")


def _check_set_transform(state: ChainState, event: model.SetTransform) -> None:
    rule, refs = "transform-inputs", [i.dataset_ref for i in event.inputs]
    _require(bool(refs), rule, "a transform needs at least one input")
    for item in event.inputs:
        _require(item.dataset_ref.startswith("did:odf:"), rule, "input {} is not resolved to an id", item.dataset_ref)
        _require(item.alias is not None, rule, "input {} has no alias", item.dataset_ref)
    twice = [ref for ref in dict.fromkeys(refs) if refs.count(ref) > 1]
    _require(not twice, rule, "duplicate input {}", ", ".join(twice))
    _check_transform(event.transform)


# --- schemas --------------------------------------------------------------------------------------------------------


def _check_schema(state: ChainState, event: model.SetDataSchema) -> None:
    one = (event.schema_ is None) != (event.raw_arrow_schema is None)
    _require(one, "schema-change", "SetDataSchema needs exactly one of `schema` and `rawArrowSchema`")
    if state.schema is None:
        return
    from airflow_provider_odf.chain import schema

    old, new = (schema.with_defaults(schema.data_schema(declaration)) for declaration in (state.schema, event))
    _require(old != new, "no-op", "SetDataSchema repeats the current schema without a change")
    types = {f.name: f.type for f in new.fields}
    for field in old.fields:
        _require(field.name in types, "schema-change", "the new schema has no column {}", field.name)
        has_type = types.pop(field.name) == field.type
        _require(has_type, "schema-change", "column {} cannot change its type or nullability", field.name)
    for name, added in types.items():
        optional = isinstance(added, model.DataTypeOption)
        _require(optional, "schema-change", "the new column {} is required; only optional ones can be added", name)


# --- data -----------------------------------------------------------------------------------------------------------


def _check_data(state: ChainState, event: model.AddData | model.ExecuteTransform) -> None:
    if state.watermark is not None:
        newest = event.new_watermark
        _require(
            newest is not None, "watermark", "newWatermark is missing; the previous watermark is {}", state.watermark
        )
        _require(
            newest is not None and newest >= state.watermark,
            "watermark",
            "newWatermark {} is earlier than the previous watermark {}",
            newest,
            state.watermark,
        )
    _require(
        event.prev_offset == state.last_offset,
        "offsets",
        "prevOffset is {}, but the last offset is {}",
        event.prev_offset,
        state.last_offset,
    )
    _require(
        event.prev_checkpoint == state.last_checkpoint,
        "checkpoint",
        "prevCheckpoint is {}, but the last checkpoint is {}",
        event.prev_checkpoint,
        state.last_checkpoint,
    )
    if event.new_data is not None:
        _check_slice(state, event.new_data)


def _check_slice(state: ChainState, new_data: model.DataSlice) -> None:
    _require(state.schema is not None, "schema-first", "the first block with data needs a SetDataSchema before it")
    interval, expected = new_data.offset_interval, state.next_offset
    _require(interval.start == expected, "offsets", "newData starts at offset {}, not {}", interval.start, expected)
    _require(interval.end >= interval.start, "offsets", "newData ends at offset {}, before its start", interval.end)


def _check_add_data(state: ChainState, event: model.AddData) -> None:
    parts = (event.new_data, event.new_checkpoint, event.new_watermark, event.new_source_state)
    _require(any(x is not None for x in parts), "empty", "AddData has no data, checkpoint, watermark or source state")
    _check_data(state, event)
    source_state = event.new_source_state
    _require(
        _is_advanced(state, event)
        or (source_state is not None and source_state != state.source_state(source_state.source_name)),
        "no-op",
        "AddData has no data, and its checkpoint, watermark and source state are unchanged",
    )


def _is_advanced(state: ChainState, event: model.AddData | model.ExecuteTransform) -> bool:
    new_checkpoint = event.new_checkpoint.physical_hash if event.new_checkpoint else None
    return (
        event.new_data is not None
        or new_checkpoint not in (None, state.last_checkpoint)
        or event.new_watermark != state.watermark
    )


def _check_execute_transform(state: ChainState, event: model.ExecuteTransform) -> None:
    parts = (event.new_data, event.new_checkpoint, event.new_watermark)
    _require(any(x is not None for x in parts), "empty", "ExecuteTransform has no data, checkpoint or watermark")
    if state.transform is None:
        raise BlockRejected("query-inputs", "ExecuteTransform comes before SetTransform")
    expected = [i.dataset_ref for i in state.transform.inputs]
    ids = [i.dataset_id for i in event.query_inputs]
    _require(ids == expected, "query-inputs", "inputs are {}, but SetTransform has {}", ids, expected)
    for query_input in event.query_inputs:
        _check_query_input(state, query_input)
    _check_data(state, event)
    has_new_input = any(i.new_block_hash is not None for i in event.query_inputs)
    _require(
        has_new_input or _is_advanced(state, event), "no-op", "ExecuteTransform advances no input and changes nothing"
    )


def _check_positions(positions: Iterable[InputPosition], event: model.ExecuteTransform) -> None:
    """Check that each input continues where the query before has read the input at the same place of its list.

    The reference implementation compares inputs by their places, not by their ids. A chain without this rule can still
    be read here.

    :raises BlockRejected: an input is at another place, or at the place of a removed one.
    """
    for number, (last, item) in enumerate(zip(positions, event.query_inputs, strict=False)):
        _require(
            (item.prev_block_hash, item.prev_offset) == (last.block_hash, last.offset),
            "input-positions",
            "queryInputs[{}], {}, continues at block {} and offset {}, but the query before has read the input at its "
            "place up to block {} and offset {}: the inputs were reordered or replaced, which the reference "
            "implementation rejects; to compute the dataset anew, run `odf reset`",
            number,
            item.dataset_id,
            item.prev_block_hash,
            item.prev_offset,
            last.block_hash,
            last.offset,
        )


def _check_query_input(state: ChainState, item: model.ExecuteTransformInput) -> None:
    name, rule = item.dataset_id, "query-inputs"
    last = state.query_inputs.get(name)
    block, offset = (last.block_hash, last.offset) if last else (None, None)
    _require(item.prev_block_hash == block, rule, "{}: prevBlockHash is {}, not {}", name, item.prev_block_hash, block)
    _require(item.prev_offset == offset, rule, "{}: prevOffset is {}, not {}", name, item.prev_offset, offset)
    new_block, new_offset = item.new_block_hash, item.new_offset
    _require(new_block is None or new_block != block, rule, "{}: newBlockHash equals prevBlockHash", name)
    _require(new_offset is None or new_block is not None, rule, "{}: has newOffset but no newBlockHash", name)
    _require(
        new_offset is None or offset is None or new_offset > offset,
        rule,
        "{}: newOffset {} is not after prevOffset {}",
        name,
        new_offset,
        offset,
    )


_CHECKS: dict[str, Callable[[ChainState, Any], None]] = {
    "AddData": _check_add_data,
    "ExecuteTransform": _check_execute_transform,
    "SetPollingSource": _check_polling_source,
    "AddPushSource": _check_push_source,
    "DisablePollingSource": _check_disable_polling,
    "DisablePushSource": _check_disable_push,
    "SetTransform": _check_set_transform,
    "SetDataSchema": _check_schema,
}
