import pytest

from airflow_provider_odf.datahub import schema
from airflow_provider_odf.lineage.naming import Identifier

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/orders,PROD)"


@pytest.mark.parametrize(
    ("namespace", "name", "platform", "dataset"),
    [
        ("file", "/data/x", "file", "/data/x"),
        ("file://127.0.0.1:0", "/data/x", "file", "127.0.0.1:0/data/x"),
        ("s3://lake", "orders/eu", "s3", "lake/orders/eu"),
        ("gs://lake", "/", "gcs", "lake"),
        ("abfss://c@acct.dfs.core.windows.net", "p/x", "abs", "c@acct.dfs.core.windows.net/p/x"),
        ("hdfs://nn:8020", "/user/x", "hdfs", "/user/x"),
        ("dbfs://workspace", "/x", "dbfs", "workspace/x"),
        ("dbfs", "/x", "dbfs", "/x"),
        ("postgres://h:5432", "db.public.t", "postgres", "db.public.t"),
        ("sqlserver://h:1433", "db.dbo.t", "mssql", "db.dbo.t"),
        ("file", "/data/a..b", "file", "/data/a.b"),
        ("https://example.org", "/a,(b)", "https", "/a%2C%28b%29"),
    ],
)
def test_datasets_have_the_urns_of_datahubs_own_code(namespace, name, platform, dataset):
    """The expected values are those of ``translate_ol_to_datahub_urn`` in acryl-datahub-airflow-plugin 1.7.0.17."""
    expected = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{dataset},PROD)"
    assert schema.dataset_urn(Identifier(namespace, name), "PROD") == expected


def test_an_assertion_keeps_its_urn():
    urn = schema.assertion_urn("urn:datacontract:orders", ORDERS, "/models/orders/fields/id/required")
    assert urn == "urn:li:assertion:e6bbb88fe112d104955fccea9ac30167"


def test_other_contracts_datasets_and_clauses_have_other_urns():
    arguments = [("a", ORDERS, "/p"), ("b", ORDERS, "/p"), ("a", f"{ORDERS}2", "/p"), ("a", ORDERS, "/q")]
    assert len({schema.assertion_urn(*a) for a in arguments}) == 4


def test_a_field_has_no_space_in_its_urn():
    assert schema.field_urn(ORDERS, "id") == f"urn:li:schemaField:({ORDERS},id)"
