from __future__ import annotations

import pytest
from openlineage.client.naming import dataset as oracle

from airflow_provider_odf.lineage import naming
from airflow_provider_odf.lineage.naming import DatasetNames, EditionNames, Identifier


@pytest.mark.parametrize(
    ("names", "expected"),
    [
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
    ],
)
def test_current_edition_agrees_with_the_client(names: DatasetNames, expected: oracle.DatasetNaming):
    assert names.in_edition().primary == Identifier(expected.get_namespace(), expected.get_name())


@pytest.mark.parametrize(
    ("names", "namespace", "name"),
    [
        (naming.kafka("h", "t"), "kafka://h:9092", "t"),
        (naming.s3("b", ""), "s3://b", "/"),
        (naming.local_file("/"), "file", "/"),
        (naming.dbfs("", "p"), "dbfs", "/p"),
        (naming.hdfs("nameservice1", "/warehouse/t"), "hdfs://nameservice1", "/warehouse/t"),
        (naming.wasbs("c", "acct.blob.core.windows.net", "p"), "wasbs://c@acct.blob.core.windows.net", "p"),
    ],
)
def test_current_edition_where_the_client_has_no_class(names: DatasetNames, namespace: str, name: str):
    assert names.in_edition("current").primary == Identifier(namespace, name)


@pytest.mark.parametrize(
    ("names", "namespace", "name"),
    [
        (naming.abfss("c", "acct", "p/x"), "abfss://c@acct", "/p/x"),
        (naming.wasbs("c", "acct", "p"), "wasbs://c@acct", "/p"),
        (naming.dbfs("ws", "/p"), "hdfs://ws", "/p"),
        (naming.gcs("b", "k"), "gs://b", "/k"),
        (naming.s3("b", "k"), "s3://b", "/k"),
        (naming.local_file("/data/x"), "file://127.0.0.1:0", "/data/x"),
        (naming.local_file("/data/x", "10.0.0.7:22"), "file://10.0.0.7:22", "/data/x"),
    ],
)
def test_edition_of_2024(names: DatasetNames, namespace: str, name: str):
    assert names.in_edition("2024").primary == Identifier(namespace, name)


def test_other_names_go_along_as_symlinks():
    current, former, spark = Identifier("dbfs://ws", "/p"), Identifier("hdfs://ws", "/p"), Identifier("dbfs", "/p")
    names = naming.dbfs("ws", "p")
    assert names.in_edition("current") == EditionNames(current, (former, spark))
    assert names.in_edition("2024") == EditionNames(former, (current, spark))
    assert naming.hdfs("nn:8020", "p").in_edition("2024") == EditionNames(Identifier("hdfs://nn:8020", "/p"))


def test_incomplete_names_are_refused():
    with pytest.raises(ValueError, match="'data/x' is not an absolute path"):
        naming.local_file("data/x")
