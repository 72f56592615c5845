"""The data that a contract is tested on outside of datasets: a path (``--data`` of the command line), or a server.

Credentials come from an Airflow connection or the environment, never from the contract, and neither does anything else
that could change what a driver does: hosts and names are checked, because a JDBC URL can load classes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import Clause
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.object_stores import Access
from airflow_provider_odf.protocol import Source
from airflow_provider_odf.redaction import is_sensitive

MODEL = "{model}"
FORMATS = ("csv", "json", "ndjson", "parquet")

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def models_to_test(contract: ContractFile, model: str | None) -> tuple[str, ...]:
    """Return the models to test: one, or all.

    :raises InvalidInput: the contract has no model of the name, or none at all.
    """
    names = tuple(m.name for m in contract.contract.models)
    if not names:
        raise InvalidInput(f"{contract.file}: the contract has no models to test")
    if model is not None and model not in names:
        raise InvalidInput(f"{contract.file}: the contract has no model {model!r}; its models are {', '.join(names)}")
    return (model,) if model is not None else names


def of_data(contract: ContractFile, models: Sequence[str], data: str, data_format: str | None) -> tuple[Source, ...]:
    """Return the sources of a path: a file, a folder or a glob, in which ``{model}`` is the name of a model.

    :raises InvalidInput: the path is for one model and there are several, or its format is unknown.
    """
    names = [m.name for m in contract.contract.models] if MODEL in data else [*models]
    if len(names) > 1 and MODEL not in data:
        several = ", ".join(names)
        raise InvalidInput(
            f"{data} is the data of one model, but the contract has the models {several}: choose one with --model, or "
            f"write {MODEL} in --data"
        )
    return tuple(_source_of_path(name, data.replace(MODEL, name), data_format) for name in names)


def _source_of_path(model: str, path: str, data_format: str | None) -> Source:
    kind = data_format or format_of(path)
    if kind is None:
        raise InvalidInput(
            f"{path}: cannot determine the format from the file name: add --data-format {'|'.join(FORMATS)}"
        )
    options = {"sep": "\t"} if path.lower().endswith(".tsv") else {}
    return Source(model, kind, (_S3.sub("s3://", path) if "://" in path else local_path(path),), options)


def local_path(path: str) -> str:
    """Return an absolute path for Spark, which takes every path as a glob: the name of an existing file is escaped."""
    absolute = Path(path).expanduser().absolute()
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", str(absolute)) if os.path.exists(absolute) else str(absolute)


def format_of(path: str) -> str | None:
    """Return the format that a name shows, that of the files in a folder, or None."""
    name = path.lower().removesuffix(".gz").removesuffix("/*")
    if (kind := _SUFFIXES.get(Path(name).suffix)) is not None:
        return kind
    folder = Path(path).expanduser()
    inside = {_SUFFIXES.get(file.suffix.lower()) for file in folder.rglob("*.*")} if folder.is_dir() else set()
    kinds = inside - {None}
    return kinds.pop() if len(kinds) == 1 else None


@dataclass(frozen=True)
class _Database:
    """A database that Spark reads by JDBC. ``package`` is the Maven artifact of its driver."""

    url: str
    port: int
    driver: str
    package: str
    quote: str = '"'


_DATABASES = {
    "postgres": _Database(
        "jdbc:postgresql://{host}:{port}/{database}", 5432, "org.postgresql.Driver", "org.postgresql:postgresql:42.7.7"
    ),
    "mysql": _Database(
        "jdbc:mysql://{host}:{port}/{database}", 3306, "com.mysql.cj.jdbc.Driver", "com.mysql:mysql-connector-j:9.3.0",
        "`",
    ),
    "sqlserver": _Database(
        "jdbc:sqlserver://{host}:{port};databaseName={database}", 1433, "com.microsoft.sqlserver.jdbc.SQLServerDriver",
        "com.microsoft.sqlserver:mssql-jdbc:12.10.0.jre11",
    ),
    "oracle": _Database(
        "jdbc:oracle:thin:@//{host}:{port}/{serviceName}", 1521, "oracle.jdbc.OracleDriver",
        "com.oracle.database.jdbc:ojdbc11:23.8.0.25.04",
    ),
    "redshift": _Database(
        "jdbc:redshift://{host}:{port}/{database}", 5439, "com.amazon.redshift.Driver",
        "com.amazon.redshift:redshift-jdbc42:2.1.0.33",
    ),
    "trino": _Database(
        "jdbc:trino://{host}:{port}/{catalog}/{schema}", 8080, "io.trino.jdbc.TrinoDriver", "io.trino:trino-jdbc:476"
    ),
}  # fmt: skip
_ALIASES = {"postgresql": "postgres"}

_ELSEWHERE = {
    "bigquery": "com.google.cloud.spark:spark-bigquery-with-dependencies_2.13",
    "snowflake": "net.snowflake:spark-snowflake_2.13",
    "databricks": "com.databricks:databricks-jdbc",
    "glue": "org.apache.hadoop:hadoop-aws",
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13",
    "pubsub": "com.google.cloud:pubsublite-spark-sql-streaming",
    "kinesis": "org.apache.spark:spark-streaming-kinesis-asl_2.13",
    "sftp": "a Hadoop file system for sftp",
}
"""Type of a server that is not read here -> what Spark needs for it."""

_S3 = re.compile("^s3[an]?://")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_AZURE_HOST = re.compile(
    r"(?:az|abfss?)://(?P<account>[^/@.]+)\.(?:blob|dfs)\.core\.windows\.net/(?P<container>[^/]+)/(?P<path>.*)"
)


def server_of(contract: ContractFile, name: str | None) -> Clause:
    """Return the server of a name, or the only one.

    :raises InvalidInput: there is none, or none of the name, or several and no name.
    """
    servers = {server.name: server for server in contract.contract.servers}
    known = ", ".join(servers)
    if not servers:
        raise InvalidInput(f"{contract.file}: the contract has no servers: use --data")
    if name is not None and name not in servers:
        raise InvalidInput(f"{contract.file}: the contract has no server {name!r}; its servers are {known}")
    if name is None and len(servers) > 1:
        raise InvalidInput(f"{contract.file}: the contract has several servers: choose one with --server: {known}")
    return servers[name] if name is not None else next(iter(servers.values()))


def of_server(
    contract: ContractFile, server: Clause, data_format: str | None, environment: Mapping[str, str] = os.environ
) -> tuple[Source, ...]:
    """Return the sources of all models on a server. A source that cannot be read has a problem."""
    return tuple(_source(contract, server, m.name, data_format, environment) for m in contract.contract.models)


def _source(
    contract: ContractFile, server: Clause, model: str, data_format: str | None, environment: Mapping[str, str]
) -> Source:
    value = server.value if isinstance(server.value, dict) else {}
    kind = str(value.get("type", "")).lower()
    kind = _ALIASES.get(kind, kind)
    try:
        value = {key: fill_variables(text, environment) for key, text in value.items()}
        if kind in _DATABASES:
            return _table(_DATABASES[kind], kind, server.name, value, table_name(contract, model), environment)
        if kind == "local":
            path = Path(_text(value, "path").replace(MODEL, model)).expanduser()
            return _files(model, local_path(str(Path(contract.file).parent / path)), data_format, value)
        if kind in _STORES:
            return _files(model, _STORES[kind](_text(value, "location").replace(MODEL, model)), data_format, value)
    except ValueError as e:
        return Source(model, problem=f"server {server.name}: {e}")
    of_type = f"of type {kind}" if kind else "without a type"
    needs = f" (Spark needs {_ELSEWHERE[kind]})" if kind in _ELSEWHERE else ""
    known = ", ".join(["local", *_STORES, *_DATABASES])
    return Source(
        model,
        problem=f"server {server.name}: cannot read data from a server {of_type}{needs}: "
        f"copy the data and use --data. Supported server types: {known}",
    )


def fill_variables(value: Any, environment: Mapping[str, str]) -> Any:
    """Return a value with its variables, ``${NAME}`` or ``${NAME:-default}``, from the environment.

    :raises ValueError: a variable is not set, or its name is that of a secret, which a host or path could carry away.
    """
    if not isinstance(value, str):
        return value

    def text_of(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if is_sensitive(name):
            raise ValueError(f"the variable {name} looks like a secret: credentials do not belong in a contract")
        if (text := environment.get(name) or default) is None:
            raise ValueError(f"the variable {name} is not set")
        return text

    return _VARIABLE.sub(text_of, value)


def table_name(contract: ContractFile, model: str) -> str:
    """Return the name of a model's table in a database."""
    physical = contract.contract.model(model).clause("physicalName")
    return str(physical.value) if physical else model


def _files(model: str, path: str, data_format: str | None, value: Mapping[str, Any]) -> Source:
    kind = data_format or value.get("format") or format_of(path)
    if kind is None:
        raise ValueError(f"{path}: cannot determine the format from the file name: add `format` to the server")
    delimiter = {"delimiter": value["delimiter"]} if kind == "json" and value.get("delimiter") else {}
    return Source(model, str(kind), (path,), delimiter)


def _s3(location: str) -> str:
    if not _S3.match(location):
        raise ValueError(f"location {location!r} does not begin with s3://")
    return _S3.sub("s3://", location)


def _azure(location: str) -> str:
    """Return a location with the account, which the URI of a container alone does not have."""
    if match := _AZURE_HOST.fullmatch(location):
        return f"abfss://{match['container']}@{match['account']}.dfs.core.windows.net/{match['path']}"
    if not re.match(r"abfss?://", location):
        raise ValueError(f"location {location!r} begins neither with az:// nor with abfss://")
    return re.sub("^abfs:", "abfss:", location)


_STORES: Mapping[str, Callable[[str], str]] = {"s3": _s3, "azure": _azure}
"""Type of a server with objects -> their URI, from the location."""


def access_of(server: Clause, environment: Mapping[str, str] = os.environ) -> Access | None:
    """Return how the objects of a server are accessed, beside the variables that obstore knows: by the endpoint of the
    server, or the key of the account in ``AZURE_STORAGE_KEY``. None for any other server."""
    value = server.value if isinstance(server.value, dict) else {}
    kind, options = str(value.get("type", "")).lower(), dict[str, str]()
    with suppress(ValueError):  # the sources have it as a problem
        endpoint = fill_variables(value.get("endpointUrl"), environment)
        if kind == "s3" and endpoint:
            options = {"endpoint": str(endpoint), "virtual_hosted_style_request": "false"}
    if kind == "azure" and (key := environment.get("AZURE_STORAGE_KEY")):
        options = {"account_key": key}
    return Access(f"server {server.name}", options) if options else None


def _table(
    database: _Database,
    kind: str,
    server: str,
    value: Mapping[str, Any],
    model: str,
    environment: Mapping[str, str],
) -> Source:
    host = str(value.get("host", ""))
    if not _HOST.fullmatch(host):
        raise ValueError(f"host {host!r} is not the name or address of a host")
    port = value.get("port", database.port)
    if not str(port).isdigit():
        raise ValueError(f"port {port!r} is not a number")
    names = {
        name: quote(_text(value, name), safe="")
        for name in ("database", "serviceName", "catalog", "schema")
        if f"{{{name}}}" in database.url
    }
    user, password = credentials(server, kind, environment)
    mark = database.quote
    parts = [str(value["schema"]), model] if value.get("schema") and "{schema}" not in database.url else [model]
    options: dict[str, Any] = {
        "url": database.url.format(host=host, port=port, **names),
        "dbtable": ".".join(mark + part.replace(mark, mark * 2) + mark for part in parts),
        "driver": database.driver,
        "fetchsize": "10000",
    }
    options |= {"user": user} if user else {}
    options |= {"password": password} if password else {}
    return Source(model, "jdbc", (), options, install=database.package)


def credentials(server: str, kind: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return user and password for a server, empty where there are none.

    They are ``ODF_SERVER_NAME_USER`` and ``ODF_SERVER_NAME_PASSWORD``, else those of the Airflow connection in
    ``AIRFLOW_CONN_NAME``, else those of the database's own variables.
    """
    name = re.sub(r"\W", "_", server).upper()
    connection = _connection(environment.get(f"AIRFLOW_CONN_{name}", ""))
    own = ("PGUSER", "PGPASSWORD") if kind == "postgres" else ("", "")
    user = environment.get(f"ODF_SERVER_{name}_USER") or connection[0] or environment.get(own[0], "")
    password = environment.get(f"ODF_SERVER_{name}_PASSWORD") or connection[1] or environment.get(own[1], "")
    return user, password


def _connection(text: str) -> tuple[str, str]:
    """Return user and password of an Airflow connection as JSON or as a URI."""
    if text.lstrip().startswith("{"):
        fields = json.loads(text)
        return str(fields.get("login") or ""), str(fields.get("password") or "")
    uri = urlsplit(text)
    return unquote(uri.username or ""), unquote(uri.password or "")


def _text(value: Mapping[str, Any], name: str) -> str:
    if not (text := str(value.get(name) or "")):
        raise ValueError(f"it has no {name}")
    return text
