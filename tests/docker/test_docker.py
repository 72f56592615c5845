"""The container files: what they refer to exists, and what they set is a setting."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.configuration import conf

from airflow_provider_odf.get_provider_info import get_provider_info
from airflow_provider_odf.hooks.runners import spark_submit

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILES = sorted(DOCKER.glob("*.Dockerfile"))
LOCK = (ROOT / "uv.lock").read_text()


def locked(package: str) -> set[str]:
    return set(re.findall(rf'^name = "{package}"\nversion = "([^"]+)"', LOCK, re.MULTILINE))


def test_services() -> None:
    assert list(SERVICES) == [
        "postgres",
        "s3",
        "airflow-init",
        "airflow-apiserver",
        "airflow-scheduler",
        "airflow-dag-processor",
        "airflow-triggerer",
        "spark-master",
        "spark-worker",
    ]


@pytest.mark.parametrize("name", SERVICES)
def test_every_reference_leads_somewhere(name: str) -> None:
    service = SERVICES[name]
    if "build" in service:
        context = (DOCKER / service["build"]["context"]).resolve()
        assert context == ROOT
        assert (context / service["build"]["dockerfile"]).is_file()
    assert set(service.get("depends_on", ())) <= set(SERVICES)
    for volume in service.get("volumes", ()):
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (DOCKER / source).is_dir(), volume


@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("airflow-")])
def test_settings_exist(name: str) -> None:
    options = get_provider_info()["config"]["odf"]["options"]
    for variable in SERVICES[name]["environment"]:
        _, _, rest = variable.partition("AIRFLOW__")
        if not rest:
            continue
        section, _, key = rest.lower().partition("__")
        assert (
            key in options
            if section == "odf"
            else conf.get(section, key, fallback=None) is not None or key in ("execution_api_server_url",)
        ), variable


def test_variables_of_the_environment_file() -> None:
    asked = set(re.findall(r"\$\{(\w+):\?", (DOCKER / "compose.yaml").read_text()))
    offered = set(re.findall(r"^(\w+)=$", (DOCKER / ".env.example").read_text(), re.MULTILINE))
    assert asked == offered == {"POSTGRES_PASSWORD", "FERNET_KEY", "JWT_SECRET", "S3_SECRET_KEY"}


def test_the_spark_connection_leads_to_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = SERVICES["airflow-scheduler"]["environment"]
    name = environment["AIRFLOW__ODF__SPARK_CONN_ID"]
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", environment[f"AIRFLOW_CONN_{name.upper()}"])
    assert spark_submit(name)._options == ["--master", "spark://spark-master:7077", "--deploy-mode", "client"]
    master = SERVICES["spark-master"]["command"]
    assert master[master.index("--host") + 1] == SERVICES["spark-master"]["hostname"] == "spark-master"
    assert master[master.index("--port") + 1] == "7077"
    assert SERVICES["spark-worker"]["command"][-1] == "spark://spark-master:7077"


def test_the_workers_of_spark_share_the_bucket_alone() -> None:
    environment, s3 = SERVICES["airflow-scheduler"]["environment"], SERVICES["s3"]
    assert environment["AIRFLOW__ODF__STORE"].startswith("s3://odf/")
    assert "AIRFLOW__ODF__WORK_AREA" not in environment
    assert environment["AWS_ENDPOINT_URL"] == "http://s3:7070"
    assert environment["AWS_ACCESS_KEY_ID"] == s3["environment"]["ROOT_ACCESS_KEY"]
    assert environment["AWS_SECRET_ACCESS_KEY"] == s3["environment"]["ROOT_SECRET_KEY"]
    assert SERVICES["spark-worker"]["deploy"]["replicas"] == 2
    assert "volumes" not in SERVICES["spark-worker"]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_what_a_container_file_copies_exists_and_is_in_the_context(file: Path) -> None:
    included = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+)$", file.read_text(), re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists()
            assert source in included


def test_images_have_the_locked_versions() -> None:
    airflow = re.search(r"FROM apache/airflow:([\d.]+)-python3\.11", (DOCKER / "airflow.Dockerfile").read_text())
    assert airflow is not None
    assert {airflow[1]} == locked("apache-airflow")
    assert "FROM python:3.11-" in (DOCKER / "spark.Dockerfile").read_text()
    assert locked("pyspark") == locked("pyspark-client") == {"4.2.0"}
    server = r"github\.com/versity/versitygw/cmd/versitygw@(\S+)"
    (tested,) = re.findall(server, (ROOT / "Makefile").read_text())
    assert re.findall(server, (DOCKER / "s3.Dockerfile").read_text()) == [tested] == ["v1.8.0"]


def test_connections_are_json() -> None:
    for name, value in SERVICES["airflow-scheduler"]["environment"].items():
        if name.startswith("AIRFLOW_CONN_"):
            assert "conn_type" in json.loads(value)
