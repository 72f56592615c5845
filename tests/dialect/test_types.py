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
    Type,
    array,
    column_type,
    common,
    decimal,
    timestamp,
)

_MS = timestamp(3)


@pytest.mark.parametrize(
    ("ddl", "type_"),
    [
        ("BIGINT", BIGINT),
        ("decimal(12, 2)", decimal(12, 2)),
        ("TIMESTAMP", _MS),
        ("TIMESTAMP_NTZ", timestamp(6)),
        ("ARRAY<STRING>", array(STRING)),
        ("STRUCT<a: BIGINT, b: ARRAY<DATE>>", Type("STRUCT", fields=(("a", BIGINT), ("b", array(DATE))))),
        ("MAP<STRING, INT>", UNKNOWN),
        ("no such type", UNKNOWN),
    ],
)
def test_column_type(ddl: str, type_: Type) -> None:
    assert column_type(ddl) == type_


def test_ddl() -> None:
    struct = Type("STRUCT", fields=(("a b", array(decimal(3, 1))),))
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
        (STRING, BIGINT, None),
        (DATE, _MS, timestamp()),
        (_MS, timestamp(6), timestamp()),
    ],
)
def test_common(left: Type, right: Type, shared: Type | None) -> None:
    assert common(left, right) == shared
    assert common(right, left) == shared
