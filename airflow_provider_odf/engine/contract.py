"""Test a compiled data contract on a dataset's history up to a candidate.

The merge strategy decides which rows are tested: the current rows if the strategy has them, otherwise the new rows.
Keys are tested over the whole history. If a clause fails, further jobs find the failing rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine import files
from airflow_provider_odf.engine.contract_rules import Found, Verdict, find, judge
from airflow_provider_odf.engine.contract_scan import Condition, Failure, Key, Scan, Values, Witness
from airflow_provider_odf.engine.current import current_rows, newest_records
from airflow_provider_odf.engine.schema import decode, quoted
from airflow_provider_odf.protocol import (
    Check,
    CheckResult,
    Contract,
    ContractReport,
    ContractTestRequest,
    ContractTestSuccess,
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
)
from airflow_provider_odf.wording import counted

MOST_OFFSETS = 100
"""Maximum number of offsets in a report."""

_SHOWN = 80
"""Maximum number of characters of an example value."""


def execute(spark: SparkSession, request: ContractTestRequest, progress: Callable[[str], None]) -> ContractTestSuccess:
    """Test the requested contract and return the report."""
    progress(f"testing contract {request.contract.id} on {request.dataset_alias}")
    report = test(
        spark,
        request.contract,
        vocab=request.vocab,
        merge=request.merge,
        history=request.history,
        new_from=request.new_from,
        schema=request.schema,
    )
    return ContractTestSuccess(report)


def test(
    spark: SparkSession,
    contract: Contract,
    *,
    vocab: DatasetVocabulary,
    merge: MergeStrategy,
    history: Sequence[HistorySlice],
    new_from: int,
    schema: str | None,
) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    :param schema: the dataset's schema as an Arrow IPC schema message in base64. Without it, the files define the
        columns.
    """
    data = _Data.of(spark, vocab, merge, history, new_from, schema)
    judged = {check.key: _judge(check, data) for check in contract.checks}
    measured = {key: j for key, j in judged.items() if isinstance(j, _Measured)}
    tested, found = data.measure(measured)
    results = tuple(
        _measured(check, j, found[check.key]) if isinstance(j := judged[check.key], _Measured) else _decided(check, j)
        for check in contract.checks
    )
    return ContractReport(contract.id, contract.digest, contract.model, results, tested, _sensitive(contract))


def _sensitive(contract: Contract) -> tuple[str, ...]:
    """Return the columns that are sensitive or have a sensitive nested field."""
    paths = (check.column for check in contract.checks if check.column and check.arguments.get("isSensitive"))
    return tuple(dict.fromkeys(path.partition(".")[0] for path in paths))


@dataclass(frozen=True)
class _Measured:
    """A clause that needs the data for a result.

    ``example`` is SQL for the text of a failing row in the report, None for no text.
    """

    condition: Condition
    expected: str
    example: str | None
    what: str = ""


@dataclass(frozen=True)
class _Bad:
    """Failing rows of a clause: their number, the first and the last one, and offsets of others."""

    rows: int = 0
    witnesses: tuple[Witness, ...] = ()
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Data:
    """The rows that a contract is tested on. ``scan`` is None if there are no rows."""

    schema: T.StructType
    vocab: DatasetVocabulary
    unique_by: frozenset[str]
    """Columns, in lower case, whose values are unique in the rows: the merge key of the current rows."""
    scan: Scan | None = None

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        vocab: DatasetVocabulary,
        merge: MergeStrategy,
        history: Sequence[HistorySlice],
        new_from: int,
        schema: str | None,
    ) -> _Data:
        declared = _spark_schema(schema)
        if not history:
            return cls(declared or T.StructType(), vocab, frozenset())
        every = _read(spark, declared, history)
        is_small = sum(files.size_or_large(s.path) for s in history) <= files.SMALL
        if is_small:
            every = every.coalesce(1)
        offset = quoted(vocab.offset_column)
        unique_by: frozenset[str] = frozenset()
        if merge.traits.has_current_rows:
            rows = current_rows(newest_records(every, merge.primary_key, vocab), vocab)
            scan = Scan(rows, rows, "true", offset, is_small)
            unique_by = frozenset(c.lower() for c in merge.primary_key)
        else:
            tested = f"{offset} >= {new_from}"
            new = [s for s in history if s.offset_interval.end >= new_from]
            rows = _read(spark, declared, new).where(tested) if new else every.where("false")
            scan = Scan(every, rows, tested, offset, is_small)
        return cls(every.schema, vocab, unique_by, scan)

    def measure(self, measured: Mapping[str, _Measured]) -> tuple[int, dict[str, _Bad | Failure]]:
        """Return the number of tested rows and the outcome of each clause, with witnesses for failing clauses."""
        if self.scan is None:
            return 0, dict.fromkeys(measured, _Bad())
        tested, counts = self.scan.counts([m.condition for m in measured.values()])
        found = {
            key: count if isinstance(count, Failure) else _Bad(count)
            for key, count in zip(measured, counts, strict=True)
        }
        broken = [key for key, bad in found.items() if isinstance(bad, _Bad) and bad.rows]
        if broken:
            witnesses = self.scan.witnesses([(measured[key].condition, measured[key].example) for key in broken])
            offsets = self.scan.bad_offsets([measured[key].condition for key in broken], MOST_OFFSETS)
            found |= {
                key: replace(bad, witnesses=w, offsets=tuple(sorted({*o, *(witness.offset for witness in w)})))
                for key, w, o in zip(broken, witnesses, offsets, strict=True)
                if isinstance(bad := found[key], _Bad)
            }
        return tested, found


def _judge(check: Check, data: _Data) -> _Measured | Verdict:
    if check.kind in ("unsupported", "informational"):
        return Verdict(check.kind)
    if check.kind == "additional_fields":
        return _additional(check, data)
    names = check.columns or ((check.column,) if check.column else ())
    found = {name: find(data.schema, name) for name in names}
    if missing := [name for name, f in found.items() if f is None]:
        actual = "column not found" if len(names) == 1 else f"column {', '.join(missing)} not found"
        return Verdict("fail", "a column" if check.kind == "field_present" else "", actual)
    columns = [f for f in found.values() if f is not None]
    if check.kind in ("unique", "primary_key"):
        return _key(check, columns, data)
    judged = judge(check, columns[0])
    if isinstance(judged, Verdict):
        return judged
    example = None if check.kind == "required" or check.arguments.get("isSensitive") else columns[0].text
    return _Measured(Values(judged.broken), judged.expected, example)


def _key(check: Check, columns: Sequence[Found], data: _Data) -> _Measured | Verdict:
    is_complete = check.kind == "primary_key"
    sql = tuple(c.sql for c in columns)
    texts = ", ".join(f"coalesce({c.text}, 'null')" for c in columns)
    example = None if check.arguments.get("isSensitive") else f"concat_ws(', ', {texts})"
    expected = "unique and not null" if is_complete else "unique"
    if not data.unique_by or not data.unique_by <= {name.lower() for name in check.columns}:
        what = "share a key or lack one" if is_complete else "share a value"
        return _Measured(Key(sql, is_complete), expected, example, what)
    if is_complete:
        return _Measured(Values(" OR ".join(f"{c} IS NULL" for c in sql)), expected, example, "lack a key")
    return Verdict("pass", expected, "unique by the merge key")


def _additional(check: Check, data: _Data) -> Verdict:
    known = {name.lower() for name in (*check.columns, *data.vocab.columns)}
    extra = [name for name in data.schema.fieldNames() if name.lower() not in known]
    if extra:
        return Verdict("fail", "no other columns", f"also {', '.join(extra)}")
    return Verdict("pass", "no other columns")


def _decided(check: Check, verdict: Verdict) -> CheckResult:
    return CheckResult(
        check.key, verdict.outcome, check.description, check.column, check.severity, verdict.expected, verdict.actual
    )


def _measured(check: Check, measured: _Measured, bad: _Bad | Failure) -> CheckResult:
    result = _decided(check, Verdict("pass", measured.expected))
    if isinstance(bad, Failure):
        return replace(result, outcome="error", actual=bad.message)
    if not bad.rows:
        return replace(result, failed_rows=0)
    rows = f"{counted(bad.rows, 'row')} {measured.what}".rstrip()
    shown = ", ".join(_shown(witness, is_text=measured.example is not None) for witness in bad.witnesses)
    return replace(result, outcome="fail", failed_rows=bad.rows, actual=f"{rows}: {shown}", offsets=bad.offsets)


def _shown(witness: Witness, *, is_text: bool) -> str:
    if not is_text:
        return f"offset {witness.offset}"
    text = "null" if witness.text is None else witness.text
    return f"{text if len(text) <= _SHOWN else f'{text[:_SHOWN]}…'} at offset {witness.offset}"


def _read(spark: SparkSession, schema: T.StructType | None, slices: Sequence[HistorySlice]) -> DataFrame:
    reader = spark.read.option("mergeSchema", True) if schema is None else spark.read.schema(schema)
    return reader.parquet(*(s.path for s in slices))


def _spark_schema(message: str | None) -> T.StructType | None:
    """Return the Spark schema of an Arrow IPC message, None without a message.

    It is also None if Spark lacks a type for a column: the schema then comes from the files.
    """
    if not message:
        return None
    from pyspark.sql.pandas.types import from_arrow_schema

    try:
        return from_arrow_schema(decode(message))
    except PySparkException:
        return None
