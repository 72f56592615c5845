"""``Rows``: a stream of Arrow batches with columns, and the forms that programs and notebooks want it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_odf.error_conversion import extra_not_installed
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.wording import cell, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import polars as pl

_SHOWN = 10
"""Rows of a notebook's table."""
_LONGEST = 200
"""Characters of a cell of a notebook's table."""


class Rows(ABC):
    """Rows that are read when they are asked for, each time anew. Iteration yields Arrow batches.

    Libraries that read Arrow streams (polars, DuckDB, pandas 3) accept them directly.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of the rows."""

    @abstractmethod
    def to_arrow(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches."""

    def to_table(self) -> pa.Table:
        """Return the rows as an Arrow table. It raises as `to_arrow`."""
        return self.to_arrow().read_all()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame. Integers and booleans have pandas' types with nulls (``Int64``,
        ``boolean``), so that a null changes no other value. It raises as `to_arrow`."""
        return self.to_table().to_pandas(types_mapper=_nullable_types().get)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a polars DataFrame. It raises as `to_arrow`.

        :raises InvalidInput: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as e:
            raise extra_not_installed("polars", "polars") from e
        frame = pl.from_arrow(self.to_table())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table is a frame
        return frame

    def head(self, n: int = 10) -> pa.Table:
        """Return the first rows as an Arrow table; no more batches are read than they need. It raises as `to_arrow`."""
        if n < 0:
            raise InvalidInput(f"head takes 0 rows or more, not {n}")
        found, number = list[pa.RecordBatch](), 0
        for batch in self:
            if number >= n:
                break
            found.append(batch)
            number += batch.num_rows
        return pa.Table.from_batches(found, self.schema).slice(0, n)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.to_arrow())

    def __len__(self) -> int:
        """Return the number of rows, which are read for it."""
        return sum(batch.num_rows for batch in self)

    def __bool__(self) -> bool:
        """Whether there is a row: the first batch tells."""
        return any(batch.num_rows for batch in self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def operation_column(self) -> str | None:
        """Column with numbers of operations, which people see as ``+A``, ``-R``, ``-C`` and ``+C``."""
        return None

    @property
    def title(self) -> str:
        """What the rows are of, as a sentence; empty if there is nothing to say."""
        return ""

    @property
    def facts(self) -> str:
        """What the rows are, in a line."""
        columns = ", ".join(f"{field.name}: {field.type}" for field in self.schema)
        of_columns = f"{counted(len(self.schema), 'column')} ({columns})"
        return f"{self.title.removesuffix('.')}: {of_columns}" if self.title else of_columns

    def __repr__(self) -> str:
        return f"<{self.facts}>"

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks."""
        table = self.head(_SHOWN + 1)
        shown = f"The first {_SHOWN} rows." if table.num_rows > _SHOWN else f"{counted(table.num_rows, 'row')}."
        names = "".join(
            f"<th>{escape(field.name)}<br><small>{escape(str(field.type))}</small></th>" for field in self.schema
        )
        lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self._values(table.slice(0, _SHOWN)))
        caption = f"{escape(self.title)} {shown}"
        return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table><p>{caption}</p>"

    def _values(self, table: pa.Table) -> Iterator[tuple[Any, ...]]:
        from airflow_provider_odf.records import json_rows

        for row in json_rows.rows(table, self.operation_column):
            yield tuple(row.values())


def _cell(value: object) -> str:
    text = cell(value)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"<td>{escape(shown)}</td>" if value is not None else "<td><i>null</i></td>"


def _nullable_types() -> Mapping[Any, Any]:
    import pandas as pd

    names = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    integers = {getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in names}
    return {**integers, pa.bool_(): pd.BooleanDtype()}
