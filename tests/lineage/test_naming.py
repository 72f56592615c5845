from __future__ import annotations

import pytest
from openlineage.client.naming import dataset as oracle

from airflow_provider_odf.lineage import naming
from airflow_provider_odf.lineage.naming import Forms, Identifier, Named


@pytest.mark.parametrize(
    ("forms", "expected"),
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
def test_current_edition_agrees_with_the_client(forms: Forms, expected: oracle.DatasetNaming):
    assert forms.named().primary == Identifier(expected.get_namespace(), expected.get_name())


@pytest.mark.parametrize(
    ("forms", "namespace", "name"),
    [
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
        (naming.abfss("c", "acct", "p/x"), "abfss://c@acct", "/p/x"),
        (naming.wasbs("c", "acct", "p"), "wasbs://c@acct", "/p"),
        (naming.dbfs("ws", "/p"), "hdfs://ws", "/p"),
        (naming.gcs("b", "k"), "gs://b", "/k"),
        (naming.s3("b", "k"), "s3://b", "/k"),
        (naming.local_file("/data/x"), "file://127.0.0.1:0", "/data/x"),
        (naming.local_file("/data/x", "10.0.0.7:22"), "file://10.0.0.7:22", "/data/x"),
    ],
)
def test_edition_of_2024(forms: Forms, namespace: str, name: str):
    assert forms.named("2024").primary == Identifier(namespace, name)


def test_other_names_go_along_as_symlinks():
    current, former, spark = Identifier("dbfs://ws", "/p"), Identifier("hdfs://ws", "/p"), Identifier("dbfs", "/p")
    forms = naming.dbfs("ws", "p")
    assert forms.named("current") == Named(current, (former, spark))
    assert forms.named("2024") == Named(former, (current, spark))
    assert naming.hdfs("nn:8020", "p").named("2024") == Named(Identifier("hdfs://nn:8020", "/p"))


def test_incomplete_names_are_refused():
    with pytest.raises(ValueError, match="'data/x' is not an absolute path"):
        naming.local_file("data/x")
