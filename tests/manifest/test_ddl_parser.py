from __future__ import annotations

import pytest

from airflow_provider_odf.manifest.ddl_parser import DdlError, parse
from airflow_provider_odf.protocol import Column


@pytest.mark.parametrize(
    ("ddl", "spark"),
    [
        ("BOOLEAN", "BOOLEAN"),
        ("bool", "BOOLEAN"),
        ("TINYINT", "TINYINT"),
        ("SMALLINT", "SMALLINT"),
        ("INT", "INT"),
        ("INTEGER", "INT"),
        ("SIGNED", "INT"),
        ("BIGINT", "BIGINT"),
        ("FLOAT", "FLOAT"),
        ("REAL", "FLOAT"),
        ("DOUBLE", "DOUBLE"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DECIMAL(12, 2)", "DECIMAL(12,2)"),
        ("NUMERIC(5)", "DECIMAL(5,0)"),
        ("DATE", "DATE"),
        ("TIME", "TIME(6)"),
        ("TIME(3)", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP"),
        ("TIMESTAMP(3)", "TIMESTAMP"),
        ("TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMP"),
        ("timestamp without time zone", "TIMESTAMP"),
        ("STRING", "STRING"),
        ("VARCHAR(255)", "STRING"),
        ("TEXT", "STRING"),
        ("BINARY", "BINARY"),
        ("ARRAY<STRING>", "ARRAY<STRING>"),
        ("MAP<STRING, ARRAY<INT>>", "MAP<STRING, ARRAY<INT>>"),
        ("STRUCT<a: INT NOT NULL, `b c` STRING>", "STRUCT<a: INT NOT NULL, `b c`: STRING>"),
        ("ARRAY<STRUCT<x: ARRAY<DECIMAL(3,1)>>>", "ARRAY<STRUCT<x: ARRAY<DECIMAL(3,1)>>>"),
    ],
)
def test_types(ddl: str, spark: str) -> None:
    (definition,) = parse(f"c {ddl}")
    assert (definition.column, definition.note) == (Column("c", spark), "")


@pytest.mark.parametrize(
    ("ddl", "spark", "note"),
    [
        ("TINYINT UNSIGNED", "SMALLINT", "TINYINT UNSIGNED is stored as SMALLINT: Spark has no unsigned integers"),
        ("SMALLINT UNSIGNED", "INT", "SMALLINT UNSIGNED is stored as INT: Spark has no unsigned integers"),
        ("INT UNSIGNED", "BIGINT", "INT UNSIGNED is stored as BIGINT: Spark has no unsigned integers"),
        (
            "BIGINT UNSIGNED",
            "DECIMAL(20,0)",
            "BIGINT UNSIGNED is stored as DECIMAL(20,0): Spark has no unsigned integers",
        ),
        ("UUID", "STRING", "UUID is stored as STRING: Spark has no UUID type"),
        ("TIME(9)", "TIME(6)", "TIME(9) is stored as TIME(6): Spark does not support a higher precision"),
    ],
)
def test_types_that_spark_lacks_widen_with_a_note(ddl: str, spark: str, note: str) -> None:
    (definition,) = parse(f"c {ddl} NOT NULL")
    assert (definition.column, definition.note) == (Column("c", spark, is_nullable=False), note)


@pytest.mark.parametrize(
    ("text", "name"),
    [('"a b" INT', "a b"), ('"q""r" INT', 'q"r'), ("`x``y` INT", "x`y"), ("a: INT", "a"), ("Größe INT", "Größe")],
)
def test_names(text: str, name: str) -> None:
    assert parse(text)[0].column == Column(name, "INT")


def test_several_columns_in_one_entry() -> None:
    assert [d.column for d in parse("a INT NOT NULL, b DECIMAL(4,2) NULL, c STRING")] == [
        Column("a", "INT", is_nullable=False),
        Column("b", "DECIMAL(4,2)"),
        Column("c", "STRING"),
    ]


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "the text ends where a column definition `name TYPE` is expected"),
        ("id", 2, "column 'id' has no type"),
        ("id  BIGNT", 4, "unknown type BIGNT"),
        ("id (8)", 3, "a type is expected, not '('"),
        ("id INT KEY", 7, "only NOT NULL may follow the type, not 'KEY'"),
        ("id INT NOT", 10, "NULL must follow NOT"),
        ('"id INT', 0, "a quote is not closed"),
        ("x DECIMAL", 9, "DECIMAL needs precision and scale, as in DECIMAL(12,2)"),
        ("x DECIMAL(39,2)", 10, "a number from 1 to 38 is expected, not '39'"),
        ("x DECIMAL(4,5)", 12, "a number from 0 to 4 is expected, not '5'"),
        ("x ARRAY<INT", 11, "`>` must follow the type of the items"),
        ("x MAP<INT>", 9, "`,` must follow the type of the keys, not '>'"),
        ("x STRUCT<>", 9, "a field of the struct is expected, not '>'"),
        ("x " + "ARRAY<" * 2000, 302, "types are nested more than 50 deep"),
        ("x FLOAT UNSIGNED", 8, "only NOT NULL may follow the type, not 'UNSIGNED'"),
    ],
)
def test_errors(text: str, offset: int, message: str) -> None:
    with pytest.raises(DdlError) as caught:
        parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)
