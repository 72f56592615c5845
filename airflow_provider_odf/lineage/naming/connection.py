"""Names of datasets in what an Airflow connection leads to. Credentials of the connection are not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from airflow_provider_odf.lineage.naming import DatasetNames, databases, files, stores, tables
from airflow_provider_odf.lineage.naming.authority import host, hosts
from airflow_provider_odf.lineage.naming.jdbc import from_jdbc
from airflow_provider_odf.lineage.naming.stores import Store
from airflow_provider_odf.lineage.naming.uri import from_uri, kafka


class Connection(Protocol):
    """What names need of an Airflow connection."""

    conn_type: str
    host: str | None
    port: int | None
    schema: str | None

    @property
    def extra_dejson(self) -> dict[str, Any]: ...


_Rule: TypeAlias = Callable[[Connection, str], DatasetNames]


def from_connection(connection: Connection, dataset: str) -> DatasetNames:
    """Return the names of a dataset.

    :param dataset: what identifies it there: a table, qualified or not, a topic, a path, ``CONTAINER/PATH``, or a URI,
        which then stands for itself.
    :raises ValueError: there is no naming rule for the type of the connection, or one of its fields is missing.
    """
    if re.match(r"[A-Za-z][\w+.-]*://", dataset):
        return from_uri(dataset)
    if not (rule := TYPES.get(connection.conn_type)):
        raise ValueError(f"there is no naming rule for connections of type {connection.conn_type}")
    tables.check_level(connection.schema)
    return rule(connection, dataset)


def _database(store: Store, port: str = "") -> _Rule:
    """Return the rule of a database whose connection has it as ``schema``. Airflow's hooks have other default ports."""

    def names(connection: Connection, table: str) -> DatasetNames:
        return _table(store, _hosts(connection, port or store.port), [connection.schema], table)

    return names


def _table(store: Store, authority: str, outer: list[str | None], table: str) -> DatasetNames:
    named = tables.parts(table)
    missing = outer[: max(len(store.levels) - len(named), 0)]
    return store.of_table(authority, [level for level in missing if level], named)


def _trino(connection: Connection, table: str) -> DatasetNames:
    outer = [_extra(connection, "catalog") or "hive", connection.schema]
    return _table(stores.TRINO, _hosts(connection, "8080"), outer, table)


def _oracle(connection: Connection, table: str) -> DatasetNames:
    service = _extra(connection, "service_name") or _extra(connection, "sid") or connection.schema
    return _table(stores.ORACLE, _hosts(connection, stores.ORACLE.port), [service], table)


def _mssql(connection: Connection, table: str) -> DatasetNames:
    authority = _hosts(connection, stores.MSSQL.port)
    if ".sql.azuresynapse.net:" in authority:
        return databases.synapse(authority, connection.schema or "", tables.parts(table))
    return _table(stores.MSSQL, authority, [connection.schema], table)


def _redshift(connection: Connection, table: str) -> DatasetNames:
    cluster, region = _extra(connection, "cluster_identifier"), _extra(connection, "region")
    known = f"{cluster}.{region}:{connection.port or stores.REDSHIFT.port}" if cluster and region else ""
    named = tables.parts(table)
    outer = [connection.schema] if connection.schema and len(named) < 3 else []
    return databases.redshift(known or _hosts(connection, stores.REDSHIFT.port), outer, named)


def _snowflake(connection: Connection, table: str) -> DatasetNames:
    account, region = _extra(connection, "account"), _extra(connection, "region")
    if not account:
        raise ValueError("the connection has no account")
    outer = [_extra(connection, "database"), connection.schema or ""][: 3 - min(len(tables.split(table)), 3)]
    identifier = f"{account}.{region}" if region and "." not in account else account
    return databases.snowflake(host(identifier), [level for level in outer if level], table)


def _bigquery(connection: Connection, table: str) -> DatasetNames:
    names = _table(stores.BIGQUERY, "", [_extra(connection, "project")], table)
    if names.current.name.count(".") < 2:
        raise ValueError("the connection has no project, or the table no data set")
    return names


def _athena(connection: Connection, table: str) -> DatasetNames:
    if not (region := _extra(connection, "region_name")):
        raise ValueError("the connection has no region_name")
    named = tables.parts(table)
    outer = [connection.schema or "default"] if len(named) == 1 else []
    return databases.athena(region, outer, named)


def _unity_catalog(connection: Connection, table: str) -> DatasetNames:
    outer = [_extra(connection, "catalog"), connection.schema or ""][: 3 - min(len(tables.parts(table)), 3)]
    return databases.unity_catalog(_hosts(connection), [level for level in outer if level], tables.parts(table))


def _data_explorer(connection: Connection, table: str) -> DatasetNames:
    return databases.data_explorer(_hosts(connection), [connection.schema or "", *tables.parts(table)][-2:])


def _cosmos_db(connection: Connection, table: str) -> DatasetNames:
    database = _extra(connection, "database_name") or connection.schema or ""
    return stores.COSMOS_DB.names(host=databases.but(_hosts(connection), "443"), database=database, table=table)


def _kafka(connection: Connection, topic: str) -> DatasetNames:
    return kafka(_extra(connection, "bootstrap.servers") or _hosts(connection), topic)


def _azure(names: Callable[[str, str, str], DatasetNames]) -> _Rule:
    def rule(connection: Connection, dataset: str) -> DatasetNames:
        container, _, path = dataset.partition("/")
        return names(container, _hosts(connection), path)

    return rule


def _web(connection: Connection, path: str) -> DatasetNames:
    scheme = "https" if connection.conn_type == "http" and connection.schema == "https" else connection.conn_type
    start = connection.host if "://" in (connection.host or "") else f"{scheme}://{connection.host or ''}"
    port = f":{connection.port}" if connection.port else ""
    return from_uri(f"{(start or '').rstrip('/')}{port}/{path.lstrip('/')}")


def _folder(connection: Connection, path: str) -> DatasetNames:
    return from_uri(path, base=_extra(connection, "path") or "/")


def _store(connection: Connection, alias: str) -> DatasetNames:
    return from_uri(f"{(connection.host or '').rstrip('/')}/{alias}")


def _hosts(connection: Connection, port: str = "") -> str:
    """Return the hosts, which may be a URL, with the port of the connection, or the default one."""
    text = re.sub(r"^\w+://", "", connection.host or "").partition("/")[0]
    return hosts(text, str(connection.port or port))


def _extra(connection: Connection, name: str) -> str:
    """Return a field of the connection's extra, which older versions of Airflow's UI prefix with the type."""
    extra = connection.extra_dejson
    value = extra.get(name) or extra.get(f"extra__{connection.conn_type}__{name}")
    return str(value) if value else ""


TYPES: Mapping[str, _Rule] = {
    "adls": _azure(files.abfss),
    "athena": _athena,
    "azure_cosmos": _cosmos_db,
    "azure_data_explorer": _data_explorer,
    "cassandra": _database(stores.CASSANDRA),
    "clickhouse": _database(stores.CLICKHOUSE),
    "databricks": _unity_catalog,
    "fs": _folder,
    **dict.fromkeys(("ftp", "http", "https", "sftp"), _web),
    **dict.fromkeys(("gcpbigquery", "google_cloud_platform"), _bigquery),
    "hdfs": lambda connection, path: files.hdfs(_hosts(connection), path),
    **dict.fromkeys(("hive_cli", "hive_metastore", "hiveserver2"), _database(stores.HIVE)),
    "jdbc": lambda connection, table: from_jdbc(connection.host or "", table),
    "kafka": _kafka,
    "mssql": _mssql,
    "mysql": _database(stores.MYSQL),
    "odf": _store,
    "oracle": _oracle,
    "postgres": _database(stores.POSTGRES),
    "redshift": _redshift,
    "snowflake": _snowflake,
    "teradata": _database(stores.TERADATA),
    "trino": _trino,
    "wasb": _azure(files.wasbs),
}
"""Type of a connection -> rule."""
