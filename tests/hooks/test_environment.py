import json

import pytest
from airflow.providers.common.compat.sdk import redact

from airflow_provider_odf.hooks.environment import TaskEnvironment
from airflow_provider_odf.manifest.template import Environment
from tests.airflow_parts import IS_OLDEST

SETTINGS = """\
defaults:
  env:
    KEY: {variable: odf_test_key}
    PASSWORD: {connection: odf_test}
    USER: {connection: odf_test, field: login}
    PORT: {connection: odf_test, field: port}
    TOKEN: {connection: odf_test, field: extra.token}
    MISSING: {connection: odf_nowhere}
    EMPTY: {connection: odf_test, field: schema}
    UNSET: {variable: odf_nothing}
datasets:
  rates:
    env:
      KEY: {variable: odf_rates_key}
"""
CONNECTION = {
    "conn_type": "http",
    "login": "reader",
    "password": "hunter2-password",
    "port": 8443,
    "extra": {"token": "hunter2-token"},
}


@pytest.fixture(autouse=True)
def airflow(monkeypatch):
    monkeypatch.setenv("AIRFLOW_VAR_ODF_TEST_KEY", "hunter2-key")
    monkeypatch.setenv("AIRFLOW_VAR_ODF_RATES_KEY", "hunter2-rates")
    monkeypatch.setenv("AIRFLOW_CONN_ODF_TEST", json.dumps(CONNECTION))


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "odf.yaml").write_text(SETTINGS)
    return lambda dataset="readings": TaskEnvironment.of(tmp_path / "a.yaml", dataset)


def test_variables_and_fields_of_connections(environment):
    found = environment()
    names = ("KEY", "PASSWORD", "USER", "PORT", "TOKEN")
    assert [found[name] for name in names] == ["hunter2-key", "hunter2-password", "reader", "8443", "hunter2-token"]


def test_a_dataset_has_entries_of_its_own_beside_the_defaults(environment):
    found = environment("rates")
    assert (found["KEY"], found["USER"]) == ("hunter2-rates", "reader")


def test_the_process_environment_gives_what_is_not_mapped(environment, monkeypatch):
    monkeypatch.setenv("ODF_TEST_HOST", "example.org")
    monkeypatch.setenv("KEY", "not this one")
    found = environment()
    assert (found["ODF_TEST_HOST"], found["KEY"]) == ("example.org", "hunter2-key")
    assert "ODF_TEST_HOST" in found
    assert "ODF_TEST_NOPE" not in found


def test_airflow_variables_are_not_looked_up_unless_mapped(environment, monkeypatch):
    monkeypatch.setenv("AIRFLOW_VAR_ODF_UNMAPPED", "x")
    assert "odf_unmapped" not in environment()


@pytest.mark.skipif(IS_OLDEST, reason="Airflow 3.0 looks up variables in tasks alone")
def test_what_airflow_does_not_have_falls_back_and_is_told(environment, caplog):
    templates = Environment(environment())
    for name in ("MISSING", "EMPTY", "UNSET"):
        assert templates.fill(f"${{{{ env.{name} || 'none' }}}}", "url") == "none"
    assert [record.getMessage() for record in caplog.records if record.name.startswith("airflow_provider_odf")] == [
        "env.MISSING: password of odf_nowhere is not set",
        "env.EMPTY: schema of odf_test is not set",
        "env.UNSET: variable odf_nothing is not set",
    ]


def test_only_what_a_template_uses_is_looked_up_and_once(environment, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "airflow_provider_odf.hooks.environment.Variable.get", lambda key, default: asked.append(key) or "value-of-it"
    )
    found = environment()
    assert asked == []
    assert Environment(found).fill("${{ env.KEY }}${{ env.KEY }}", "url") == "value-of-itvalue-of-it"
    assert asked == ["odf_test_key"]


def test_what_is_found_is_masked(environment, monkeypatch):
    monkeypatch.setenv("ODF_TEST_SECRET", "masked-for-a-test")
    assert redact("key=masked-for-a-test") == "key=masked-for-a-test"
    found = environment()
    assert [found["ODF_TEST_SECRET"], found["PASSWORD"]] == ["masked-for-a-test", "hunter2-password"]
    assert redact("key=masked-for-a-test hunter2-password") == "key=*** ***"
