"""ReadStep::Json and ReadStep::NdJson."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from airflow_provider_odf.engine.read import source
from airflow_provider_odf.protocol import Column

pytestmark = pytest.mark.spark
UTC = dt.UTC
LABEL = "https://example.com/data"

CITIES = '[{"city": "A", "population": 1000}, {"city": "B", "population": 2000}, {"city": "C", "population": 3000}]'
COLUMNS = ["city STRING NOT NULL", "population INT NOT NULL"]


_MILLIS = ": a number must be whole milliseconds since 1970, in the years 1 to 9999"


@pytest.mark.parametrize(
    ("content", "sub_path"),
    [
        (CITIES, None),
        (f'{{"result": {{"cities": {CITIES}}}}}', "result.cities"),
        (
            f'\ufeff {{"a": [1, {{}}], "result": {{"x": null, "cities": {CITIES}, "y": 1}}, "z": "}}"}}\n',
            "result.cities",
        ),
    ],
)
def test_array(read, content: str, sub_path: str | None) -> None:
    frame = read("Json", content, COLUMNS, sub_path=sub_path).frame
    assert [tuple(r) for r in frame.collect()] == [("A", 1000), ("B", 2000), ("C", 3000)]
    assert [f.nullable for f in frame.schema] == [False, False]


@pytest.mark.parametrize(
    ("content", "sub_path", "message"),
    [
        (
            '{"result": {"towns": []}}',
            "result.cities",
            "`subPath` has the key cities, but at result there are only towns",
        ),
        (
            '{"result": []}',
            None,
            "at the root there is an object with the keys result, not an array: set `subPath` to where the array is",
        ),
        ('{"result": 5}', "result.cities", "at result there is the value '5', but `subPath` continues with cities"),
        ('[{"city": "A", "population": 1}, 7]', None, "record 2: '7' is not a JSON object"),
        (
            '[{"city": "A", "population": 1}] x',
            None,
            "line 1: unexpected text after the end of the JSON document at 'x'",
        ),
        ('[{"city": "A", "population": 1}', None, "line 1: invalid JSON: expected a comma or ] at the end of the text"),
        (
            '[{"city": "A", "population": 1},\n{"city"',
            None,
            "line 2, record 2: invalid JSON: Expecting ':' delimiter at the end of the text",
        ),
        ('[{"city": "A", "population": "x"}]', None, "record 1, column population: 'x' is not an INT"),
        ('[{"city": "A"}]', None, "record 1, column population: null, but the schema declares NOT NULL"),
        (b'[{"city": "\xff"}]', None, "line 1: byte 0xff is not utf-8: set `encoding` to the encoding of the file"),
    ],
)
def test_array_refused(refusal_of, content: str | bytes, sub_path: str | None, message: str) -> None:
    assert refusal_of("Json", content, COLUMNS, sub_path=sub_path) == f"{LABEL}: {message}"


def test_lines(rows) -> None:
    text = '{"a": 1, "b": "x"}\n\n{"b": "y", "extra": [1]} {"a": 3}\r\n'
    assert rows("NdJson", text, ["a INT", "b STRING"]) == [(1, "x"), (None, "y"), (3, None)]


def test_data_without_records_have_no_rows(rows) -> None:
    for kind, content in (("NdJson", "\n\n"), ("Json", "[]")):
        assert rows(kind, content, ["a INT"]) == []
        assert rows(kind, content) == []


def test_a_blank_document_is_none(refusal_of) -> None:
    assert refusal_of("Json", " \n", ["a INT"]) == (
        f"{LABEL}: the file is blank, but Json must contain `[]`: check whether the source wrote the whole file"
    )


def test_keys_beyond_the_schema_are_told(read) -> None:
    text = (
        '{"a": 1, "popuIation": 2, "s": [{"x": 1, "y": 2}], "m": {"k": {"z": 3}}}\n'
        '{"a": 1, "A": 2, "later": 3, "s": [{"X": 1}], "m": null}\n'
    )
    columns = ["a INT", "population INT", "s ARRAY<STRUCT<x: INT>>", "m MAP<STRING,STRUCT<w: INT>>"]
    assert read("NdJson", text, columns).notices == (
        f"{LABEL}: ignored columns that are not in the schema: popuIation, s[].y, m{{}}.z, A, later; "
        "no values for: population",
    )
    assert read("NdJson", '{"a": 1}\n', ["A INT", "b INT"]).notices == ()
    assert read("NdJson", '{"a": 1}\n').notices == ()
    many = ", ".join(f'"k{i:02}": 1' for i in range(30))
    (notice,) = read("Json", f"[{{{many}}}]", ["k00 INT"]).notices
    assert notice.endswith("k18, k19, k20 and 9 more")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"k": 1, "k": 2}', 'duplicate key \'k\' in the object at \'{"v": {"k": 1, "k": 2}}\''),
        ('"x\\uD83D"', 'a string has \\ud83d, an unpaired surrogate, at \'{"v": "x\\\\uD83D"}\''),
        ('{"\\udc00": 1}', 'a string has \\udc00, an unpaired surrogate, at \'{"v": {"\\\\udc00": 1}}\''),
        ("[" * 20_000, 'values are nested too deeply at \'{"v": ' + "[" * 34 + "'"),
    ],
)
@pytest.mark.parametrize("columns", [["v STRING"], ["w STRING"], None])
def test_values_that_cannot_be_kept(refusal_of, columns: list[str] | None, value: str, message: str) -> None:
    assert refusal_of("NdJson", f'{{"v": {value}}}', columns) == f"{LABEL}: line 1: {message}"


def test_nesting(rows, refusal_of) -> None:
    deep = "[" * 40 + "1" + "]" * 40
    assert rows("NdJson", f'{{"v": {deep}}}', ["v STRING"]) == [(deep,)]
    assert rows("NdJson", f'{{"v": {deep}}}', ["w STRING"]) == [(None,)]
    too_deep = "[" * 51 + "]" * 51
    message = f"{LABEL}: column v: values are nested more than 50 deep: declare a schema in which it is STRING"
    assert refusal_of("NdJson", f'{{"v": {too_deep}}}') == message
    text_too_deep = "[" * 20_000 + "]" * 20_000  # Python 3.13 reads some thousands
    message = refusal_of("NdJson", f'{{"v": {text_too_deep}}}', ["v STRING"])
    assert message.startswith(f"{LABEL}: line 1: values are nested too deeply at")


def test_pairs_of_surrogates_are_characters(rows) -> None:
    assert rows("NdJson", '{"v": "\\ud83d\\ude00", "w": "\\\\ud83d"}', ["v STRING", "w STRING"]) == [("😀", "\\ud83d")]


def test_keys_match_ignoring_case_unless_two_differ_only_by_case(rows, refusal_of) -> None:
    assert rows("NdJson", '{"CITY": "A"}', ["city STRING"]) == [("A",)]
    assert rows("NdJson", '{"City": "A", "city": "B"}', ["city STRING"]) == [("B",)]
    message = refusal_of("NdJson", '{"City": "A", "CITY": "B"}', ["city STRING"])
    assert message == f"{LABEL}: line 1, column city: the keys City and CITY differ only by case"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("BIGINT", '"1"', 1),
        ("BIGINT", "1.0", 1),
        ("BIGINT", "1e2", 100),
        ("BIGINT", "9007199254740993", 9007199254740993),
        ("SMALLINT", "-5", -5),
        ("DOUBLE", '"1.5"', 1.5),
        ("DOUBLE", '"Infinity"', float("inf")),
        ("DECIMAL(20,4)", "1234567890123456.7890", Decimal("1234567890123456.7890")),
        ("STRING", "1.50", "1.50"),
        ("STRING", "true", "true"),
        ("STRING", '{"a": [1.0, "x"]}', '{"a":[1.0,"x"]}'),
        ("STRING", '"@1"', "@1"),
        ("DOUBLE", "-Infinity", float("-inf")),
        ("BOOLEAN", "true", True),
        ("DATE", '"2020-01-02"', dt.date(2020, 1, 2)),
        ("TIMESTAMP", "1577934245000", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TIMESTAMP", "1.577934245e12", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TIMESTAMP", '"2020-01-02T03:04:05Z"', dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TIME", '"03:04:05"', dt.time(3, 4, 5)),
        ("BINARY", '"eHl6"', b"xyz"),
        ("ARRAY<INT>", '[1, null, "3"]', [1, None, 3]),
        ("ARRAY<ARRAY<DATE>>", '[["2020-01-02"], []]', [[dt.date(2020, 1, 2)], []]),
        ("STRUCT<x: INT, y: STRUCT<z: STRING>>", '{"X": 1.0, "y": {"z": 2}}', {"x": 1, "y": {"z": "2"}}),
        ("STRUCT<x: INT>", "null", None),
        ("MAP<STRING, DECIMAL(4,2)>", '{"k": 1.50}', [("k", Decimal("1.50"))]),
    ],
)
def test_value(read, kind: str, value: str, expected: object) -> None:
    table = read("NdJson", f'{{"v": {value}}}\n', [f"v {kind}"]).frame.toArrow()
    assert table.column("v").to_pylist() == [expected]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("BIGINT", "14.5", "column v: '14.5' is not a BIGINT"),
        ("DECIMAL(8,2)", "1.239", "column v: '1.239' is not a DECIMAL(8,2)"),
        ("DOUBLE", "1E400", "column v: '1E400' is not a DOUBLE"),
        ("ARRAY<FLOAT>", "[1, 1e60]", "column v[]: '1e60' is not a FLOAT"),
        ("BIGINT", "NaN", "column v: 'NaN' is not a BIGINT"),
        ("BIGINT", "9223372036854775808", "column v: '9223372036854775808' is not a BIGINT"),
        ("BIGINT", "1e999999999", "column v: '1e999999999' is not a BIGINT"),
        ("BIGINT", "true", "column v: 'true' is not a BIGINT"),
        ("DATE", "20200102", "column v: '20200102' is not a DATE"),
        ("DATE", '"20200102"', "column v: '20200102' is not a DATE"),
        ("TIMESTAMP", '"@5"', "column v: ' @5' is not a TIMESTAMP"),
        ("TIMESTAMP", "1.5", "column v: '1.5' is not a TIMESTAMP" + _MILLIS),
        ("TIMESTAMP", "1700000000000000", "column v: '1700000000000000' is not a TIMESTAMP" + _MILLIS),
        ("TIMESTAMP", "-9223372036854775808", "column v: '-9223372036854775808' is not a TIMESTAMP" + _MILLIS),
        ("TIMESTAMP", '"0000-01-01"', "column v: '0000-01-01' is not a TIMESTAMP"),
        ("DATE", '"0000-12-31"', "column v: '0000-12-31' is not a DATE"),
        ("ARRAY<TIMESTAMP>", "[1700000000000000]", "column v[]: '1700000000000000' is not a TIMESTAMP" + _MILLIS),
        ("ARRAY<INT>", '[1, "q"]', "column v[]: 'q' is not an INT"),
        ("ARRAY<INT>", '{"a": 1}', "column v: '{\"a\":1}' is not ARRAY<INT>"),
        ("STRUCT<x: ARRAY<DATE>>", '{"x": ["y"]}', "column v.x[]: 'y' is not a DATE"),
        ("STRUCT<x: INT>", "3", "column v: '3' is not STRUCT<X:INT>"),
        ("STRUCT<x: INT NOT NULL>", "{}", "column v.x: null, but the schema declares NOT NULL"),
        (
            "ARRAY<STRUCT<x: STRUCT<y: INT NOT NULL>>>",
            '[{"x": null}, {"x": {"Y": null}}]',
            "column v[].x.y: null, but the schema declares NOT NULL",
        ),
        ("ARRAY<ARRAY<MAP<STRING, DATE>>>", '[[{"k": "y"}]]', "column v[][]{}: 'y' is not a DATE"),
        ("MAP<STRING, INT>", '{"k": "y"}', "column v{}: 'y' is not an INT"),
    ],
)
def test_value_refused(refusal_of, kind: str, value: str, message: str) -> None:
    assert refusal_of("NdJson", f'{{}}\n{{"v": {value}}}\n', [f"v {kind}"]) == f"{LABEL}: line 2, {message}"


def test_lines_refused(refusal_of) -> None:
    message = refusal_of("NdJson", '{"a": 1}\n{"a":', ["a INT"])
    hint = "each line must contain complete objects; read a document of several lines with kind Json"
    assert message == f"{LABEL}: line 2: invalid JSON: Expecting value at the end of the text: {hint}"
    assert refusal_of("NdJson", "null\n", ["a INT"]) == f"{LABEL}: line 1: 'null' is not a JSON object"
    assert refusal_of("NdJson", "[{}]\n", ["a INT"]) == (
        f"{LABEL}: line 1: '[{{}}]' is not a JSON object: read an array with kind Json"
    )
    assert refusal_of("Json", '{"a": 1}\n{"a": 2}\n', ["a INT"]) == (
        f"{LABEL}: at the root there is an object with the keys a, not an array: read lines of objects with kind NdJson"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "Shift_JIS", "GB18030", "UTF8"])
def test_encodings(rows, encoding: str) -> None:
    for kind, text in (("Json", '[{"a": "表"},\n{"a": "x"}]'), ("NdJson", '{"a": "表"}\n{"a": "x"}\n')):
        assert rows(kind, text.encode(encoding), ["a STRING"], encoding=encoding) == [("表",), ("x",)]


@pytest.mark.parametrize("kind", ["Json", "NdJson"])
def test_formats(read, refusal_of, kind: str) -> None:
    content = '{"d": "01.02.2026", "t": "01.02.2026 03:04", "n": 1577934245000, "s": {"d": "02.02.2026"}}'
    content = f"[{content}]" if kind == "Json" else content
    columns = ["d DATE", "t TIMESTAMP", "n TIMESTAMP", "s STRUCT<d: DATE>"]
    formats = {"date_format": "dd.MM.yyyy", "timestamp_format": "dd.MM.yyyy HH:mm"}
    assert read(kind, content, columns, **formats).frame.toArrow().to_pylist() == [
        {
            "d": dt.date(2026, 2, 1),
            "t": dt.datetime(2026, 2, 1, 3, 4, tzinfo=UTC),
            "n": dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
            "s": {"d": dt.date(2026, 2, 2)},
        }
    ]
    message = refusal_of(kind, content, columns, **(formats | {"date_format": "yyyy-MM-dd"}))
    assert message.endswith(" 1, column d: '01.02.2026' is not a DATE of the format yyyy-MM-dd")


def test_map_keys_are_strings(refusal_of) -> None:
    assert refusal_of("NdJson", "{}", ["a MAP<INT, INT>"]) == "column a: keys of a MAP are STRING in JSON, not int"


def test_without_schema(read) -> None:
    text = (
        '{"a": 1, "b": null, "c": {"x": [1]}, "d": "2020-01-01", "e": 1}\n'
        '{"a": 2.5, "c": {"x": [1.5], "y": true}, "e": "x", "new key": []}\n'
    )
    frame = read("NdJson", text).frame
    assert frame.schema.simpleString() == (
        "struct<a:double,b:string,c:struct<x:array<double>,y:boolean>,d:string,e:string,new key:array<string>>"
    )
    assert frame.toArrow().to_pylist()[1] == {
        "a": 2.5, "b": None, "c": {"x": [1.5], "y": True}, "d": None, "e": "x", "new key": [],
    }  # fmt: skip


def test_without_schema_columns_come_by_name_and_what_later_records_add_after_them(read) -> None:
    """As in the reference implementation."""
    text = (
        '{"title": "t", "channel": 1, "views": {"b": 1, "a": 2}}\n{"subscribers": 2, "count": 1, "views": {"c": 1}}\n'
    )
    assert read("NdJson", text).frame.schema.simpleString() == (
        "struct<channel:bigint,title:string,views:struct<a:bigint,b:bigint,c:bigint>,count:bigint,subscribers:bigint>"
    )


KNOWN = (Column("op", ""), Column("Id", "BIGINT", False), Column("tags", "ARRAY<INT>"), Column("day", "DATE"))


def test_without_schema_columns_of_the_dataset_keep_their_types(read, refusal_of) -> None:
    frame = read("NdJson", '{"op": 1, "id": "7", "tags": []}\n', known_columns=KNOWN).frame
    assert frame.schema.simpleString() == "struct<id:bigint,op:bigint,tags:array<int>,day:date>"
    assert [tuple(r) for r in frame.collect()] == [(7, 1, [], None)]
    message = refusal_of("NdJson", '{"id": 1}\n{"id": null}\n', known_columns=KNOWN)
    assert message == f"{LABEL}: line 2, column id: null, but the schema declares NOT NULL"
    with_new = read("NdJson", '{"id": "7", "other": 1.5}\n', known_columns=KNOWN).frame
    assert with_new.schema.simpleString() == "struct<id:bigint,other:double>"
    nullable = KNOWN[2:]
    assert [tuple(r) for r in read("Json", "[{}]", known_columns=nullable).frame.collect()] == [(None, None)]
    assert read("NdJson", "\n", known_columns=nullable).frame.collect() == []


def test_without_schema_fields_that_a_known_struct_lacks_are_told(read) -> None:
    known = (Column("s", "STRUCT<x: INT>"),)
    result = read("NdJson", '{"s": {"x": 1, "y": 2}}\n', known_columns=known)
    assert result.notices == (f"{LABEL}: ignored columns that are not in the schema: s.y",)


def test_without_schema_numbers_keep_their_digits(read) -> None:
    text = (
        '{"id": 12345678901234567890, "long": 9223372036854775807, "round": 100000000000000000000, "nan": NaN}\n'
        '{"id": 1, "long": -9223372036854775808, "round": 1.5, "nan": 1}\n'
    )
    frame = read("NdJson", text).frame
    assert frame.schema.simpleString() == "struct<id:string,long:bigint,nan:double,round:double>"
    assert frame.collect()[0].id == "12345678901234567890"


def test_without_schema_keys_are_names(refusal_of) -> None:
    message = f"{LABEL}: a key is empty and cannot name a column: declare a schema"
    assert refusal_of("NdJson", '{"": 1}') == message
    assert refusal_of("Json", '[{"a": {"": 1}}]') == message
    message = f"{LABEL}: the keys X and x differ only by case: declare a schema with one of them"
    assert refusal_of("NdJson", '{"a": {"X": 1}}\n{"a": {"x": 1}}') == message


def test_without_schema_keys_that_differ_by_case_are_refused(refusal_of) -> None:
    message = refusal_of("NdJson", '{"A": 1}\n{"a": 2}')
    assert message == f"{LABEL}: the keys A and a differ only by case: declare a schema with one of them"


def test_large_files_are_read_in_pieces_and_errors_keep_their_line(
    read, refusal_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_odf.engine.read import raw

    monkeypatch.setattr(source, "CHUNK_BYTES", 2_000)
    monkeypatch.setattr(raw, "CHUNK_BYTES", 2_000)
    lines = [f'{{"id": {i}}}' for i in range(1000)]
    frame = read("NdJson", "\n".join(lines), ["id INT"]).frame
    assert frame.rdd.getNumPartitions() > 3
    assert [row.id for row in frame.collect()] == list(range(1000))
    lines[800] = '{"id": "x"}'
    assert refusal_of("NdJson", "\n".join(lines), ["id INT"]) == f"{LABEL}: line 801, column id: 'x' is not an INT"
