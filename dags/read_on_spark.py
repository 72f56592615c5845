"""A hand-written DAG: one Spark application reads and preprocesses, another one merges."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG

from airflow_provider_odf import MergeOperator, OdfHook, PollingSourceOperator, PublishOperator

MANIFEST = str(Path(__file__).parent / "by_hand" / "water-temperatures.yaml")

with DAG("read_on_spark", schedule=None, catchup=False, max_active_runs=1, tags={"odf", "example"}, doc_md=__doc__):
    poll = PollingSourceOperator(task_id="poll", manifest=MANIFEST, read_on_spark=True)
    merge = MergeOperator(task_id="merge", manifest=MANIFEST, data=poll.output)
    PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset("water-temperatures")])
