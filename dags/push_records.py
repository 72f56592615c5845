"""A hand-written DAG: the return value of a task is pushed as records into a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import dag, task

from airflow_provider_odf import MergeOperator, OdfHook, PublishOperator, PushSourceOperator

MANIFEST = str(Path(__file__).parent / "by_hand" / "exchange-rates.yaml")


@dag(schedule=None, catchup=False, max_active_runs=1, tags=["odf", "example"], doc_md=__doc__)
def push_records() -> None:
    @task
    def quotes() -> list[dict[str, Any]]:
        time = "2026-05-01T14:15:00Z"
        return [
            {"event_time": time, "currency": "CHF", "rate": "0.9512"},
            {"event_time": time, "currency": "USD", "rate": "1.0845"},
        ]

    push = PushSourceOperator(task_id="push", data=quotes(), manifest=MANIFEST, source_name="quotes")
    merge = MergeOperator(task_id="merge", data=push.output, manifest=MANIFEST)
    PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset("exchange-rates")])


push_records()
