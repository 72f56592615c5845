"""Rules within one step: addresses, patterns, schemas and queries that cannot work."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import ddl, ddl_parser
from airflow_provider_odf.manifest import fragments as f
from airflow_provider_odf.manifest.base import suggestion
from airflow_provider_odf.manifest.data_schema import DataSchema
from airflow_provider_odf.manifest.finding import Finding
from airflow_provider_odf.manifest.time_format import java_pattern
from airflow_provider_odf.source import java_time
from airflow_provider_odf.source.template import Environment

ENGINES = ("spark", "datafusion", "flink", "risingwave")
SCHEMES = ("http", "https", "ftp", "ftps", "file")
_SPARK_MAJOR = "4"


class _Anything(Mapping[str, str]):
    """An environment in which every variable is set: only the form of a template matters here."""

    def __getitem__(self, name: str) -> str:
        return name

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


# --- fetch and prepare ----------------------------------------------------------------------------------------------


def check_fetch(fetch: f.FetchStep) -> Iterator[Finding]:
    if isinstance(fetch, f.FetchStepUrl):
        yield from _url(fetch)
    elif isinstance(fetch, f.FetchStepFilesGlob) and not fetch.path.strip():
        yield Finding(("path",), "`path` is empty")
    elif isinstance(fetch, f.FetchStepContainer):
        yield from _container(fetch)
    elif isinstance(fetch, f.FetchStepEthereumLogs) and fetch.chain_id is None and fetch.node_url is None:
        yield Finding((), "EthereumLogs needs `chainId` or `nodeUrl`")
    event_time = getattr(fetch, "event_time", None)
    if isinstance(event_time, f.EventTimeSourceFromPath):
        yield from (finding.under("event_time") for finding in _from_path(event_time))


def _url(fetch: f.FetchStepUrl) -> Iterator[Finding]:
    yield from _template(("url",), fetch.url)
    for index, header in enumerate(fetch.headers or ()):
        yield from _template(("headers", index, "value"), header.value)
    if fetch.url.lstrip().startswith("${{"):
        return
    scheme, separator, rest = fetch.url.partition("://")
    if not separator:
        fix = "a path is relative to the manifest; for the web write https://…"
        yield Finding(("url",), "the URL has no scheme: it is taken as a path", fix, is_warning=True)
    elif scheme.lower() not in SCHEMES:
        yield Finding(("url",), f"{scheme}:// is not supported", suggestion(scheme, SCHEMES))
    elif not _has_host(fetch.url) and scheme.lower() != "file":
        yield Finding(("url",), "the URL has no host")
    elif not rest:
        yield Finding(("url",), "the URL has no path")


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).netloc)
    except ValueError:
        return False


def _container(fetch: f.FetchStepContainer) -> Iterator[Finding]:
    yield from _template(("image",), fetch.image)
    for index, argument in enumerate(fetch.args or ()):
        yield from _template(("args", index), argument)
    for index, variable in enumerate(fetch.env or ()):
        yield from _template(("env", index, "value"), variable.value or "")


def _template(path: tuple[str | int, ...], text: str) -> Iterator[Finding]:
    try:
        Environment(_Anything()).fill(text, f"`{path[-1]}`")
    except InvalidInput as e:
        yield Finding(path, str(e))


def _from_path(event_time: f.EventTimeSourceFromPath) -> Iterator[Finding]:
    try:
        if not re.compile(event_time.pattern).groups:
            fix = r"put the timestamp into parentheses, as in `(\d{4}-\d\d-\d\d)`"
            yield Finding(("pattern",), "the pattern has no group", fix)
    except re.error as e:
        yield Finding(("pattern",), f"not a regular expression: {e}")
    try:
        java_time.check(event_time.timestamp_format or java_time.DEFAULT_PATTERN)
    except ValueError as e:
        yield Finding(("timestamp_format",), str(e))


def check_prepare(steps: Sequence[f.PrepStep]) -> Iterator[Finding]:
    for index, step in enumerate(steps):
        if isinstance(step, f.PrepStepPipe) and not step.command:
            yield Finding((index, "command"), "`command` is empty", "a program and its arguments, one a list item")


# --- read -----------------------------------------------------------------------------------------------------------


def check_read(read: f.ReadStep) -> Iterator[Finding]:
    yield from _ddl_schema(read.ddl_schema or ())
    if read.schema_ is not None:
        yield from (finding.under("schema_", "fields") for finding in _odf_schema(read.schema_))
    if (read.ddl_schema is not None or read.schema_ is not None) and not list(_columns(read)):
        yield Finding(
            ("ddl_schema" if read.schema_ is None else "schema_",), "the schema has no columns", "leave it out"
        )
    yield from _repeated_columns(read)
    for name in ("quote", "escape"):
        if len(getattr(read, name, None) or "") > 1:
            yield Finding((name,), f"`{name}` must be a single character")
    if getattr(read, "separator", None) == "":
        yield Finding(("separator",), "`separator` is empty")
    yield from _formats(read)


def _formats(read: f.ReadStep) -> Iterator[Finding]:
    encoding = getattr(read, "encoding", None)
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            yield Finding(("encoding",), f"unknown encoding {encoding!r}", "such as utf-8, latin1, windows-1252")
    for name in ("date_format", "timestamp_format"):
        try:
            java_pattern(getattr(read, name, None) or "")
        except ValueError as e:
            yield Finding((name,), str(e))


def _ddl_schema(entries: Sequence[str]) -> Iterator[Finding]:
    for index, entry in enumerate(entries):
        path = ("ddl_schema", index)
        try:
            for definition in ddl_parser.parse(entry):
                if definition.note:
                    yield Finding(path, f"column {definition.column.name}: {definition.note}", is_warning=True)
        except ddl_parser.DdlError as e:
            yield Finding(path, str(e), suggestion(e.word, ddl_parser.KNOWN) if e.word else "", offset=e.offset)


def _odf_schema(schema: DataSchema) -> Iterator[Finding]:
    for index, field in enumerate(schema.fields):
        try:
            ddl.spark_type(field.type)
        except InvalidInput as e:
            yield Finding((index, "type"), f"column {field.name}: {e}")


def _columns(read: f.ReadStep) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Names of the declared columns that can be read, with their paths."""
    for index, entry in enumerate(read.ddl_schema or ()):
        try:
            yield from ((("ddl_schema", index), d.column.name) for d in ddl_parser.parse(entry))
        except ddl_parser.DdlError:
            yield ("ddl_schema", index), ""
    for index, field in enumerate(read.schema_.fields if read.schema_ else ()):
        yield ("schema_", "fields", index, "name"), field.name


def _repeated_columns(read: f.ReadStep) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for path, name in _columns(read):
        if first := seen.get(name.lower()):
            yield Finding(path, f"column {name} is declared twice" + (f", also as {first}" if first != name else ""))
        seen.setdefault(name.lower(), name)


# --- transform ------------------------------------------------------------------------------------------------------


def check_transform(transform: f.TransformSql) -> Iterator[Finding]:
    if transform.engine not in ENGINES:
        yield Finding(("engine",), f"engine {transform.engine!r} is not known", suggestion(transform.engine, ENGINES))
    version = transform.version or ""
    if transform.engine == "spark" and version and version.split(".")[0] != _SPARK_MAJOR:
        message = f"written for Spark {version}, and runs on Spark {_SPARK_MAJOR}"
        yield Finding(("version",), message, is_warning=True)
    if transform.query is not None and transform.queries is not None:
        yield Finding(("query",), "`query` and `queries` are both given", "keep one: `query` is short for one step")
    elif not transform.steps:
        yield Finding((), "the transform has no query", "give `query`, or `queries` with at least one step")
    else:
        yield from (finding.under("queries") for finding in _queries(transform.steps))


def _queries(steps: Sequence[f.SqlQueryStep]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, step in enumerate(steps):
        is_last = index == len(steps) - 1
        if not step.query.strip():
            yield Finding((index, "query"), "the query is empty")
        if is_last and step.alias is not None:
            yield Finding((index, "alias"), "the last query is the output and has no alias", "remove the alias")
        if not is_last and step.alias is None:
            yield Finding((index,), "only the last query has no alias", "give it one, for the queries after it")
        alias = (step.alias or "").lower()
        if alias and alias in seen:
            yield Finding((index, "alias"), f"alias {step.alias} is given twice")
        seen.add(alias)


def check_preprocess(transform: f.TransformSql) -> Iterator[Finding]:
    yield from check_transform(transform)
    if transform.temporal_tables:
        message = "temporal tables need a history, and what is preprocessed has none yet"
        yield Finding(("temporal_tables",), message, "join in a derivative dataset")
    for index, step in enumerate(transform.queries or ()):
        if (step.alias or "").lower() == "input":
            yield Finding(("queries", index, "alias"), "`input` is the name of the data read", "choose another alias")
