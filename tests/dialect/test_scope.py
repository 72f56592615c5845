from __future__ import annotations

from airflow_provider_odf.dialect.scope import Columns, Scope
from airflow_provider_odf.dialect.types import BIGINT, STRING, UNKNOWN
from airflow_provider_odf.protocol import Column


def test_columns() -> None:
    assert Columns.declared(None).type_of("a") == UNKNOWN
    assert Columns.declared([Column("A", "BIGINT")]).type_of("a") == BIGINT
    assert Columns.declared([Column("A", "BIGINT")]).type_of("b") is None
    assert Columns.declared([Column("A", "BIGINT"), Column("*", "STRING")]).type_of("b") == STRING


def test_a_column_is_looked_for_in_all_tables_and_then_outside() -> None:
    outer = Scope({"o": Columns((("x", BIGINT),))})
    inner = Scope({"a": Columns((("y", STRING),)), "b": Columns((("z", BIGINT),))}, outer)
    assert inner.type_of("Y") == STRING
    assert inner.type_of("x") == BIGINT
    assert inner.type_of("nope") is None
    assert inner.table("O") is not None
    assert inner.names == ["y", "z"]


def test_a_column_of_two_types_is_unknown() -> None:
    scope = Scope({"a": Columns((("y", STRING),)), "b": Columns((("y", BIGINT),))})
    assert scope.type_of("y") == UNKNOWN
