"""The naming rule of each store, one row each: the tables of both editions of the naming specification.

Rows only join parts. The functions below them have the rules of stores whose parts are not simply a host, a port and a
table: they normalize slashes, ports, case and quotes first. Paths have slashes as in Spark's listener: a path has a
leading one, a key has none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier
from airflow_provider_odf.lineage.naming.addresses import host as normalized_host
from airflow_provider_odf.lineage.naming.addresses import hosts, snowflake_parts, table_parts, without_port

_UNKNOWN = "\0"
"""Stands for a part that is not known."""


@dataclass(frozen=True)
class Store:
    """Rule of a store: the forms of its namespaces and names, its default port, and ``former``, the forms of 2024 where
    they differ."""

    title: str
    namespace: str
    name: str
    port: str = ""
    former: tuple[str, str] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What namespace and name are made of."""
        return tuple(re.findall(r"\{(\w+)\}", self.namespace + self.name))

    @property
    def levels(self) -> tuple[str, ...]:
        """Parts of a table's name, the outermost first."""
        return tuple(re.findall(r"\{(\w+)\}", self.name))

    def names(self, *others: Identifier, **parts: str | None) -> DatasetNames:
        """Return the names of a dataset. A missing port, and a missing outer part of the name, are left out.

        :param others: names by other producers.
        :raises ValueError: a part is missing.
        """
        values = defaultdict(lambda: _UNKNOWN, {part: value for part, value in parts.items() if value})
        namespace = self.namespace.format_map(values).replace(f":{_UNKNOWN}", "")
        name = self.name.format_map(values).replace(f"{_UNKNOWN}.", "")
        if _UNKNOWN in namespace or name.endswith(_UNKNOWN):
            raise ValueError("the address is incomplete")
        former = [form.format_map(values) for form in self.former or ()]
        is_known = former and _UNKNOWN not in "".join(former)
        return DatasetNames(Identifier(namespace, name), Identifier(*former) if is_known else None, others)

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
        host, _, port = authority.rpartition(":") if re.search(r":\d+$", authority) else (authority, "", "")
        named = dict(zip(reversed(self.levels), reversed(path), strict=False))
        return self.names(*others, **{"host": host, "port": port, **named, **parts})


_TABLE = "{database}.{schema}.{table}"
_SHORT = "{database}.{table}"
_CATALOG = "{catalog}.{schema}.{table}"

ATHENA = Store("Athena", "awsathena://athena.{region}.amazonaws.com", "{catalog}.{database}.{table}")
GLUE = Store("AWS Glue", "arn:aws:glue:{region}:{account}", "table/{database}/{table}")
COSMOS_DB = Store(
    "Azure Cosmos DB",
    "azurecosmos://{host}/dbs/{database}",
    "colls/{table}",
    former=("azurecosmos://{host}/dbs/{database}", "/colls/{table}"),
)
DATA_EXPLORER = Store(
    "Azure Data Explorer",
    "azurekusto://{host}.kusto.windows.net",
    "{database}/{table}",
    former=("azurekusto://{host}.kusto.windows.net/{database}", "{database}/{table}"),
)
SYNAPSE = Store(
    "Azure Synapse",
    "sqlserver://{host}:{port}",
    "{schema}.{table}",
    "1433",
    former=("sqlserver://{host}:{port};database={database};", _TABLE),
)
BIGQUERY = Store("BigQuery", "bigquery", "{project}.{dataset}.{table}")
CASSANDRA = Store("Cassandra", "cassandra://{host}:{port}", "{keyspace}.{table}", "9042")
MILVUS = Store("Milvus", "milvus://{host}:{port}", "{database}.{collection}", "19530")
FABRIC = Store("Microsoft Fabric Warehouse", "fabric-warehouse://{host}:{port}", _TABLE)
MYSQL = Store("MySQL", "mysql://{host}:{port}", _SHORT, "3306")
CRATE = Store("CrateDB", "crate://{host}:{port}", _TABLE, "5432")
DB2 = Store("DB2", "db2://{host}:{port}", _TABLE, "6789")
HIVE = Store("Hive", "hive://{host}:{port}", _SHORT, "10000")
MSSQL = Store("MSSQL", "mssql://{host}:{port}", _TABLE, "1433")
OCEANBASE = Store("OceanBase", "oceanbase://{host}:{port}", _SHORT, "2881")
ORACLE = Store("Oracle", "oracle://{host}:{port}", "{service}.{schema}.{table}", "1521")
POSTGRES = Store("Postgres", "postgres://{host}:{port}", _TABLE, "5432")
TERADATA = Store("Teradata", "teradata://{host}:{port}", _SHORT, "1025")
REDSHIFT = Store("Redshift", "redshift://{cluster}.{region}:{port}", _TABLE, "5439")
SNOWFLAKE = Store("Snowflake", "snowflake://{organization}-{account}", _TABLE)
SNOWFLAKE_LOCATOR = Store("Snowflake (account locator)", "snowflake://{locator}", _TABLE)
SPANNER = Store("Spanner", "spanner://{project_id}:{instance}", _TABLE)
TRINO = Store("Trino", "trino://{host}:{port}", _CATALOG, "443")
UNITY_CATALOG = Store("Unity Catalog", "unitycatalog://{host}:{port}", _CATALOG)
ABFSS = Store(
    "ABFSS (Azure Data Lake Gen2)",
    "abfss://{container}@{account}.dfs.core.windows.net",
    "{path}",
    former=("abfss://{container}@{account}", "{absolute}"),
)
DBFS = Store("DBFS (Databricks File System)", "dbfs://{workspace}", "{path}", former=("hdfs://{workspace}", "{path}"))
GCS = Store("GCS", "gs://{bucket}", "{key}", former=("gs://{bucket}", "{absolute}"))
HDFS = Store("HDFS", "hdfs://{host}:{port}", "{path}")
KAFKA = Store("Kafka", "kafka://{host}:{port}", "{topic}", "9092")
LOCAL_FILE = Store("Local file system", "file", "{path}", former=("file://127.0.0.1:0", "{path}"))
REMOTE_FILE = Store("Remote file system", "file://{host}", "{path}")
BOX = Store("Box", "box://{host}:{port}/{enterprise}", "{key}", "443")
FILENET = Store("FileNet", "filenet://{host}:{port}/{repository}", "{key}", "443")
S3 = Store("S3", "s3://{bucket}", "{key}", former=("s3://{bucket}", "{absolute}"))
SHAREPOINT = Store("SharePoint", "mssharepoint://{host}:{port}/{site}", "{key}", "443")
WASBS = Store(
    "WASBS (Azure Blob Storage)",
    "wasbs://{container}@{account}.dfs.core.windows.net",
    "{key}",
    former=("wasbs://{container}@{account}", "{absolute}"),
)
PUBSUB = Store("PubSub", "pubsub", "{kind}:{project_id}:{id}")
IN_MEMORY = Store("In memory", "inmemory://", "{name}")

SPECIFICATION = (
    *(ATHENA, GLUE, COSMOS_DB, DATA_EXPLORER, SYNAPSE, BIGQUERY, CASSANDRA, MILVUS, FABRIC, MYSQL, CRATE, DB2, HIVE),
    *(MSSQL, OCEANBASE, ORACLE, POSTGRES, TERADATA, REDSHIFT, SNOWFLAKE, SNOWFLAKE_LOCATOR, SPANNER, TRINO),
    *(UNITY_CATALOG, ABFSS, DBFS, GCS, HDFS, KAFKA, LOCAL_FILE, REMOTE_FILE, BOX, FILENET, S3, SHAREPOINT, WASBS),
    *(PUBSUB, IN_MEMORY),
)
"""The stores of the naming specification, in the order of its table."""

CLICKHOUSE = Store("ClickHouse", "clickhouse://{host}:{port}", _SHORT, "8123")
SQL_SERVER = Store("SQL Server, by its JDBC URL", "sqlserver://{host}:{port}", _TABLE)

# --- tables ---------------------------------------------------------------------------------------------------------

_REDSHIFT_HOST = re.compile(
    r"(?P<cluster>[^.]+)\.[^.]+\.(?P<region>[a-z0-9-]+)\.redshift(-serverless)?\.amazonaws\.com(\.cn)?"
)


def redshift(authority: str, outer: Sequence[str], table: Sequence[str], *others: Identifier) -> DatasetNames:
    """Return the names of a table in a cluster. The name of the cluster and its region identify it; of an endpoint they
    are the first and the third label. Another host stands for itself."""
    name, _, port = authority.rpartition(":")
    if match := _REDSHIFT_HOST.fullmatch(name):
        cluster, region = match["cluster"], match["region"]
    elif re.fullmatch(r"[^.\[]+\.[a-z0-9-]+", name):
        cluster, _, region = name.partition(".")
    else:
        names = POSTGRES.of_table(authority, outer, table)
        return DatasetNames(Identifier(f"redshift://{authority}", names.current.name), None, others)
    return REDSHIFT.of_table("", outer, table, *others, cluster=cluster, region=region, port=port)


def snowflake(account: str, outer: Sequence[str], table: str, *others: Identifier) -> DatasetNames:
    """Return the names of a table, with each part as Snowflake writes it, and without any quotes as another name.

    :param account: the account's identifier, with or without the domain: ``organization-account``, or a locator with
        region and cloud; by default those of Spark's listener.
    """
    identifier = re.sub(r"\.snowflakecomputing\.(com|cn)(:\d+)?$", "", account)
    path = [*(part for level in outer for part in snowflake_parts(level)), *snowflake_parts(table)]
    organization, dash, name = identifier.partition("-")
    if dash and name and "." not in identifier:
        names = SNOWFLAKE.of_table("", path[:-1], path[-1:], organization=organization, account=name)
    else:
        default = {0: ".us-west-1.aws", 1: ".aws"}.get(identifier.count("."), "")
        names = SNOWFLAKE_LOCATOR.of_table("", path[:-1], path[-1:], locator=identifier + default)
    plain = ".".join(part for level in path for part in table_parts(level))
    return DatasetNames(names.current, None, (Identifier(names.current.namespace, plain), *others))


def synapse(authority: str, database: str, table: Sequence[str], *others: Identifier) -> DatasetNames:
    """Return the names of a table in Azure Synapse; only the edition of 2024 has the database in them."""
    name, _, port = authority.rpartition(":")
    *_, schema, last = ["", *table]
    return SYNAPSE.names(*others, host=name, port=port, database=database, schema=schema, table=last)


def athena(region: str, outer: Sequence[str], table: Sequence[str]) -> DatasetNames:
    """Return the names of a table; its default catalog is that of AWS Glue."""
    path = [*outer, *table]
    catalog = [] if len(path) > 2 else ["AwsDataCatalog"]
    return ATHENA.of_table("", [*catalog, *path[:-1]], path[-1:], region=region)


def unity_catalog(authority: str, outer: Sequence[str], table: Sequence[str]) -> DatasetNames:
    """Return the names of a table in a workspace of Databricks or a server of Unity Catalog."""
    return UNITY_CATALOG.of_table(normalized_host(authority).removesuffix(":443"), outer, table)


def fabric(authority: str, outer: Sequence[str], table: Sequence[str], *others: Identifier) -> DatasetNames:
    """Return the names of a table in a warehouse of Microsoft Fabric."""
    return FABRIC.of_table(normalized_host(authority).removesuffix(":1433"), outer, table, *others)


def data_explorer(cluster: str, outer: Sequence[str], table: Sequence[str]) -> DatasetNames:
    """Return the names of a table; ``cluster`` is the name and location of a cluster, with or without its domain."""
    name = re.sub(r"\.kusto\.windows\.net$", "", without_port(normalized_host(cluster)))
    *around, last = [*outer, *table]
    return DATA_EXPLORER.names(host=name, database=".".join(around), table=last)


def kafka(servers: str, topic: str) -> DatasetNames:
    """Return the names of a topic, under the first of several servers.

    :raises ValueError: a server or the topic is missing.
    """
    if not topic:
        raise ValueError("the kafka URI has no topic")
    host, _, port = hosts(servers, KAFKA.port).split(",")[0].rpartition(":")
    return KAFKA.names(host=host, port=port, topic=topic)


# --- files and objects ----------------------------------------------------------------------------------------------


def s3(bucket: str, key: str) -> DatasetNames:
    return S3.names(bucket=bucket, **_key(key))


def gcs(bucket: str, key: str) -> DatasetNames:
    return GCS.names(bucket=bucket, **_key(key))


def abfss(container: str, account: str, path: str) -> DatasetNames:
    """Return the names of a path; ``account`` is the storage account, with or without its domain."""
    return _azure(ABFSS, container, account, path)


def wasbs(container: str, account: str, key: str) -> DatasetNames:
    """Return the names of a key; ``account`` is the storage account, with or without its domain."""
    return _azure(WASBS, container, account, key)


def _azure(store: Store, container: str, account: str, path: str) -> DatasetNames:
    short, _, domain = account.partition(".")
    names = store.names(container=container, account=short, **_key(path))
    if domain in ("", "dfs.core.windows.net"):
        return names
    # The specification knows one domain; Spark's listener has that of the URI.
    scheme = store.namespace.partition(":")[0]
    return DatasetNames(Identifier(f"{scheme}://{container}@{account}", names.current.name), names.former)


def dbfs(workspace: str, path: str) -> DatasetNames:
    """Return the names of a path. Spark does not know workspaces: its name is ``dbfs`` and the path."""
    spark = Identifier("dbfs", absolute(path))
    return DBFS.names(spark, workspace=workspace, path=spark.name) if workspace else DatasetNames(spark)


def hdfs(authority: str, path: str) -> DatasetNames:
    """Return the names of a path; ``authority`` is the namenode's ``host:port`` or the id of a name service."""
    host, _, port = authority.partition(":")
    return HDFS.names(host=host, port=port, path=absolute(path))


def local_file(path: str) -> DatasetNames:
    """Return the names of an absolute path.

    :raises ValueError: the path is relative.
    """
    if not path.startswith("/"):
        raise ValueError("the path is not absolute")
    return LOCAL_FILE.names(path=absolute(path))


def absolute(path: str) -> str:
    """Return a path with a leading slash, without trailing ones."""
    return f"/{path.strip('/')}"


def _key(key: str) -> dict[str, str]:
    """Return the parts of an object's key: as it is in a bucket, and as a path."""
    name = key.strip("/")
    return {"key": name or "/", "path": name or "/", "absolute": f"/{name}"}
