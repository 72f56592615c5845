"""A hand-written DAG that starts when a file arrives, without a schedule."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_provider_odf import MergeOperator, OdfHook, PollingSourceOperator, PollingSourceTrigger, PublishOperator

MANIFEST = str(Path(__file__).parent / "by_hand" / "visitor-counts.yaml")

counts = Asset(
    "visitor-counts/source",
    watchers=[AssetWatcher(name="visitor-counts", trigger=PollingSourceTrigger(manifest=MANIFEST, poke_interval=10))],
)

with DAG(
    "start_on_change", schedule=[counts], catchup=False, max_active_runs=1, tags={"odf", "example"}, doc_md=__doc__
):
    poll = PollingSourceOperator(task_id="poll", manifest=MANIFEST)
    merge = MergeOperator(task_id="merge", manifest=MANIFEST, data=poll.output)
    PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset("visitor-counts")])
