from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    UNKNOWN,
    Columns,
    Scope,
    Type,
    column_type,
    common,
    decimal,
    timestamp,
)
from airflow_provider_odf.protocol import Column

_MS = timestamp(3)


@pytest.mark.parametrize(
    ("ddl", "type_"),
    [
        ("BIGINT", BIGINT),
        ("decimal(12, 2)", decimal(12, 2)),
        ("TIMESTAMP", _MS),
        ("TIMESTAMP_NTZ", timestamp(6)),
        ("ARRAY<STRING>", Type("ARRAY", element=STRING)),
        (
            "STRUCT<a: BIGINT, b: ARRAY<DATE>>",
            Type("STRUCT", fields=(("a", BIGINT), ("b", Type("ARRAY", element=DATE)))),
        ),
        ("MAP<STRING, INT>", UNKNOWN),
        ("no such type", UNKNOWN),
    ],
)
def test_column_type(ddl: str, type_: Type) -> None:
    assert column_type(ddl) == type_


def test_ddl() -> None:
    struct = Type("STRUCT", fields=(("a b", Type("ARRAY", element=decimal(3, 1))),))
    assert struct.ddl == "STRUCT<`a b`: ARRAY<DECIMAL(3,1)>>"


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        (INT, BIGINT, BIGINT),
        (INT, DOUBLE, DOUBLE),
        (INT, FLOAT, FLOAT),
        (decimal(12, 2), BIGINT, decimal(22, 2)),
        (decimal(12, 2), decimal(10, 3), decimal(13, 3)),
        (decimal(38, 0), decimal(38, 10), None),
        (decimal(12, 2), FLOAT, None),
        (NULL, STRING, STRING),
        (UNKNOWN, STRING, UNKNOWN),
        (UNKNOWN, UNKNOWN, UNKNOWN),
        (UNKNOWN, NULL, UNKNOWN),
        (decimal(15, 2), DOUBLE, DOUBLE),
        (decimal(16, 2), DOUBLE, None),
        (STRING, BIGINT, None),
        (DATE, _MS, timestamp()),
        (_MS, timestamp(6), timestamp()),
    ],
)
def test_common(left: Type, right: Type, shared: Type | None) -> None:
    assert common(left, right) == shared
    assert common(right, left) == shared


def test_columns() -> None:
    assert Columns.declared(None).type_of("a") == UNKNOWN
    assert Columns.declared([Column("A", "BIGINT")]).type_of("a") == BIGINT
    assert Columns.declared([Column("A", "BIGINT")]).type_of("b") is None
    assert Columns.declared([Column("A", "BIGINT"), Column("*", "STRING")]).type_of("b") == STRING


def test_a_column_is_looked_up_in_all_tables_and_then_outside() -> None:
    outer = Scope({"o": Columns((("x", BIGINT),))})
    scope = Scope({"a": Columns((("y", STRING),)), "b": Columns((("z", BIGINT),))}, outer)
    assert scope.type_of("Y") == STRING
    assert scope.type_of("x") == BIGINT
    assert scope.type_of("nope") is None
    assert scope.table("O") is not None
    assert scope.table("nope") is None
    assert scope.names == ["y", "z"]


def test_a_column_of_two_types_is_unknown() -> None:
    scope = Scope({"a": Columns((("y", STRING),)), "b": Columns((("y", BIGINT),))})
    assert scope.type_of("y") == UNKNOWN
