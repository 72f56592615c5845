"""Names of a model of a data contract on one of the contract's servers: the same table of rules for both
specifications of contracts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier, jdbc, stores, uri
from airflow_provider_odf.lineage.naming.addresses import check_level, host, hosts, split_table, table_parts
from airflow_provider_odf.lineage.naming.stores import Store
from airflow_provider_odf.lineage.naming.uri import from_pattern, from_uri

_Server: TypeAlias = Mapping[str, Any]
_Rule: TypeAlias = Callable[[_Server, str], DatasetNames]

_MODEL = re.compile(r"\{(model|table)\}")
_AZURE = re.compile(
    r"(?:https|az|abfss?|wasbs?)://(?P<account>[^/@.]+)\.(?P<kind>blob|dfs)\.core\.windows\.net/(?P<container>[^/?#]+)/(?P<path>[^?#]*)(?:[?#].*)?"
)


def from_server(server: _Server, model: str, *, folder: str, table: str | None = None) -> DatasetNames:
    """Return the names of a model.

    :param server: an entry of the contract's ``servers``, with its variables filled in.
    :param folder: the contract's folder, for relative paths.
    :param table: the model's name in databases and services, by default its name.
    :raises ValueError: the entry lacks a field or has a placeholder for it, or there is no naming rule for its type.
    """
    kind = str(server.get("type") or "").lower()
    server = {field: _MODEL.sub(lambda _: model, v) if isinstance(v, str) else v for field, v in server.items()}
    for field in ("catalog", "database", "schema"):
        check_level(str(server.get(field) or ""))
    if kind == "local":
        return from_pattern(os.path.expanduser(_text(server, "path")), base=folder)
    if not (rule := TYPES.get(kind)):
        raise ValueError(f"there is no naming rule for servers of type {kind}" if kind else "the server has no type")
    names = rule(server, table or model)
    if any(re.search(r"[*{]", i.namespace + i.name) for i in (names.current, *names.in_edition().symlinks)):
        raise ValueError("the server has a wildcard or a placeholder outside of a path")
    return names


def _database(store: Store, *fields: str) -> _Rule:
    """Return the rule of a database; the fields name the levels around a table."""

    def names(server: _Server, model: str) -> DatasetNames:
        return store.of_table(_address(server, store.port), *_levels(server, model, *fields))

    return names


def _other(server: _Server, model: str) -> DatasetNames:
    """Return the names in a database without a rule: those of Spark's listener for unknown drivers of JDBC."""
    outer, table = _levels(server, model, "catalog" if server.get("catalog") else "database", "schema")
    namespace = f"{str(server['type']).lower()}://{_address(server)}"
    return DatasetNames(Identifier(namespace, ".".join([*outer, *table])))


def _synapse(server: _Server, model: str) -> DatasetNames:
    _, table = _levels(server, model)
    outer = [str(server["schema"])] if server.get("schema") and len(table) == 1 else []
    return stores.synapse(_address(server, stores.SYNAPSE.port), str(server.get("database") or ""), [*outer, *table])


def _redshift(server: _Server, model: str) -> DatasetNames:
    outer, table = _levels(server, model, "database", "schema")
    cluster, region = server.get("clusterIdentifier"), server.get("region")
    address = server.get("host") or server.get("endpoint") or (f"{cluster}.{region}" if cluster and region else "")
    return stores.redshift(
        host(_authority(str(address)), str(server.get("port") or stores.REDSHIFT.port)), outer, table
    )


def _snowflake(server: _Server, model: str) -> DatasetNames:
    outer = [str(server[field]) for field in ("database", "schema") if server.get(field)]
    return stores.snowflake(host(_text(server, "account")), outer[: 3 - min(len(split_table(model)), 3)], model)


def _athena(server: _Server, model: str) -> DatasetNames:
    outer, table = _levels(server, model, "schema")
    catalog = str(server.get("catalog") or "")
    known = [catalog] if catalog and catalog.lower() != "awsdatacatalog" and len(outer) + len(table) < 3 else []
    return stores.athena(_text(server, "regionName", "region"), [*known, *outer], table)


def _glue(server: _Server, model: str) -> DatasetNames:
    account = re.sub(r"\D", "", _text(server, "account"))
    region = _text(server, "region", "regionName")
    return stores.GLUE.names(region=region, account=account, database=_text(server, "database"), table=model)


def _azure(server: _Server, model: str) -> DatasetNames:
    location = uri.folder(_text(server, "location"))
    if not (match := _AZURE.fullmatch(location)):
        return from_uri(location)
    rule = stores.wasbs if match["kind"] == "blob" and location.startswith("wasb") else stores.abfss
    return rule(match["container"], match["account"], match["path"])


def _address(server: _Server, port: str = "") -> str:
    return hosts(_authority(_text(server, "host")), str(server.get("port") or port))


def _authority(url: str) -> str:
    return re.sub(r"^\w+://", "", url).partition("/")[0]


def _levels(server: _Server, model: str, *fields: str) -> tuple[list[str], list[str]]:
    """Return the levels around a model that its name does not have itself, and the parts of its name."""
    table = table_parts(model)
    missing = fields[: max(len(fields) + 1 - len(table), 0)]
    return [str(server[field]) for field in missing if server.get(field)], table


def _text(server: _Server, *fields: str) -> str:
    for field in fields:
        if server.get(field):
            return str(server[field])
    raise ValueError(f"the server has no {fields[0]}")


TYPES: Mapping[str, _Rule] = {
    **dict.fromkeys(
        ("api", "s3", "gcs", "sftp", "custom"), lambda server, model: from_pattern(_text(server, "location"))
    ),
    **dict.fromkeys(("postgres", "postgresql"), _database(stores.POSTGRES, "database", "schema")),
    **dict.fromkeys(("denodo", "dremio", "exasol", "hana", "impala", "informix", "presto", "vertica"), _other),
    "athena": _athena,
    "azure": _azure,
    "bigquery": lambda server, model: stores.BIGQUERY.of_table("", *_levels(server, model, "project", "dataset")),
    "clickhouse": _database(stores.CLICKHOUSE, "database"),
    "databricks": lambda server, model: stores.unity_catalog(
        _authority(_text(server, "host")), *_levels(server, model, "catalog", "schema")
    ),
    "db2": _database(stores.DB2, "database", "schema"),
    "glue": _glue,
    "hive": _database(stores.HIVE, "database"),
    "kafka": lambda server, model: stores.kafka(_text(server, "host"), str(server.get("topic") or model)),
    "kinesis": lambda server, model: DatasetNames(
        Identifier(f"kinesis://{_text(server, 'region')}", str(server.get("stream") or model))
    ),
    "mysql": _database(stores.MYSQL, "database"),
    "oracle": _database(stores.ORACLE, "serviceName", "schema"),
    "pubsub": lambda server, model: stores.PUBSUB.names(
        kind="topic", project_id=_text(server, "project"), id=str(server.get("topic") or model)
    ),
    "redshift": _redshift,
    "snowflake": _snowflake,
    "sqlserver": lambda server, model: jdbc.sql_server(
        _address(server), "", str(server.get("database") or ""), ".".join(filter(None, (server.get("schema"), model)))
    ),
    "synapse": _synapse,
    "teradata": _database(stores.TERADATA, "database"),
    "trino": _database(stores.TRINO, "catalog", "schema"),
}
"""Type of a server -> rule."""
