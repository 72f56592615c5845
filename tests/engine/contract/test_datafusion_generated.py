"""Random contracts on random rows, tested by DataFusion and by Spark: the reports are the same."""

from __future__ import annotations

import datetime as dt
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from airflow_provider_odf.contract import ecma_patterns
from airflow_provider_odf.contract.metric import matches_on_spark
from airflow_provider_odf.engine.contract import datafusion_form, history, sources
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.protocol import (
    Check,
    Contract,
    ContractReport,
    ContractTestRequest,
    DatasetVocabulary,
    MergeStrategy,
    Source,
    SourceTestRequest,
)
from airflow_provider_odf.records.schema import encode

from .test_contract import History

pytestmark = pytest.mark.spark

TEXTS = [
    "",
    "a",
    "ab",
    "A",
    "Ä",
    "é😀",
    "a b",
    "o'k",
    "x\\y",
    "%_",
    "1",
    "01",
    "1.0",
    "NaN",
    "null",
    "true",
    " a",
    "`q`",
]
DAYS = [dt.date(1900, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2262, 4, 12), dt.date(9999, 12, 31)]
TIMES = [
    dt.datetime(1900, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(2024, 5, 2),
    dt.datetime(2024, 5, 2, 12, 30, 45, 120000), dt.datetime(2262, 1, 1),
]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 0.7, 1e-5, 123456.789, 1e7, 1.5e300, float("nan"), float("inf"), -float("inf")]
NANS = [struct.unpack("d", struct.pack("Q", bits))[0] for bits in (0xFFF8000000000000, 0x7FF8000000000001)]


def _float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def _decimals(scale: int) -> list[Decimal]:
    return [Decimal(units).scaleb(-scale) for units in (0, 1, -1, 5, 10, 100, 12345, -99999, 150)]


POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    "lines": (pa.string(), [*TEXTS, "a\n", "\r", "a\u2028b"]),
    "byte": (pa.int8(), [0, 1, -1, 7, 127, -128]),
    "short": (pa.int16(), [0, 1, -1, 7, 32767, -32768]),
    "int": (pa.int32(), [0, 1, -1, 7, 2**31 - 1, -(2**31)]),
    "long": (pa.int64(), [0, 1, -1, 7, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]),
    "float": (pa.float32(), [*map(_float32, FLOATS), 3.4028234663852886e38]),
    "double": (pa.float64(), [*FLOATS, *NANS, 4e38]),
    "money": (pa.decimal128(10, 2), _decimals(2)),
    "tiny": (pa.decimal128(12, 9), _decimals(9)),
    "huge": (pa.decimal128(38, 0), [*_decimals(0), Decimal(10**38 - 1), Decimal(1 - 10**38)]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), DAYS),
    "time": (pa.timestamp("ms", "UTC"), TIMES),
    "bytes": (pa.binary(), [b"", b"a", b"\xff\x00"]),
}
LOCAL = {"local": (pa.timestamp("us"), [*TIMES, dt.datetime(2024, 5, 2, 0, 0, 0, 1)])}
"""Columns that only files have."""

ENUMS = [*TEXTS[:12], "0", "-1", "7", "0.7", "0.1", "1e7", "1.50", "0.00", "false", "2147483648", "x" * 5]
LIMITS = [0, 1, -1, 7, 0.7, 0.1, 1.5, 100, 2**31, 1e7, "12345678901234567890123", "1e400", -0.01, 127, 128.5]
PATTERNS = [
    "^a",
    "b$",
    r"^[^ @]+$",
    "a|b",
    r"\d",
    "^(a|b)*$",
    r"\w+\s\w",
    "",
    ".",
    r"[^a-c]",
    "😀",
    r"a{1,2}",
    r"[\\%]",
]
SPARK_PATTERNS = ["^a$", "^.$", r"\d+", r"\s", "a b", "[A-Z&&[^A]]", r"\bA\b", "^[a-z]?$", r"\w$"]
TYPES = [
    *[
        "string",
        "text",
        "number",
        "decimal",
        "int",
        "integer",
        "long",
        "float",
        "double",
        "timestamp",
        "timestamp_ntz",
        "date",
        "boolean",
        "bytes",
    ]
]
SPANS = [{"must_be": 0}, {"must_be_greater_than": 1}, {"must_be_between": [0, 50]}, {"must_be_less_than": 3}]


def _pattern(r: random.Random) -> dict[str, Any]:
    if r.random() < 0.3:
        return {"kind": "pattern", "arguments": matches_on_spark(r.choice(SPARK_PATTERNS))["arguments"]}
    arguments, problem = ecma_patterns.arguments(r.choice(PATTERNS))
    assert not problem
    return {"kind": "pattern", "arguments": arguments}


def _limit(r: random.Random) -> dict[str, Any]:
    kind = r.choice(["minimum", "exclusive_minimum", "maximum", "exclusive_maximum"])
    limit = r.choice([*LIMITS, "2024-05-02", "1970-01-01T00:00:00Z", "2024-05-02T14:30:45.12+02:00"])
    return {"kind": kind, "arguments": {"limit": limit, **r.choice([{}, {}, {"type": "long"}, {"orders_nan": True}])}}


def _in_set(r: random.Random) -> dict[str, Any]:
    values = r.choice([r.sample(TEXTS, 3), [0, 1, 7], [True], ["a", 1], [0.5], [2**31, 1], []])
    return {"kind": "in_set", "arguments": {"values": values}}


RULES: list[Callable[[random.Random], dict[str, Any]]] = [
    _pattern,
    _limit,
    _in_set,
    lambda r: {"kind": "enum", "arguments": {"values": r.sample(ENUMS, r.randrange(9))}},
    lambda r: {"kind": r.choice(["min_length", "max_length"]), "arguments": {"limit": r.randrange(3)}},
    lambda r: {"kind": "format", "arguments": {"format": r.choice(["uuid", "email", "uri"])}},
]
CLAUSES = [
    *RULES,
    lambda r: {"kind": "field_type", "arguments": {"type": r.choice(TYPES)}},
    lambda r: {"kind": "field_present", "arguments": {}},
    lambda r: {"kind": "required", "arguments": {}},
]


def _metric(r: random.Random) -> dict[str, Any]:
    name = r.choice([*datafusion_form._METRICS])
    unit = r.choice([{}, {"unit": "percent"}])
    arguments: dict[str, Any] = {"metric": name, "thresholds": r.choice(SPANS), **unit}
    some = lambda: [r.choice(RULES)(r) for _ in range(r.randrange(3))]  # noqa: E731
    if name in ("missing_values", "invalid_values"):
        arguments |= {"missing": r.choice([[], r.sample(ENUMS, 3)]), "missing_rules": some()}
    if name in ("invalid_values", "violations"):
        # A clause without any rule is refused by `contract.quality` and `contract.soda`.
        arguments |= {"rules": [r.choice(RULES)(r), *some()], "forbidden": some()}
    if name == "violations" and r.random() < 0.5:
        arguments["mostly"] = 0.5
        for rule in (*arguments["rules"], *arguments["forbidden"]):
            rule["arguments"] = {**rule["arguments"], "as_text": True}
    return {"kind": "quality_library", "arguments": arguments}


def _check(r: random.Random, columns: list[str], number: int) -> Check:
    column = r.choice(columns)
    path, pii = f"/c/{number}", r.random() < 0.1
    if r.random() < 0.15:
        key = tuple(r.sample(columns, r.randrange(1, 3)))
        return Check(path, r.choice(["unique", "primary_key"]), "key", key[0], key, model="m", is_sensitive=pii)
    made = _metric(r) if r.random() < 0.4 else r.choice(CLAUSES)(r)
    keys = {"duplicate_values", "repeated_rows", "distinct_values", "distinct_share", "columns_exist"}
    of_columns = (column, *r.sample(columns, 1)) if made["arguments"].get("metric") in keys else ()
    return Check(path, made["kind"], "says", column, of_columns, made["arguments"], model="m", is_sensitive=pii)


def _contract(r: random.Random, schema: pa.Schema, key: tuple[str, ...] = ()) -> Contract:
    """Return a contract whose clauses DataFusion tests."""
    names = [*schema.names, "none", schema.names[0].upper()]
    checks = [Check("/m", "model_present", "there", model="m"), _columns(r, schema)]
    checks += (_check(r, names, number) for number in range(60))
    types = from_arrow_schema(schema)
    single = (Contract("urn:c", "m", "digest", (check,)) for check in checks)
    fitting = [c.checks[0] for c in single if not datafusion_form.why_spark(c, types, key)]
    return Contract("urn:c", "m", "digest", tuple(fitting[:25]))


def _columns(r: random.Random, schema: pa.Schema) -> Check:
    return Check("/columns", "additional_fields", "no more", columns=tuple(r.sample(schema.names, 2)), model="m")


def _schema(r: random.Random, pools: dict[str, tuple[pa.DataType, list[Any]]]) -> dict[str, pa.DataType]:
    return {name: pools[name][0] for name in r.sample([*pools], 6)}


def _values(r: random.Random, name: str, pools: dict[str, tuple[pa.DataType, list[Any]]]) -> Any:
    return None if r.random() < 0.15 else r.choice(pools[name][1])


def _plain(report: ContractReport) -> list[str]:
    """Return the results as text, since NaN is not equal to itself."""
    return [repr(result) for result in report.results] + [str(report.tested_rows), str(report.sensitive_columns)]


def of_file(r: random.Random, spark, folder: Path) -> bool:
    """Compare the reports on a file. Return whether DataFusion tested it."""
    pools = POOLS | LOCAL
    columns = _schema(r, pools)
    rows = {name: [_values(r, name, pools) for _ in range(r.choice([0, 1, 2, 30]))] for name in columns}
    length = min(map(len, rows.values()))
    table = pa.table({n: pa.array(v[:length], columns[n]) for n, v in rows.items()})
    pq.write_table(table, folder / "t.parquet", row_group_size=7)
    contract = _contract(r, table.schema)
    data = (Source("m", "parquet", (str(folder / "t.parquet"),)),)
    request = SourceTestRequest("c", contract, data, "2024-09-02T06:00:00Z")
    expected = sources.execute(spark.newSession(), replace(request, spark="always"), lambda _: None)
    try:
        tested = sources.execute(None, request, lambda _: None)
    except NeedsSpark:
        return False
    assert _plain(tested.report) == _plain(expected.report)
    return True


def of_dataset(r: random.Random, spark, folder: Path) -> bool:
    """Compare the reports on a dataset of some slices. Return whether DataFusion tested it."""
    columns = _schema(r, POOLS)
    names = [*columns]
    own = History(folder, *columns.items())
    by_key = MergeStrategy("Snapshot", tuple(r.sample(names, r.choice([1, 2]))))
    strategy = r.choice([MergeStrategy("Append"), by_key, None])
    ops = [0] if strategy and strategy.kind == "Append" else [0, 0, 1, 2, 3]
    rows: list[tuple[Any, ...]] = []
    for _ in range(r.choice([1, 3])):
        for _ in range(r.choice([1, 2, 20])):
            is_again = rows and strategy is None and r.random() < 0.5
            rows.append(r.choice(rows) if is_again else tuple(_values(r, n, POOLS) for n in names))
        own.add(*((r.choice(ops), *row) for row in rows[own.end :]))
    keys = ("offset", *strategy.primary_key) if strategy else tuple(own.arrow.names)
    contract = _contract(r, own.arrow, keys)
    new_from = r.choice([0, own.slices[-1].offset_interval.start])
    schema = encode(own.arrow)
    request = ContractTestRequest("d", DatasetVocabulary(), contract, tuple(own.slices), new_from, schema, strategy)
    expected = history.test(spark.newSession(), replace(request, spark="always"))
    try:
        tested = history.test(None, request)
    except NeedsSpark:
        return False
    assert _plain(tested) == _plain(expected)
    return True


@pytest.mark.parametrize("compare", [of_file, of_dataset])
def test_reports_are_those_of_spark(spark, compare, tmp_path: Path):
    assert _number_tested(spark, compare, tmp_path, range(12)) >= 8


@pytest.mark.torture
@pytest.mark.parametrize("compare", [of_file, of_dataset])
def test_many_reports_are_those_of_spark(spark, compare, tmp_path: Path):
    assert _number_tested(spark, compare, tmp_path, range(1000, 1400)) >= 250


def _number_tested(spark, compare, folder: Path, seeds: range) -> int:
    tested = 0
    for seed in seeds:
        (folder / f"{seed}").mkdir()
        try:
            tested += compare(random.Random(seed), spark, folder / f"{seed}")
        except Exception as e:
            raise AssertionError(f"seed {seed}: {e}") from e
    return tested
