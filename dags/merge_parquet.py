"""A hand-written DAG: a task writes a Parquet file, which is pushed into a dataset."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from airflow.sdk import dag, task

from airflow_provider_odf import MergeOperator, OdfHook, PublishOperator

EXPORTS = Path(tempfile.gettempdir())
MANIFEST = str(Path(__file__).parent / "by_hand" / "shop-orders.yaml")


@dag(schedule=None, catchup=False, max_active_runs=1, tags=["odf", "example"], doc_md=__doc__)
def merge_parquet() -> None:
    @task
    def export() -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        placed = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
        orders = pa.table(
            {
                "event_time": pa.array([placed] * 3, pa.timestamp("ms", "UTC")),
                "order_id": pa.array([501, 502, 503], pa.int64()),
                "status": ["paid", "shipped", "new"],
                "total": pa.array([Decimal("19.90"), Decimal("240.00"), Decimal("7.50")], pa.decimal128(10, 2)),
            }
        )
        file = Path(tempfile.mkdtemp(prefix="export-", dir=EXPORTS)) / "orders.parquet"
        pq.write_table(orders, file)
        return str(file)

    # Users may write XComs, so an XCom may only name files in these folders.
    merge = MergeOperator(
        task_id="merge", data=export(), push_paths=[str(EXPORTS)], manifest=MANIFEST, source_name="export"
    )
    PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset("shop-orders")])


merge_parquet()
