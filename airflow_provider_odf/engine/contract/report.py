"""Test the checks of a contract on the rows of its models, and make the report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.conditions import (
    ERRORS,
    MASK,
    Aggregate,
    ConditionTest,
    Count,
    Expectation,
    Failure,
    Found,
    Measured,
    Query,
    Sample,
    Shown,
    Values,
    Verdict,
)
from airflow_provider_odf.engine.contract.judges import judge
from airflow_provider_odf.engine.contract.queries import Expectations, Queries
from airflow_provider_odf.engine.contract.rows import Other, Rows
from airflow_provider_odf.engine.contract.rules import needs_re2, register_re2
from airflow_provider_odf.engine.contract.texts import with_decimals_as_text, with_variants_as_text
from airflow_provider_odf.engine.hidden_values import HIDDEN, sensitive_columns
from airflow_provider_odf.engine.optional_spark import NeedsSpark
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import ddl, text
from airflow_provider_odf.protocol import FAILED_CLAUSES, Check, CheckResult, Contract, ContractReport
from airflow_provider_odf.wording import counted

MOST_FAILED_ROWS = 10_000
"""Maximum number of failing rows of a model that are written."""

_EXAMPLES = 3
_LONGEST = 80
"""Maximum number of characters of an example value."""

_EVERY_ROW = ConditionTest(Values("false"), Shown(None, "''"), lambda _: False)
"""A condition that no row fails, to count the tested rows."""


def by_either(
    contract_id: str,
    progress: Callable[[str], None],
    without_spark: Callable[[], ContractReport],
    by_spark: Callable[[], ContractReport],
) -> ContractReport:
    """Return the report of a test without Spark if that is possible, else by Spark. Say which one it is, and why.

    :raises NeedsSpark: ``by_spark`` raises it, as there is no session.
    """
    progress(f"testing contract {contract_id}")
    try:
        found = without_spark()
    except NeedsSpark as e:
        progress(f"contract {contract_id} is tested by Spark ({e})")
        return by_spark()
    progress(f"contract {contract_id} is tested without Spark")
    return found


def report(
    contract: Contract,
    models: Mapping[str, Rows],
    problems: Mapping[str, str] | None = None,
    failed_rows: str | None = None,
) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    ``models`` are the rows by model. ``problems`` say why there are no rows of other models. ``failed_rows`` is a
    directory for Parquet files with failing rows, one directory for each model.
    """
    results: dict[str, CheckResult] = {}
    hidden = _every_column(contract, models)
    anywhere = {*sensitive(contract.checks), *hidden, *(n for r in contract.related for n in r.sensitive_columns)}
    tested = 0
    for name, rows in models.items():
        of_model = sensitive(check for check in contract.checks if check.model == name)
        columns = (*of_model, *(hidden if name == contract.model else ()))
        own = [check for check in contract.checks if check.model == name and not check.outcome]
        rest = [_marked(check, columns, anywhere) for check in own]
        model = _Model(rows, rest, columns, hides_messages=bool(sensitive_columns(contract)))
        tested += model.tested
        results |= model.results()
        if failed_rows is not None:
            model.write_failed_rows(f"{failed_rows}/{name}")
    for check in (check for check in contract.checks if check.path not in results):
        without = (problems or {}).get(check.model, f"there is no data of model {check.model}")
        verdict = Verdict(check.outcome, check.reason) if check.outcome else Verdict("error", without)
        results[check.path] = _result(check, verdict)
    return ContractReport(
        contract.id,
        contract.digest,
        contract.model,
        tuple(results[check.path] for check in contract.checks),
        tested,
        tuple(dict.fromkeys((*sensitive(contract.checks), *hidden))),
        contract.specification,
    )


def sensitive(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return the columns that are sensitive or have a sensitive nested field.

    ``a.b`` may be a column or a field of the column ``a``: both are returned.
    """
    paths = (check.field for check in checks if check.field and check.is_sensitive)
    return tuple(dict.fromkeys(name for path in paths for name in (re.split(r"[.\[{]", path)[0], path)))


def _every_column(contract: Contract, models: Mapping[str, Rows]) -> Sequence[str]:
    """Return the sensitive columns of a contract's dataset; ``*`` are all columns of its data, without those whose
    checks are not sensitive."""
    named = contract.sensitive_columns
    if "*" not in named or contract.model not in models:
        return named
    public = {str(check.field).lower() for check in contract.checks if not check.is_sensitive}
    return [name for name in models[contract.model].visible if name.lower() not in public]


def _marked(check: Check, columns: Iterable[str], anywhere: Iterable[str]) -> Check:
    """Return a check that is sensitive if one of its columns is; a query, if its number tells about such a column.

    :param columns: the sensitive columns of the model.
    :param anywhere: those of all models.
    """
    if check.arguments.get("metric") == "query":
        uses = {*check.arguments.get("uses", "*")}
        names = {name.lower() for name in anywhere}
        return replace(check, is_sensitive=bool(names) and ("*" in uses or not names.isdisjoint(uses)))
    paths = filter(None, (check.field, *check.columns))
    is_named = not {re.split(r"[.\[{]", path)[0].lower() for path in paths}.isdisjoint(map(str.lower, columns))
    return replace(check, is_sensitive=check.is_sensitive or is_named)


def _result(check: Check, verdict: Verdict) -> CheckResult:
    return CheckResult(
        check.path,
        check.kind,
        verdict.outcome,
        check.description,
        field=check.field,
        severity=check.severity,
        model=check.model,
        line=check.line,
        reason=verdict.reason,
        expected=verdict.expected,
        observed=verdict.observed,
    )


class _Model:
    """The test of one model. ``tested`` is the number of its rows that conditions on values are about."""

    def __init__(self, rows: Rows, checks: Sequence[Check], sensitive: Sequence[str], *, hides_messages: bool) -> None:
        self._rows, self._checks, self._hides_messages = rows, checks, hides_messages
        # A record that is no row may contain any value.
        self._sensitive = {name.lower() for name in (*sensitive, *([rows.malformed] if sensitive else []))}
        judged = {check.path: judge(check, rows) for check in checks}
        self._verdicts = {path: j for path, j in judged.items() if isinstance(j, Verdict)}
        self._measured = {path: j for path, j in judged.items() if isinstance(j, Measured)}
        conditions = (measured.condition for measured in self._measured.values())
        if any(needs_re2(c.broken) for c in conditions if isinstance(c, Values)):
            register_re2(rows.scan.keyed.sparkSession)
        self._verdicts |= self._alone({p: j for p, j in judged.items() if isinstance(j, Query | Expectation)})
        every, self._found = self._test()
        self.tested = 0 if isinstance(every, Failure) else every.rows
        if isinstance(every, Failure):
            verdict = Verdict("error", every.message)
            self._verdicts |= {check.path: verdict for check in checks if check.kind == "model_present"}

    def results(self) -> Mapping[str, CheckResult]:
        """Return the result of each check by its path."""
        return {check.path: self._of(check) for check in self._checks}

    def write_failed_rows(self, path: str) -> None:
        """Write failing rows to a directory: all columns, the sensitive ones masked, and the clauses that they fail."""
        failing = {path: self._measured[path].condition for path in self._measured if self._fails(path)}
        if failing:
            frame = self._rows.scan.failing(failing, FAILED_CLAUSES).limit(MOST_FAILED_ROWS)
            # The text of records that are no rows is only there if there are some.
            has_malformed = any(check.kind == "model_present" for check in self._checks if check.path in failing)
            names = [n for n in self._rows.schema.fieldNames() if n != self._rows.malformed or has_malformed]
            columns = [f"{self._written(name)} AS {quoted(name)}" for name in (*names, FAILED_CLAUSES)]
            try:
                frame.selectExpr(*columns).write.mode("overwrite").parquet(path)
            except ERRORS:
                readable = [column for column in columns if _is_readable(frame, column)]
                frame.selectExpr(*readable).write.mode("overwrite").parquet(path)

    def _of(self, check: Check) -> CheckResult:
        if check.path in self._verdicts:
            return _result(check, self._verdicts[check.path])
        measured, (count, samples) = self._measured[check.path], self._found[check.path]
        result = _result(check, Verdict("pass", expected=measured.expected))
        if isinstance(count, Failure):
            reason = f"{count.kind}: {HIDDEN}" if self._hides_messages else count.message
            return replace(result, outcome="error", reason=reason)
        verdict = measured.verdict(count) if measured.verdict else None
        has_rows = not isinstance(measured.condition, Aggregate)
        result = replace(result, rows=count.rows, failed_rows=count.failed if has_rows else None)
        if verdict is not None:
            expected = verdict.expected or result.expected
            result = replace(
                result, outcome=verdict.outcome, reason=verdict.reason, observed=verdict.observed, expected=expected
            )
        elif not count.failed:
            return replace(result, reason=f"{counted(count.rows, 'row')} tested")
        if not self._fails(check.path):
            return result
        words = verdict.reason if verdict else f"{counted(count.failed, 'row')} {measured.what}".rstrip()
        observed = ", ".join(_short(s.text) for s in samples.rows[:_EXAMPLES]) if measured.example else ""
        examples = (self._example(sample, measured.example is not None) for sample in samples.rows[:_EXAMPLES])
        return replace(
            result,
            outcome="fail",
            reason=": ".join(filter(None, [words, ", ".join(filter(None, examples))])),
            observed=verdict.observed if verdict else observed,
            offsets=samples.offsets if self._rows.has_offsets else (),
            samples=tuple(json.loads(sample.row) for sample in samples.rows),
        )

    def _test(self) -> tuple[Count | Failure, dict[str, Found]]:
        """Return the number of all rows, and what the test of each condition found."""
        conditions = [ConditionTest(m.condition, self._shown(m), partial(_fails, m)) for m in self._measured.values()]
        (every, _), *found = self._rows.scan.test([_EVERY_ROW, *conditions])
        if isinstance(every, Failure) and self._rows.has_offsets:  # a dataset is damaged, not a condition
            raise every.error
        return every, dict(zip(self._measured, found, strict=True))

    def _alone(self, judged: Mapping[str, Query | Expectation]) -> Mapping[str, Verdict]:
        """Return the verdicts of clauses that need Spark jobs of their own."""
        if not judged:
            return {}
        scan = self._rows.scan
        queries = Queries(scan.keyed.sparkSession, self._rows.others, is_sensitive=self._hides_messages)
        columns = map(quoted, self._rows.schema.fieldNames())
        expectations = Expectations(Other(scan.keyed.select(*columns), self._rows.types, self._rows.system))
        return {
            path: self._explained(queries.verdict(j), j.query) if isinstance(j, Query) else expectations.verdict(j)
            for path, j in judged.items()
        }

    def _explained(self, verdict: Verdict, query: str) -> Verdict:
        """Return the verdict on a query. If it names a column that cannot be read, that is the reason of an error."""
        named = (why for path, why in self._rows.broken.items() if re.search(rf"(?i)\b{re.escape(path)}\b", query))
        why = next(named, None) if verdict.outcome == "error" else None
        return replace(verdict, reason=why) if why else verdict

    def _fails(self, path: str) -> bool:
        count, _ = self._found[path]
        return isinstance(count, Count) and _fails(self._measured[path], count)

    def _shown(self, measured: Measured) -> Shown:
        names = self._rows.schema.fieldNames()
        wanted = [name.lower() for name in (*self._rows.key, *measured.shown)]
        columns = [name for name in names if name.lower() in wanted]
        pairs = (f"{text(name)}, {self._in_json(name)}" for name in columns)
        example = measured.example and self._without_record(measured.example)
        row = f"to_json(named_struct({', '.join(pairs)}), map('ignoreNullFields', 'false'))"
        masked = frozenset(name for name in columns if name.lower() in self._sensitive)
        return Shown(example, row, tuple(columns), measured.shown if example else (), masked)

    def _in_json(self, name: str) -> str:
        """Return SQL of a column for JSON. Decimals are texts: as numbers of JSON they would lose digits."""
        kind = self._rows.schema[name].dataType
        as_text = with_decimals_as_text(kind)
        if name.lower() in self._sensitive or as_text == kind:
            return self._masked(name)
        return f"CAST({quoted(name)} AS {ddl(as_text)})"

    def _written(self, name: str) -> str:
        """Return SQL of a column for Parquet. Variants of JSON are texts."""
        if name not in self._rows.schema.fieldNames():
            return quoted(name)
        kind = self._rows.schema[name].dataType
        as_text = with_variants_as_text(kind)
        is_same = as_text == kind or name.lower() in self._sensitive
        return self._masked(name) if is_same else f"CAST({quoted(name)} AS {ddl(as_text)})"

    def _masked(self, name: str) -> str:
        column = quoted(name)
        if name.lower() in self._sensitive:
            return f"CASE WHEN {column} IS NOT NULL THEN '{MASK}' END"
        is_text = isinstance(self._rows.schema[name].dataType, T.StringType)
        return self._without_record(column) if is_text else column

    def _without_record(self, value: str) -> str:
        """Return SQL for a text of a row. In a record that is no row, any column may have a sensitive value."""
        record = quoted(self._rows.malformed)
        if not self._rows.malformed or not self._sensitive:
            return value
        return f"CASE WHEN {value} IS NULL OR {record} IS NULL THEN {value} ELSE '{MASK}' END"

    def _example(self, sample: Sample, has_text: bool) -> str:
        """Return a failing row as text: ``B at offset 4``, or ``B with id 7``."""
        if self._rows.has_offsets:
            return f"{_short(sample.text)} at offset {sample.offset}" if has_text else f"offset {sample.offset}"
        row: dict[str, Any] = json.loads(sample.row)
        values = {name: row[name] for name in self._rows.key if name in row}
        key = ", ".join(f"{name} {_short(None if v is None else str(v))}" for name, v in values.items())
        if not has_text:
            return key
        return f"{_short(sample.text)} with {key}" if key else _short(sample.text)


def _fails(measured: Measured, count: Count) -> bool:
    """Whether a report shows failing rows: some fail, and not fewer than the clause allows."""
    return count.failed > 0 and (measured.verdict is None or measured.verdict(count).outcome == "fail")


def _is_readable(frame: DataFrame, column: str) -> bool:
    try:
        frame.selectExpr(column).write.format("noop").mode("overwrite").save()
    except ERRORS:
        return False
    return True


def _short(value: str | None) -> str:
    if value is None:
        return "null"
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
