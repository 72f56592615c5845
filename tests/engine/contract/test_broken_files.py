"""A broken column or file is the outcome of the clauses that need it; all others are tested."""

from __future__ import annotations

import datetime
import decimal
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.sources import of_data
from airflow_provider_odf.engine.contract import sources
from airflow_provider_odf.protocol import ContractReport

pytestmark = pytest.mark.spark

CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:t
info: {title: T, version: 1.0.0}
models:
  t:
    additionalFields: true
    fields:
      a: {type: long, required: true, unique: true, minimum: 2}
      b: {type: string, maxLength: 3, enum: [x, y, long]}
    quality:
      - {type: sql, query: 'SELECT count(*) FROM {model}', mustBe: 4}
      - {type: sql, query: 'SELECT sum(a) FROM {model}', mustBe: 10}
      - {metric: rowCount, mustBe: 4}
"""
A = pa.array([1, 2, 3, 4], pa.int64())
B = pa.array(["x", "y", None, "long"])
WHOLE = {
    "": "pass",
    "/fields/a": "pass",
    "/fields/a/type": "pass",
    "/fields/a/required": "pass",
    "/fields/a/unique": "pass",
    "/fields/a/minimum": "fail",
    "/fields/b": "pass",
    "/fields/b/type": "pass",
    "/fields/b/maxLength": "fail",
    "/fields/b/enum": "pass",
    "/quality/0": "pass",
    "/quality/1": "pass",
    "/quality/2": "pass",
}
OF_A = {path: "error" for path in WHOLE if path.startswith("/fields/a") or path == "/quality/1"}
OF_B = {path: "error" for path in WHOLE if path.startswith("/fields/b")}


def results(spark: SparkSession, path: Path, kind: str) -> dict[str, tuple[str, str]]:
    """The outcome and the reason of each clause, by its pointer in the model."""
    file = parse(CONTRACT, "c.yaml")
    report = sources.test(spark.newSession(), compile_models(file, ["t"]), of_data(file, ["t"], str(path), kind))
    paths = [result.path.removeprefix("/models/t") for result in report.results]
    assert len(set(paths)) == len(paths)
    return {path: (r.outcome, r.reason) for path, r in zip(paths, report.results, strict=True)}


def outcomes(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {path: outcome for path, (outcome, _) in found.items()}


CSV = {
    "another order": (("a,b\n1,x\n2,y\n", "b,a\n,3\nlong,4\n"), {}, ""),
    "another case": (("a,B\n1,x\n2,y\n", "A,b\n3,\n4,long\n"), {}, ""),
    "another name": (
        ("a,b\n1,x\n2,y\n", "a,c\n3,\n4,long\n"),
        OF_B,
        "the header of 1.csv has no b, which other files have",
    ),
    "a column less": (("a,b\n1,x\n2,y\n", "a\n3\n4\n"), OF_B, "the header of 1.csv has no b, which other files have"),
    "twice": (("a,b,B\n1,x,x\n2,y,y\n3,,\n4,long,l\n",), OF_B, "the header of 0.csv has b 2 times: rename the columns"),
    "all names": (
        ("z,b\n1,x\n2,y\n3,\n", "a,b,b\n4,long,long\n"),
        OF_A | OF_B,
        "the header of 1.csv has b 2 times: rename the columns",
    ),
    "a comma at the end": (("a,b,\n1,x,\n2,y,\n3,,\n4,long,\n",), {}, ""),
    "a comma at the end of the header": (("a,b,\n1,x\n2,y\n3,\n4,long\n",), {"": "fail"}, ""),
    "an empty file": (("a,b\n1,x\n2,y\n3,\n4,long\n", ""), {}, ""),
    "quoted": (('"a","b"\n1,"x"\n2,y\n3,\n4,long\n',), {}, ""),
}


@pytest.mark.parametrize("name", CSV)
def test_headers_of_csv(spark: SparkSession, tmp_path: Path, name: str):
    texts, broken, reason = CSV[name]
    for index, text in enumerate(texts):
        (tmp_path / f"{index}.csv").write_text(text)
    found = results(spark, tmp_path, "csv")
    assert outcomes(found) == {**WHOLE, **broken}
    if reason:
        assert found["/fields/b"] == ("error", reason)


def written(folder: Path, *tables: pa.Table, **options: object) -> None:
    for index, table in enumerate(tables):
        pq.write_table(table, folder / f"{index}.parquet", **options)


WHOLE_TABLE = pa.table({"a": A, "b": B})
MOMENTS = pa.array([datetime.datetime(2024, 1, 1)] * 4, pa.timestamp("ns"))
OTHERS = {
    "nanoseconds": MOMENTS,
    "time": pa.array([datetime.time(1)] * 4, pa.time64("us")),
    "time in nanoseconds": pa.array([1] * 4, pa.time64("ns")),
    "unsigned": pa.array([2**64 - 1] * 4, pa.uint64()),
    "half floats": pa.array([1] * 4, pa.float16()),
    "in a struct": pa.array([{"x": 1, "t": 1}] * 4, pa.struct([("x", pa.int64()), ("t", pa.time64("ns"))])),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_column_beside_the_tested_ones(spark: SparkSession, tmp_path: Path, name: str):
    written(tmp_path, WHOLE_TABLE.append_column("t", OTHERS[name]))
    assert outcomes(results(spark, tmp_path, "parquet")) == WHOLE


def test_a_column_that_spark_cannot_read(spark: SparkSession, tmp_path: Path):
    written(tmp_path, pa.table({"a": MOMENTS, "b": B}))
    found = results(spark, tmp_path, "parquet")
    assert outcomes(found) == {**WHOLE, **OF_A}
    reason = "a in 0.parquet is of the type INT64 (TIMESTAMP(NANOS,false)), which Spark cannot read"
    assert {found[path][1] for path in OF_A} == {reason}


def test_decimals_of_more_digits_than_spark_has(spark: SparkSession, tmp_path: Path):
    long = pa.array([decimal.Decimal(1)] * 4, pa.decimal256(60, 2))
    written(tmp_path, pa.table({"a": long, "b": pa.array([[one] for one in long], pa.list_(long.type))}))
    found = results(spark, tmp_path, "parquet")
    assert found["/fields/a/minimum"] == (
        "error",
        "a in 0.parquet is of type DECIMAL with 60 digits, and Spark reads 38 at most: write fewer digits, or text",
    )
    assert found["/fields/b/type"][1].startswith("b in 0.parquet is of type DECIMAL with 60 digits, and")


def test_only_columns_that_spark_cannot_read(spark: SparkSession, tmp_path: Path):
    written(tmp_path, pa.table({"a": MOMENTS, "b": MOMENTS}))
    assert outcomes(results(spark, tmp_path, "parquet")) == WHOLE | OF_A | OF_B


def test_columns_of_several_types(spark: SparkSession, tmp_path: Path):
    first, second = WHOLE_TABLE[:2], WHOLE_TABLE[2:]
    for name in ("wider", "other"):
        (tmp_path / name).mkdir()
    written(tmp_path / "wider", first.set_column(0, "a", first["a"].cast("int32")), second)
    assert outcomes(results(spark, tmp_path / "wider", "parquet")) == WHOLE
    written(tmp_path / "other", first, second.set_column(0, "a", second["a"].cast("string")))
    found = results(spark, tmp_path / "other", "parquet")
    assert outcomes(found) == {**WHOLE, **OF_A}
    assert found["/fields/a/minimum"][1] == (
        "a is of type bigint in 0.parquet and string in 1.parquet: write the files with one type"
    )


def test_a_codec_that_spark_lacks(spark: SparkSession, tmp_path: Path):
    written(tmp_path, WHOLE_TABLE, compression={"a": "brotli", "b": "snappy"})
    of_values = {f"/fields/a/{clause}": "error" for clause in ("required", "unique", "minimum")}
    found = results(spark, tmp_path, "parquet")
    assert outcomes(found) == {**WHOLE, **of_values, "/quality/1": "error"}
    assert "BrotliCodec" in found["/fields/a/minimum"][1]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet, but as long as a footer would be: PAR2"])
def test_a_file_that_is_not_parquet(spark: SparkSession, tmp_path: Path, content: bytes):
    written(tmp_path, WHOLE_TABLE)
    (tmp_path / "x.parquet").write_bytes(content)
    found = results(spark, tmp_path, "parquet")
    assert outcomes(found) == {**WHOLE, "": "error"}
    assert "/x.parquet is not a Parquet file" in found[""][1]


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100))
def test_random_breakages(spark: SparkSession, tmp_path: Path, seed: int):
    """Whatever is beside them, clauses on intact columns have the outcomes of the intact data."""
    _break_at_random(spark, tmp_path, seed)


@pytest.mark.parametrize("seed", range(1000, 1003))
def test_some_random_breakages(spark: SparkSession, tmp_path: Path, seed: int):
    _break_at_random(spark, tmp_path, seed)


def _break_at_random(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    broken: set[str] = set()
    cut = chance.choice([1, 2, 3])
    parts = [WHOLE_TABLE[:cut], WHOLE_TABLE[cut:]]
    kind = chance.choice(["csv", "parquet"])
    for name in chance.sample(["a", "b", "c"], chance.choice([1, 1, 2])):
        parts = _FAULTS[kind](chance, parts, name, broken)
    columns = [
        chance.sample(part.column_names, len(part.column_names)) if kind == "parquet" else None for part in parts
    ]
    for index, (part, order) in enumerate(zip(parts, columns, strict=True)):
        path = tmp_path / f"{index}.{kind}"
        if kind == "parquet":
            pq.write_table(part.select(order), path)
        else:
            rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
            lines = [part.column_names, *(["" if v is None else str(v) for v in row] for row in rows)]
            path.write_text("".join(",".join(line) + "\n" for line in lines))
    found = results(spark, tmp_path, kind)
    expected = {**WHOLE, **(OF_A if "a" in broken else {}), **(OF_B if "b" in broken else {})}
    assert outcomes(found) == expected, found


def _fault_of_csv(chance: random.Random, parts: list[pa.Table], name: str, broken: set[str]) -> list[pa.Table]:
    index = chance.randrange(len(parts))
    part = parts[index]
    fault = chance.choice(["twice", "rename", "drop", "comma", "swap"])
    if fault == "swap" or name not in part.column_names:
        part = part.select(chance.sample(range(part.num_columns), part.num_columns))
    elif fault == "comma":
        part = part.append_column("", pa.nulls(part.num_rows))
    else:
        broken.add(name)
        at = part.column_names.index(name)
        if fault == "twice":
            part = part.append_column(chance.choice([name, name.upper()]), part[name])
        elif fault == "drop":
            part = part.remove_column(at)
        else:
            part = part.set_column(at, "z", part[name])
    return [*parts[:index], part, *parts[index + 1 :]]


def _fault_of_parquet(chance: random.Random, parts: list[pa.Table], name: str, broken: set[str]) -> list[pa.Table]:
    index = chance.randrange(len(parts))
    part = parts[index]
    values = chance.choice([*OTHERS.values()])[: part.num_rows]
    if name == "a" and chance.random() < 0.5:
        values = part["a"].cast("int32")
    elif name in part.column_names:
        broken.add(name)
    if name in part.column_names:
        part = part.set_column(part.column_names.index(name), name, values)
    else:
        part = part.append_column(name, values)
    return [*parts[:index], part, *parts[index + 1 :]]


_FAULTS = {"csv": _fault_of_csv, "parquet": _fault_of_parquet}


def test_a_service_level_that_needs_a_broken_column_is_an_error_by_hand(spark: SparkSession, tmp_path: Path):
    written(tmp_path, WHOLE_TABLE.append_column("at", OTHERS["time in nanoseconds"]))
    text = CONTRACT + "servicelevels:\n  retention: {period: 1h, timestampField: t.at}\n"
    file = parse(text, "c.yaml")
    report = sources.test(
        spark.newSession(), compile_models(file, ["t"]), of_data(file, ["t"], str(tmp_path), "parquet")
    )
    (level,) = (r for r in report.results if r.path == "/servicelevels/retention")
    assert (level.outcome, level.severity, report.result) == ("error", "error", "error")


JSON = {
    "a key twice": (
        '{"a": 1, "b": "x"}\n\n{"a": 2, "a": 9, "b": "y"}\n{"a": 3, "b": "x"}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/quality/1": "fail"},
        '1 row cannot be read: {"a": 2, "a": 9, "b": "y"}',
    ),
    "a key twice in an object": (
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y", "c": [{"d": 1, "d": 1}]}\n{"a": 3}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/quality/1": "fail"},
        '1 row cannot be read: {"a": 2, "b": "y", "c": [{"d": 1, "d": 1}]}',
    ),
    "a document after another": (
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"} {"a": 0}\n{"a": 3, "b": "x"}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/quality/1": "fail"},
        '1 row cannot be read: {"a": 2, "b": "y"} {"a": 0}',
    ),
    "a comma after a document": (
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"},\n{"a": 3, "b": "x"}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/quality/1": "fail"},
        '1 row cannot be read: {"a": 2, "b": "y"},',
    ),
    "single quotes": (
        "{'a': 1}\n" + '{"a": 2, "b": "y"}\n{"a": 3, "b": "x"}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/fields/a/minimum": "pass", "/quality/1": "fail"},
        "1 row cannot be read: {'a': 1}",
    ),
    "NaN": (
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n{"a": 3, "b": "x", "c": NaN}\n{"a": 4, "b": "long"}\n',
        {"": "fail", "/fields/a/required": "fail", "/quality/1": "fail"},
        '1 row cannot be read: {"a": 3, "b": "x", "c": NaN}',
    ),
    "another case": (
        '{"a": 1, "b": "x"}\n{"a": 2, "B": "y"}\n{"a": 3}\n{"a": 4, "b": "long"}\n',
        OF_B,
        "records have the keys B and b: use one of them",
    ),
    "both cases": (
        '{"a": 1, "b": "x"}\n{"a": 2, "b": "y", "B": 1}\n{"a": 3}\n{"a": 4, "b": "long"}\n',
        OF_B,
        "records have the keys B and b: use one of them",
    ),
    "another case of all keys": (
        '{"a": 1, "b": "x"}\n{"A": 2, "B": "y"}\n{"a": 3}\n{"a": 4, "b": "long"}\n',
        OF_B | OF_A,
        "records have the keys B and b: use one of them",
    ),
    "both cases in an object": (
        '{"a": 1, "b": "x", "c": {"d": 1, "D": 2}}\n{"a": 2, "b": "y"}\n{"a": 3}\n{"a": 4, "b": "long"}\n',
        {},
        "",
    ),
}


@pytest.mark.parametrize("name", JSON)
def test_records_of_json_that_are_no_rows(spark, tmp_path: Path, name: str):
    content, different, reason = JSON[name]
    (tmp_path / "t.ndjson").write_text(content)
    found = results(spark, tmp_path, "ndjson")
    assert outcomes(found) == WHOLE | different
    assert {found[path][1] for path in [*different][:1]} == ({reason} if reason else set())


WHOLE_FILES = {
    "several documents": '{\n"a": 1\n}\n{\n"a": 2\n}\n',
    "several arrays": '[{"a": 1}]\n[{"a": 2}]\n',
    "a document after an array": '\ufeff[{"a": 1}] {"a": 2}',
}


@pytest.mark.parametrize("name", WHOLE_FILES)
def test_more_after_the_document_of_a_file(spark, tmp_path: Path, name: str):
    (tmp_path / "t.json").write_text('[\n{"a": 2, "b": "y"}, {"a": 3, "b": "x"}, {"a": 4, "b": "x"}]')
    (tmp_path / "u.json").write_text(WHOLE_FILES[name])
    found = results(spark, tmp_path, "json")
    assert {path for path, outcome in outcomes(found).items() if outcome != "pass"} == {
        "", "/fields/a/required", "/quality/1"
    }  # fmt: skip
    assert found[""][1].startswith("1 row cannot be read: ")
    assert WHOLE_FILES[name].removeprefix("\ufeff").strip() in found[""][1]


def test_an_array_of_json_with_a_key_twice_is_one_record(spark, tmp_path: Path):
    (tmp_path / "0.json").write_text('[{"a": 1, "b": "x"}, {"a": 2, "a": 9}]')
    (tmp_path / "1.json").write_text('[{"a": 3, "b": "x"}, {"a": 4, "b": "long"}]')
    found = results(spark, tmp_path, "json")
    assert found[""] == ("fail", '1 row cannot be read: [{"a": 1, "b": "x"}, {"a": 2, "a": 9}]')
    assert found["/fields/b/maxLength"] == ("fail", "1 row: long")


@pytest.mark.parametrize("name", ["odf:row", "ODF:Row", "odf:value a", "odf:malformed", "odf:new"])
@pytest.mark.parametrize("kind", ["parquet", "ndjson"])
def test_a_column_with_a_name_of_the_engine(spark: SparkSession, tmp_path: Path, name: str, kind: str):
    """Clauses on it are errors, all others are tested, and so are queries."""
    table = WHOLE_TABLE.rename_columns(["a", name])
    if kind == "parquet":
        written(tmp_path, table)
    else:
        (tmp_path / "t.ndjson").write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    file = parse(CONTRACT.replace("b:", f"'{name}':"), "c.yaml")
    data = of_data(file, ["t"], str(tmp_path), kind)
    report = sources.test(spark.newSession(), compile_models(file, ["t"]), data, f"{tmp_path}/failed")
    of_name = {path.replace("/b", f"/{name}"): "error" for path in OF_B}
    assert {r.path.removeprefix("/models/t"): r.outcome for r in report.results if r.outcome != "pass"} == {
        **of_name,
        "/fields/a/minimum": "fail",
    }
    assert {r.reason for r in report.results if r.outcome == "error"} == {
        f"column {name} has the prefix odf:, which names columns of the engine: rename it"
    }


NULL_CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:t
info: {title: T, version: 1.0.0}
models:
  t:
    fields:
      n: {type: string, pattern: '^a', minLength: 1, enum: [ab], unique: true}
      m: {type: decimal, minimum: 5, required: true}
      d: {type: date}
      s: {type: object, fields: {x: {type: string, maxLength: 9}, y: {type: long, minimum: 1}}}
      l: {type: array, items: {type: string, pattern: '^a'}}
      o: {type: object, fields: {z: {type: string, format: email}}}
    quality:
      - {type: sql, query: 'SELECT count(*) FROM {model} WHERE n IS NULL', mustBe: 2}
"""
NONE = pa.nulls(2)
NULLS = pa.table(
    {
        **dict.fromkeys(("n", "m", "d", "o"), NONE),
        "s": pa.array([{"x": None, "y": 1}, None], pa.struct([("x", pa.null()), ("y", pa.int64())])),
        "l": pa.array([[None], None], pa.list_(pa.null())),
    }
)
VALUES = pa.table(
    {
        "n": ["ab", "b"],
        "m": pa.array([5, 4], pa.decimal128(9, 2)),
        "d": [datetime.date(2024, 1, 1), None],
        "o": [{"z": "a@b.org"}, {"z": "c"}],
        "s": [{"x": "q", "y": 0}, None],
        "l": [["ab"], ["b"]],
    }
)


MIXED = {
    "m/required": "2 rows",
    "n/pattern": "1 row: b",
    "n/enum": "1 row: b",
    "m/minimum": "1 row: 4.00",
    "s/fields/y/minimum": "1 row: 0",
    "l/items/pattern": "1 row: [b]",
    "o/fields/z/format": "1 row: c",
}


def not_passed(report: ContractReport) -> dict[str, str]:
    return {r.path.removeprefix("/models/t/fields/"): r.reason for r in report.results if r.outcome != "pass"}


@pytest.mark.parametrize(("others", "expected"), [((), {"m/required": "2 rows"}), ((VALUES,), MIXED)])
def test_columns_of_type_null(spark: SparkSession, tmp_path: Path, others: tuple[pa.Table, ...], expected):
    """They have no value, whatever type the contract or other files say."""
    written(tmp_path, NULLS, *others)
    file = parse(NULL_CONTRACT, "c.yaml")
    data = of_data(file, ["t"], str(tmp_path), "parquet")
    assert not_passed(sources.test(spark.newSession(), compile_models(file, ["t"]), data)) == expected


def test_columns_of_type_null_of_dataframes(spark: SparkSession):
    nulls = "SELECT NULL n, NULL m, NULL d, named_struct('x', NULL, 'y', 1L) s, array(NULL) l, NULL o"
    contract = compile_models(parse(NULL_CONTRACT, "c.yaml"), ["t"])
    report = sources.test_frames(contract, {"t": spark.sql(f"{nulls} UNION ALL {nulls}")})
    assert not_passed(report) == {"m/required": "2 rows"}
