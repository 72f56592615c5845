"""Which column of a file is which of the schema."""

from __future__ import annotations

import pytest

from airflow_provider_odf.engine.read.csv import ColumnMatch, column_names, match_columns
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import PositionalHeader


@pytest.mark.parametrize(
    ("header", "columns", "indexes"),
    [
        (["a", "b"], ["a", "b"], (0, 1)),
        (["b", "a"], ["a", "b"], (1, 0)),
        (["Adj Close", "OPEN"], ["open", "adj_close"], (1, 0)),
        (["Value", "value"], ["value", "Value"], (1, 0)),
        (["漢字", "x"], ["x", "漢字"], (1, 0)),
    ],
)
def test_by_name(header: list[str], columns: list[str], indexes: tuple[int, ...]) -> None:
    names = tuple(columns)
    assert match_columns(header, columns, "f") == ColumnMatch(indexes, (), (PositionalHeader("f", names, names),))


def test_more_columns_than_wanted() -> None:
    notices = ("f: ignored columns that are not in the schema: x, y",)
    assert match_columns(["x", "a", "y"], ["a"], "f") == ColumnMatch(
        (1,), notices, (PositionalHeader("f", ("a",), ("a",)),)
    )


def test_by_position_when_names_are_others() -> None:
    matched = match_columns(["Open Price", "b"], ["open", "b"], "f")
    assert matched.indexes == (0, 1)
    assert matched.notices == (
        "f: the names in the header differ from the schema, so columns are matched by position: 'Open Price' as open",
    )


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["b", "x"], ["a", "b"]),
        (["x"], ["a", "b"]),
        (["x", "y", "z"], ["a", "b"]),
    ],
)
def test_refused(header: list[str], columns: list[str]) -> None:
    with pytest.raises(InvalidQuery, match="the header does not match the schema") as e:
        match_columns(header, columns, "f")
    assert f"({', '.join(header)})" in str(e.value)
    assert f"({', '.join(columns)})" in str(e.value)


@pytest.mark.parametrize(
    ("header", "advice"),
    [
        ("day;rate", 'write `separator: ";"`'),
        ("day\trate, in EUR\tn", r'write `separator: "\t"`'),
        ("day|rate", 'write `separator: "|"`'),
        ("day", "correct the names or their order in the schema"),
    ],
)
def test_another_separator(header: str, advice: str) -> None:
    with pytest.raises(InvalidQuery) as e:
        match_columns([header], ["day", "rate"], "f")
    assert f"the file has 1 column ({header}), the schema 2 columns (day, rate); " in str(e.value)
    assert str(e.value).endswith(advice)


def test_names() -> None:
    assert column_names(["a", " b ", ""], "f") == ("a", "b", "column_3")
    with pytest.raises(InvalidQuery, match="has two columns 'A'"):
        column_names(["a", "A"], "f")
