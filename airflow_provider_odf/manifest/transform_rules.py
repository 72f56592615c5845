"""Rules for transforms and preprocess steps: invalid engines and queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest import fragments as f
from airflow_provider_odf.manifest.findings import INVALID, Finding, rule, valid
from airflow_provider_odf.wording import suggestion

ENGINES = ("spark", "datafusion", "flink", "risingwave")
_SPARK_MAJOR = "4"


@rule
def check_transform(transform: f.TransformSql) -> Iterator[Finding]:
    yield from _engine(transform.engine)
    yield from _version(transform.engine, transform.version)
    if transform.query is not None and transform.queries is not None:
        yield Finding(
            ("query",), "`query` and `queries` cannot be used together", "keep one: `query` is short for one step"
        )
    elif transform.query is not None:
        yield from _query_text(transform.query)
    else:
        yield from _queries(transform.queries)


@rule
def _engine(engine: str) -> Iterator[Finding]:
    if engine not in ENGINES:
        yield Finding(("engine",), f"engine {engine!r} is not known", suggestion(engine, ENGINES))


@rule
def _version(engine: str, version: str | None) -> Iterator[Finding]:
    if engine == "spark" and version and version.split(".")[0] != _SPARK_MAJOR:
        message = f"the transform declares Spark {version}, but runs on Spark {_SPARK_MAJOR}"
        yield Finding(("version",), message, "check its queries and update the version", is_warning=True)


@rule
def _queries(steps: Sequence[f.SqlQueryStep] | None) -> Iterator[Finding]:
    if not steps:
        yield Finding((), "the transform has no query", "add `query`, or `queries` with at least one step")
        return
    seen: set[str] = set()
    for index, step in valid(enumerate(steps)):
        yield from (
            finding.under("queries", index)
            for check in (_query_text(step.query), _alias(step, index == len(steps) - 1, seen))
            for finding in check
        )


@rule
def _query_text(query: str) -> Iterator[Finding]:
    if not query.strip():
        yield Finding(("query",), "the query is empty")


@rule
def _alias(step: f.SqlQueryStep, is_last: bool, seen: set[str]) -> Iterator[Finding]:
    if is_last and step.alias is not None:
        yield Finding(("alias",), "the last query is the output and cannot have an alias", "remove the alias")
    if not is_last and step.alias is None:
        yield Finding((), "only the last query may have no alias", "add an alias, by which later queries refer to it")
    alias = (step.alias or "").lower()
    if alias and alias in seen:
        yield Finding(("alias",), f"alias {step.alias} is repeated")
    seen.add(alias)


def check_preprocess(transform: f.TransformSql) -> Iterator[Finding]:
    yield from check_transform(transform)
    yield from _no_temporal_tables(transform)
    yield from _input_alias(transform)


@rule
def _no_temporal_tables(transform: f.TransformSql) -> Iterator[Finding]:
    if transform.temporal_tables:
        message = "temporal tables cannot be used in preprocess, which reads only new data"
        yield Finding(("temporal_tables",), message, "remove `temporalTables`")


@rule
def _input_alias(transform: f.TransformSql) -> Iterator[Finding]:
    for index, step in valid(enumerate(transform.queries or ())):
        if step.alias is not INVALID and (step.alias or "").lower() == "input":
            yield Finding(
                ("queries", index, "alias"), "`input` is the name of the data that was read", "choose another alias"
            )
