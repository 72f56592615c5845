from __future__ import annotations

import pytest
from airflow.sdk import Connection

from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.lineage.naming.connection import TYPES, from_connection

SECRET = {"login": "me", "password": "pa55"}

ROWS = [
    (
        {"conn_type": "postgres", "host": "DB.example.com", "schema": "shop"},
        "public.t",
        "postgres://db.example.com:5432",
        "shop.public.t",
    ),
    ({"conn_type": "postgres", "host": "h", "port": 5433, "schema": "shop"}, "a.b.c", "postgres://h:5433", "a.b.c"),
    ({"conn_type": "mysql", "host": "h", "schema": "shop"}, "t", "mysql://h:3306", "shop.t"),
    ({"conn_type": "mysql", "host": "h", "schema": "shop"}, "other.t", "mysql://h:3306", "other.t"),
    ({"conn_type": "mssql", "host": "h", "schema": "db"}, "dbo.t", "mssql://h:1433", "db.dbo.t"),
    (
        {"conn_type": "mssql", "host": "x.sql.azuresynapse.net", "schema": "pool"},
        "dbo.t",
        "sqlserver://x.sql.azuresynapse.net:1433",
        "dbo.t",
    ),
    ({"conn_type": "oracle", "host": "h", "extra": {"service_name": "svc"}}, "s.t", "oracle://h:1521", "svc.s.t"),
    ({"conn_type": "oracle", "host": "h", "extra": {"sid": "orcl"}}, "s.t", "oracle://h:1521", "orcl.s.t"),
    ({"conn_type": "trino", "host": "h", "schema": "s", "extra": {"catalog": "cat"}}, "t", "trino://h:8080", "cat.s.t"),
    ({"conn_type": "trino", "host": "h", "port": 443}, "s.t", "trino://h:443", "hive.s.t"),
    (
        {"conn_type": "redshift", "host": "c1.x7y.us-west-2.redshift.amazonaws.com", "schema": "dev"},
        "s.t",
        "redshift://c1.us-west-2:5439",
        "dev.s.t",
    ),
    (
        {"conn_type": "redshift", "schema": "dev", "extra": {"cluster_identifier": "c1", "region": "us-west-2"}},
        "s.t",
        "redshift://c1.us-west-2:5439",
        "dev.s.t",
    ),
    (
        {"conn_type": "snowflake", "schema": "s", "extra": {"account": "org-acct", "database": "db"}},
        "t",
        "snowflake://org-acct",
        "DB.S.T",
    ),
    (
        {"conn_type": "snowflake", "extra": {"account": "xy12345", "region": "us-east-1"}},
        "d.s.t",
        "snowflake://xy12345.us-east-1.aws",
        "D.S.T",
    ),
    (
        {"conn_type": "google_cloud_platform", "extra": {"extra__google_cloud_platform__project": "p-1"}},
        "ds.t",
        "bigquery",
        "p-1.ds.t",
    ),
    ({"conn_type": "google_cloud_platform"}, "gs://b/k", "gs://b", "k"),
    ({"conn_type": "aws"}, "s3://b/k", "s3://b", "k"),
    (
        {"conn_type": "athena", "schema": "db", "extra": {"region_name": "eu-west-1"}},
        "t",
        "awsathena://athena.eu-west-1.amazonaws.com",
        "AwsDataCatalog.db.t",
    ),
    (
        {"conn_type": "databricks", "host": "https://x.cloud.databricks.com", "schema": "s", "extra": {"catalog": "c"}},
        "t",
        "unitycatalog://x.cloud.databricks.com",
        "c.s.t",
    ),
    (
        {"conn_type": "azure_data_explorer", "host": "https://c.westeurope.kusto.windows.net"},
        "db.t",
        "azurekusto://c.westeurope.kusto.windows.net",
        "db/t",
    ),
    (
        {"conn_type": "azure_cosmos", "host": "https://x.documents.azure.com:443/", "extra": {"database_name": "db"}},
        "c",
        "azurecosmos://x.documents.azure.com/dbs/db",
        "colls/c",
    ),
    ({"conn_type": "cassandra", "host": "h1,h2", "schema": "ks"}, "t", "cassandra://h1:9042,h2:9042", "ks.t"),
    ({"conn_type": "hiveserver2", "host": "h", "schema": "db"}, "t", "hive://h:10000", "db.t"),
    ({"conn_type": "teradata", "host": "h", "schema": "db"}, "t", "teradata://h:1025", "db.t"),
    ({"conn_type": "clickhouse", "host": "h", "schema": "db"}, "t", "clickhouse://h:8123", "db.t"),
    (
        {"conn_type": "kafka", "extra": {"bootstrap.servers": "h1:9093,h2:9093", "sasl.password": "pa55"}},
        "topic",
        "kafka://h1:9093",
        "topic",
    ),
    (
        {"conn_type": "wasb", "host": "acct.blob.core.windows.net"},
        "c/a/b",
        "wasbs://c@acct.blob.core.windows.net",
        "a/b",
    ),
    ({"conn_type": "adls", "host": "acct"}, "c/a/b", "abfss://c@acct.dfs.core.windows.net", "a/b"),
    ({"conn_type": "hdfs", "host": "nn", "port": 8020}, "/w/t", "hdfs://nn:8020", "/w/t"),
    ({"conn_type": "http", "host": "example.com", "schema": "https"}, "/x.csv", "https://example.com", "/x.csv"),
    (
        {"conn_type": "http", "host": "http://me:pa55@example.com", "port": 8080},
        "x.csv",
        "http://example.com:8080",
        "/x.csv",
    ),
    ({"conn_type": "sftp", "host": "h", "port": 22}, "/x.csv", "sftp://h", "/x.csv"),
    ({"conn_type": "fs", "extra": {"path": "/data"}}, "x.csv", "file", "/data/x.csv"),
    ({"conn_type": "jdbc", "host": "jdbc:postgresql://h/db?password=pa55"}, "s.t", "postgres://h:5432", "db.s.t"),
    ({"conn_type": "odf", "host": "s3://lake/store"}, "acme/cities", "s3://lake", "store/acme/cities"),
]


@pytest.mark.parametrize(("fields", "dataset", "namespace", "name"), ROWS)
def test_connections(fields: dict, dataset: str, namespace: str, name: str) -> None:
    connection = Connection(conn_id="c", **SECRET, **{**fields, "extra": _json(fields.get("extra"))})
    names = from_connection(connection, dataset)
    assert names.current == Identifier(namespace, name)
    assert "pa55" not in repr(names)


def test_every_type_has_a_row_here() -> None:
    same = {"https", "ftp", "gcpbigquery", "hive_cli", "hive_metastore"}
    assert {fields["conn_type"] for fields, *_ in ROWS} - {"aws"} == set(TYPES) - same


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "slack"}, "there is no naming rule for connections of type slack"),
        ({"conn_type": "postgres"}, "the address has no host"),
        (
            {"conn_type": "postgres", "host": "h", "schema": "db?password=pa55"},
            "the name of the database or schema contains ? or ;",
        ),
        ({"conn_type": "snowflake"}, "the connection has no account"),
        ({"conn_type": "google_cloud_platform"}, "the connection has no project, or the table no data set"),
        ({"conn_type": "athena"}, "the connection has no region_name"),
    ],
)
def test_no_name(fields: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_connection(Connection(conn_id="c", **fields), "t")
    assert str(caught.value) == message


def _json(extra: dict | None) -> str | None:
    import json

    return json.dumps(extra) if extra else None
