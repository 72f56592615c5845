"""A merge strategy: a kernel on Arrow tables. See "Merge strategies" in the specification.

The engine gives it all rows of an input, or a task of Spark those of a partition of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.columnar.state import CurrentRows
from airflow_provider_odf.instant import Instant


@dataclass(frozen=True)
class Input:
    """New rows of one input in the types of the dataset, in the order of the source.

    Columns of the dataset that the input lacks are null. Rows of streams have OP. ``event_time`` is the event time of
    rows without one. POSITION is kept in the records, if the rows have it.
    """

    table: pa.Table
    event_time: Instant
    label: str


@dataclass(frozen=True)
class Records:
    """The records of one input in the order of their offsets: OP and the columns.

    ``dropped`` is the number of rows that equal others.
    """

    tables: Iterator[pa.Table]
    dropped: int = 0


class Before(Protocol):
    """The history up to an input. The records of earlier inputs are part of it once they are written."""

    @property
    def layout(self) -> Layout: ...

    def rows(self) -> CurrentRows | None:
        """Return the current rows, None before the first records.

        :raises NeedsSpark: they do not fit in memory, or only Spark converts them.
        """

    def unknown(self, keys: pa.Table) -> pa.Array:
        """Return the places of the keys that no record has.

        :raises NeedsSpark: only Spark converts the keys of the history.
        """


Kernel: TypeAlias = Callable[[Sequence[Input], Before], Iterator[Records]]
"""Yields the records of each input. Those of one input are complete before the next one is asked for.

:raises InvalidQuery: rows of one input with the same key differ, or a key is null.
:raises NeedsSpark: the state does not allow it.
"""
