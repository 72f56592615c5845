"""The work for many columns and for many small tables grows with their number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from airflow_provider_odf.engine.column_layout import Layout
from airflow_provider_odf.engine.read import csv
from airflow_provider_odf.engine.strategies import new_rows
from airflow_provider_odf.records import slice_file


class _Counted:
    """A table that counts what is asked of it."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.questions = table, 0

    def __getattr__(self, name: str) -> Any:
        self.questions += 1
        return getattr(self.table, name)


def test_names_of_a_table_are_read_once() -> None:
    names = tuple(f"c{i}" for i in range(500))
    rows = _Counted(pa.table({name: [1] for name in names}))
    schema = pa.schema([(name, pa.int64()) for name in names])
    assert new_rows.complete(rows, Layout(schema, names)).column_names == list(names)
    assert rows.questions < 10


def test_small_tables_are_measured_once(monkeypatch: Any) -> None:
    tables = [_Counted(pa.table({"n": [i]})) for i in range(500)]
    monkeypatch.setattr(pa, "concat_tables", lambda parts: _concat([getattr(part, "table", part) for part in parts]))
    (whole,) = slice_file.row_groups(iter(tables))  # type: ignore[arg-type]
    assert whole["n"].to_pylist() == list(range(500))
    assert max(table.questions for table in tables) < 5


_concat = pa.concat_tables


def test_names_of_a_header_are_compared_once() -> None:
    asked = 0

    class Name(str):
        def lower(self) -> str:
            nonlocal asked
            asked += 1
            return super().lower()

    names = [Name(f"C_{i}") for i in range(500)]
    match = csv.match_columns(names, [f"c{i}" for i in reversed(range(500))], "wide.csv")
    assert match.indexes == tuple(reversed(range(500)))
    assert asked < 10 * 500
