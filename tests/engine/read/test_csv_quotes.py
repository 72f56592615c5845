"""Where records of CSV end: the quick ways must agree with the tokeniser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as hs

from airflow_provider_odf.engine.read import csv, csv_records, source
from airflow_provider_odf.engine.read.csv import CsvParser
from airflow_provider_odf.engine.read.csv_records import CsvFormat, records
from airflow_provider_odf.engine.read.source import Malformed
from airflow_provider_odf.records import files

FORM = CsvFormat()


@pytest.fixture(autouse=True, scope="module")
def _quick_also_for_little() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "QUICK_FROM", 0)
        yield


TEXTS = hs.text(alphabet='ab,"\\\n\r', max_size=18)


def outcome(make) -> object:
    try:
        return list(make())
    except Malformed:
        return Malformed


@settings(max_examples=400, deadline=None)
@given(TEXTS, hs.integers(1, 6), hs.sampled_from([FORM, CsvFormat(escape=""), CsvFormat(quote="")]))
@example('"a\\"\nb"\nc', 3, FORM)
@example('a"b\n"c\n"\n', 2, FORM)
@example('1",2",3\n"x\ny"\n', 2, FORM)
@example('"a""\nb"\n', 4, FORM)
def test_records_of_pieces_are_those_of_the_whole(text: str, size: int, form: CsvFormat) -> None:
    whole = outcome(lambda: records(text, form))
    if whole is Malformed:
        return
    blocks = (text.encode()[i : i + size] for i in range(0, len(text), size))
    found, line = [], 1
    for piece in source.pieces(blocks, lambda data: csv_records.end_of_records(data, form)):
        found += records(piece.decode(), form, line)
        line += source.line_ends(piece)
    assert [fields for _, fields in found] == [fields for _, fields in whole]
    if "\r" not in text:  # a pair of them may be cut in two
        assert found == whole


@settings(max_examples=400, deadline=None)
@given(
    hs.lists(
        hs.sampled_from(["a", "b,", ",", "\ufeff", '"', '"a"', '"x\ny",', '""', "\n", "1,2\n", "\r\n", "\\", '\\"']),
        max_size=12,
    )
)
@example(['"x\ny",', "a", "\n", "1,2\n"])
@example(['"', "1,2\n"])
@example(["\ufeff", "1,2\n"])
@example(["a", '"', "b,", '"', "\n", "1,2\n"])
def test_arrow_splits_as_the_tokeniser_does_or_not_at_all(parts: list[str]) -> None:
    data = "".join(parts).encode()
    parser = CsvParser(FORM, "utf-8", False, 2, (0, 1), "")
    quick = parser._split(data, 1, False)
    if quick is not None:
        slow = pa.Table.from_batches(parser._scanned(data, 1, False), quick.schema)
        assert quick.to_pylist() == slow.to_pylist()


@pytest.mark.parametrize(
    ("text", "is_quick"),
    [
        ('a,"b"\n"c ""d""",e\n', True),
        ('"a\nb",c\nd,"e\r\n"\n', True),
        ("a,b\n", True),
        ('5",3\n', False),
        ('a,"b"c\n', False),
        ('a,"b\n', False),
        ('a,"b\\"c"\n', False),
        ("a,b\n\nc,d\n", False),
        ("a,b,c\n", False),
    ],
)
def test_what_arrow_may_split(text: str, is_quick: bool) -> None:
    assert (CsvParser(FORM, "utf-8", False, 2, (0, 1), "")._split(text.encode(), 1, False) is not None) == is_quick


def test_lines_of_records() -> None:
    assert csv_records.first_lines(b'a,"x\n\ny"\nb,c\nd,"\n"', '"', 3).to_pylist() == [1, 4, 5]
    assert csv_records.first_lines(b"a\r\nb\r\n", "", 2, 8).to_pylist() == [8, 9]
    assert csv_records.first_lines(b"a\n\nb\n", "", 2) is None


@pytest.mark.parametrize("form", [CsvFormat("§", '"'), CsvFormat(",", "þ"), CsvFormat("\x14", "þ", "")])
def test_characters_beyond_ascii(form: CsvFormat) -> None:
    text = f"{form.quote}a\nb{form.quote}{form.separator}ç{form.quote}\nc"
    assert csv_records.end_of_records(text.encode(), form) == len(text.encode()) - 1


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hs.lists(
        hs.lists(hs.sampled_from(["\ufeff", "\ufeffa", "a", "é"]), min_size=2, max_size=2), min_size=1, max_size=9
    ),
    hs.booleans(),
    hs.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
    hs.sampled_from([1, 2, 5, 1000]),
)
@example([["\ufeffa", "é"]] * 9, True, "utf-8", 1)
def test_a_byte_order_mark_begins_a_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: list[list[str]], is_marked: bool, name: str, size: int
) -> None:
    monkeypatch.setattr(source, "CHUNK_BYTES", 4 * size)
    monkeypatch.setattr(files, "BLOCK", size)
    path, codec = tmp_path / "rows.csv", source.encoding(name)
    mark = "\ufeff" if codec != "utf-16" and (is_marked or table[0][0].startswith("\ufeff")) else ""
    path.write_bytes((mark + "".join(f"{','.join(row)}\n" for row in table)).encode(codec))
    parser = CsvParser(FORM, codec, False, 2, (0, 1), "")
    chunks = source.chunks(str(path), source.is_ascii_based(codec), lambda data: csv_records.end_of_records(data, FORM))
    rows = [row for chunk in chunks for batch in parser.parse(chunk) for row in batch.to_pylist()]
    assert [[row["r0"], row["r1"]] for row in rows] == table


@pytest.mark.parametrize("begin", [b'1,"', b'1,"\\"', b"1,"])
def test_a_long_record_is_searched_a_few_times(begin: bytes) -> None:
    blocks, searched = [begin, *[b"2,3;" * 25] * 1000], list[int]()

    def search(data: bytes) -> int:
        searched.append(len(data))
        return csv_records.end_of_records(data, FORM)

    assert list(source.pieces(blocks, search)) == [b"".join(blocks)]
    assert sum(searched) < 2 * 100_000


def test_lines_with_carriage_returns_are_each_searched_once() -> None:
    searched = list[int]()

    class Searched(bytes):
        def rfind(self, mark: bytes, start: int, end: int) -> int:
            at = super().rfind(mark, start, end)
            searched.append(end - max(at, start))
            return at

    data = Searched(b'1,"' + b"2\r" * 1000)
    assert csv_records.end_of_records(data, FORM) == 0
    assert sum(searched) < 3 * len(data)


def test_a_quote_that_is_never_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST", 100)
    blocks = [b'a\n"b', *[b"x" * 60] * 3]
    with pytest.raises(Malformed, match=r"line 2: a record longer than .*: check for an unclosed quote"):
        list(source.pieces(blocks, lambda data: csv_records.end_of_records(data, FORM)))


@pytest.mark.parametrize(
    ("name", "at_newlines", "ascii_based"),
    [
        ("utf-8", True, True),
        ("cp1252", True, True),
        ("koi8-r", True, True),
        ("shift_jis", True, False),
        ("gb18030", True, False),
        ("utf-16-le", False, False),
        ("utf-16", False, False),
        ("cp037", False, False),
        ("utf-7", False, False),
    ],
)
def test_encodings_that_may_be_cut(name: str, at_newlines: bool, ascii_based: bool) -> None:
    assert (source.is_cut_at_newline_bytes(name), source.is_ascii_based(name)) == (at_newlines, ascii_based)
