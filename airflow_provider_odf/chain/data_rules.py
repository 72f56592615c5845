"""Rules of data blocks: offsets, watermark, checkpoint, inputs. `rules` has the table of their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import BlockRejected
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState, InputPosition


def require(condition: bool, rule: str, message: str, *parts: object) -> None:
    """Check the condition of a rule; ``parts`` fill the braces of the message.

    :raises BlockRejected: the condition is false.
    """
    if not condition:
        raise BlockRejected(rule, message.format(*parts))


def _check_data(state: ChainState, event: model.AddData | model.ExecuteTransform) -> None:
    if state.watermark is not None:
        newest = event.new_watermark
        require(
            newest is not None, "watermark", "newWatermark is missing; the previous watermark is {}", state.watermark
        )
        require(
            newest is not None and newest >= state.watermark,
            "watermark",
            "newWatermark {} is earlier than the previous watermark {}",
            newest,
            state.watermark,
        )
    require(
        event.prev_offset == state.last_offset,
        "offsets",
        "prevOffset is {}, but the last offset is {}",
        event.prev_offset,
        state.last_offset,
    )
    require(
        event.prev_checkpoint == state.last_checkpoint,
        "checkpoint",
        "prevCheckpoint is {}, but the last checkpoint is {}",
        event.prev_checkpoint,
        state.last_checkpoint,
    )
    if event.new_data is not None:
        _check_slice(state, event.new_data)


def _check_slice(state: ChainState, new_data: model.DataSlice) -> None:
    require(state.schema is not None, "schema-first", "the first block with data needs a SetDataSchema before it")
    interval, expected = new_data.offset_interval, state.next_offset
    require(interval.start == expected, "offsets", "newData starts at offset {}, not {}", interval.start, expected)
    require(interval.end >= interval.start, "offsets", "newData ends at offset {}, before its start", interval.end)


def check_add_data(state: ChainState, event: model.AddData) -> None:
    """Check that the AddData may follow the state.

    :raises BlockRejected: it violates a rule.
    """
    parts = (event.new_data, event.new_checkpoint, event.new_watermark, event.new_source_state)
    require(any(x is not None for x in parts), "empty", "AddData has no data, checkpoint, watermark or source state")
    _check_data(state, event)
    source_state = event.new_source_state
    require(
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


def check_execute_transform(state: ChainState, event: model.ExecuteTransform) -> None:
    """Check that the ExecuteTransform may follow the state.

    :raises BlockRejected: it violates a rule.
    """
    parts = (event.new_data, event.new_checkpoint, event.new_watermark)
    require(any(x is not None for x in parts), "empty", "ExecuteTransform has no data, checkpoint or watermark")
    if state.transform is None:
        raise BlockRejected("query-inputs", "ExecuteTransform comes before SetTransform")
    expected = [i.dataset_ref for i in state.transform.inputs]
    ids = [i.dataset_id for i in event.query_inputs]
    require(ids == expected, "query-inputs", "inputs are {}, but SetTransform has {}", ids, expected)
    for query_input in event.query_inputs:
        _check_query_input(state, query_input)
    _check_data(state, event)
    has_new_input = any(i.new_block_hash is not None for i in event.query_inputs)
    require(
        has_new_input or _is_advanced(state, event), "no-op", "ExecuteTransform advances no input and changes nothing"
    )


def check_positions(positions: Iterable[InputPosition], event: model.ExecuteTransform) -> None:
    """Check that each input continues where the query before has read the input at the same place of its list.

    The reference implementation compares inputs by their places, not by their ids. A chain without this rule can still
    be read here.

    :raises BlockRejected: an input is at another place, or at the place of a removed one.
    """
    for number, (last, item) in enumerate(zip(positions, event.query_inputs, strict=False)):
        require(
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
    require(item.prev_block_hash == block, rule, "{}: prevBlockHash is {}, not {}", name, item.prev_block_hash, block)
    require(item.prev_offset == offset, rule, "{}: prevOffset is {}, not {}", name, item.prev_offset, offset)
    new_block, new_offset = item.new_block_hash, item.new_offset
    require(new_block is None or new_block != block, rule, "{}: newBlockHash equals prevBlockHash", name)
    require(new_offset is None or new_block is not None, rule, "{}: has newOffset but no newBlockHash", name)
    require(
        new_offset is None or offset is None or new_offset > offset,
        rule,
        "{}: newOffset {} is not after prevOffset {}",
        name,
        new_offset,
        offset,
    )
