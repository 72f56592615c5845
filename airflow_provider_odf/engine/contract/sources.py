"""Test a contract on data outside of datasets: files and tables that Spark can read, and DataFrames of a Spark job.

Values of CSV and JSON stay text, or variants of JSON, until a check converts them to the type that the contract
declares. So a value of another type fails the clause ``type``, and neither the run nor other clauses.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.column_rules import RESERVED
from airflow_provider_odf.engine.columnar import budget
from airflow_provider_odf.engine.contract import (
    datafusion_form,
    datafusion_scan,
    json_types,
    parquet_files,
    text_files,
)
from airflow_provider_odf.engine.contract.datafusion_scan import DataFusionScan
from airflow_provider_odf.engine.contract.fields import field_at
from airflow_provider_odf.engine.contract.json_types import Shapes
from airflow_provider_odf.engine.contract.report import by_either, report
from airflow_provider_odf.engine.contract.rows import ROW, Data, Other, Rows, Unreadable, value_column, with_malformed
from airflow_provider_odf.engine.contract.scan import SparkScan
from airflow_provider_odf.engine.contract.texts import READ_AS, Declared, are_same
from airflow_provider_odf.engine.optional_spark import NeedsSpark, required
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.session import setting
from airflow_provider_odf.engine.spark_errors import message, refusal, root_cause
from airflow_provider_odf.engine.spark_version import from_arrow_schema
from airflow_provider_odf.engine.sql import ddl, select
from airflow_provider_odf.protocol import (
    SERVICE_LEVEL,
    Check,
    Contract,
    ContractReport,
    Source,
    SourceTestRequest,
    SourceTestSuccess,
)
from airflow_provider_odf.records import files

_MALFORMED = "odf:malformed"

_NONE = "odf:none"
"""A key that no record of JSON has."""


def read(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    """Return the rows of a source; ``checks`` are those of its model.

    :raises Unreadable: the source has a problem, or Spark cannot read it.
    """
    if source.problem:
        raise Unreadable(source.problem)
    try:
        return _READERS.get(source.format, _other)(spark, source, checks)
    except (PySparkException, Py4JJavaError) as e:
        raise Unreadable(_reason(e, source)) from e


def _csv(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    types = Declared(json_types.types_of(checks))
    # A field contains a line end if its first line has an odd number of quotes.
    is_odd = "length(value) % 2 != length(replace(value, '\"', '')) % 2"
    has_line_ends = _is_small(source) or bool(spark.read.text([*source.paths]).where(is_odd).limit(1).collect())
    options = {"header": "true", "escape": '"', **source.options, "multiLine": str(has_line_ends).lower()}
    frame, broken = text_files.read_csv(spark, source.paths, options, _MALFORMED)
    if frame is None:
        schema = T.StructType([T.StructField(_MALFORMED, T.StringType())])
        return Data(spark.createDataFrame([], schema), True, types, _MALFORMED)
    return Data(frame, _is_small(source), types, _MALFORMED, broken)


def _any_json(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    """Read JSON with one document in each line, or with one array or one document in each file."""
    delimiter = source.options.get("delimiter")
    if delimiter is None:
        first = spark.read.options(**source.options).text([*source.paths]).where("trim(value) != ''").head()
        is_whole = first is not None and not re.fullmatch(r"\{.*\}", first[0].strip())
    else:
        is_whole = delimiter == "array"
    return _json(spark, source, checks, is_whole=is_whole)


def _json(spark: SparkSession, source: Source, checks: Sequence[Check], *, is_whole: bool) -> Data:
    shapes = json_types.Shapes.of_checks(checks)
    options = {**source.options, "multiLine": str(is_whole).lower()}
    inferred, load = text_files.infer_json(spark, source.paths, options, _MALFORMED)
    fields = {f.name: f for f in inferred if f.name != _MALFORMED}
    declared = shapes.columns
    doubtful = json_types.in_doubt(T.StructType([*fields.values()]), declared)
    fields |= {
        f.name: f for f in text_files.exact_types(load, doubtful) if f.name in fields or f.dataType != T.NullType()
    }
    fitting = json_types.to_read(T.StructType([*fields.values()] or declared.fields), shapes)
    none, malformed = (T.StructField(name, T.StringType()) for name in (_NONE, _MALFORMED))
    frame = with_malformed(load(T.StructType([none, *fitting.schema, malformed])), _NONE, _MALFORMED).drop(_NONE)
    return Data(frame, _is_small(source), Declared(shapes.types, fitting.kinds), _MALFORMED, fitting.broken)


def _parquet(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    reader = spark.read.options(**source.options).option("mergeSchema", True)
    with setting(spark, "spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled", "true"):
        try:
            return Data(reader.parquet(*source.paths), _is_small(source))
        except (PySparkException, Py4JJavaError):
            frame, broken, problem = parquet_files.read(spark, source)
            return Data(frame, _is_small(source), broken=broken, problem=problem)


def _other(spark: SparkSession, source: Source, checks: Sequence[Check]) -> Data:
    reader = spark.read.format(source.format).options(**source.options)
    return Data(reader.load([*source.paths]) if source.paths else reader.load())


_READERS: Mapping[str, Callable[[SparkSession, Source, Sequence[Check]], Data]] = {
    "csv": _csv,
    "json": _any_json,
    "ndjson": partial(_json, is_whole=False),
    "parquet": _parquet,
}
"""Format -> its reader. Spark reads other formats by their name."""


def _is_small(source: Source) -> bool:
    names = [name for path in source.paths for name in _names(path)]
    return bool(names) and files.are_small(names)


def _names(path: str) -> list[str]:
    """Return the files of a path, in which backslashes escape characters of globs."""
    plain = re.sub(r"\\(.)", r"\1", path)
    return [plain] if os.path.exists(plain) or not glob.has_magic(path) else glob.glob(path)


def _reason(error: PySparkException | Py4JJavaError, source: Source) -> str:
    cause = root_cause(error)
    if isinstance(error, PySparkException) and error.getCondition() == "PATH_NOT_FOUND":
        return f"no file matches {', '.join(source.paths)}"
    if source.install and re.search("ClassNotFoundException|No suitable driver|No FileSystem for scheme", cause):
        return f"Spark lacks the library to read this: set ODF_SPARK_PACKAGES={source.install}, or add its jar to Spark"
    if isinstance(error, PySparkException) and not (error.getCondition() or "").startswith("FAILED_JDBC"):
        return _plain(str(refusal(error) or message(error)))
    return _plain(cause)


def _plain(text: str) -> str:
    """Return the first line of a message of Java without the classes of its exceptions."""
    return re.sub(r"^([\w.$]+(Exception|Error): )+", "", text.partition("\n")[0])


def execute(
    spark: SparkSession | None,
    request: SourceTestRequest,
    progress: Callable[[str], None],
    heap: str | None = None,
) -> SourceTestSuccess:
    """Test the requested contract and return the report. ``heap`` is the maximum heap of the JVM.

    :raises NeedsSpark: ``spark`` is None, and the contract or a source needs it.
    """
    found = by_either(
        request.contract.id,
        progress,
        lambda: _test_without_spark(request, budget.of_heap(heap or "")),
        lambda: test(required(spark), request.contract, request.sources, request.failed_rows, request.as_of),
    )
    return SourceTestSuccess(found)


def why_spark(request: SourceTestRequest) -> str:
    """Return why Spark must test a contract, empty if it is tried without."""
    if request.spark == "always":
        return "spark = always"
    if request.failed_rows is not None:
        return "it writes failing rows"
    if other := next((s for s in request.sources if s.problem or s.format != "parquet" or s.options), None):
        return f"the data of {other.model} are not plain Parquet files"
    return datafusion_form.why_spark(request.contract, None)


def _test_without_spark(request: SourceTestRequest, memory_limit: int) -> ContractReport:
    if why := why_spark(request):
        raise NeedsSpark(why)
    models = _models(request.contract)
    rows = {s.model: _without_spark(s, request, memory_limit) for s in request.sources if s.model in models}
    return _by_hand(report(request.contract, rows))


def _without_spark(source: Source, request: SourceTestRequest, memory_limit: int) -> Rows:
    checks = _checks(request.contract, source.model)
    names = [name for path in source.paths for name in _names(path)]
    schema = datafusion_scan.columns_of(names)
    types = from_arrow_schema(schema)
    key = _key(checks)
    if why := datafusion_form.why_spark(replace(request.contract, checks=tuple(checks)), types, key):
        raise NeedsSpark(why)
    context = datafusion_scan.context(memory_limit)
    rows = datafusion_scan.rows_of(context, names, schema, types)
    numbered = select(["*", f"row_number() OVER () AS {quoted(ROW)}"], rows)
    scan = DataFusionScan(context, types, numbered, numbered, quoted(ROW))
    return Rows(types, scan, key=key, as_of=request.as_of)


def _key(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the columns that identify a row to a reader: the primary key."""
    return next((check.columns for check in checks if check.kind == "primary_key"), ())


def test(
    spark: SparkSession,
    contract: Contract,
    sources: Sequence[Source],
    failed_rows: str | None = None,  # noqa: PT028 - no test of pytest
    as_of: str = "",  # noqa: PT028
) -> ContractReport:
    """Return a report with one result for each check of the contract, in order.

    ``failed_rows`` is a directory for failing rows. ``as_of`` is the time of the test, empty for now. Data that cannot
    be read are the outcome ``error`` of all clauses of their model.
    """
    tested, named = _models(contract), contract.named_models()
    data: dict[str, Data] = {}
    problems: dict[str, str] = {}
    for source in (s for s in sources if s.model in tested or s.model.lower() in named):
        try:
            data[source.model] = read(spark, source, _checks(contract, source.model))
        except Unreadable as e:
            problems[source.model] = str(e)
    return _by_hand(report(contract, _rows(contract, data, as_of), problems, failed_rows))


def test_frames(contract: Contract, frames: Mapping[str, DataFrame], as_of: str = "") -> ContractReport:  # noqa: PT028
    """Return the report of a contract on DataFrames by model, in a Spark job of your own.

    The contract comes from `contract.compile.compile_models`. Models that only references name need a DataFrame too. A
    DataFrame is computed once for all rows, once for all keys, once for each query, and again for failing rows and for
    repeated keys: cache an expensive one. ``as_of`` (RFC 3339) is the time that ages are measured at, empty for now.
    """
    rows = _rows(contract, {model: Data(frame) for model, frame in frames.items()}, as_of)
    return _by_hand(report(contract, rows))


def _by_hand(report: ContractReport) -> ContractReport:
    """Return the report of data without a publication that a service level could block: one that cannot be evaluated
    is an error."""
    results = (
        replace(r, severity="error") if r.outcome == "error" and r.kind.startswith(SERVICE_LEVEL) else r
        for r in report.results
    )
    return replace(report, results=tuple(results))


def _rows(contract: Contract, data: Mapping[str, Data], as_of: str) -> dict[str, Rows]:
    """Return the rows of the tested models."""
    tested = _models(contract)
    data = {model: _filled(_without_reserved(those), _checks(contract, model)) for model, those in data.items()}
    others = {model.lower(): Other(those.frame, those.types, those.system) for model, those in data.items()}
    return {
        model: replace(_rows_of(those, _checks(contract, model), others), as_of=as_of)
        for model, those in data.items()
        if model in tested
    }


def _without_reserved(data: Data) -> Data:
    """Return the rows without columns whose names are those of the engine: clauses on them are errors."""
    reserved = [name for name in data.frame.columns if name.lower().startswith(RESERVED)]
    reason = f"column {{}} has the prefix {RESERVED}, which names columns of the engine: rename it"
    broken = {name.lower(): reason.format(name) for name in reserved}
    frame = data.frame.drop(*(name for name in reserved if name not in data.system))
    return replace(data, frame=frame, broken={**data.broken, **broken}) if reserved else data


def _filled(data: Data, checks: Sequence[Check]) -> Data:
    """Return the rows with the declared types of columns and nested fields that have no value but null."""
    shapes, schema = Shapes.of_checks(checks, READ_AS), data.frame.schema
    kinds = {f.name: shapes.filled(f.dataType, f.name) for f in schema}
    if all(are_same(kinds[f.name], f.dataType) for f in schema):
        return data
    columns = (f"CAST({quoted(f.name)} AS {ddl(kinds[f.name])}) AS {quoted(f.name)}" for f in schema)
    return replace(data, frame=data.frame.selectExpr(*columns))


def _rows_of(data: Data, checks: Sequence[Check], others: Mapping[str, Other]) -> Rows:
    frame = data.frame.coalesce(1) if data.is_small else data.frame
    numbered = frame.selectExpr("*", f"monotonically_increasing_id() AS {quoted(ROW)}", *_computed(data))
    scan = SparkScan(numbered, numbered, "true", quoted(ROW), data.is_small)
    return Rows(
        data.frame.schema,
        scan,
        data.system,
        _key(checks),
        types=data.types,
        malformed=data.malformed,
        others=others,
        broken=data.broken,
        problem=data.problem,
    )


def _computed(data: Data) -> Iterator[str]:
    """Yield SQL for the columns with what is computed of text: once for all clauses of a field."""
    for path in data.types.types if data.types else ():
        field = field_at(data.frame.schema, path, data.types)
        if field is not None and field.computed:
            yield f"{field.computed} AS {quoted(value_column(path))}"


def _models(contract: Contract) -> set[str]:
    return {check.model for check in contract.checks}


def _checks(contract: Contract, model: str) -> list[Check]:
    return [check for check in contract.checks if check.model == model]
