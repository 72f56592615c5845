"""A hand-written DAG: whenever a dataset of this folder was published, its Iceberg table gets the new records."""

from __future__ import annotations

from airflow.sdk import DAG, Asset

from airflow_provider_odf import ExportTableOperator, OdfHook

with DAG(
    "export_table",
    schedule=[OdfHook().asset("river-levels")],
    max_active_runs=1,
    tags={"odf", "example"},
    doc_md=__doc__,
):
    ExportTableOperator(task_id="export", dataset="river-levels", form="iceberg", outlets=[Asset("river-levels-table")])
