"""Airflow DAGs of all datasets with a manifest in this folder or below."""

from airflow_provider_odf import build_dags

globals().update(build_dags(__file__))
