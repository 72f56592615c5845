"""ReadStep::Csv: options, values, and what is refused with which words."""

from __future__ import annotations

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import SparkRuntimeException

from airflow_provider_odf.engine.read import source
from airflow_provider_odf.protocol import Column, ReadStep

pytestmark = pytest.mark.spark
UTC = dt.UTC
LABEL = "https://example.com/data"


def test_schema_and_header(read) -> None:
    result = read(
        "Csv",
        "city,population\nA,1000\nB,2000\nC,3000\n",
        ["city STRING NOT NULL", "population INT NOT NULL"],
        header=True,
    )
    assert [tuple(r) for r in result.frame.collect()] == [("A", 1000), ("B", 2000), ("C", 3000)]
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in result.frame.schema] == [
        ("city", "string", False),
        ("population", "int", False),
    ]
    assert result.notices == ()


def test_without_schema_all_are_strings_named_by_the_header(read) -> None:
    frame = read("Csv", "city,population\nA,1000\nB,\n", header=True).frame
    assert frame.schema.simpleString() == "struct<city:string,population:string>"
    assert [tuple(r) for r in frame.collect()] == [("A", "1000"), ("B", None)]


def test_without_schema_and_header_columns_are_numbered(read) -> None:
    frame = read("Csv", "A,1000\n").frame
    assert frame.columns == ["column_1", "column_2"]


def test_inference_takes_the_narrowest_type_of_all_rows(read) -> None:
    text = (
        "i,x,b,d,t,s,mixed,empty\n"
        "1,1.5,true,2020-01-02,2020-01-02T03:04:05Z,a,1,\n"
        ",2,FALSE,2020-01-03,2020-01-03,b,1.5,\n"
    )
    frame = read("Csv", text, header=True, infer_schema=True).frame
    assert frame.schema.simpleString() == (
        "struct<i:bigint,x:double,b:boolean,d:date,t:timestamp,s:string,mixed:double,empty:string>"
    )
    assert frame.collect()[1].asDict() == {
        "i": None, "x": 2.0, "b": False, "d": dt.date(2020, 1, 3), "t": frame.collect()[1].t, "s": "b", "mixed": 1.5,
        "empty": None,
    }  # fmt: skip


def test_inference_keeps_the_digits_of_ids(read) -> None:
    text = (
        "id,long,round,mixed,huge\n"
        "12345678901234567890,9223372036854775807,100000000000000000000,12345678901234567890," + "9" * 40 + "\n"
        "1,-9223372036854775808,1.5,0.5,1\n"
    )
    frame = read("Csv", text, header=True, infer_schema=True).frame
    assert [f.dataType.simpleString() for f in frame.schema] == ["string", "bigint", "double", "string", "string"]
    assert frame.first().id == "12345678901234567890"


def test_tsv_nulls(rows) -> None:
    text = "1\t2\t3\t4\n1\t\t\t4\n1\t2\t\t\n\t\t3\t4\n"
    expected = [(1, 2, 3, 4), (1, None, None, 4), (1, 2, None, None), (None, None, 3, 4)]
    columns = ["a INT", "b INT", "c INT", "d INT"]
    assert rows("Csv", text, columns, separator="\t") == expected
    assert rows("Csv", text, columns, separator="\\t") == expected


def test_a_header_alone_has_no_rows(read) -> None:
    assert read("Csv", "a\n", ["a INT"], header=True).frame.collect() == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a,b",x\n', [("a,b", "x")]),
        ('"dou""ble",x\n', [('dou"ble', "x")]),
        ('"back\\"slash",x\n', [('back"slash', "x")]),
        ('"both""and\\"",x\n', [('both"and"', "x")]),
        ('"two\nlines",x\n3,4\n', [("two\nlines", "x"), ("3", "4")]),
        ('5" pipe,x\n', [('5" pipe', "x")]),
        ("C:\\temp,x\n", [("C:\\temp", "x")]),
        ('"C:\\temp",x\n', [("C:\\temp", "x")]),
        ('"C:\\\\temp",x\n', [("C:\\temp", "x")]),
        ('"",x\n', [(None, "x")]),
        (" a , b \n", [(" a ", " b ")]),
        ("\ufeffa,b\r\nc,d\r\n", [("a", "b"), ("c", "d")]),
        ("a,b\rc,d\r", [("a", "b"), ("c", "d")]),
        ("a,b\n\n\nc,d", [("a", "b"), ("c", "d")]),
        ("漢字,é\n", [("漢字", "é")]),
    ],
)
def test_text(rows, text: str, expected: list[tuple[str | None, str]]) -> None:
    assert rows("Csv", text, ["a STRING", "b STRING"]) == expected


def test_quote_and_escape_options(rows) -> None:
    columns = ["a STRING", "b STRING"]
    assert rows("Csv", "'x,y',z\n", columns, quote="'") == [("x,y", "z")]
    assert rows("Csv", '"x,y"\n', columns, quote="") == [('"x', 'y"')]
    assert rows("Csv", '"x^"y",z\n', columns, escape="^") == [('x"y', "z")]
    assert rows("Csv", '"x\\",z\n', columns, escape="") == [("x\\", "z")]


def test_null_value(rows) -> None:
    assert rows("Csv", "NA,1\n,NA\n", ["a STRING", "b INT"], null_value="NA") == [(None, 1), (None, None)]


@pytest.mark.parametrize("name", ["latin1", "ISO-8859-1", "windows-1252"])
def test_one_byte_encodings(rows, name: str) -> None:
    assert rows("Csv", b"1,caf\xe9\n", ["a INT", "b STRING"], encoding=name) == [(1, "café")]


@pytest.mark.parametrize("name", ["utf-16", "UTF16", "utf_16_le"])
def test_utf16(rows, name: str) -> None:
    content = "a,b\n1,Zoë\n".encode("utf-16-le" if "le" in name else "utf-16")
    assert rows("Csv", content, ["a INT", "b STRING"], encoding=name, header=True) == [(1, "Zoë")]


def test_ascii_is_ascii_alone(rows, refusal_of) -> None:
    assert rows("Csv", "1,x\n", ["a INT", "b STRING"], encoding="us-ascii") == [(1, "x")]
    message = f"{LABEL}: line 1: byte 0xc3 is not ascii: set `encoding` to the encoding of the file"
    assert refusal_of("Csv", "1,é\n", ["a INT", "b STRING"], encoding="US-ASCII") == message


@pytest.mark.parametrize("header", [True, False])
def test_files_that_are_no_csv(refusal_of, header: bool) -> None:
    """In latin1 any bytes are text."""
    packed = {"Gzip": gzip.compress(b"a\n1\n"), "Zip": b"PK\x03\x04\x14\0"}
    for form, content in packed.items():
        message = f"{LABEL}: the file is compressed: add the prepare step Decompress with format {form}"
        assert refusal_of("Csv", content, encoding="latin1", header=header) == message
    message = f"{LABEL}: the file is Parquet: read it with kind Parquet"
    assert refusal_of("Csv", b"PAR1\x15\x04PAR1", encoding="latin1", header=header) == message


def test_a_text_may_begin_as_parquet_does(rows) -> None:
    assert rows("Csv", "PAR1,x\n", ["a STRING", "b STRING"]) == [("PAR1", "x")]


def test_types(rows) -> None:
    columns = [
        "a TINYINT", "b SMALLINT", "c FLOAT", "d DECIMAL(5,2)", "e TIME", "f BINARY", "g VARCHAR(3)", "h DATE",
        "i DATE",
    ]  # fmt: skip
    text = "1,2,1.5,1.55000,12:30:00,xyz,abc,2020-01-02,2020-01-02T03:04:05Z\n"
    assert rows("Csv", text, columns) == [
        (1, 2, 1.5, Decimal("1.55"), dt.time(12, 30), b"xyz", "abc", dt.date(2020, 1, 2), dt.date(2020, 1, 2))
    ]


def test_white_space_around_numbers(rows) -> None:
    assert rows("Csv", " 7, -1.5 , TRUE\n", ["a BIGINT", "b DOUBLE", "c BOOLEAN"]) == [(7, -1.5, True)]
    assert rows("Csv", " 1.50 \n", ["a DECIMAL(4,1)"]) == [(Decimal("1.5"),)]


def test_a_null_in_a_file_of_one_column(rows) -> None:
    assert rows("Csv", 'a\n1\n\n""\n2\n', ["a INT"], header=True) == [(1,), (None,), (2,)]


def test_numbers_that_are_only_written_longer_fit(rows) -> None:
    text = "1.2300\n-.50\n123e-2\n1230E-03\n0.000e-9\n12.3e1\n7.\n"
    expected = ["1.23", "-0.50", "1.23", "1.23", "0.00", "123.00", "7.00"]
    assert rows("Csv", text, ["a DECIMAL(8,2)"]) == [(Decimal(number),) for number in expected]
    assert rows("Csv", "inf\n-Infinity\n1e300\n", ["a DOUBLE"]) == [(float("inf"),), (float("-inf"),), (1e300,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2016-01-04", dt.datetime(2016, 1, 4, tzinfo=UTC)),
        ("2016-01-04 01:02:03", dt.datetime(2016, 1, 4, 1, 2, 3, tzinfo=UTC)),
        ("2016-01-04T01:02:03Z", dt.datetime(2016, 1, 4, 1, 2, 3, tzinfo=UTC)),
        ("2016-01-04t01:02:03.123456789z", dt.datetime(2016, 1, 4, 1, 2, 3, 123456, tzinfo=UTC)),
        ("2016-01-04T01:02:03+05:30", dt.datetime(2016, 1, 3, 19, 32, 3, tzinfo=UTC)),
        ("2016-01-04T01:02:03-03:30", dt.datetime(2016, 1, 4, 4, 32, 3, tzinfo=UTC)),
    ],
)
def test_rfc3339(read, text: str, expected: dt.datetime) -> None:
    table = read("Csv", text + "\n", ["t TIMESTAMP"]).frame.toArrow()
    assert table.to_pylist() == [{"t": expected}]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TIMESTAMP", "2020"),
        ("TIMESTAMP", "2020-1-2"),
        ("TIMESTAMP", "T03:04"),
        ("TIMESTAMP", "2016-01-04T01:02:03+0530"),
        ("TIMESTAMP", "2016-02-30"),
        ("TIMESTAMP", "1577934245000"),
        ("DATE", "2020"),
        ("DATE", "2020-01"),
        ("DATE", "20200102"),
        ("BOOLEAN", "t"),
        ("BOOLEAN", "1"),
        ("DOUBLE", "1d"),
        ("DOUBLE", "0x1p3"),
        ("BIGINT", "1.0"),
        ("BIGINT", "9223372036854775808"),
        ("TINYINT", "128"),
        ("DECIMAL(12,2)", '"1,234.50"'),
        ("DECIMAL(3,2)", "100"),
        ("DECIMAL(8,2)", "1.239"),
        ("DECIMAL(8,2)", "-0.001"),
        ("DECIMAL(8,2)", "1.2e-2"),
        ("DECIMAL(38,2)", "1239e-3"),
        ("DOUBLE", "1e400"),
        ("DOUBLE", "-1e400"),
        ("FLOAT", "1e60"),
        ("VARCHAR(3)", "abcd"),
        ("TIME(6)", "25:00:00"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_place(refusal_of, kind: str, text: str) -> None:
    message = refusal_of("Csv", f"a,value\n1,{text}\n", ["a INT", f"value {kind}"], header=True)
    article = "an" if kind[0] in "AEIOU" else "a"
    shown = text.strip('"')
    assert message == f"{LABEL}: line 2, column value: '{shown}' is not {article} {kind}"


def test_formats(read) -> None:
    columns = ["d DATE", "t TIMESTAMP"]
    formats = {"date_format": "dd/MM/yyyy", "timestamp_format": "yyyy/MM/dd HH:mm:ss[xxx][x]"}
    text = "01/02/2020,2020/02/01 03:04:05+02\n01/02/2020,2020/02/01 03:04:05+02:00\n"
    expected = {"d": dt.date(2020, 2, 1), "t": dt.datetime(2020, 2, 1, 1, 4, 5, tzinfo=UTC)}
    assert read("Csv", text, columns, **formats).frame.toArrow().to_pylist() == [expected] * 2


def test_a_percent_sign_in_a_pattern_is_itself(rows) -> None:
    assert rows("Csv", "100% 2020\n", ["d DATE"], date_format="100% yyyy") == [(dt.date(2020, 1, 1),)]


def test_a_value_that_is_not_of_its_format_is_told_the_format(refusal_of) -> None:
    message = refusal_of("Csv", "2020-02-01\n", ["d DATE"], date_format="dd/MM/yyyy")
    assert message == f"{LABEL}: line 1, column d: '2020-02-01' is not a DATE of the format dd/MM/yyyy"


def test_columns_that_nothing_uses_are_checked_too(read) -> None:
    from airflow_provider_odf.engine.spark_errors import refusal

    frame = read("Csv", "a,b\n1,x\n", ["a INT", "b INT"], header=True).frame
    for use in (frame.select("a").collect, frame.count, frame.groupBy("a").count().collect):
        with pytest.raises(Exception, match="is not an INT") as e:
            use()
        assert str(refusal(e.value)) == f"{LABEL}: line 2, column b: 'x' is not an INT"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: 1 field instead of 2: '3'"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields instead of 2: '3,4,5'"),
        ('a,b\n1,2\n\n"3"\n', "line 4: 1 field instead of 2: '3'"),
        ('a,b\n1,2\n3,"x\n5,6\n', "line 3: the quote that opens here is never closed"),
        ('a,b\n1,"x"y\n', "line 2: text after a closing quote: only ',' or a line end may follow"),
        ("a,b\n1,2\n3,x\0y\n", "line 3: a NUL byte, which CSV cannot have: check the `encoding`"),
        ("a,b\n1,2\n".encode("utf-16-le"), "line 1: a NUL byte, which CSV cannot have: check the `encoding`"),
        (
            "\ufeff\n\n",
            "the file is blank, but Csv with `header: true` needs a header line: "
            "check whether the source wrote the whole file",
        ),
        (b"a,b\n1,2\n3,\xff\n", "line 3: byte 0xff is not utf-8: set `encoding` to the encoding of the file"),
        ("a,b\n1,\n", "line 2, column b: null, but the schema declares NOT NULL"),
        ("a,b\n1,\"q\\\"\nz\"\nx,y\n", "line 4, column a: 'x' is not an INT"),
    ],
)  # fmt: skip
def test_malformed_data_are_named_with_their_place(refusal_of, text: str | bytes, message: str) -> None:
    assert refusal_of("Csv", text, ["a INT", "b STRING NOT NULL"], header=True) == f"{LABEL}: {message}"


def test_no_header_and_another_number_of_columns(refusal_of) -> None:
    assert refusal_of("Csv", "1,2\n", ["a INT"]) == f"{LABEL}: line 1: 2 fields instead of 1: '1,2'"


def test_columns_by_name_and_by_position(read) -> None:
    by_name = read("Csv", "B ,extra,a\n1,2,3\n", ["a INT", "b INT"], header=True)
    assert [tuple(r) for r in by_name.frame.collect()] == [(3, 1)]
    assert by_name.notices == (f"{LABEL}: ignored columns that are not in the schema: extra",)
    by_position = read("Csv", "x,y\n1,2\n", ["a INT", "b INT"], header=True)
    assert [tuple(r) for r in by_position.frame.collect()] == [(1, 2)]
    assert "columns are matched by position: 'x' as a, 'y' as b" in by_position.notices[0]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"separator": "||"}, "read.separator is '||': it must be a single character"),
        ({"separator": ""}, "read.separator is '': it must be a single character"),
        ({"quote": "''"}, "read.quote is \"''\": it must be a single character"),
        ({"separator": "\n"}, "read.separator is '\\n': it cannot be a line end or NUL"),
        (
            {"separator": ";", "quote": ";"},
            "read.separator ';' is also the quote or the escape: choose another",
        ),
        ({"encoding": "rot13"}, "unknown encoding 'rot13': use utf-8, iso-8859-1, windows-1252, utf-16, …"),
        ({"encoding": "utf-16"}, f"{LABEL}: no byte order mark: set `encoding` to utf-16-le or utf-16-be"),
        ({"encoding": "klingon"}, "unknown encoding 'klingon': use utf-8, iso-8859-1, windows-1252, utf-16, …"),
    ],
)
def test_options_that_cannot_be(refusal_of, option: dict[str, str], message: str) -> None:
    assert refusal_of("Csv", "1\n", ["a INT"], **option) == message


def test_types_that_cannot_be(refusal_of) -> None:
    assert refusal_of("Csv", "1\n", ["a ARRAY<INT>"]).startswith("column a: ARRAY<INT> cannot be read from Csv")
    assert refusal_of("Csv", "1\n", ["a NUMBER"]) == "column a: 'NUMBER' is not a Spark type"


def test_several_files_are_read_in_their_order_each_by_its_header(spark, tmp_path: Path) -> None:
    from airflow_provider_odf.engine.read import read

    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    (tmp_path / "1.csv").write_text("b,a\ny,2\n")
    step = ReadStep("Csv", (Column("a", "INT"), Column("b", "STRING")), header=True)
    frame = read(spark, step, [str(tmp_path / "2.csv"), str(tmp_path / "1.csv")], LABEL).frame
    assert [tuple(r) for r in frame.collect()] == [(1, "x"), (2, "y")]
    (tmp_path / "1.csv").write_text("b,a\ny,z\n")
    frame = read(spark, step, [str(tmp_path / "2.csv"), str(tmp_path / "1.csv")], LABEL).frame
    with pytest.raises(SparkRuntimeException, match=f"{LABEL}, file 2 of 2: line 2, column a: 'z' is not an INT"):
        frame.collect()


class TestLarge:
    """Files that are read in pieces by the workers."""

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from airflow_provider_odf.engine.read import raw

        monkeypatch.setattr(source, "CHUNK_BYTES", 2_000)
        monkeypatch.setattr(raw, "CHUNK_BYTES", 2_000)

    def test_rows_keep_their_order(self, read) -> None:
        from pyspark.sql import functions as sf

        text = "id,name\n" + "".join(f"{i},name {i}\n" for i in range(1000))
        frame = read("Csv", text, ["id INT", "name STRING"], header=True).frame
        assert frame.rdd.getNumPartitions() > 3
        positioned = frame.withColumn("at", sf.monotonically_increasing_id()).orderBy("at").collect()
        assert [row.id for row in positioned] == list(range(1000))

    def test_an_error_in_a_later_piece_has_its_line(self, refusal_of) -> None:
        lines = [f"{i},name {i}" for i in range(1000)]
        lines[700] = "700,x,y"
        columns = ["id INT", "name STRING"]
        assert refusal_of("Csv", "id,name\n" + "\n".join(lines), columns, header=True) == (
            f"{LABEL}: line 702: 3 fields instead of 2: '700,x,y'"
        )
        lines[700] = "seven,x"
        assert refusal_of("Csv", "id,name\n" + "\n".join(lines), columns, header=True) == (
            f"{LABEL}: line 702, column id: 'seven' is not an INT"
        )

    def test_quoted_line_breaks_are_not_cut(self, rows) -> None:
        text = "".join(f'{i},"name\n{i}"\n' for i in range(500))
        assert rows("Csv", text, ["id INT", "name STRING"])[499] == (499, "name\n499")


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("1§x\n", {"separator": "§"}, [("1", "x")]),
        ("þaþ\x14þb\nþþþ\n", {"separator": "\x14", "quote": "þ"}, [("a", "b\nþ")]),
        ('"x,y"\n', {"quote": ""}, [('"x', 'y"')]),
        ('"a^"b",c\n', {"escape": "^"}, [('a"b', "c")]),
        ('"a\\",c\n', {"escape": ""}, [("a\\", "c")]),
        ('-,"-"\n,x\n', {"null_value": "-"}, [(None, None), (None, "x")]),
    ],
)
def test_options(rows, content: str, options: dict[str, str], expected: object) -> None:
    assert rows("Csv", content, ["a STRING", "b STRING"], **options) == expected


def test_dollars_in_names_are_no_settings(refusal_of) -> None:
    message = refusal_of("Csv", "x\n", ["a ${spark.app.name} INT".replace(" ${", "${", 1)], date_format="yyyy")
    assert message == f"{LABEL}: line 1, column a${{spark.app.name}}: 'x' is not an INT"


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "utf-16", "Shift_JIS", "cp037"])
def test_large_files_with_quoted_line_breaks_are_read_in_pieces(
    rows, refusal_of, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    from airflow_provider_odf.engine.read import csv, raw

    for module, name, size in ((source, "CHUNK_BYTES", 2_000), (raw, "CHUNK_BYTES", 2_000), (csv, "QUICK_FROM", 0)):
        monkeypatch.setattr(module, name, size)
    lines = [f'{i},"a ""b""\n,{i}"' for i in range(400)]
    columns = ["id INT", "text STRING"]
    expected = [(i, f'a "b"\n,{i}') for i in range(400)]
    assert rows("Csv", "\n".join(["i,t", *lines]).encode(encoding), columns, header=True, encoding=encoding) == expected
    lines[300] = '300,"a \\"b\\"\n,300"'
    assert rows("Csv", "\n".join(lines).encode(encoding), columns, encoding=encoding) == expected
    lines[350] = 'x,"y"'
    message = refusal_of("Csv", "\n".join(lines).encode(encoding), columns, encoding=encoding)
    assert message == f"{LABEL}: line 701, column id: 'x' is not an INT"
