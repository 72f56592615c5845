from __future__ import annotations

import pytest

from airflow_provider_odf.lineage import jobs


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("cities", "odf_merge_cities"),
        ("acme/com.example.us-cities", "odf_merge_acme_com_example_us_cities"),
        ("UsCities2", "odf_merge_uscities2"),
    ],
)
def test_spark_application(dataset: str, name: str):
    assert jobs.spark_application("merge", dataset) == name
    assert jobs.normalize(name) == name


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("odf-ingest.com.example/Pop", "odf_ingest_com_example_pop"),
        ("testXMLtest", "test_xm_ltest"),
        ("already_snake", "already_snake"),
        ("  My App! ", "my_app"),
        ("Données Été", "donnees_ete"),
        ("run1Job", "run1_job"),
        ("JDBCRelation", "jdbc_relation"),
    ],
)
def test_normalized_as_spark_does(name: str, normalized: str):
    assert jobs.normalize(name) == normalized
