"""The two tokenisers of CSV, which must read the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from airflow_provider_odf.engine.read import csv_records
from airflow_provider_odf.engine.read.csv_records import CsvFormat, records
from airflow_provider_odf.engine.read.source import Malformed

FORM = CsvFormat()


@given(hs.text(alphabet='ab,"\n\r', max_size=14))
def test_scanner_agrees_with_python_where_there_are_no_escapes(text: str) -> None:
    def outcome(tokenise) -> object:
        try:
            return list(tokenise(text, FORM, 1))
        except Malformed:
            return Malformed

    assert outcome(csv_records._scanned) == outcome(csv_records._plain)


@given(hs.lists(hs.lists(hs.text(alphabet='x,"\\\n', max_size=5), min_size=2, max_size=3), max_size=4))
def test_what_is_written_with_either_quote_style_is_read_back(table: list[list[str]]) -> None:
    doubled = "".join(
        ",".join('"' + f.replace("\\", "\\\\").replace('"', '""') + '"' for f in row) + "\n" for row in table
    )
    escaped = "".join(
        ",".join('"' + f.replace("\\", "\\\\").replace('"', '\\"') + '"' for f in row) + "\n" for row in table
    )
    assert [fields for _, fields in records(doubled, FORM)] == table
    assert [fields for _, fields in records(escaped, FORM)] == table


def test_lines_are_those_where_records_begin() -> None:
    text = 'a,"1\n2"\n\nb,"x\\"\ny"\r\nc,d'
    assert [line for line, _ in records(text, FORM)] == [1, 4, 6]


def test_a_megabyte_in_one_field_is_no_trouble() -> None:
    field = 'x"' * 500_000
    assert next(records('"' + field.replace('"', '\\"') + '",1', FORM))[1] == [field, "1"]
    with pytest.raises(Malformed, match="never closed"):
        list(records('\\\\,"' + field.replace('"', '\\"'), FORM))
