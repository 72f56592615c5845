"""A hand-written DAG that fails once a dataset of this folder is late, without waiting for new data."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from airflow_provider_odf import DatasetHealthSensor

with DAG("watch_health", schedule="@daily", catchup=False, max_active_runs=1, tags={"odf", "example"}, doc_md=__doc__):
    DatasetHealthSensor(
        task_id="watch",
        manifests=str(Path(__file__).parent),
        timeout=timedelta(hours=23).total_seconds(),
        deferrable=True,
    )
