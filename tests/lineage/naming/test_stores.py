"""The tables of both editions of the naming specification, row by row."""

from __future__ import annotations

import pytest
from openlineage.client.naming import dataset

from airflow_provider_odf.lineage.naming import DatasetNames, EditionNames, Identifier, stores
from airflow_provider_odf.lineage.naming.uri import from_uri

SAME = {
    "awsathena://athena.eu-west-1.amazonaws.com/cat.db.t": ("awsathena://athena.eu-west-1.amazonaws.com", "cat.db.t"),
    "awsathena://athena.eu-west-1.amazonaws.com/db.t": (
        "awsathena://athena.eu-west-1.amazonaws.com",
        "AwsDataCatalog.db.t",
    ),
    "arn:aws:glue:eu-west-1:123456789012:table/db/t": ("arn:aws:glue:eu-west-1:123456789012", "table/db/t"),
    "bigquery:my-project.ds.t": ("bigquery", "my-project.ds.t"),
    "bigquery://my-project/ds/t": ("bigquery", "my-project.ds.t"),
    "cassandra://h:9043/ks.t": ("cassandra://h:9043", "ks.t"),
    "milvus://h/db.coll": ("milvus://h:19530", "db.coll"),
    "fabric-warehouse://x.datawarehouse.fabric.microsoft.com/db.s.t": (
        "fabric-warehouse://x.datawarehouse.fabric.microsoft.com",
        "db.s.t",
    ),
    "mysql://H:3306/db.t": ("mysql://h:3306", "db.t"),
    "crate://h/db.s.t": ("crate://h:5432", "db.s.t"),
    "db2://h:50000/db.s.t": ("db2://h:50000", "db.s.t"),
    "hive://h/db.t": ("hive://h:10000", "db.t"),
    "mssql://h/db.dbo.t": ("mssql://h:1433", "db.dbo.t"),
    "oceanbase://h/db.t": ("oceanbase://h:2881", "db.t"),
    "oracle://h/sales.example.com/s/t": ("oracle://h:1521", "sales.example.com.s.t"),
    "postgres://me:pa55@h/db.s.t": ("postgres://h:5432", "db.s.t"),
    "postgresql+psycopg2://h:5433/db/s/t": ("postgres://h:5433", "db.s.t"),
    "teradata://h/db.t": ("teradata://h:1025", "db.t"),
    "redshift://c1.us-west-2:5439/db.s.t": ("redshift://c1.us-west-2:5439", "db.s.t"),
    "redshift://c1.x7y.us-west-2.redshift.amazonaws.com/db.s.t": ("redshift://c1.us-west-2:5439", "db.s.t"),
    "redshift://wg.123456789012.eu-central-1.redshift-serverless.amazonaws.com:5439/db/s/t": (
        "redshift://wg.eu-central-1:5439",
        "db.s.t",
    ),
    "redshift://db.example.com/db.s.t": ("redshift://db.example.com:5439", "db.s.t"),
    "snowflake://org-acct/DB.S.T": ("snowflake://org-acct", "DB.S.T"),
    "snowflake://my-org-my-acct.snowflakecomputing.com/db/s/t": ("snowflake://my-org-my-acct", "DB.S.T"),
    "snowflake://xy12345/DB.S.T": ("snowflake://xy12345.us-west-1.aws", "DB.S.T"),
    "snowflake://xy12345.us-east-1/DB.S.T": ("snowflake://xy12345.us-east-1.aws", "DB.S.T"),
    "snowflake://xy12345.east-us-2.azure/DB.S.T": ("snowflake://xy12345.east-us-2.azure", "DB.S.T"),
    "spanner://proj:inst/db.s.t": ("spanner://proj:inst", "db.s.t"),
    "trino://h:8080/cat.s.t": ("trino://h:8080", "cat.s.t"),
    "unitycatalog://x.cloud.databricks.com:443/cat.s.t": ("unitycatalog://x.cloud.databricks.com", "cat.s.t"),
    "unitycatalog://h:8080/cat.s.t": ("unitycatalog://h:8080", "cat.s.t"),
    "hdfs://nn:8020/w/t/": ("hdfs://nn:8020", "/w/t"),
    "kafka://h/topic": ("kafka://h:9092", "topic"),
    "file://host/p": ("file://host", "/p"),
    "box://h/ent/a/b.pdf": ("box://h:443/ent", "a/b.pdf"),
    "filenet://h:9443/repo/key": ("filenet://h:9443/repo", "key"),
    "mssharepoint://h/site/docs/a.xlsx": ("mssharepoint://h:443/site", "docs/a.xlsx"),
    "pubsub:topic:proj:orders": ("pubsub", "topic:proj:orders"),
    "pubsub://projects/proj/subscriptions/s": ("pubsub", "subscription:proj:s"),
    "inmemory://temp-1": ("inmemory://", "temp-1"),
    "clickhouse://h/db.t": ("clickhouse://h:8123", "db.t"),
}
"""URI -> namespace and name, which are the same in both editions."""

DIFFERENT = {
    "azurecosmos://x.documents.azure.com/dbs/db/colls/c": (
        ("azurecosmos://x.documents.azure.com/dbs/db", "colls/c"),
        ("azurecosmos://x.documents.azure.com/dbs/db", "/colls/c"),
    ),
    "azurekusto://c.westeurope.kusto.windows.net/db/t": (
        ("azurekusto://c.westeurope.kusto.windows.net", "db/t"),
        ("azurekusto://c.westeurope.kusto.windows.net/db", "db/t"),
    ),
    "azurekusto://c.westeurope/db/t": (
        ("azurekusto://c.westeurope.kusto.windows.net", "db/t"),
        ("azurekusto://c.westeurope.kusto.windows.net/db", "db/t"),
    ),
    "sqlserver://x.sql.azuresynapse.net:1433/SQLPool1.dbo.t": (
        ("sqlserver://x.sql.azuresynapse.net:1433", "dbo.t"),
        ("sqlserver://x.sql.azuresynapse.net:1433;database=SQLPool1;", "SQLPool1.dbo.t"),
    ),
    "sqlserver://x.sql.azuresynapse.net;database=SQLPool1;/dbo.t": (
        ("sqlserver://x.sql.azuresynapse.net:1433", "dbo.t"),
        ("sqlserver://x.sql.azuresynapse.net:1433;database=SQLPool1;", "SQLPool1.dbo.t"),
    ),
    "abfss://c@acct.dfs.core.windows.net/p/x/": (
        ("abfss://c@acct.dfs.core.windows.net", "p/x"),
        ("abfss://c@acct", "/p/x"),
    ),
    "abfs://c@acct/p": (("abfss://c@acct.dfs.core.windows.net", "p"), ("abfss://c@acct", "/p")),
    "dbfs://ws/p": (("dbfs://ws", "/p"), ("hdfs://ws", "/p")),
    "gs://b/k": (("gs://b", "k"), ("gs://b", "/k")),
    "/p": (("file", "/p"), ("file://127.0.0.1:0", "/p")),
    "file://127.0.0.1:22/p": (("file", "/p"), ("file://127.0.0.1:0", "/p")),
    "s3a://b/k": (("s3://b", "k"), ("s3://b", "/k")),
    "wasbs://c@acct.dfs.core.windows.net/k": (
        ("wasbs://c@acct.dfs.core.windows.net", "k"),
        ("wasbs://c@acct", "/k"),
    ),
    "wasb://c@acct.blob.core.windows.net/k": (
        ("wasbs://c@acct.blob.core.windows.net", "k"),
        ("wasbs://c@acct", "/k"),
    ),
}
"""URI -> namespace and name in the current edition, and in that of 2024."""


@pytest.mark.parametrize(("uri", "expected"), SAME.items())
def test_the_same_in_both_editions(uri: str, expected: tuple[str, str]) -> None:
    names = from_uri(uri)
    assert names.in_edition("current").primary == Identifier(*expected)
    assert names.in_edition("2024").primary == Identifier(*expected)


@pytest.mark.parametrize(("uri", "expected"), DIFFERENT.items())
def test_different_in_both_editions(uri: str, expected: tuple[tuple[str, str], tuple[str, str]]) -> None:
    current, former = (Identifier(*names) for names in expected)
    names = from_uri(uri)
    assert names.in_edition("current").primary == current
    assert former in names.in_edition("current").symlinks
    assert names.in_edition("2024").primary == former
    assert current in names.in_edition("2024").symlinks


def test_every_store_has_a_row_here() -> None:
    """Each store of the specification, by the beginning of its namespace."""
    rows = [*(row[0] for row in SAME.values()), *(row[0][0] for row in DIFFERENT.values())]
    beginnings = {row.partition("://")[0].partition(":")[0] for row in rows}
    templates = {
        store.title: store.names(**{part: f"{{{part}}}" for part in store.parts}).current
        for store in stores.SPECIFICATION
    }
    assert {n.namespace.partition("://")[0].partition(":")[0] for n in templates.values()} <= beginnings
    assert len(templates) == 38
    assert [str(v.namespace) for k, v in templates.items() if k in ("Redshift", "PubSub", "Snowflake")] == [
        "redshift://{cluster}.{region}:{port}",
        "snowflake://{organization}-{account}",
        "pubsub",
    ]


CLASSES = {
    "Athena": "Athena", "AWS Glue": "AWSGlue", "Azure Cosmos DB": "AzureCosmosDB", "Azure Synapse": "AzureSynapse",
    "Azure Data Explorer": "AzureDataExplorer", "BigQuery": "BigQuery", "Cassandra": "Cassandra", "MySQL": "MySQL",
    "CrateDB": "CrateDB", "DB2": "DB2", "Hive": "Hive", "OceanBase": "OceanBase", "Oracle": "Oracle",
    "Postgres": "Postgres", "Teradata": "Teradata", "Redshift": "Redshift", "Snowflake": "Snowflake",
    "Trino": "Trino", "ABFSS (Azure Data Lake Gen2)": "ABFSS", "DBFS (Databricks File System)": "DBFS", "GCS": "GCS",
    "HDFS": "HDFS", "Kafka": "Kafka", "Local file system": "LocalFileSystem", "S3": "S3",
    "Remote file system": "RemoteFileSystem", "WASBS (Azure Blob Storage)": "WASBS",
}  # fmt: skip
"""Store -> the class of OpenLineage's client that has the same rule."""


@pytest.mark.parametrize(("title", "named"), CLASSES.items())
def test_forms_are_those_of_the_classes_of_the_client(title: str, named: str) -> None:
    store = next(store for store in stores.SPECIFICATION if store.title == title)
    parts = dict.fromkeys(store.parts)
    other = getattr(dataset, named)(*parts)
    assert store.names(**{part: part for part in parts}).current == Identifier(other.get_namespace(), other.get_name())


def test_other_names_go_along_as_symlinks() -> None:
    current, former, spark = Identifier("dbfs://ws", "/p"), Identifier("hdfs://ws", "/p"), Identifier("dbfs", "/p")
    names = stores.dbfs("ws", "p")
    assert names.in_edition("current") == EditionNames(current, (former, spark))
    assert names.in_edition("2024") == EditionNames(former, (current, spark))
    assert stores.hdfs("nn:8020", "p").in_edition("2024") == EditionNames(Identifier("hdfs://nn:8020", "/p"))


@pytest.mark.parametrize(
    ("names", "namespace", "name"),
    [
        (stores.s3("b", ""), "s3://b", "/"),
        (stores.s3("b", "//k/x//"), "s3://b", "k/x"),
        (stores.local_file("/"), "file", "/"),
        (stores.local_file("/data/x/"), "file", "/data/x"),
        (stores.dbfs("", "p"), "dbfs", "/p"),
        (stores.hdfs("nameservice1", "/warehouse/t"), "hdfs://nameservice1", "/warehouse/t"),
        (stores.abfss("c", "acct", "/p/x/"), "abfss://c@acct.dfs.core.windows.net", "p/x"),
        (stores.abfss("c", "onelake.dfs.fabric.microsoft.com", "p"), "abfss://c@onelake.dfs.fabric.microsoft.com", "p"),
        (stores.POSTGRES.of_table("h:1", ["db"], ["t"]), "postgres://h:1", "db.t"),
        (stores.POSTGRES.of_table("h1:1,h2:2", ["db"], ["s", "t"]), "postgres://h1:1,h2:2", "db.s.t"),
        (stores.HDFS.names(host="nn", path="/p"), "hdfs://nn", "/p"),
    ],
)
def test_parts_are_normalized(names: DatasetNames, namespace: str, name: str) -> None:
    assert names.current == Identifier(namespace, name)


def test_incomplete_names_are_refused() -> None:
    with pytest.raises(ValueError, match="the path is not absolute"):
        stores.local_file("data/x")
    with pytest.raises(ValueError, match="the address is incomplete"):
        stores.POSTGRES.names(port="5432", table="t")


def test_snowflake_quotes_only_where_needed() -> None:
    names = from_uri('snowflake://org-acct/my_db.MY_SCHEMA."My Table"')
    assert names.in_edition("2024").primary == Identifier("snowflake://org-acct", 'MY_DB.MY_SCHEMA."My Table"')
    assert names.in_edition("current").symlinks == (Identifier("snowflake://org-acct", "MY_DB.MY_SCHEMA.My Table"),)
