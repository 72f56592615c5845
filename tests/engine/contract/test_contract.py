from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine.contract import history as engine
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.protocol import (
    Check,
    CheckResult,
    Contract,
    ContractReport,
    ContractTestRequest,
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
    OffsetInterval,
)

pytestmark = pytest.mark.spark

APPEND, SNAPSHOT = MergeStrategy("Append"), MergeStrategy("Snapshot", ("id",))
TIME = dt.datetime(2024, 5, 2, tzinfo=dt.UTC)
SYSTEM = [
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
    pa.field("event_time", pa.timestamp("ms", "UTC")),
]


class History:
    """Slices of a dataset whose data columns are ``fields``; rows are (op, values...)."""

    def __init__(self, folder: Path, *fields: tuple[str, pa.DataType]) -> None:
        self.folder = folder
        self.arrow = pa.schema([*SYSTEM, *(pa.field(name, kind) for name, kind in fields)])
        self.slices: list[HistorySlice] = []

    @property
    def end(self) -> int:
        return self.slices[-1].offset_interval.end + 1 if self.slices else 0

    @property
    def schema(self) -> str:
        return base64.b64encode(self.arrow.serialize()).decode()

    def add(self, *rows: tuple[Any, ...]) -> History:
        records = [(self.end + i, op, TIME, TIME, *values) for i, (op, *values) in enumerate(rows)]
        columns = [pa.array(column, f.type) for column, f in zip(zip(*records, strict=True), self.arrow, strict=True)]
        path = self.folder / f"slice {len(self.slices)}"
        pq.write_table(pa.table(columns, schema=self.arrow), path)
        self.slices.append(HistorySlice(str(path), OffsetInterval(self.end, self.end + len(rows) - 1)))
        return self


def report(
    spark, history: History, *checks: Check, merge: MergeStrategy = APPEND, new_from: int = 0, **options: Any
) -> ContractReport:
    contract = Contract("urn:c", "m", "digest", checks)
    options = {"schema": history.schema, "vocab": DatasetVocabulary(), "history": history.slices, **options}
    request = ContractTestRequest("d", contract=contract, merge=merge, new_from=new_from, **options)
    tested = engine.test(spark, replace(request, spark="always"))
    with suppress(NeedsSpark):
        without_spark = engine.test(None, request)
        assert [repr(r) for r in without_spark.results] == [repr(r) for r in tested.results]  # NaN is not NaN
    return tested


def outcomes(results: Sequence[CheckResult]) -> list[tuple[str, str, str, int | None]]:
    """Return the path, the outcome, the reason unless it passed, and the number of failed rows of each clause."""
    return [(r.path, r.outcome, r.reason if r.outcome != "pass" else "", r.failed_rows) for r in results]


def check(kind: str, column: str = "a", path: str | None = None, *, pii: bool = False, **arguments: Any) -> Check:
    columns = (column,) if kind in ("unique", "primary_key") else ()
    return Check(path or kind, kind, f"says {kind}", column, columns, arguments, model="m", is_sensitive=pii)


def test_clauses_about_values(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("id", pa.int64()), ("a", pa.string())).add(
        (0, 1, "AB"), (0, 2, "abc"), (0, 3, None), (0, None, "AB\n"), (0, 5, "ABCDEF")
    )
    result = report(
        spark,
        history,
        check("field_present"),
        check("field_type", type="text"),
        check("required"),
        check("enum", values=["AB", "abc"]),
        check("pattern", pattern="^[A-Z]+$", java=r"^[A-Z]+\z", type="text"),
        check("min_length", limit=3, type="text"),
        check("max_length", limit=5, type="text"),
        check("required", "id", "id_required"),
        check("minimum", "id", limit=2),
        check("exclusive_minimum", "id", limit=0),
        check("maximum", "id", limit=4.5),
        check("exclusive_maximum", "id", limit=5),
        check("enum", "id", "id_enum", values=["1", "2", "3", "5", "x"]),
    )
    assert outcomes(result.results) == [
        ("field_present", "pass", "", None),
        ("field_type", "pass", "", None),
        ("required", "fail", "1 row: offset 2", 1),
        ("enum", "fail", "2 rows: AB\n at offset 3, ABCDEF at offset 4", 2),
        ("pattern", "fail", "2 rows: abc at offset 1, AB\n at offset 3", 2),
        ("min_length", "fail", "1 row: AB at offset 0", 1),
        ("max_length", "fail", "1 row: ABCDEF at offset 4", 1),
        ("id_required", "fail", "1 row: offset 3", 1),
        ("minimum", "fail", "1 row: 1 at offset 0", 1),
        ("exclusive_minimum", "pass", "", 0),
        ("maximum", "fail", "1 row: 5 at offset 4", 1),
        ("exclusive_maximum", "fail", "1 row: 5 at offset 4", 1),
        ("id_enum", "pass", "", 0),
    ]
    assert (result.contract, result.digest, result.model, result.tested_rows) == ("urn:c", "digest", "m", 5)
    assert result.results[3].expected == "one of AB, abc"
    assert result.result == "failed"


def test_texts_of_a_contract_are_no_settings(spark, tmp_path: Path) -> None:
    history = History(tmp_path, ("c", pa.string())).add((0, "${spark.app.name}"), (0, "odf-tests"))
    pattern = r"^\$\{spark.app.name}$"
    result = report(
        spark, history, check("enum", "c", values=["${spark.app.name}"]), check("pattern", "c", pattern=pattern)
    )
    assert outcomes(result.results) == [
        ("enum", "fail", "1 row: odf-tests at offset 1", 1),
        ("pattern", "fail", "1 row: odf-tests at offset 1", 1),
    ]


@pytest.mark.parametrize(
    ("logical", "arrow", "outcome"),
    [
        ("string", pa.string(), "pass"),
        ("varchar", pa.large_string(), "pass"),
        ("text", pa.int64(), "fail"),
        ("number", pa.decimal128(10, 2), "pass"),
        ("decimal", pa.float32(), "pass"),
        ("numeric", pa.string(), "fail"),
        ("int", pa.int32(), "pass"),
        ("integer", pa.decimal128(5, 0), "fail"),
        ("long", pa.int64(), "pass"),
        ("bigint", pa.int16(), "pass"),
        ("long", pa.float64(), "fail"),
        ("float", pa.float32(), "pass"),
        ("double", pa.float32(), "pass"),
        ("double", pa.int64(), "fail"),
        ("boolean", pa.bool_(), "pass"),
        ("timestamp", pa.timestamp("ms", "UTC"), "pass"),
        ("timestamp_tz", pa.timestamp("us"), "fail"),
        ("timestamp_ntz", pa.timestamp("us"), "pass"),
        ("date", pa.date32(), "pass"),
        ("time", pa.time64("us"), "pass"),
        ("bytes", pa.binary(), "pass"),
        ("array", pa.list_(pa.string()), "pass"),
        ("map", pa.map_(pa.string(), pa.int64()), "pass"),
        ("record", pa.struct([("x", pa.string())]), "pass"),
        ("object", pa.list_(pa.string()), "fail"),
        ("json", pa.string(), "unsupported"),
    ],
)
def test_types(spark, tmp_path: Path, logical: str, arrow: pa.DataType, outcome: str):
    history = History(tmp_path, ("a", arrow))
    result = report(spark, history, check("field_type", type=logical)).results[0]
    assert (result.outcome, result.expected) == (outcome, logical)


def test_columns_wider_than_their_type(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("n", pa.int64()), ("x", pa.float64()), ("v", pa.string())).add(
        (0, 2**31 - 1, 0.1, None),
        (0, -(2**31), float("nan"), None),
        (0, None, float("inf"), None),
        (0, 2**31, 1e39, ""),
    )
    ok = report(spark, History(tmp_path / "..", ("n", pa.int64())), check("field_type", "n", type="int"))
    assert outcomes(ok.results) == [("field_type", "pass", "", 0)]
    result = report(
        spark,
        history,
        check("field_type", "n", "n", type="int"),
        check("field_type", "x", "x", type="float"),
        check("field_type", "v", "v", type="null"),
    )
    assert outcomes(result.results) == [
        ("n", "fail", "1 row: 2147483648 at offset 3", 1),
        ("x", "fail", "1 row: 1.0E39 at offset 3", 1),
        ("v", "fail", "1 row:  at offset 3", 1),
    ]


def test_limits_are_compared_exactly(spark, tmp_path: Path):
    history = History(
        tmp_path, ("d", pa.decimal128(20, 2)), ("f", pa.float32()), ("x", pa.float64()), ("n", pa.int64())
    ).add((0, Decimal("0.70"), 0.7, 0.7, 9007199254740993), (0, Decimal("99999999999999999.99"), 1.0, float("nan"), 0))
    result = report(
        spark,
        history,
        check("minimum", "d", "d", limit=0.7),
        check("maximum", "d", "d_max", limit=99999999999999999.99),
        check("minimum", "f", "f", limit=0.7),
        check("maximum", "f", "f_max", limit=0.7),
        check("maximum", "x", "x", limit=0.7),
        check("maximum", "n", "n", limit=9007199254740992),
        check("maximum", "n", "n_huge", limit=10**30),
    )
    assert outcomes(result.results) == [
        ("d", "pass", "", 0),
        ("d_max", "pass", "", 0),
        ("f", "pass", "", 0),
        ("f_max", "fail", "1 row: 1.0 at offset 1", 1),
        ("x", "fail", "1 row: NaN at offset 1", 1),
        ("n", "fail", "1 row: 9007199254740993 at offset 0", 1),
        ("n_huge", "pass", "", 0),
    ]


def test_missing_column_fails_all_that_depends_on_it(spark, tmp_path: Path):
    history = History(tmp_path, ("b", pa.string())).add((0, "x"))
    pair = Check("pair", "primary_key", "says pair", None, ("a", "b"), model="m")
    result = report(spark, history, check("field_present"), check("required"), check("unique"), pair)
    assert outcomes(result.results) == [
        ("field_present", "fail", "column not found", None),
        ("required", "fail", "column not found", None),
        ("unique", "fail", "column not found", None),
        ("pair", "fail", "column a not found", None),
    ]


def test_keys(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("a", pa.string()), ("b", pa.int64())).add((0, "x", 1), (0, "x", 2), (0, None, 1))
    history.add((0, None, 1), (0, "y", 1), (0, "y", 1))
    pair = Check("pair", "primary_key", "says pair", None, ("a", "b"), model="m")
    result = report(spark, history, check("unique"), pair, check("primary_key"), check("required", "b"), new_from=3)
    assert outcomes(result.results) == [
        ("unique", "fail", "4 rows with a duplicate value: x at offset 0, x at offset 1, y at offset 4", 4),
        (
            "pair",
            "fail",
            "4 rows with a duplicate or null key: null, 1 at offset 2, null, 1 at offset 3, y, 1 at offset 4",
            4,
        ),
        (
            "primary_key",
            "fail",
            "6 rows with a duplicate or null key: x at offset 0, x at offset 1, null at offset 2",
            6,
        ),
        ("required", "pass", "", 0),
    ]
    assert result.tested_rows == 3


def test_append_tests_values_of_new_rows_only(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("a", pa.int64())).add((0, -1), (0, 1)).add((0, 1), (0, 2))
    result = report(spark, history, check("minimum", limit=0), check("unique"), new_from=2)
    assert outcomes(result.results) == [
        ("minimum", "pass", "", 0),
        ("unique", "fail", "2 rows with a duplicate value: 1 at offset 1, 1 at offset 2", 2),
    ]
    assert result.tested_rows == 2
    assert report(spark, history, check("minimum", limit=0), new_from=4).tested_rows == 0


@pytest.mark.parametrize("kind", ["Snapshot", "UpsertStream", "ChangelogStream"])
def test_state_is_tested(spark, tmp_path: Path, form: str, kind: str):
    history = History(tmp_path, ("id", pa.int64()), ("a", pa.string())).add((0, 1, "bad"), (0, 2, "bad"), (0, 3, "x"))
    history.add((1, 1, "bad"), (2, 2, "bad"), (3, 2, "x"), (0, 4, None))
    merge = MergeStrategy(kind, ("ID",))
    result = report(
        spark,
        history,
        check("enum", values=["x"]),
        check("required"),
        check("unique"),
        check("primary_key", "id"),
        check("unique", "id", "unique_id"),
        merge=merge,
        new_from=3,
    )
    assert outcomes(result.results) == [
        ("enum", "pass", "", 0),
        ("required", "fail", "1 row: offset 6", 1),
        ("unique", "fail", "2 rows with a duplicate value: x at offset 2, x at offset 5", 2),
        ("primary_key", "pass", "", 0),
        ("unique_id", "pass", "", None),
    ]
    assert result.tested_rows == 3


def test_a_correction_without_its_new_half_leaves_no_row(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("id", pa.int64()), ("a", pa.string())).add((0, 1, "bad"), (0, 2, "x"), (2, 1, "bad"))
    result = report(spark, history, check("enum", values=["x"]), merge=SNAPSHOT, new_from=3)
    assert (outcomes(result.results), result.tested_rows) == ([("enum", "pass", "", 0)], 1)


def test_values_of_sensitive_fields_are_not_shown(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.string())).add((0, "secret"), (0, "secret"))
    result = report(spark, history, check("enum", values=["x"], pii=True), check("unique", pii=True))
    assert outcomes(result.results) == [
        ("enum", "fail", "2 rows: offset 0, offset 1", 2),
        ("unique", "fail", "2 rows with a duplicate value: offset 0, offset 1", 2),
    ]


def test_clause_that_cannot_be_evaluated_spoils_only_itself(spark, tmp_path: Path, form: str):
    history = History(tmp_path, ("a", pa.string()), ("m", pa.map_(pa.string(), pa.string()))).add((0, "x", None))
    result = report(
        spark,
        history,
        check("pattern", pattern="(", type="text"),
        check("required"),
        check("enum", "m", values=["x"]),
        check("no_such_kind"),
    )
    assert [r.outcome for r in result.results] == ["error", "pass", "error", "error"]
    assert result.results[0].reason == "java.util.regex.PatternSyntaxException: Unclosed group near index 1"
    assert result.results[3].reason == (
        "the engine does not support clauses of kind no_such_kind: install the same release of the provider on Spark"
    )
    assert result.result == "error"


def test_clause_that_does_not_apply(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, 1))
    result = report(spark, history, check("pattern", pattern="x"), check("min_length", limit=1, type="text"))
    assert outcomes(result.results) == [
        ("pattern", "unsupported", "pattern does not apply to a column of type bigint", None),
        ("min_length", "fail", "min_length does not apply to a column of type bigint", None),
    ]


def test_reported_as_they_are(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, 1))
    checks = [
        Check("u", "quality_x", "not tested", "zzz", outcome="unsupported", reason="no x here", line=3),
        Check("i", "quality_text", "said", severity="warning", outcome="informational", reason="a text"),
    ]
    assert report(spark, history, *checks).results == (
        CheckResult("u", "quality_x", "unsupported", "not tested", "zzz", line=3, reason="no x here"),
        CheckResult("i", "quality_text", "informational", "said", severity="warning", reason="a text"),
    )


def test_system_columns_are_not_additional(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64()), ("b", pa.int64())).add((0, 1, 1))
    closed = Check("closed", "additional_fields", "closed", None, ("A", "b"), model="m")
    assert outcomes(report(spark, history, closed).results) == [("closed", "pass", "", None)]
    closed = Check("closed", "additional_fields", "closed", None, ("A",), model="m")
    assert outcomes(report(spark, history, closed).results) == [("closed", "fail", "additional columns: b", None)]


def test_nested_fields_and_odd_names(spark, tmp_path: Path, form: str):
    history = History(
        tmp_path,
        ("s.t", pa.int64()),
        ("s", pa.struct([("t", pa.string()), ("deep", pa.struct([("`x", pa.int64())]))])),
    ).add((0, 1, {"t": None, "deep": {"`x": 5}}), (0, None, None))
    result = report(
        spark,
        history,
        check("field_type", "s.t", type="long"),
        check("required", "S.T"),
        check("minimum", "s.deep.`x", limit=6),
        check("field_present", "s.deep.y"),
        check("unique", "s.t"),
    )
    assert outcomes(result.results) == [
        ("field_type", "pass", "", None),
        ("required", "fail", "1 row: offset 1", 1),
        ("minimum", "fail", "1 row: 5 at offset 0", 1),
        ("field_present", "fail", "column not found", None),
        ("unique", "pass", "", 0),
    ]


def test_no_history(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64()))
    result = report(spark, history, check("field_present"), check("required"), check("unique"), merge=SNAPSHOT)
    assert outcomes(result.results) == [
        ("field_present", "pass", "", None),
        ("required", "pass", "", 0),
        ("unique", "pass", "", 0),
    ]
    assert result.tested_rows == 0
    assert report(spark, history, check("field_present"), schema=None).results[0].reason == "column not found"


def test_numbers_of_no_rows(spark, tmp_path: Path):
    history = History(tmp_path, ("at", pa.timestamp("us", tz="UTC")))
    none = {"thresholds": {"must_be": 0}}
    result = report(
        spark,
        history,
        check("service_level_freshness", "at", months=0, seconds="60", threshold="1m"),
        check("quality_library", "at", "rows", metric="row_count", **none),
        check("quality_sql", "at", "query", metric="query", query="SELECT count(*) FROM m", **none),
    )
    assert [(r.path, r.outcome, r.reason) for r in result.results] == [
        ("service_level_freshness", "fail", "no row has a time"),
        ("rows", "pass", "row count: 0"),
        ("query", "pass", "the value is 0"),
    ]


def test_schema_of_the_files_where_none_is_given(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, 1))
    assert outcomes(report(spark, history, check("field_type", type="long"), schema=None).results) == [
        ("field_type", "pass", "", None)
    ]


def test_unreadable_data_are_an_error_of_the_engine(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, 1))
    (tmp_path / "slice 0").write_bytes(b"no Parquet at all")
    with pytest.raises(Exception, match="slice"):
        report(spark, history, check("required"))


def test_own_vocabulary(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, -1))
    vocab = DatasetVocabulary("o ff", "o.p", "st", "et")
    table = pq.read_table(tmp_path / "slice 0").rename_columns([*vocab.columns, "a"])
    pq.write_table(table, tmp_path / "slice 0")
    schema = base64.b64encode(table.schema.serialize()).decode()
    merge = MergeStrategy("Snapshot", ("a",))
    result = report(spark, history, check("minimum", limit=0), vocab=vocab, schema=schema, merge=merge)
    assert outcomes(result.results) == [("minimum", "fail", "1 row: -1 at offset 0", 1)]


def test_a_small_history_is_one_job(spark, tmp_path: Path):
    history = History(tmp_path, ("id", pa.int64()), ("a", pa.int64())).add((0, 1, 1)).add((0, 2, 2))
    spark.sparkContext.setJobGroup("one-job", "")
    checks = [check("required"), check("unique"), check("minimum", limit=0), check("primary_key", "id")]
    for merge in (APPEND, SNAPSHOT):
        assert report(spark, history, *checks, merge=merge).result == "passed"
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("one-job")
    spark.sparkContext._jsc.clearJobGroup()
    assert len(jobs) == 2


def test_execute(spark, tmp_path: Path):
    history = History(tmp_path, ("a", pa.int64())).add((0, 1))
    contract = Contract("urn:c", "m", "digest", (check("required"),))
    said: list[str] = []
    request = ContractTestRequest(
        "acc/cities", DatasetVocabulary(), contract, tuple(history.slices), 0, history.schema, APPEND
    )
    success = engine.execute(spark, request, said.append)
    assert success.report.result == "passed"
    assert said == ["testing contract urn:c", "contract urn:c is tested without Spark"]
