from __future__ import annotations

import pytest

from airflow_provider_odf.lineage.naming import Identifier
from airflow_provider_odf.lineage.naming.server import TYPES, from_server

HOST = {"host": "h", "port": 1234, "database": "db", "schema": "s"}

ROWS = [
    ({"type": "local", "path": "data/{model}.csv"}, "file", "/contracts/data/orders.csv"),
    ({"type": "s3", "location": "s3://b/{model}/*.json"}, "s3://b", "orders"),
    (
        {"type": "azure", "location": "az://acct.blob.core.windows.net/c/p/{model}"},
        "abfss://c@acct.dfs.core.windows.net",
        "p/orders",
    ),
    (
        {"type": "azure", "location": "https://acct.dfs.core.windows.net/c/p"},
        "abfss://c@acct.dfs.core.windows.net",
        "p",
    ),
    (
        {"type": "azure", "location": "abfss://c@acct.dfs.core.windows.net/p"},
        "abfss://c@acct.dfs.core.windows.net",
        "p",
    ),
    (
        {"type": "azure", "location": "https://acct.blob.core.windows.net/c/p?sv=1&sig=pa55"},
        "abfss://c@acct.dfs.core.windows.net",
        "p",
    ),
    ({"type": "local", "path": "hdfs://me:pa55@nn:8020/p"}, "hdfs://nn:8020", "/p"),
    ({"type": "sftp", "location": "sftp://me:pa55@h/p/{model}.csv"}, "sftp://h", "/p/orders.csv"),
    ({"type": "api", "location": "https://example.com/orders?api_key=pa55"}, "https://example.com", "/orders"),
    ({"type": "gcs", "location": "gs://b/p"}, "gs://b", "p"),
    ({"type": "gcs", "location": "gs://b/{model}/{year}/*.json"}, "gs://b", "orders"),
    ({"type": "local", "path": "data/*.csv"}, "file", "/contracts/data"),
    ({"type": "local", "path": "*.csv"}, "file", "/contracts"),
    (
        {"type": "azure", "location": "az://acct.blob.core.windows.net/c/p/??/{model}.csv"},
        "abfss://c@acct.dfs.core.windows.net",
        "p",
    ),
    ({"type": "api", "location": "https://example.com/{model}/{id}?a=1"}, "https://example.com", "/orders"),
    ({"type": "custom", "location": "hdfs://nn:8020/p"}, "hdfs://nn:8020", "/p"),
    ({"type": "postgres", **HOST}, "postgres://h:1234", "db.s.orders"),
    ({"type": "postgresql", "host": "h", "database": "db"}, "postgres://h:5432", "db.orders"),
    ({"type": "mysql", "host": "h", "database": "db"}, "mysql://h:3306", "db.orders"),
    ({"type": "sqlserver", **HOST}, "sqlserver://h:1234", "db.s.orders"),
    ({"type": "synapse", **HOST}, "sqlserver://h:1234", "s.orders"),
    (
        {"type": "oracle", "host": "h", "port": 1521, "serviceName": "svc", "schema": "s"},
        "oracle://h:1521",
        "svc.s.orders",
    ),
    (
        {
            "type": "redshift",
            "account": "1",
            "database": "db",
            "schema": "s",
            "endpoint": "c1.x7y.us-west-2.redshift.amazonaws.com:5439/db",
        },
        "redshift://c1.us-west-2:5439",
        "db.s.orders",
    ),
    (
        {"type": "redshift", "database": "db", "schema": "s", "clusterIdentifier": "c1", "region": "us-west-2"},
        "redshift://c1.us-west-2:5439",
        "db.s.orders",
    ),
    (
        {"type": "snowflake", "account": "org-acct", "database": "db", "schema": "s"},
        "snowflake://org-acct",
        "DB.S.ORDERS",
    ),
    ({"type": "bigquery", "project": "p", "dataset": "ds"}, "bigquery", "p.ds.orders"),
    (
        {"type": "databricks", "host": "x.cloud.databricks.com", "catalog": "c", "schema": "s"},
        "unitycatalog://x.cloud.databricks.com",
        "c.s.orders",
    ),
    (
        {"type": "glue", "account": "1234-5678-9012", "database": "db", "region": "eu-west-1"},
        "arn:aws:glue:eu-west-1:123456789012",
        "table/db/orders",
    ),
    (
        {"type": "athena", "schema": "db", "regionName": "eu-west-1", "catalog": "awsdatacatalog"},
        "awsathena://athena.eu-west-1.amazonaws.com",
        "AwsDataCatalog.db.orders",
    ),
    ({"type": "trino", "host": "h", "port": 8080, "catalog": "c", "schema": "s"}, "trino://h:8080", "c.s.orders"),
    ({"type": "clickhouse", "host": "h", "port": 8123, "database": "db"}, "clickhouse://h:8123", "db.orders"),
    ({"type": "db2", **HOST}, "db2://h:1234", "db.s.orders"),
    ({"type": "hive", "host": "h", "database": "db"}, "hive://h:10000", "db.orders"),
    ({"type": "teradata", "host": "h", "database": "db"}, "teradata://h:1025", "db.orders"),
    ({"type": "kafka", "host": "h1:9093,h2:9093", "topic": "{model}-v1"}, "kafka://h1:9093", "orders-v1"),
    ({"type": "kafka", "host": "h"}, "kafka://h:9092", "orders"),
    ({"type": "pubsub", "project": "p", "topic": "t"}, "pubsub", "topic:p:t"),
    ({"type": "kinesis", "stream": "st", "region": "eu-west-1"}, "kinesis://eu-west-1", "st"),
    ({"type": "vertica", **HOST}, "vertica://h:1234", "db.s.orders"),
    ({"type": "presto", "host": "h:8080", "catalog": "c", "schema": "s"}, "presto://h:8080", "c.s.orders"),
]


@pytest.mark.parametrize(("server", "namespace", "name"), ROWS)
def test_servers(server: dict, namespace: str, name: str) -> None:
    assert from_server(server, "orders", folder="/contracts").current == Identifier(namespace, name)


def test_every_type_has_a_row_here() -> None:
    like_vertica = {"denodo", "dremio", "exasol", "hana", "impala", "informix"}
    assert {server["type"] for server, *_ in ROWS} == {*TYPES, "local"} - like_vertica


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({}, "the server has no type"),
        ({"type": "btrieve"}, "there is no naming rule for servers of type btrieve"),
        ({"type": "postgres", "database": "db"}, "the server has no host"),
        (
            {"type": "postgres", "host": "h", "database": "db;password=pa55"},
            "the name of the database or schema contains ? or ;",
        ),
        ({"type": "glue", "account": "1", "database": "db"}, "the server has no region"),
        ({"type": "s3", "location": "s3://"}, "the s3 URI has no bucket or an invalid one"),
        ({"type": "s3", "location": "s3://{bucket}/x"}, "the s3 URI has no bucket or an invalid one"),
        *(
            ({"type": kind, **HOST, **field}, "the server has a wildcard or a placeholder outside of a path")
            for kind, field in [
                ("kafka", {"topic": "orders-*"}),
                ("kafka", {"topic": "{region}-orders"}),
                ("postgres", {"database": "{{ env }}"}),
                ("vertica", {"schema": "{env}_s"}),
                ("pubsub", {"project": "${PROJECT}"}),
                ("kinesis", {"region": "{region}"}),
            ]
        ),
    ],
)
def test_no_name(server: dict, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_server(server, "orders", folder="/contracts")
    assert str(caught.value) == message
