"""Every dataset whose manifest lies in this folder or below, as an Airflow DAG."""

from airflow_provider_odf import build_dags

globals().update(build_dags(__file__))
