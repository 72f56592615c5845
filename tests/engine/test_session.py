"""The settings of sessions."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from airflow_provider_odf.closed_files import user_cache
from airflow_provider_odf.engine import session

UTC = dt.UTC


@pytest.mark.spark
def test_times_are_utc_whatever_the_zone_of_the_machine(spark) -> None:
    assert os.environ["TZ"] == "America/St_Johns"
    table = spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS t, current_timezone() AS zone").toArrow()
    assert table.to_pylist() == [{"t": dt.datetime(2024, 1, 1, tzinfo=UTC), "zone": "UTC"}]


@pytest.mark.spark
def test_settings_hold_in_the_session_of_each_request(spark) -> None:
    conf = spark.newSession().conf
    assert conf.get("spark.sql.ansi.enabled") == "true"
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MILLIS"
    assert conf.get("spark.sql.catalogImplementation") == "in-memory"


@pytest.mark.spark
def test_errors_are_not_printed(spark, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="cannot be found"):
        spark.sql("SELECT * FROM nowhere")
    with pytest.raises(Exception, match="Division by zero"):
        spark.sql("SELECT 1 / id FROM range(1)").collect()
    assert capfd.readouterr() == ("", "")


OF_THE_DRIVER = {"AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "2", "AZURE_STORAGE_ACCOUNT_KEY": "3"}


@pytest.mark.parametrize("own", ["spark.executorEnv.AWS_REGION", "spark.kubernetes.executor.secretKeyRef.AWS_ROLE_ARN"])
def test_executors_keep_the_access_that_the_user_gave_them(own: str) -> None:
    settings = session.credentials(OF_THE_DRIVER, {own: "of the user", "spark.redaction.regex": "mine"})
    assert settings == {
        "spark.executorEnv.AZURE_STORAGE_ACCOUNT_KEY": "3",
        "spark.redaction.regex": "mine|(AWS|GOOGLE|AZURE)_",
    }


def test_executors_with_a_file_of_variables_get_no_others() -> None:
    submitted = {"spark.executorEnv.ODF_OBJECT_STORE_VARIABLES_FILE": "variables.json"}
    assert list(session.credentials(OF_THE_DRIVER, submitted)) == ["spark.redaction.regex"]


def test_containers_of_yarn_share_a_folder_of_their_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODF_CACHE_DIR", raising=False)
    monkeypatch.setenv("CONTAINER_ID", "container_1_0001_01_000001")
    monkeypatch.setenv("LOCAL_DIRS", "/disk1/application_1_0001,/disk2/application_1_0001")
    assert user_cache() == Path("/disk1/application_1_0001/airflow-provider-odf")
    monkeypatch.setenv("ODF_CACHE_DIR", "/own")
    assert user_cache() == Path("/own")
