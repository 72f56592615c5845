import pytest

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.source.options import Options


def test_defaults():
    assert settings.read() == settings.Settings(
        store="",
        input_stores=(),
        object_store_connections={},
        work_area="",
        spark_conn_id="",
        spark=None,
        slice_records=10_000_000,
        local_master="local[*]",
        local_memory="",
        push_paths=(),
        options=Options(),
        manifest_version=3,
        naming_spec="current",
        datahub_conn_id="",
        datahub_file="",
        datahub_env="PROD",
        datahub_instance="",
        datahub_incidents=True,
    )


def test_airflows_own_configuration_counts(monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__STORE", "/data/odf")
    monkeypatch.setenv("AIRFLOW__ODF__FORBID_STEPS", "Pipe, Container")
    monkeypatch.setenv("AIRFLOW__ODF__PUSH_PATHS", "/data/in, https://example.org/drop")
    monkeypatch.setenv("AIRFLOW__ODF__MANIFEST_VERSION", "2")
    monkeypatch.setenv("AIRFLOW__ODF__NAMING_SPEC", "2024")
    monkeypatch.setenv("AIRFLOW__ODF__SPARK", "always")
    monkeypatch.setenv("AIRFLOW__ODF__SLICE_RECORDS", "500000")
    monkeypatch.setenv("AIRFLOW__ODF__OBJECT_STORE_CONNECTIONS", "s3=aws_default, s3://partner/ = aws_partner,")
    found = settings.read()
    assert found.object_store_connections == {"s3": "aws_default", "s3://partner": "aws_partner"}
    assert (found.spark, found.slice_records) == ("always", 500_000)
    assert found.push_paths == ("/data/in", "https://example.org/drop")
    assert (found.store, found.options.forbidden_steps, found.manifest_version, found.naming_spec) == (
        "/data/odf",
        {"Pipe", "Container"},
        2,
        "2024",
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("manifest_version", "4", r"\[odf\] manifest_version = 4: must be 3 or 2"),
        ("spark", "never", r"\[odf\] spark = never: must be needed or always"),
        ("slice_records", "0", r"\[odf\] slice_records = 0: must be a positive integer"),
        ("naming_spec", "2025", r"\[odf\] naming_spec = 2025: must be current or 2024"),
        (
            "forbid_steps",
            "Pipe, Url",
            r"\[odf\] forbid_steps = Pipe, Url: Url is not a kind of step that can be forbidden",
        ),
        ("datahub_incidents", "maybe", r"\[odf\] datahub_incidents = maybe: must be True or true or False or false"),
        (
            "object_store_connections",
            "aws_default",
            r"\[odf\] object_store_connections: 'aws_default' names no bucket: use BUCKET=CONNECTION",
        ),
        ("object_store_connections", "s3://lake/odf=lake", r"'s3://lake/odf' names no bucket"),
        ("object_store_connections", "s3=", r"\[odf\] object_store_connections: 's3' has no connection"),
        ("push_paths", "incoming", r"\[odf\] push_paths = incoming: incoming is neither an absolute path nor a URI"),
        ("largest_file", "big", r"\[odf\] largest_file = big: must be a size such as 1000, 512m or 10g"),
    ],
)
def test_other_values_are_refused(monkeypatch, name, value, message):
    monkeypatch.setenv(f"AIRFLOW__ODF__{name.upper()}", value)
    with pytest.raises(InvalidInput, match=message):
        settings.read()
