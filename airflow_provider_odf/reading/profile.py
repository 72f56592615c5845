"""Profiles of columns: what the values of a slice are like, computed column by column with Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.chain import slices
from airflow_provider_odf.merge_strategies import PRESENT
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.manifest.model import DataSlice

MOST_ROWS = 500_000
"""Rows of a slice that a profile reads."""
_FREQUENT = 3
"""Most frequent values that a profile has."""


@dataclass(frozen=True)
class ColumnProfile:
    """The values of a column in some rows, as JSON values: a column without values has no least and greatest one, nor
    has one whose values have no order, such as a struct. ``distinct`` is None for the latter. ``frequent`` are the most
    frequent values and their numbers, none if every value occurs once."""

    name: str
    rows: int
    nulls: int
    distinct: int | None = None
    least: Any = None
    greatest: Any = None
    frequent: tuple[tuple[Any, int], ...] = ()

    @property
    def null_share(self) -> float:
        return self.nulls / self.rows if self.rows else 0.0


def profile(dataset: Dataset, data_slice: DataSlice, state: ChainState) -> list[ColumnProfile]:
    """Return the profiles of the columns of data in the rows that a slice added or corrected: at most `MOST_ROWS`.

    :param state: of the chain, whose columns the slice has.
    :raises ChainCorrupted: the file is missing, or differs from its hash.
    :raises StorageError: the file cannot be read.
    """
    schema, vocab = state.row_schema(), state.vocab
    assert schema is not None  # noqa: S101 - a slice follows a schema
    slices.check_unrecorded(dataset, state.dataset_id, [data_slice])
    names = [name for name in schema.names if name not in vocab.columns[:3]]
    columns = (
        (name, pa.chunked_array(_values(dataset, data_slice, state, name), schema.field(name).type)) for name in names
    )
    return [_column(name, values) for name, values in columns]


def _values(dataset: Dataset, data_slice: DataSlice, state: ChainState, name: str) -> Iterator[pa.Array]:
    operation, rows = state.vocab.operation_type_column, 0
    for batch in slices.scan(dataset, data_slice, state.row_schema(), [name, operation]):
        if rows >= MOST_ROWS:
            return
        is_present = pc.is_in(batch.column(1).cast(pa.int64()), value_set=pa.array(PRESENT, pa.int64()))
        values = batch.column(0).filter(is_present)
        rows += len(values)
        yield values


def _column(name: str, values: pa.ChunkedArray) -> ColumnProfile:
    if values.type in _VIEWS:  # Arrow counts no values of views
        values = values.cast(_VIEWS[values.type])
    known = values.drop_null()
    try:
        counts, ends = pc.value_counts(known), pc.min_max(known)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return ColumnProfile(name, len(values), values.null_count)
    found, numbers = counts.field("values"), counts.field("counts")
    places = pc.array_sort_indices(numbers, order="descending")[:_FREQUENT]
    frequent = zip(json_rows.values(found.take(places)), numbers.take(places).to_pylist(), strict=True)
    least, greatest = (json_rows.values(pa.repeat(ends[end], 1))[0] for end in ("min", "max"))
    repeated = tuple((value, number) for value, number in frequent if number > 1)
    return ColumnProfile(name, len(values), values.null_count, len(found), least, greatest, repeated)


_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
