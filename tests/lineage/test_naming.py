from __future__ import annotations

import pytest
from openlineage.client.naming import dataset as oracle

from airflow_provider_odf.lineage import naming
from airflow_provider_odf.lineage.naming import Forms, Identifier, Named

PUBSUB = oracle.PubSubNaming(oracle.PubSubResourceType.TOPIC, "p", "orders")
PUBSUB.resource_type = oracle.PubSubResourceType.TOPIC


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (naming.athena("eu-west-1", "db", "t"), oracle.Athena("eu-west-1", "AwsDataCatalog", "db", "t")),
        (naming.glue("eu-west-1", "123456789012", "db", "t"), oracle.AWSGlue("eu-west-1", "123456789012", "db", "t")),
        (
            naming.cosmos_db("x.documents.azure.com", "db", "t"),
            oracle.AzureCosmosDB("x.documents.azure.com", "db", "t"),
        ),
        (naming.data_explorer("c.westeurope", "db", "t"), oracle.AzureDataExplorer("c.westeurope", "db", "t")),
        (
            naming.data_explorer("c.westeurope.kusto.windows.net", "db", "t"),
            oracle.AzureDataExplorer("c.westeurope", "db", "t"),
        ),
        (
            naming.synapse("x.sql.azuresynapse.net", "pool", "dbo", "t"),
            oracle.AzureSynapse("x.sql.azuresynapse.net", "1433", "dbo", "t"),
        ),
        (naming.bigquery("project-id", "ds", "t"), oracle.BigQuery("project-id", "ds", "t")),
        (naming.cassandra("h", "ks", "t"), oracle.Cassandra("h", "9042", "ks", "t")),
        (naming.mysql("h", "db", "t"), oracle.MySQL("h", "3306", "db", "t")),
        (naming.hive("h", "db", "t"), oracle.Hive("h", "9083", "db", "t")),
        (naming.oceanbase("h", "db", "t"), oracle.OceanBase("h", "2881", "db", "t")),
        (naming.teradata("h", "db", "t"), oracle.Teradata("h", "1025", "db", "t")),
        (naming.postgres("H", "db", "public", "T"), oracle.Postgres("h", "5432", "db", "public", "T")),
        (naming.crate_db("h", "db", "doc", "t"), oracle.CrateDB("h", "5432", "db", "doc", "t")),
        (naming.db2("h", "db", "s", "t"), oracle.DB2("h", "6789", "db", "s", "t")),
        (naming.oracle("h", "sid", "s", "t"), oracle.Oracle("h", "1521", "sid", "s", "t")),
        (naming.trino("h", "c", "s", "t", 8080), oracle.Trino("h", "8080", "c", "s", "t")),
        (
            naming.redshift("cluster", "db", "s", "t", region="us-west-2"),
            oracle.Redshift("cluster", "us-west-2", "5439", "db", "s", "t"),
        ),
        (
            naming.redshift("cluster.abc123.us-west-2.redshift.amazonaws.com", "db", "s", "t"),
            oracle.Redshift("cluster", "us-west-2", "5439", "db", "s", "t"),
        ),
        (naming.snowflake("org-acct", "db", "s", "T"), oracle.Snowflake("org", "acct", "DB", "S", "T")),
        (naming.abfss("c", "acct", "/p/x/"), oracle.ABFSS("c", "acct", "p/x")),
        (naming.abfss("c", "acct.dfs.core.windows.net", "p"), oracle.ABFSS("c", "acct", "p")),
        (naming.wasbs("c", "acct", "p"), oracle.WASBS("c", "acct", "p")),
        (naming.dbfs("ws", "/p/"), oracle.DBFS("ws", "/p")),
        (naming.gcs("b", "/k/"), oracle.GCS("b", "k")),
        (naming.s3("b", "k/x"), oracle.S3("b", "k/x")),
        (naming.hdfs("nn:8020", "p/"), oracle.HDFS("nn", "8020", "/p")),
        (naming.kafka("h:9092,i:9092", "t"), oracle.Kafka("h", "9092", "t")),
        (naming.local_file("/data/x/"), oracle.LocalFileSystem("/data/x")),
        (naming.remote_file("h", "/data/x"), oracle.RemoteFileSystem("h", "/data/x")),
        (naming.pubsub("topic", "p", "orders"), PUBSUB),
    ],
)
def test_current_edition_agrees_with_the_client(forms: Forms, expected: oracle.DatasetNaming):
    assert forms.named().primary == Identifier(expected.get_namespace(), expected.get_name())


@pytest.mark.parametrize(
    ("forms", "namespace", "name"),
    [
        (naming.mssql("H", "db", "dbo", "t"), "mssql://h:1433", "db.dbo.t"),
        (naming.spanner("p", "i", "db", "s", "t"), "spanner://p:i", "db.s.t"),
        (naming.unity_catalog("h", "c", "s", "t"), "unitycatalog://h", "c.s.t"),
        (naming.unity_catalog("h", "c", "s", "t", 8443), "unitycatalog://h:8443", "c.s.t"),
        (naming.pubsub("subscription", "p", "s"), "pubsub", "subscription:p:s"),
        (naming.kafka("h", "t"), "kafka://h:9092", "t"),
        (naming.s3("b", ""), "s3://b", "/"),
        (naming.local_file("/"), "file", "/"),
        (naming.dbfs("", "p"), "dbfs", "/p"),
        (naming.hdfs("nameservice1", "/warehouse/t"), "hdfs://nameservice1", "/warehouse/t"),
        (naming.wasbs("c", "acct.blob.core.windows.net", "p"), "wasbs://c@acct.blob.core.windows.net", "p"),
    ],
)
def test_current_edition_where_the_client_has_no_class(forms: Forms, namespace: str, name: str):
    assert forms.named("current").primary == Identifier(namespace, name)


@pytest.mark.parametrize(
    ("forms", "namespace", "name"),
    [
        (
            naming.cosmos_db("x.documents.azure.com", "db", "t"),
            "azurecosmos://x.documents.azure.com/dbs/db",
            "/colls/t",
        ),
        (naming.data_explorer("c.eu", "db", "t"), "azurekusto://c.eu.kusto.windows.net/db", "db/t"),
        (naming.synapse("h", "pool", "dbo", "t"), "sqlserver://h:1433;database=pool;", "pool.dbo.t"),
        (naming.abfss("c", "acct", "p/x"), "abfss://c@acct", "/p/x"),
        (naming.wasbs("c", "acct", "p"), "wasbs://c@acct", "/p"),
        (naming.dbfs("ws", "/p"), "hdfs://ws", "/p"),
        (naming.gcs("b", "k"), "gs://b", "/k"),
        (naming.s3("b", "k"), "s3://b", "/k"),
        (naming.local_file("/data/x"), "file://127.0.0.1:0", "/data/x"),
        (naming.local_file("/data/x", "10.0.0.7:22"), "file://10.0.0.7:22", "/data/x"),
        (naming.postgres("h", "db", "s", "t"), "postgres://h:5432", "db.s.t"),
        (naming.athena("r", "db", "t"), "awsathena://athena.r.amazonaws.com", "AwsDataCatalog.db.t"),
    ],
)
def test_edition_of_2024(forms: Forms, namespace: str, name: str):
    assert forms.named("2024").primary == Identifier(namespace, name)


def test_other_names_go_along_as_symlinks():
    forms = naming.synapse("h", "pool", "dbo", "t")
    current = Identifier("sqlserver://h:1433", "dbo.t")
    former = Identifier("sqlserver://h:1433;database=pool;", "pool.dbo.t")
    spark = Identifier("sqlserver://h:1433", "pool.dbo.t")
    assert forms.named("current") == Named(current, (former, spark))
    assert forms.named("2024") == Named(former, (current, spark))
    assert naming.mysql("h", "db", "t").named("2024") == Named(Identifier("mysql://h:3306", "db.t"))


@pytest.mark.parametrize(
    ("account", "namespace"),
    [
        ("myorg-acct", "snowflake://myorg-acct"),
        ("https://myorg-acct.snowflakecomputing.com/", "snowflake://myorg-acct"),
        ("xy12345", "snowflake://xy12345.us-west-1.aws"),
        ("xy12345.eu-west-1", "snowflake://xy12345.eu-west-1.aws"),
        ("xy12345.europe-west1.gcp", "snowflake://xy12345.europe-west1.gcp"),
    ],
)
def test_snowflake_accounts(account: str, namespace: str):
    assert naming.snowflake(account, "d", "s", "t").current.namespace == namespace


@pytest.mark.parametrize(
    ("table", "name", "stripped"),
    [
        ("orders", "DB.S.ORDERS", None),
        ('"ORDERS"', "DB.S.ORDERS", None),
        ('"orders"', 'DB.S."orders"', "DB.S.orders"),
        ('"My Table"', 'DB.S."My Table"', "DB.S.My Table"),
        ('"a""b"', 'DB.S."a""b"', 'DB.S.a"b'),
    ],
)
def test_snowflake_quotes_only_where_needed(table: str, name: str, stripped: str | None):
    forms = naming.snowflake("o-a", "db", "s", table)
    assert forms.current.name == name
    assert [i.name for i in forms.named().symlinks] == ([stripped] if stripped else [])


def test_redshift_endpoint_goes_along_as_spark_has_it():
    forms = naming.redshift("c.abc.us-west-2.redshift.amazonaws.com", "db", "s", "t")
    assert forms.named().symlinks == (Identifier("redshift://c.abc.us-west-2.redshift.amazonaws.com:5439", "db.s.t"),)
    with pytest.raises(ValueError, match=r"'example\.com' is no endpoint of Redshift"):
        naming.redshift("example.com", "db", "s", "t")


def test_incomplete_names_are_refused():
    with pytest.raises(ValueError, match=r"a part of the name 'db\.\.t' is empty"):
        naming.postgres("h", "db", "", "t")
    with pytest.raises(ValueError, match="'data/x' is not an absolute path"):
        naming.local_file("data/x")
