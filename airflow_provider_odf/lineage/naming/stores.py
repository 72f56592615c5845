"""The naming rule of each store, one row each: the tables of both editions of the naming specification.

The current edition's names are those of the classes of ``openlineage.client.naming``. Rows of stores without a class
have templates. The classes only join their arguments: the functions of `files` and of the other modules normalize
ports, slashes, case and quotes first.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier

_UNKNOWN = "\0"
"""Stands for a part that is not known, because the classes refuse empty ones."""


@dataclass(frozen=True)
class Store:
    """Rule of a store. ``parts`` are the arguments of the class, in its order. ``client`` names the class, or
    ``templates`` has namespace and name. ``former`` are the templates of 2024, where they differ. ``port`` is the
    default one."""

    title: str
    parts: tuple[str, ...]
    client: str = ""
    templates: tuple[str, str] = ("", "")
    former: tuple[str, str] | None = None
    port: str = ""

    @property
    def levels(self) -> tuple[str, ...]:
        """Parts of a table's name, the outermost first."""
        return tuple(part for part in self.parts if part in _LEVELS)

    def names(self, *others: Identifier, **parts: str | None) -> DatasetNames:
        """Return the names of a dataset. A missing port, and a missing outer part of the name, are left out.

        :param others: names by other producers.
        :raises ValueError: a part is missing.
        """
        values = defaultdict(lambda: _UNKNOWN, {part: value for part, value in parts.items() if value})
        former = [template.format_map(values) for template in self.former or ()]
        is_known = former and _UNKNOWN not in "".join(former)
        return DatasetNames(self._current(values), Identifier(*former) if is_known else None, others)

    def of_table(
        self, authority: str, outer: Sequence[str], table: Sequence[str], *others: Identifier, **parts: str | None
    ) -> DatasetNames:
        """Return the names of a table, whose address may have more or fewer levels than the rule.

        :param authority: host and port, or several of them, separated by commas.
        :param outer: what the address names around the table, as its database.
        :param table: the table's name, with what its author wrote before it.
        """
        path = [*outer, *table]
        extra = max(len(path) - len(self.levels), 0)
        path = [".".join(path[: extra + 1]), *path[extra + 1 :]]
        host, _, port = authority.rpartition(":") if _has_port(authority) else (authority, "", "")
        named = dict(zip(reversed(self.levels), reversed(path), strict=False))
        return self.names(*others, **{"host": host, "port": port, **named, **parts})

    def _current(self, values: Mapping[str, str]) -> Identifier:
        if not self.client:
            return _identifier(*(template.format_map(values) for template in self.templates))
        named = getattr(_client(), self.client)(*(values[part] for part in self.parts))
        return _identifier(named.get_namespace(), named.get_name())


_LEVELS = ("catalog", "project", "service", "database", "keyspace", "dataset", "schema", "table", "collection")

_TABLE = "{database}.{schema}.{table}"
_SQL = ("host", "port", "database", "schema", "table")
_SHORT_SQL = ("host", "port", "database", "table")

ATHENA = Store("Athena", ("region", "catalog", "database", "table"), "Athena")
GLUE = Store("AWS Glue", ("region", "account", "database", "table"), "AWSGlue")
COSMOS_DB = Store(
    "Azure Cosmos DB",
    ("host", "database", "table"),
    "AzureCosmosDB",
    former=("azurecosmos://{host}/dbs/{database}", "/colls/{table}"),
)
DATA_EXPLORER = Store(
    "Azure Data Explorer",
    ("host", "database", "table"),
    "AzureDataExplorer",
    former=("azurekusto://{host}.kusto.windows.net/{database}", "{database}/{table}"),
)
SYNAPSE = Store(
    "Azure Synapse",
    ("host", "port", "schema", "table"),
    "AzureSynapse",
    former=("sqlserver://{host}:{port};database={database};", _TABLE),
    port="1433",
)
BIGQUERY = Store("BigQuery", ("project", "dataset", "table"), "BigQuery")
CASSANDRA = Store("Cassandra", ("host", "port", "keyspace", "table"), "Cassandra", port="9042")
MILVUS = Store(
    "Milvus",
    ("host", "port", "database", "collection"),
    templates=("milvus://{host}:{port}", "{database}.{collection}"),
    port="19530",
)
FABRIC = Store("Microsoft Fabric Warehouse", _SQL, templates=("fabric-warehouse://{host}:{port}", _TABLE))
MYSQL = Store("MySQL", _SHORT_SQL, "MySQL", port="3306")
CRATE = Store("CrateDB", _SQL, "CrateDB", port="5432")
DB2 = Store("DB2", _SQL, "DB2", port="6789")
HIVE = Store("Hive", _SHORT_SQL, "Hive", port="10000")
MSSQL = Store("MSSQL", _SQL, templates=("mssql://{host}:{port}", _TABLE), port="1433")
OCEANBASE = Store("OceanBase", _SHORT_SQL, "OceanBase", port="2881")
ORACLE = Store("Oracle", ("host", "port", "service", "schema", "table"), "Oracle", port="1521")
POSTGRES = Store("Postgres", _SQL, "Postgres", port="5432")
TERADATA = Store("Teradata", _SHORT_SQL, "Teradata", port="1025")
REDSHIFT = Store("Redshift", ("cluster", "region", "port", "database", "schema", "table"), "Redshift", port="5439")
SNOWFLAKE = Store("Snowflake", ("organization", "account", "database", "schema", "table"), "Snowflake")
SNOWFLAKE_LOCATOR = Store(
    "Snowflake (account locator)",
    ("locator", "database", "schema", "table"),
    templates=("snowflake://{locator}", _TABLE),
)
SPANNER = Store(
    "Spanner",
    ("project_id", "instance", "database", "schema", "table"),
    templates=("spanner://{project_id}:{instance}", _TABLE),
)
TRINO = Store("Trino", ("host", "port", "catalog", "schema", "table"), "Trino", port="443")
UNITY_CATALOG = Store(
    "Unity Catalog",
    ("host", "port", "catalog", "schema", "table"),
    templates=("unitycatalog://{host}:{port}", "{catalog}.{schema}.{table}"),
)
ABFSS = Store(
    "ABFSS (Azure Data Lake Gen2)",
    ("container", "account", "path"),
    "ABFSS",
    former=("abfss://{container}@{short}", "{absolute}"),
)
DBFS = Store(
    "DBFS (Databricks File System)",
    ("workspace", "path"),
    "DBFS",
    former=("hdfs://{workspace}", "{path}"),
)
GCS = Store("GCS", ("bucket", "key"), "GCS", former=("gs://{bucket}", "{absolute}"))
HDFS = Store("HDFS", ("host", "port", "path"), "HDFS")
KAFKA = Store("Kafka", ("host", "port", "topic"), "Kafka", port="9092")
LOCAL_FILE = Store("Local file system", ("path",), "LocalFileSystem", former=("file://{authority}", "{path}"))
REMOTE_FILE = Store("Remote file system", ("host", "path"), "RemoteFileSystem")
BOX = Store(
    "Box", ("host", "port", "enterprise", "key"), templates=("box://{host}:{port}/{enterprise}", "{key}"), port="443"
)
FILENET = Store(
    "FileNet",
    ("host", "port", "repository", "key"),
    templates=("filenet://{host}:{port}/{repository}", "{key}"),
    port="443",
)
S3 = Store("S3", ("bucket", "key"), "S3", former=("s3://{bucket}", "{absolute}"))
SHAREPOINT = Store(
    "SharePoint",
    ("host", "port", "site", "key"),
    templates=("mssharepoint://{host}:{port}/{site}", "{key}"),
    port="443",
)
WASBS = Store(
    "WASBS (Azure Blob Storage)",
    ("container", "account", "key"),
    "WASBS",
    former=("wasbs://{container}@{short}", "{absolute}"),
)
PUBSUB = Store("PubSub", ("kind", "project_id", "id"), templates=("pubsub", "{kind}:{project_id}:{id}"))
IN_MEMORY = Store("In memory", ("name",), templates=("inmemory://", "{name}"))

SPECIFICATION = (
    *(ATHENA, GLUE, COSMOS_DB, DATA_EXPLORER, SYNAPSE, BIGQUERY, CASSANDRA, MILVUS, FABRIC, MYSQL, CRATE, DB2, HIVE),
    *(MSSQL, OCEANBASE, ORACLE, POSTGRES, TERADATA, REDSHIFT, SNOWFLAKE, SNOWFLAKE_LOCATOR, SPANNER, TRINO),
    *(UNITY_CATALOG, ABFSS, DBFS, GCS, HDFS, KAFKA, LOCAL_FILE, REMOTE_FILE, BOX, FILENET, S3, SHAREPOINT, WASBS),
    *(PUBSUB, IN_MEMORY),
)
"""The stores of the naming specification, in the order of its table."""

CLICKHOUSE = Store(
    "ClickHouse", _SHORT_SQL, templates=("clickhouse://{host}:{port}", "{database}.{table}"), port="8123"
)
SQL_SERVER = Store("SQL Server, by its JDBC URL", _SQL, templates=("sqlserver://{host}:{port}", _TABLE))


@cache
def _client() -> ModuleType:
    """Return the client's module with the classes.

    It needs no other module of the client, whose package imports HTTP clients and takes a second. So it is loaded
    alone, unless the client is there already, as in a task.
    """
    name = "openlineage.client.naming.dataset"
    if name not in sys.modules and (spec := PathFinder.find_spec("dataset", _folders())) and spec.loader:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return import_module(name)


def _folders() -> list[str]:
    import openlineage

    return [str(Path(folder, "client", "naming")) for folder in openlineage.__path__]


def _has_port(authority: str) -> bool:
    return authority.rpartition(":")[2].isdigit() and not authority.endswith("]")


def _identifier(namespace: str, name: str) -> Identifier:
    known = Identifier(namespace.replace(f":{_UNKNOWN}", ""), name.replace(f"{_UNKNOWN}.", ""))
    if _UNKNOWN in known.namespace or known.name.endswith(_UNKNOWN):
        raise ValueError("the address is incomplete")
    return known
