"""The rows that a question asks for: a page of them, filtered and sorted, in bounded memory, or all, as `export` writes
them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.merge_strategies import OPERATION_NAMES, PRESENT
from airflow_provider_odf.reading.difference import MAX_RECORDS, DifferenceScan
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan, Scan
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState


SIZE = 50
"""Rows of a page."""

LAST = 200
"""Number of the last page that can be asked for: the rows before it are held in memory."""

_SPARE = 10_000


@dataclass(frozen=True)
class Question:
    """Which rows to show: current rows, the history, or a difference. Without ``sort`` the history is newest first, and
    other rows are in the order of their key.

    ``contains`` is text that the value of ``column`` contains, ignoring case. ``operation`` is ``+A``, ``-R``, ``-C``
    or ``+C``. ``event_times`` are the least event time of the rows and the first one after them, None without such a
    limit. Pages count from 0.
    """

    is_history: bool = False
    is_difference: bool = False
    column: str = ""
    contains: str = ""
    operation: str = ""
    sort: str = ""
    is_descending: bool = False
    page: int = 0
    event_times: tuple[datetime | None, datetime | None] = (None, None)


@dataclass(frozen=True)
class RowPage:
    """Rows of a page as JSON values by column, and whether there are more."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    has_more: bool


def scan_of(dataset: Dataset, state: ChainState, question: Question, offsets: OffsetRange | None = None) -> Scan:
    """Return all rows of the kind that a question asks for.

    :param offsets: range of the history or of the difference, None for all of it.
    """
    if question.is_difference or question.is_history:
        kind = DifferenceScan if question.is_difference else HistoryScan
        scan: Scan = kind(dataset, state, offsets=offsets)
    else:
        scan = CurrentScan(dataset, state)
    for condition in _conditions(question, state):
        scan = scan.where(condition)
    return scan


def _conditions(question: Question, state: ChainState) -> Iterator[pc.Expression]:
    """Yield the conditions on event times. Parts of files that cannot have such rows are not read."""
    schema, name = state.row_schema(), state.vocab.event_time_column
    if schema is None or name not in schema.names:
        return
    kind, column = schema.field(name).type, pc.field(name)
    if not pa.types.is_timestamp(kind):  # a date is its midnight
        kind, column = pa.timestamp("s"), column.cast(pa.timestamp("s"))
    start, end = (
        None if time is None else pa.scalar(time, pa.timestamp("us", "UTC")).cast(kind, safe=False)
        for time in question.event_times
    )
    if start is not None:
        yield column >= start
    if end is not None:
        yield column < end


def row_page(dataset: Dataset, state: ChainState, question: Question, offsets: OffsetRange | None = None) -> RowPage:
    """Return a page of the rows at a state of the chain, or of a range of offsets.

    :raises InvalidInput: there is no such column, operation or page, or values of the column have no order or text.
    :raises ChainCorrupted: a slice is missing, or differs from its hash.
    """
    scan = scan_of(dataset, state, question, offsets)
    if state.schema is None:
        return RowPage((), (), False)
    check(question, scan)
    with _order_errors(question):
        table, skipped = _rows(scan, state, question)
    shown = table.slice(skipped, SIZE)
    rows = tuple(json_rows.rows(shown, state.vocab.operation_type_column))
    return RowPage(tuple(table.column_names), rows, table.num_rows > skipped + SIZE)


@contextlib.contextmanager
def _order_errors(question: Question) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as e:
        name = question.sort or question.column
        raise InvalidInput(f"column {name!r} cannot be sorted or searched: its values have no order or text") from e


def check(question: Question, scan: Scan) -> None:
    """Check that a question can be asked of rows.

    :raises InvalidInput: there is no such column, operation or page.
    """
    if not 0 <= question.page <= LAST:
        raise InvalidInput(f"there is no page {question.page + 1}: search or sort to find a row, or use `odf tail`")
    if question.operation not in ("", *OPERATION_NAMES):
        raise InvalidInput(f"{question.operation!r} is not an operation: {', '.join(OPERATION_NAMES)}")
    scan.select(*{name for name in (question.column, question.sort) if name} or scan.schema.names)


def _rows(scan: Scan, state: ChainState, question: Question) -> tuple[pa.Table, int]:
    """Return rows in order, and how many of them are before the page."""
    start = question.page * SIZE
    is_newest_first = question.is_history and not question.sort
    if is_newest_first and not question.contains and not question.operation and scan.condition is None:
        whole = OffsetRange(state.vocab.offset_column, 0, state.next_offset - 1)
        offsets = (scan.offsets if isinstance(scan, HistoryScan) else None) or whole
        first, last = offsets.first, offsets.last
        if last - start < first:
            return scan.schema.empty_table(), 0
        offsets = OffsetRange(state.vocab.offset_column, max(first, last - start - SIZE), last - start)
        return _reversed(HistoryScan(scan.dataset, state, offsets=offsets).to_table()), 0
    is_searched = question.sort or question.contains or scan.condition is not None
    if not question.is_history and not is_searched and state.next_offset <= MAX_RECORDS:
        return _in_order(scan, question, start), 0
    held = _held(scan, state, question, start + SIZE + 1)
    return (_reversed(held) if is_newest_first else held), start


def _in_order(scan: Scan, question: Question, start: int) -> pa.Table:
    """Return the rows of a page in the order of the key, from what is kept of a difference: current rows are the
    difference of the whole history to nothing."""
    if isinstance(scan, DifferenceScan):
        codes = [OPERATION_NAMES.index(question.operation)] if question.operation else range(len(OPERATION_NAMES))
        return scan.in_order(codes, start, SIZE + 1)
    whole = DifferenceScan(scan.dataset, scan.state).select(*scan.schema.names)
    return whole.in_order(PRESENT, start, SIZE + 1)


def _held(scan: Scan, state: ChainState, question: Question, limit: int) -> pa.Table:
    """Return the rows up to the end of the page: the first ones in the order of the question, or the newest ones of a
    history in the order of offsets."""
    held, order = scan.schema.empty_table(), _order(scan, state, question)
    for batch in matching(scan, question):
        held = pa.concat_tables([held, pa.Table.from_batches([batch])])
        if held.num_rows > limit + _SPARE:
            held = _first(held, question, order, limit)
    return _first(held, question, order, limit)


def _order(scan: Scan, state: ChainState, question: Question) -> list[tuple[str, str]]:
    """Return columns and directions to sort by, none if the rows stay in the order of the scan."""
    if question.sort:
        return [(question.sort, "descending" if question.is_descending else "ascending")]
    if isinstance(scan, DifferenceScan) and scan.key:
        return [(name, "ascending") for name in (*scan.key, state.vocab.operation_type_column)]
    return []


def _first(table: pa.Table, question: Question, order: list[tuple[str, str]], limit: int) -> pa.Table:
    if order:
        return table.sort_by(order).slice(0, limit)
    return table.slice(max(0, table.num_rows - limit)) if question.is_history else table.slice(0, limit)


def _reversed(table: pa.Table) -> pa.Table:
    return table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64()))


def matching(scan: Scan, question: Question) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a question asks for, in the order of the scan.

    :raises InvalidInput: values of the column have no text.
    :raises ChainCorrupted: a slice is missing, or differs from its hash.
    """
    operation = scan.state.vocab.operation_type_column
    with _order_errors(question):
        for batch in scan.to_arrow():
            if question.operation and operation in batch.schema.names:
                batch = batch.filter(pc.equal(batch[operation], OPERATION_NAMES.index(question.operation)))
            if question.column and question.contains:
                text = pc.cast(batch[question.column], pa.string())
                batch = batch.filter(pc.match_substring(text, question.contains, ignore_case=True))
            yield batch


@dataclass(frozen=True)
class Answer:
    """The rows of a scan that a question asks for, in the order of the scan. Values of columns of ``sensitive``, names
    in lower case, are replaced by ``mask``; nulls stay."""

    scan: Scan
    question: Question
    sensitive: frozenset[str] = frozenset()
    mask: str = ""

    @property
    def dataset(self) -> Dataset:
        return self.scan.dataset

    @property
    def state(self) -> ChainState:
        return self.scan.state

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows. Those that are masked are texts."""
        is_masked = self._is_masked
        return pa.schema([f.with_type(pa.string()) if is_masked(f.name) else f for f in self.scan.schema])

    def to_arrow(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches.

        :raises InvalidInput: there is no such column or operation, or values of the column have no text.
        :raises ChainCorrupted: a slice is missing, or differs from its hash.
        """
        if self.scan.state.schema is not None:
            check(self.question, self.scan)
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        nothing = pa.scalar(None, pa.string())
        for batch in matching(self.scan, self.question):
            columns = [
                pc.if_else(column.is_null(), nothing, self.mask) if self._is_masked(name) else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _is_masked(self, name: str) -> bool:
        return name.lower() in self.sensitive
