from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.sources import access_of, credentials, models_to_test, of_data, of_server, server_of
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import Source

HEAD = """\
dataContractSpecification: 1.1.0
id: urn:shop
info: {title: Shop, version: 1.0.0}
models: {orders: {fields: {}}, "line items": {fields: {}}}
"""


def sources(server: str, environment: dict[str, str] | None = None, data_format: str | None = None) -> list[Source]:
    text = HEAD + "servers:\n  main: " + dedent(server).strip() + "\n"
    file = parse(text, "/work area/c.yaml")
    return list(of_server(file, server_of(file, None), data_format, environment or {}))


def test_files():
    location = "s3://bucket/{model}/*.json"
    first, second = sources(
        f"{{type: s3, location: '{location}', format: json, delimiter: array, endpointUrl: http://x}}"
    )
    assert first == Source("orders", "json", ("s3://bucket/orders/*.json",), {"delimiter": "array"})
    assert second.paths == ("s3://bucket/line items/*.json",)
    az = "az://store.blob.core.windows.net/box/path/*.parquet"
    assert sources(f"{{type: azure, location: '{az}'}}")[0] == Source(
        "orders", "parquet", ("abfss://box@store.dfs.core.windows.net/path/*.parquet",)
    )
    (local, _) = sources("{type: local, path: 'data/{model}.csv', format: csv}", data_format="parquet")
    assert (local.format, local.paths) == ("parquet", ("/work area/data/orders.csv",))


@pytest.mark.parametrize(
    ("server", "options"),
    [
        (
            "{type: s3, location: 's3://b/x.csv', endpointUrl: '${URL:-http://x}'}",
            {"endpoint": "http://x", "virtual_hosted_style_request": "false"},
        ),
        ("{type: s3, location: 's3://b/x.csv', endpointUrl: '${NOTHING}'}", None),
        ("{type: s3, location: 's3://b/x.csv'}", None),
        ("{type: azure, location: 'abfss://b@a.dfs.core.windows.net/x.csv'}", {"account_key": "k"}),
        ("{type: postgres, host: h, database: d}", None),
    ],
)
def test_access_to_objects(server: str, options: dict[str, str] | None):
    file = parse(HEAD + f"servers:\n  main: {server}\n", "c.yaml")
    access = access_of(server_of(file, None), {"AZURE_STORAGE_KEY": "k"})
    assert (access and access.options) == options
    assert access is None or access.origin == "server main"
    assert "k" not in repr(access).split("'")


def test_databases():
    server = "{type: postgres, host: db, database: 'a b?c', schema: 'pub\"lic'}"
    assert sources(server, {"PGUSER": "me", "ODF_SERVER_MAIN_PASSWORD": "x"})[1] == Source(
        "line items",
        "jdbc",
        (),
        {
            "url": "jdbc:postgresql://db:5432/a%20b%3Fc",
            "dbtable": '"pub""lic"."line items"',
            "driver": "org.postgresql.Driver",
            "fetchsize": "10000",
            "user": "me",
            "password": "x",
        },
        install="org.postgresql:postgresql:42.7.7",
    )
    url = sources("{type: trino, host: '[::1]', port: 1, catalog: c, schema: s}")[0].options["url"]
    assert url == "jdbc:trino://[::1]:1/c/s"


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("{type: postgres, host: 'h/?socketFactory=x', database: d}", "host 'h/?socketFactory=x' is not the name"),
        ("{type: postgres, host: h, port: '5&a=b', database: d}", "port '5&a=b' is not a number"),
        ("{type: sqlserver, host: h}", "it has no database"),
        ("{type: s3, location: 'file:///x'}", "location 'file:///x' does not begin with s3://"),
        ("{type: azure, location: 'x'}", "location 'x' begins neither with az:// nor with abfss://"),
        ("{type: local, path: data}", "data: cannot determine the format from the file name"),
        (
            "{type: kafka, host: h}",
            "kafka (Spark needs org.apache.spark:spark-sql-kafka-0-10_2.13): copy",
        ),
        ("{type: fax}", "cannot read data from a server of type fax: copy the data"),
        ("{}", "cannot read data from a server without a type: copy the data"),
    ],
)
def test_servers_that_cannot_be_read(server: str, problem: str):
    first, second = sources(server)
    assert first.problem.startswith("server main: ")
    assert problem in first.problem
    assert second.problem == first.problem


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ("", "")),
        ({"PGUSER": "a", "PGPASSWORD": "b"}, ("a", "b")),
        ({"AIRFLOW_CONN_MY_DB": "postgres://c:d%40@host/x", "PGUSER": "a"}, ("c", "d@")),
        ({"AIRFLOW_CONN_MY_DB": '{"conn_type": "postgres", "login": "e", "password": "f"}'}, ("e", "f")),
        ({"ODF_SERVER_MY_DB_USER": "g", "AIRFLOW_CONN_MY_DB": "postgres://c:d@host/x"}, ("g", "d")),
    ],
)
def test_credentials(environment: dict[str, str], expected: tuple[str, str]):
    assert credentials("my-db", "postgres", environment) == expected


def test_which_server():
    text = HEAD + "servers: {a: {type: local}, b: {type: local}}\n"
    file = parse(text, "c.yaml")
    assert server_of(file, "b").path == "/servers/b"
    with pytest.raises(InvalidInput, match="the contract has several servers: choose one with --server: a, b"):
        server_of(file, None)
    with pytest.raises(InvalidInput, match="the contract has no server 'x'; its servers are a, b"):
        server_of(file, "x")
    with pytest.raises(InvalidInput, match="the contract has no servers: use --data"):
        server_of(parse(HEAD, "c.yaml"), None)


def test_data(tmp_path: Path):
    file = parse(HEAD, "c.yaml")
    both = models_to_test(file, None)
    (tmp_path / "orders[1].jsonl").write_text("")
    for name in ("x.csv", "y.csv"):
        (tmp_path / "folder" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "folder" / name).write_text("a\n")
    (one,) = of_data(file, ["orders"], f"{tmp_path}/orders[1].jsonl", None)
    assert one == Source("orders", "ndjson", (f"{tmp_path}/orders\\[1\\].jsonl",))
    assert [s.format for s in of_data(file, ["orders"], f"{tmp_path}/folder", None)] == ["csv"]
    assert [s.paths for s in of_data(file, both, "/d/{model}/*.tsv", None)] == [
        ("/d/orders/*.tsv",),
        ("/d/line items/*.tsv",),
    ]
    assert of_data(file, ["orders"], "s3://b/x.parquet", None)[0].paths == ("s3://b/x.parquet",)
    with pytest.raises(InvalidInput, match=r"x.csv is the data of one model, but .* models orders, line items"):
        of_data(file, both, "x.csv", None)
    with pytest.raises(InvalidInput, match=r"x: cannot determine the format .*: add --data-format csv\|json"):
        of_data(file, ["orders"], "x", None)
    with pytest.raises(InvalidInput, match="the contract has no model 'x'; its models are orders, line items"):
        models_to_test(file, "x")


STANDARD = """\
apiVersion: v3.2.0
kind: DataContract
id: urn:shop
version: 1.0.0
schema: [{name: orders, physicalName: Orders_V2, properties: []}]
servers:
- {server: main, type: postgresql, host: "${DB_HOST}", port: "${DB_PORT:-5433}", database: shop, schema: public}
"""


def test_servers_of_the_standard_have_variables_and_physical_names():
    file = parse(STANDARD, "c.yaml")
    server = server_of(file, "main")
    (source,) = of_server(file, server, None, {"DB_HOST": "db"})
    assert source.options == {
        "url": "jdbc:postgresql://db:5433/shop",
        "dbtable": '"public"."Orders_V2"',
        "driver": "org.postgresql.Driver",
        "fetchsize": "10000",
    }
    (source,) = of_server(file, server, None, {})
    assert source.problem == "server main: the variable DB_HOST is not set"
    secret = parse(STANDARD.replace("DB_HOST", "DB_PASSWORD"), "c.yaml")
    (source,) = of_server(secret, server_of(secret, "main"), None, {"DB_PASSWORD": "x"})
    assert source.problem == (
        "server main: the variable DB_PASSWORD looks like a secret: credentials do not belong in a contract"
    )
