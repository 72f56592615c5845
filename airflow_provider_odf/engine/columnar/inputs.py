"""Files whose rows Arrow reads, provably as Spark does."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

import pyarrow as pa

from airflow_provider_odf.engine.column_layout import Columns
from airflow_provider_odf.protocol import MergeInput, MergeRequest, PositionalHeader


class ColumnInput(Columns, Protocol):
    """An open input whose columns are known."""

    @property
    def notices(self) -> tuple[str, ...]: ...

    @property
    def headers(self) -> tuple[PositionalHeader, ...]: ...

    def read(self, memory_limit: int) -> pa.Table | None:
        """Return the rows, None if they take more than ``memory_limit`` bytes or only Spark can read or refuse them."""


def open_input(request: MergeRequest, source: MergeInput, stored: pa.Schema | None) -> ColumnInput | None:
    """Open an input for Arrow. Return None if it needs Spark.

    :raises InvalidQuery: an option, the header, names, types, keys or the stored schema do not allow it.
    """
    name = request.read.format.columnar
    if name is None or len(source.paths) != 1:
        return None
    opener: Callable[..., ColumnInput | None] = import_module(f".{name}", __package__).open_input
    return opener(request, source, stored)
