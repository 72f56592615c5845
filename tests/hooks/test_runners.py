import json
import os

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.hooks.runners import open_runner
from airflow_provider_odf.protocol import RawQueryRequest, ReadStep, SqlQueryStep, Transform
from airflow_provider_odf.runner import ConnectRunner, LocalRunner

TRANSFORM = Transform(engine="spark", queries=(SqlQueryStep("select * from input"),))
REQUEST = RawQueryRequest(("a.csv",), "out", TRANSFORM, ReadStep("Csv"), "a", "a")


def connection(monkeypatch, **fields):
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))


def test_without_a_connection_spark_runs_in_a_child_process(monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__LOCAL_MASTER", "local[2]")
    monkeypatch.setenv("AIRFLOW__ODF__LOCAL_MEMORY", "700m")
    with open_runner() as runner:
        assert isinstance(runner, LocalRunner)
        assert runner.started == 0
        assert runner._settings["master"] == "local[2]"
        assert runner._conf["spark.driver.memory"] == "700m"


def test_a_spark_connection_is_read_as_the_spark_provider_reads_it(monkeypatch, tmp_path):
    program = tmp_path / "spark3-submit"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$(dirname "$0")/asked"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    connection(
        monkeypatch,
        conn_type="spark",
        host="spark://10.0.0.1",
        port=7077,
        extra={"deploy-mode": "cluster", "namespace": "data", "queue": "night", "spark-binary": "spark3-submit"},
    )
    with open_runner("cluster") as runner:
        error = runner.submit(REQUEST).exception(60)
    assert str(error) == "spark-submit to spark://10.0.0.1:7077 exited with code 0 without a response: "
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:2] == ["--name", "odf_raw_query_a"]
    master = asked.index("--master")
    assert {option.partition("=")[0] for option in asked[3:master:2]} == {
        "spark.driver.defaultJavaOptions",
        "spark.executor.defaultJavaOptions",
        "spark.hadoop.fs.permissions.umask-mode",
        "spark.openlineage.applicationRunId",
        "spark.openlineage.dataset.removePath.pattern",
    }
    assert asked[master : master + 8] == [
        *("--master", "spark://10.0.0.1:7077"),
        *("--deploy-mode", "cluster"),
        *("--conf", "spark.kubernetes.namespace=data"),
        *("--queue", "night"),
    ]


def test_a_connection_to_spark_connect_has_its_token_in_no_text(monkeypatch):
    extra = {"use_ssl": True}
    connection(monkeypatch, conn_type="spark_connect", host="sc://lake", port=15002, password="s3cret", extra=extra)
    with open_runner("cluster") as runner:
        assert isinstance(runner, ConnectRunner)
        remote = runner._remote._remote
        assert remote is not None
        assert remote.url == "sc://lake:15002/;token=s3cret;use_ssl=True"
        assert "s3cret" not in repr(remote)
        assert runner._local.started == runner._remote.started == 0


@pytest.mark.parametrize(("host", "message"), [("", "has no host"), ("sc://lake/path", "the host has a path")])
def test_a_connection_to_spark_connect_needs_a_plain_host(monkeypatch, host, message):
    connection(monkeypatch, conn_type="spark_connect", host=host)
    with pytest.raises(InvalidInput, match=message):
        open_runner("cluster")


def test_a_connection_of_another_type_is_refused(monkeypatch):
    connection(monkeypatch, conn_type="postgres", host="db")
    with pytest.raises(
        InvalidInput, match="connection 'cluster' is of type 'postgres': use a connection of type 'spark'"
    ):
        open_runner("cluster")


def test_kubernetes_needs_its_provider(monkeypatch):
    connection(monkeypatch, conn_type="spark", host="k8s://https://10.0.0.1", port=6443)
    with pytest.raises(InvalidInput, match="apache-airflow-providers-cncf-kubernetes"):
        open_runner("cluster")
