"""The next records of a derivative without Spark, if its query came with the request as an `ArrowQuery`.

The records and the bytes of the slice are those that Spark makes (`row_wise.changes`, `keyed.totals`). Where a value
might differ, or a record takes back a row that is not there, Spark begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import chain
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.transform import arrow_functions
from airflow_provider_odf.engine.transform.arrow_query import ArrowQuery, types_of
from airflow_provider_odf.engine.transform.slice_plan import slice_plan
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT
from airflow_provider_odf.protocol import ContractReport, HistorySlice, NewSlice, TransformRequest, TransformSuccess
from airflow_provider_odf.records import files, keys
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.records.current_rows import not_undone
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import ROW_GROUP, ROW_GROUP_BYTES, write_file
from airflow_provider_odf.wording import counted

Progress: TypeAlias = Callable[[str], None]

_MOST_BYTES = 16 << 20
"""Maximum size of the files with new records."""


def why_spark(request: TransformRequest) -> str:
    """Return why Spark must compute the records, as far as that is known before it, else an empty text."""
    if request.spark == "always":
        return "spark = always"
    if not request.new_data_path or request.is_query_new or ArrowQuery.of_request(request) is None:
        return "Spark has not analyzed the query before, or it is none that Arrow evaluates"
    new = new_slices(request)
    if sum(s.offset_interval.count for s in new) > ROW_GROUP or files.total_size(s.path for s in new) > _MOST_BYTES:
        return "many records are new"
    if request.contract is None:
        return ""
    from airflow_provider_odf.engine.contract import history

    return history.why_spark(history.test_after(request, request.contract, (), request.schema or ""))


def new_slices(request: TransformRequest) -> list[HistorySlice]:
    """Return the new slices of all inputs."""
    return [s for i in request.query_inputs for s in i.history if s.offset_interval.start >= i.new_from]


def execute(request: TransformRequest, progress: Progress, heap: str | None = None) -> TransformSuccess:
    """Compute the next records, test the contract and return the slice. ``heap`` is the maximum heap of the JVM.

    :raises NeedsSpark: see `why_spark`; or the result is too large, or Arrow cannot compute a value.
    :raises InvalidQuery: a row has no event time, or a file is damaged.
    :raises StorageError: the slice could not be written.
    """
    query = ArrowQuery.of_request(request)
    if (why := why_spark(request)) or query is None:
        raise NeedsSpark(why)
    progress("computing new records without Spark")
    try:
        new = _Transform(request, query).run()
    except (pa.ArrowException, OverflowError, RecursionError) as e:
        raise NeedsSpark(str(e)) from e
    if new is None:
        return TransformSuccess(new_watermark=request.watermark)
    progress(f"wrote {counted(new.offset_interval.count, 'record')}")
    return TransformSuccess(new.offset_interval, request.watermark, new, report=_test(request, new, progress, heap))


def _test(request: TransformRequest, new: NewSlice, progress: Progress, heap: str | None) -> ContractReport | None:
    if request.contract is None:
        return None
    from airflow_provider_odf.engine.columnar import budget
    from airflow_provider_odf.engine.contract import history

    test = history.test_after(request, request.contract, [new], request.schema or "")
    return history.test(None, test, progress, budget.of_heap(heap or ""))


class _Transform:
    """One request."""

    def __init__(self, request: TransformRequest, query: ArrowQuery) -> None:
        self._request, self._query = request, query
        self._schema = schemas.decode(request.schema or "")
        (source,) = request.query_inputs
        self._columns, self._input = types_of(request.schema or ""), types_of(source.schema)
        self._op = source.vocab.operation_type_column

    @property
    def _names(self) -> list[str]:
        """The event time and the columns of data of the derivative."""
        return list(self._schema.names[3:])

    def run(self) -> NewSlice | None:
        rows = self._rows()
        if self._query.functions is None:
            records = self._row_wise(rows)
        elif pc.all(pc.equal(rows.column(self._op), APPEND), min_count=0).as_py():
            records = self._totals(self._values(rows.filter(self._is_chosen(rows))))
        else:
            raise NeedsSpark("records take back earlier ones")
        if records.num_rows > ROW_GROUP or records.nbytes > ROW_GROUP_BYTES:
            raise NeedsSpark("the result is large")
        return write_file(iter([records]), slice_plan(self._request, self._schema)) if records.num_rows else None

    def _rows(self) -> pa.RecordBatch:
        """Return the new records of the input, with the columns that the query reads and the operation."""
        read = self._query.reads()
        types = pa.schema([f for f in self._input if f.name in read or f.name == self._op])
        found = (batch for s in new_slices(self._request) for batch in parquet_frame.rows(s.path, types))
        return _whole(pa.Table.from_batches(found, types))

    def _is_chosen(self, rows: pa.RecordBatch) -> pa.Array:
        values = (arrow_functions.column(condition, rows) for condition in self._query.conditions)
        return reduce(pc.and_, (pc.fill_null(v, False) for v in values), pa.repeat(True, rows.num_rows))

    def _values(self, rows: pa.RecordBatch) -> pa.Table:
        """Return the columns of the result for rows, before they are added up."""
        return pa.table({name: arrow_functions.column(e, rows) for name, e in self._query.columns.items()})

    # --- row-wise ---

    def _row_wise(self, rows: pa.RecordBatch) -> pa.Table:
        """Return the records of a query of which each row comes from one record."""
        is_chosen, operations = self._is_chosen(rows), rows.column(self._op).cast(pa.int32())
        values = self._values(rows.filter(is_chosen))
        if pc.all(pc.equal(operations, APPEND), min_count=0).as_py():
            return self._records(operations.filter(is_chosen), values)
        # A correction of which one side is chosen becomes a retraction or an added row.
        begins = pc.equal(operations, CORRECT_FROM)
        ends = pc.equal(operations, CORRECT_TO)
        if not _next(ends).equals(begins) or not _previous(begins).equals(ends):
            raise NeedsSpark("half a correction")
        retract, append = (pa.scalar(code, pa.int32()) for code in (RETRACT, APPEND))
        operations = pc.if_else(pc.and_(begins, pc.invert(_next(is_chosen))), retract, operations)
        operations = pc.if_else(pc.and_(ends, pc.invert(_previous(is_chosen))), append, operations)
        records = self._records(operations.filter(is_chosen), values)
        changed = records.filter(pc.invert(_are_undone(records, self._names)))
        if not self._can_take_back(changed):
            raise NeedsSpark("a record takes back a row that is not there")
        return changed

    def _records(self, operations: pa.Array, values: pa.Table) -> pa.Table:
        return pa.table([operations, *(values[name] for name in self._names)], [OP, *self._names])

    def _can_take_back(self, records: pa.Table) -> bool:
        """Whether each row that new records take back is there at its turn."""
        taken = records.filter(pc.or_(pc.equal(records[OP], RETRACT), pc.equal(records[OP], CORRECT_FROM)))
        if not taken.num_rows:
            return True
        counts = dict[int, int]()
        every = pa.concat_tables([self._own(taken, self._names), records.cast(self._with_operation)])
        codes = keys.equality_codes_of(every, self._names)
        for code, operation in zip(codes.to_pylist(), every[OP].to_pylist(), strict=True):
            counts[code] = counts.get(code, 0) + (1 if operation in PRESENT else -1)
            if counts[code] < 0:
                return False
        return True

    # --- totals ---

    def _totals(self, values: pa.Table) -> pa.Table:
        """Return the records of a query that adds up rows: those of its groups, before and after the new rows."""
        functions, groups = self._query.functions or {}, self._query.groups
        new = arrow_functions.totals(values, groups, functions, self._columns_of_data)
        present = self._present(new)
        both = pa.concat_tables([present, new])
        added = arrow_functions.totals(both, groups, functions, self._columns_of_data)
        codes = keys.equality_codes_of(pa.concat_tables([added, present]), groups)
        places = pc.index_in(codes.slice(0, added.num_rows), codes.slice(added.num_rows))
        before = present.take(places)
        is_equal = reduce(pc.and_, (keys.equal(added[name], before[name]) for name in self._names))
        is_there = pc.is_valid(places)
        is_changed = pc.invert(pc.and_(is_equal, is_there))
        is_there, before, added = (part.filter(is_changed) for part in (is_there, before, added))
        order = _order(added)
        return self._corrections(*(part.take(order) for part in (is_there, before, added)))

    def _present(self, new: pa.Table) -> pa.Table:
        """Return the present rows of the derivative in the groups of new rows, of which each has one at most."""
        groups = self._query.groups
        records = self._own(new, groups)
        records = records.filter(keys.are_in(records, new, groups))
        codes = keys.equality_codes_of(records, self._names)
        present = not_undone(codes, records[OP])
        return records.select(self._names).take(keys.int64_array(present))

    def _corrections(self, is_there: pa.Array, before: pa.Table, after: pa.Table) -> pa.Table:
        """Return the two records of each row that was there before, and the only one of each other row."""
        operation, rows = pa.int32(), after.num_rows
        begins = pa.repeat(pa.scalar(CORRECT_FROM, operation), rows)
        ends = pc.if_else(is_there, pa.scalar(CORRECT_TO, operation), pa.scalar(APPEND, operation))
        both = pa.concat_tables([before.add_column(0, OP, begins), after.add_column(0, OP, ends)])
        places = ((n, rows + n) if there else (rows + n,) for n, there in enumerate(is_there.to_pylist()))
        return both.take(keys.int64_array(chain.from_iterable(places)))

    # --- the derivative's own records ---

    @cached_property
    def _columns_of_data(self) -> pa.Schema:
        return pa.schema([self._columns.field(name) for name in self._names])

    @cached_property
    def _with_operation(self) -> pa.Schema:
        return pa.schema([pa.field(OP, pa.int32()), *self._columns_of_data])

    def _own(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return the derivative's records that have values of these rows in one of some columns, in that which tells
        most of the rows apart."""
        exact = [name for name in names if parquet_frame.are_exact(self._columns.field(name).type)]
        types = self._with_operation.set(0, pa.field(self._request.vocab.operation_type_column, pa.int32()))
        if not exact:
            raise NeedsSpark("no column finds the present rows")
        name, values = max(((name, rows[name].unique()) for name in exact), key=lambda item: len(item[1]))
        paths = (s.path for s in self._request.history)
        found = parquet_frame.found(paths, types, name, values.cast(types.field(name).type))
        if found is None:
            raise NeedsSpark("the present rows are too many")
        return pa.Table.from_batches(found, types).rename_columns(self._with_operation.names)


def _whole(rows: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([keys.whole(column) for column in rows.columns], schema=rows.schema)


def _order(rows: pa.Table) -> pa.Array:
    """Return the places of rows in the order of all columns, in which null comes first."""
    columns = [column for values in rows.columns for column in (pc.is_valid(values), values)]
    names = [str(number) for number in range(len(columns))]
    return pc.sort_indices(pa.table(columns, names), [(name, "ascending") for name in names])


def _next(values: pa.Array) -> pa.Array:
    """Return for each row the truth value of the next one."""
    return pa.concat_arrays([values.slice(1), pa.repeat(False, min(len(values), 1))])


def _previous(values: pa.Array) -> pa.Array:
    """Return for each row the truth value of the one before it."""
    return pa.concat_arrays([pa.repeat(False, min(len(values), 1)), values.slice(0, max(len(values) - 1, 0))])


def _are_undone(records: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return for each record whether it is one of a correction whose two rows are equal."""
    last = max(records.num_rows - 1, 0)
    equal = (keys.equal(records[name].slice(0, last), records[name].slice(1)) for name in names)
    is_next_equal = pa.concat_arrays([keys.whole(reduce(pc.and_, equal)), pa.repeat(False, min(records.num_rows, 1))])
    begins = pc.and_(pc.equal(keys.whole(records[OP]), CORRECT_FROM), is_next_equal)
    return pc.or_(begins, _previous(begins))
