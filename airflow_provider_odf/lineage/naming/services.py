"""Names of tables in databases and of entries in services, by URIs.

A URI has the path of the naming specification, ``postgres://host/database.schema.table``, or that of Airflow's assets,
``postgres://host/database/schema/table``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import SplitResult, unquote

from airflow_provider_odf.lineage.naming import DatasetNames, databases, stores, tables
from airflow_provider_odf.lineage.naming.authority import host, hosts
from airflow_provider_odf.lineage.naming.stores import Store

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
    named = tables.parts(table)
    if len(segments) + len(named) < least:
        raise ValueError("the URI names no table")
    return segments, named


def _synapse(uri: SplitResult, table: str | None) -> DatasetNames:
    authority, _, settings = uri.netloc.partition(";")
    database = re.search(r"\bdatabase(?:name)?=([^;]+)", settings, re.IGNORECASE)
    outer, named = _table(uri.path, table)
    *before, schema, last = [*outer, *named]
    known = before[-1] if before else database and database[1]
    return databases.synapse(host(authority, stores.SYNAPSE.port), known or "", [schema, last])


def _redshift(uri: SplitResult, table: str | None) -> DatasetNames:
    return databases.redshift(host(uri.netloc, stores.REDSHIFT.port), *_table(uri.path, table))


def _snowflake(uri: SplitResult, table: str | None) -> DatasetNames:
    segments = [unquote(segment) for segment in uri.path.split("/") if segment]
    if not table:
        *segments, table = segments or [""]
    return databases.snowflake(host(uri.netloc), segments, table)


def _bigquery(uri: SplitResult, table: str | None) -> DatasetNames:
    return stores.BIGQUERY.of_table("", *_table(f"{uri.netloc}/{uri.path}", table, 3))


def _athena(uri: SplitResult, table: str | None) -> DatasetNames:
    region = re.fullmatch(r"athena\.([\w-]+)\.amazonaws\.com(\.cn)?(:443)?", uri.netloc)
    if not region:
        raise ValueError("the awsathena URI names no region: write awsathena://athena.REGION.amazonaws.com/…")
    return databases.athena(region[1], *_table(uri.path, table))


def _unity(uri: SplitResult, table: str | None) -> DatasetNames:
    return databases.unity_catalog(uri.netloc, *_table(uri.path, table))


def _fabric(uri: SplitResult, table: str | None) -> DatasetNames:
    return stores.FABRIC.of_table(databases.but(host(uri.netloc), "1433"), *_table(uri.path, table))


def _cosmos(uri: SplitResult, table: str | None) -> DatasetNames:
    match = re.fullmatch(r"/(?:dbs/)?([^/]+)(?:/(?:colls/)?([^/]+))?/?", uri.path)
    if not match or not (name := table or match[2]):
        raise ValueError("the azurecosmos URI names no collection: write azurecosmos://HOST/dbs/DATABASE/colls/NAME")
    return stores.COSMOS_DB.names(host=host(uri.netloc), database=unquote(match[1]), table=unquote(name))


def _data_explorer(uri: SplitResult, table: str | None) -> DatasetNames:
    outer, named = _table(uri.path, table)
    return databases.data_explorer(uri.netloc, [*outer, *named])


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


def _documents(store: Store) -> _Names:
    """Return the rule of a document management system: the first part of the path belongs to the namespace."""

    def names(uri: SplitResult, table: str | None) -> DatasetNames:
        section, _, key = unquote(uri.path).strip("/").partition("/")
        authority, _, port = host(uri.netloc, store.port).rpartition(":")
        return store.names(host=authority, port=port, key=key, **{store.parts[2]: section})

    return names


SCHEMES: Mapping[str, _Names] = {
    **dict.fromkeys(("postgres", "postgresql"), _database(stores.POSTGRES)),
    **dict.fromkeys(("hive", "hive2"), _database(stores.HIVE)),
    **{
        store: _database(getattr(stores, store.upper()))
        for store in ("cassandra", "clickhouse", "crate", "db2", "milvus", "mssql", "mysql", "oceanbase", "oracle")
    },
    **{store: _database(getattr(stores, store.upper())) for store in ("teradata", "trino")},
    "arn": _glue,
    "awsathena": _athena,
    "azurecosmos": _cosmos,
    "azurekusto": _data_explorer,
    "bigquery": _bigquery,
    "box": _documents(stores.BOX),
    "fabric-warehouse": _fabric,
    "filenet": _documents(stores.FILENET),
    "inmemory": _in_memory,
    "mssharepoint": _documents(stores.SHAREPOINT),
    "pubsub": _pubsub,
    "redshift": _redshift,
    "snowflake": _snowflake,
    "spanner": _spanner,
    "sqlserver": _synapse,
    "unitycatalog": _unity,
}
"""Scheme -> names of a URI, and of a table in what it names."""
