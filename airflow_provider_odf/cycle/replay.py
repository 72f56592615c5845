"""``verify --replay``: compute every transformation of a derivative again, and compare the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.replay import append, begin
from airflow_provider_odf.cycle.exchange import Workplace, workplace
from airflow_provider_odf.cycle.messages import Progress, silent
from airflow_provider_odf.cycle.transform import transform_request
from airflow_provider_odf.errors import (
    DatasetNotFound,
    InputRewritten,
    InvalidInput,
    InvalidQuery,
    NotReplayable,
    NotReproducible,
)
from airflow_provider_odf.evolution.inputs import NOWHERE, InputState, input_datasets, watermark_of
from airflow_provider_odf.manifest import model
from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.records import json_rows
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store

_SHOWN = 5
"""Maximum number of rows of a difference in a message, for each side."""


@dataclass(frozen=True)
class Replayed:
    """Numbers of transformations and records that were computed again and are the same."""

    transformations: int = 0
    records: int = 0


def replay_transforms(
    store: Store,
    dataset: Dataset,
    ask: Callable[[protocol.Request], protocol.Success],
    progress: Progress = silent,
    *,
    passes_objects: bool = False,
    after: int = -1,
) -> Replayed:
    """Compute each ExecuteTransform of a derivative from the recorded positions of its inputs, and compare the logical
    hash, the offsets and the watermark. A root has none.

    :param ask: sends a request to the engine, and waits for its answer.
    :param passes_objects: whether the engine may not see the disk of this machine.
    :param after: only blocks with a greater number than this.
    :raises NotReproducible: a block has other records than its inputs give; the message has rows of the difference.
    :raises NotReplayable: a block cannot be computed here, and why; for example, another system wrote it.
    :raises ChainCorrupted: a block or slice is missing or damaged.
    """
    transformations = records = 0
    inputs = _Inputs(store, dataset)
    for before, block, state in _states(dataset):
        if before is None or block.sequence_number <= after or not isinstance(block.event, model.ExecuteTransform):
            continue
        progress(f"computing block {state.head} again")
        with workplace(store, str(dataset.alias), passes_objects=passes_objects) as work:
            _Block(store, dataset, before, state.head, block).compare(inputs, ask, work, progress)
        transformations += 1
        if block.event.new_data is not None:
            records += block.event.new_data.offset_interval.end - block.event.new_data.offset_interval.start + 1
    return Replayed(transformations, records)


def _states(dataset: Dataset) -> Iterator[tuple[ChainState | None, model.MetadataBlock, ChainState]]:
    """Yield each block with the states before and after it, the oldest first."""
    before: ChainState | None = None
    for block_hash, block in reversed(list(dataset.walk())):
        state = begin(block_hash, block) if before is None else append(before, block_hash, block)
        yield before, block, state
        before = state


class _Inputs:
    """States of the inputs of a derivative at the blocks that its transformations read."""

    def __init__(self, store: Store, derivative: Dataset) -> None:
        self._store, self._derivative = store, derivative
        self._states: dict[str, dict[str, ChainState]] = {}

    def at(self, transform: model.SetTransform, event: model.ExecuteTransform, before: ChainState) -> list[InputState]:
        """Return the inputs at the positions of a transformation.

        :raises DatasetNotFound: the store does not have an input.
        :raises InputRewritten: the history of an input was rewritten.
        """
        states = []
        datasets = input_datasets(self._store, transform)
        for item, position, source in zip(transform.inputs, event.query_inputs, datasets, strict=True):
            head = position.new_block_hash or position.prev_block_hash
            state = self._all(item.dataset_ref, source).get(str(head))
            if state is None:
                raise InputRewritten(
                    f"the history of the input {source.alias} was rewritten: it does not have the block {head}"
                )
            earlier = before.query_inputs.get(item.dataset_ref, NOWHERE)
            states.append(InputState(source, state, earlier, str(item.alias)))
        return states

    def _all(self, dataset_id: str, source: Dataset) -> dict[str, ChainState]:
        """Return the states of an input by block."""
        if dataset_id not in self._states:
            self._states[dataset_id] = {state.head: state for _, _, state in _states(source)}
        return self._states[dataset_id]


@dataclass(frozen=True)
class _Block:
    """One transformation: its block, and the state of the derivative before it."""

    store: Store
    dataset: Dataset
    state: ChainState
    block_hash: str
    block: model.MetadataBlock

    def compare(
        self,
        inputs: _Inputs,
        ask: Callable[[protocol.Request], protocol.Success],
        work: Workplace,
        progress: Progress,
    ) -> None:
        """Compute the block again and compare it.

        :raises NotReproducible, NotReplayable: see ``replay_transforms``.
        """
        event = cast(model.ExecuteTransform, self.block.event)
        if event.new_checkpoint is not None or event.prev_checkpoint is not None:
            raise self._not_replayable("it uses a checkpoint, which only the engine that wrote it can read")
        assert self.state.transform is not None  # noqa: S101 - a rule of the chain
        try:
            read = inputs.at(self.state.transform, event, self.state)
            request = transform_request(
                self.store,
                self.dataset,
                self.state,
                read,
                system_time=self.block.system_time,
                directory=work.engine.location(),
                progress=progress,
                passes_objects=work.passes_objects,
            )
            success = cast(protocol.TransformSuccess, ask(request))
        except (InvalidQuery, InvalidInput, DatasetNotFound, InputRewritten) as e:
            raise self._not_replayable(str(e)) from e
        watermark = watermark_of(read, self.state.watermark)
        if watermark != event.new_watermark:
            raise self._different(f"its watermark is {event.new_watermark}, and its inputs give {watermark}")
        self._compare_records(event.new_data, success.slice)

    def _compare_records(self, recorded: model.DataSlice | None, computed: protocol.NewSlice | None) -> None:
        if recorded is None and computed is None:
            return
        if recorded is not None and computed is not None and recorded.logical_hash == computed.logical_hash:
            return
        schema = self.state.arrow_schema()
        assert schema is not None  # noqa: S101 - data follow a schema
        old = slices.read(self.dataset, recorded, schema) if recorded is not None else schema.empty_table()
        new = _file_rows(computed.path, schema) if computed is not None else schema.empty_table()
        raise self._different(_difference(old, new, self.state))

    def _different(self, how: str) -> NotReproducible:
        return NotReproducible(
            f"dataset {self.dataset.alias}, block {self.block_hash} (sequence number "
            f"{self.block.sequence_number}) is not what its inputs give: {how}"
        )

    def _not_replayable(self, reason: str) -> NotReplayable:
        return NotReplayable(
            f"dataset {self.dataset.alias}, block {self.block_hash} (sequence number "
            f"{self.block.sequence_number}) cannot be computed again: {reason}"
        )


def _file_rows(path: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a slice that is not in a dataset yet, with the columns of a schema."""
    from airflow_provider_odf.records.files import open_parquet
    from airflow_provider_odf.records.schema import conform

    with open_parquet(path) as file:
        return conform(file.read(), schema)


def _difference(recorded: pa.Table, computed: pa.Table, state: ChainState) -> str:
    """Return the rows that only one of two slices has, or that they have in another order."""
    hidden = {state.vocab.offset_column, state.vocab.system_time_column}
    columns = [name for name in recorded.column_names if name not in hidden]
    old, new = (_rows(table.select(columns), state) for table in (recorded, computed))
    only_old, only_new = Counter(old) - Counter(new), Counter(new) - Counter(old)
    lines = [
        f"it has {counted(recorded.num_rows, 'record')}, and its inputs give {counted(computed.num_rows, 'record')}"
    ]
    lines += _shown("only in the block", only_old)
    lines += _shown("only computed", only_new)
    if not only_old and not only_new:
        number = next((n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), None)
        lines.append(
            f"the records are the same, but in another order from record {number} on"
            if number is not None
            else "the records are the same, but their offsets or system times differ"
        )
    return "\n".join(lines)


def _rows(table: pa.Table, state: ChainState) -> list[str]:
    operation = state.vocab.operation_type_column
    return [", ".join(f"{k}={_text(k, v, operation)}" for k, v in row.items()) for row in json_rows.rows(table)]


def _text(name: str, value: Any, operation: str) -> Any:
    return OPERATION_NAMES[value] if name == operation and value in range(len(OPERATION_NAMES)) else value


def _shown(where: str, rows: Counter[str]) -> Iterator[str]:
    for row in [*rows.elements()][:_SHOWN]:
        yield f"  {where}: {row}"
    if rows.total() > _SHOWN:
        yield f"  {where}: {rows.total() - _SHOWN} more"
