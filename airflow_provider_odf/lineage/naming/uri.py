"""Names of datasets given as a URI or a path: a manifest's source, a store's directory, a URI of the naming
specification, an asset of Airflow.

A URI of a database has the path of the naming specification, ``postgres://host/database.schema.table``, or that of
Airflow's assets, ``postgres://host/database/schema/table``.

Names of files equal those of Spark's listener (percent-decoded, no trailing slash). A scheme without a rule has the
listener's rule for unknown file systems: its authority is the namespace, its path the name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import DatasetNames, Identifier, stores, web
from airflow_provider_odf.lineage.naming.addresses import host, hosts, table_parts, without_users
from airflow_provider_odf.lineage.naming.jdbc import from_jdbc
from airflow_provider_odf.lineage.naming.stores import Store

WILDCARD = re.compile(r"[*\[{]|\?(?![\w.-]+=)")
"""A wildcard of a glob, or a placeholder: ``{model}``, ``${DAY}``, ``{{ ds }}``. Parameters of a URI are neither."""

_BUCKET = re.compile(r"[\w.:-]+")
_START = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(//[^/?#]*)?")
_NO_PATH = re.compile(r"\s*(?:[/\\]{2,}.*@|(?!\.)[^/\\]*(?://.*)?:.*@)", re.DOTALL)
"""``//user@`` and ``user:password@``, which a path may have only behind one ``/`` or ``./``."""


def from_uri(uri: str, table: str | None = None, *, base: str | None = None) -> DatasetNames:
    """Return the names of a URI, JDBC URL or path.

    :param table: a table in what the URI names: in a database, or in a directory that is a warehouse of Spark.
    :param base: folder of relative paths, by default the working directory.
    :raises ValueError: the URI has no name. The message contains no part of it but the scheme.
    """
    if uri[:5].lower() == "jdbc:":
        return from_jdbc(uri, table or "", base=base)
    if not uri.strip():
        raise ValueError("the URI is missing")
    parts = _split(uri)
    scheme = parts.scheme.lower().partition("+")[0]
    if scheme in _TABLES:
        return _TABLES[scheme](parts._replace(netloc=without_users(parts.netloc)), table)
    if scheme in ("", "file"):
        names = _file(parts, uri, base)
    elif scheme in web.PORTS:
        names = web.url(parts)
    else:
        names = _FILES.get(scheme, _other)(parts)
    return _in_warehouse(names, table) if table else names


def from_glob(pattern: str, *, base: str | None = None) -> DatasetNames:
    """Return the names of the folder that holds all files of a glob, which may be without a wildcard."""
    return from_pattern(f"{pattern}*", base=base)


def from_pattern(pattern: str, table: str | None = None, *, base: str | None = None) -> DatasetNames:
    """Return the names of a URI or path that may be a glob or have placeholders: those of the folder that holds all
    its files. Spark names several files in the same way.

    :raises ValueError: the URI has no name.
    """
    return from_uri(folder(pattern), table, base=base)


def folder(pattern: str, variable: re.Pattern[str] = WILDCARD) -> str:
    """Return a URI or path up to the folder before its first wildcard or placeholder; without one, as it is. Parameters
    of a URL that have one are left out, and so are all if its path has one. Databases have no folders.

    >>> folder("s3://bucket/orders/*/new-?.json")
    's3://bucket/orders'
    """
    start = _START.match(pattern)
    scheme = start["scheme"].lower() if start else ""
    if scheme == "jdbc" or scheme.partition("+")[0] in _TABLES:
        return pattern
    root = start[0] if start else ""
    path, mark, query = pattern[len(root) :], "", ""
    if scheme in web.PORTS:
        path, mark, query = path.partition("?")
    if match := variable.search(path):
        above, slash, _ = path[: match.start()].rpartition("/")
        return root + (above or slash or ("." if scheme in ("", "file") else ""))
    return root + path + mark + "&".join(p for p in query.split("&") if not variable.search(p))


def _split(uri: str) -> SplitResult:
    """Split a URI; a path may have any character, even those with a meaning in a URI."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        _check_path(uri)
        return SplitResult("", "", uri, "", "")
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise ValueError("the URI is not valid") from None
    check_credentials(uri, parts.netloc)
    return parts


def _check_path(path: str) -> None:
    """Raise an error if a path may be a URI whose scheme is missing or not valid, with credentials."""
    if _NO_PATH.match(path) or redaction.without_users(path) != path:
        fix = "write the scheme in front of //, or ./ in front of a path"
        raise ValueError(f"the URI has credentials and no valid scheme: {fix}")


def check_credentials(uri: str, authority: str) -> None:
    """Raise an error if it is unclear where the credentials of a URI end.

    :raises ValueError: a password contains ``/``, ``?``, ``#`` or ``@``.
    """
    masked = redaction.without_users(uri)
    server = re.split(r"[/?#]", masked.partition(f"{redaction.MASK}@")[2])[0]
    if masked.partition("?")[0] != uri.partition("?")[0] and server != authority.rpartition("@")[2]:
        raise ValueError("the credentials in the URI are not percent-encoded")


def _file(parts: SplitResult, uri: str, base: str | None) -> DatasetNames:
    if parts.scheme == "":
        return stores.local_file(os.path.abspath(os.path.join(base or "", uri)))
    # `?` and `#` belong to a file's name here, as they do in Spark.
    rest = re.sub(r"^file:(//[^/]*)?", "", uri, flags=re.IGNORECASE)
    _check_path(rest)
    server = parts.netloc.rpartition("@")[2]
    if re.fullmatch(r"(localhost|127\.0\.0\.1|\[::1\])?(:\d+)?", server, re.IGNORECASE):
        return stores.local_file(os.path.abspath(os.path.join(base or "", unquote(rest))))
    return stores.REMOTE_FILE.names(host=hosts(server), path=stores.absolute(unquote(rest)))


def _in_warehouse(names: DatasetNames, table: str) -> DatasetNames:
    """Return the names of a table in a directory: Spark's listener has the directory as its namespace."""
    directory = names.current
    if directory.name == "/":
        return DatasetNames(Identifier(directory.namespace, table))
    colon = "" if "://" in directory.namespace else ":"
    return DatasetNames(Identifier(f"{directory.namespace}{colon}/{directory.name.lstrip('/')}", table))


def _bucket(parts: SplitResult) -> str:
    bucket = parts.netloc.rpartition("@")[2]
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"the {parts.scheme} URI has no bucket or an invalid one")
    return bucket


def _container(parts: SplitResult) -> tuple[str, str, str]:
    user, _, account = parts.netloc.rpartition("@")
    container = user.rpartition("@")[2]
    if not re.fullmatch(r"[\w$-]+", container) or not _BUCKET.fullmatch(account):
        raise ValueError(f"the {parts.scheme} URI names no container: write {parts.scheme}://CONTAINER@ACCOUNT/PATH")
    return container, account.lower(), unquote(parts.path)


def _az(parts: SplitResult) -> DatasetNames:
    """Return the names of ``az://CONTAINER/PATH`` in the storage account that clients take from the environment."""
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    return stores.abfss(_bucket(parts), account.lower(), unquote(parts.path)) if account else _other(parts)


def _other(parts: SplitResult) -> DatasetNames:
    if not parts.netloc and not parts.path.startswith("/"):
        raise ValueError(f"there is no naming rule for {parts.scheme} URIs without a host and a path")
    scheme = parts.scheme.lower()
    namespace = f"{scheme}://{_bucket(parts)}" if parts.netloc else scheme
    return DatasetNames(Identifier(namespace, stores.absolute(unquote(parts.path))))


_FILES: Mapping[str, Callable[[SplitResult], DatasetNames]] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), lambda parts: stores.s3(_bucket(parts), unquote(parts.path))),
    **dict.fromkeys(("gs", "gcs"), lambda parts: stores.gcs(_bucket(parts), unquote(parts.path))),
    **dict.fromkeys(("abfs", "abfss"), lambda parts: stores.abfss(*_container(parts))),
    "az": _az,
    **dict.fromkeys(("wasb", "wasbs"), lambda parts: stores.wasbs(*_container(parts))),
    "hdfs": lambda parts: stores.hdfs(hosts(parts.netloc), unquote(parts.path)) if parts.netloc else _other(parts),
    "dbfs": lambda parts: stores.dbfs(_bucket(parts) if parts.netloc else "", unquote(parts.path)),
    "kafka": lambda parts: stores.kafka(parts.netloc, unquote(parts.path).strip("/")),
}
"""Scheme of files and objects -> rule."""

# --- tables and entries of services ---------------------------------------------------------------------------------

_Names: TypeAlias = Callable[[SplitResult, "str | None"], DatasetNames]


def _database(store: Store) -> _Names:
    def names(uri: SplitResult, table: str | None) -> DatasetNames:
        outer, named = _table(uri.path, table)
        return store.of_table(hosts(uri.netloc, store.port), outer, named)

    return names


def _table(path: str, table: str | None, least: int = 2) -> tuple[list[str], list[str]]:
    """Return what a path names around a table, and the table.

    :raises ValueError: it names no table.
    """
    segments = [unquote(segment) for segment in path.split("/") if segment]
    if not table:
        *segments, table = segments or [""]
    named = table_parts(table)
    if len(segments) + len(named) < least:
        raise ValueError("the URI names no table")
    return segments, named


def _synapse(uri: SplitResult, table: str | None) -> DatasetNames:
    authority, _, settings = uri.netloc.partition(";")
    database = re.search(r"\bdatabase(?:name)?=([^;]+)", settings, re.IGNORECASE)
    outer, named = _table(uri.path, table)
    *before, schema, last = [*outer, *named]
    known = before[-1] if before else database and database[1]
    return stores.synapse(host(authority, stores.SYNAPSE.port), known or "", [schema, last])


def _snowflake(uri: SplitResult, table: str | None) -> DatasetNames:
    segments = [unquote(segment) for segment in uri.path.split("/") if segment]
    if not table:
        *segments, table = segments or [""]
    return stores.snowflake(host(uri.netloc), segments, table)


def _athena(uri: SplitResult, table: str | None) -> DatasetNames:
    region = re.fullmatch(r"athena\.([\w-]+)\.amazonaws\.com(\.cn)?(:443)?", uri.netloc)
    if not region:
        raise ValueError("the awsathena URI names no region: write awsathena://athena.REGION.amazonaws.com/…")
    return stores.athena(region[1], *_table(uri.path, table))


def _cosmos(uri: SplitResult, table: str | None) -> DatasetNames:
    match = re.fullmatch(r"/(?:dbs/)?([^/]+)(?:/(?:colls/)?([^/]+))?/?", uri.path)
    if not match or not (name := table or match[2]):
        raise ValueError("the azurecosmos URI names no collection: write azurecosmos://HOST/dbs/DATABASE/colls/NAME")
    return stores.COSMOS_DB.names(host=host(uri.netloc), database=unquote(match[1]), table=unquote(name))


def _spanner(uri: SplitResult, table: str | None) -> DatasetNames:
    match = re.fullmatch(r"([\w-]+):([\w-]+)", uri.netloc)
    if not match:
        raise ValueError("the spanner URI names no instance: write spanner://PROJECT:INSTANCE/…")
    return stores.SPANNER.of_table("", *_table(uri.path, table), project_id=match[1], instance=match[2])


def _glue(uri: SplitResult, table: str | None) -> DatasetNames:
    match = re.fullmatch(r"aws[\w-]*:glue:([\w-]+):(\d+):table/([^/]+)/([^/]+)", uri.path)
    if not match:
        raise ValueError("there is a naming rule for ARNs of tables in AWS Glue only")
    return stores.GLUE.names(region=match[1], account=match[2], database=match[3], table=match[4])


def _pubsub(uri: SplitResult, table: str | None) -> DatasetNames:
    path = f"{uri.netloc}{uri.path}"
    match = re.fullmatch(r"(topic|subscription):([^:/]+):([^:/]+)", path)
    if resource := re.fullmatch(r"projects/([^/]+)/(topic|subscription)s/([^/]+)", path):
        return stores.PUBSUB.names(kind=resource[2], project_id=resource[1], id=resource[3])
    if not match:
        raise ValueError("the pubsub URI names no topic: write pubsub:topic:PROJECT:TOPIC")
    return stores.PUBSUB.names(kind=match[1], project_id=match[2], id=match[3])


def _in_memory(uri: SplitResult, table: str | None) -> DatasetNames:
    if not re.fullmatch(r"[\w.-]+", uri.netloc):
        raise ValueError("the inmemory URI has no name or an invalid one")
    return stores.IN_MEMORY.names(name=f"{uri.netloc}{unquote(uri.path)}".rstrip("/"))


def _documents(store: Store, section: str) -> _Names:
    """Return the rule of a document management system: the first part of the path belongs to the namespace."""

    def names(uri: SplitResult, table: str | None) -> DatasetNames:
        first, _, key = unquote(uri.path).strip("/").partition("/")
        authority, _, port = host(uri.netloc, store.port).rpartition(":")
        return store.names(host=authority, port=port, key=key, **{section: first})

    return names


_TABLES: Mapping[str, _Names] = {
    **dict.fromkeys(("postgres", "postgresql"), _database(stores.POSTGRES)),
    **dict.fromkeys(("hive", "hive2"), _database(stores.HIVE)),
    "cassandra": _database(stores.CASSANDRA),
    "clickhouse": _database(stores.CLICKHOUSE),
    "crate": _database(stores.CRATE),
    "db2": _database(stores.DB2),
    "milvus": _database(stores.MILVUS),
    "mssql": _database(stores.MSSQL),
    "mysql": _database(stores.MYSQL),
    "oceanbase": _database(stores.OCEANBASE),
    "oracle": _database(stores.ORACLE),
    "teradata": _database(stores.TERADATA),
    "trino": _database(stores.TRINO),
    "arn": _glue,
    "awsathena": _athena,
    "azurecosmos": _cosmos,
    "azurekusto": lambda uri, table: stores.data_explorer(uri.netloc, *_table(uri.path, table)),
    "bigquery": lambda uri, table: stores.BIGQUERY.of_table("", *_table(f"{uri.netloc}/{uri.path}", table, 3)),
    "box": _documents(stores.BOX, "enterprise"),
    "fabric-warehouse": lambda uri, table: stores.fabric(uri.netloc, *_table(uri.path, table)),
    "filenet": _documents(stores.FILENET, "repository"),
    "inmemory": _in_memory,
    "mssharepoint": _documents(stores.SHAREPOINT, "site"),
    "pubsub": _pubsub,
    "redshift": lambda uri, table: stores.redshift(host(uri.netloc, stores.REDSHIFT.port), *_table(uri.path, table)),
    "snowflake": _snowflake,
    "spanner": _spanner,
    "sqlserver": _synapse,
    "unitycatalog": lambda uri, table: stores.unity_catalog(uri.netloc, *_table(uri.path, table)),
}
"""Scheme -> names of a URI, and of a table in what it names."""
