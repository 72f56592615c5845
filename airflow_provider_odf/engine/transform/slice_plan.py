"""The slice of a transform's new records."""

from __future__ import annotations

import pyarrow as pa

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import TransformRequest
from airflow_provider_odf.records.slice_file import SlicePlan

_WITHOUT_TIME = (
    ". Each row needs an event time: filter such rows out in the query. A total without GROUP BY has a row over no "
    "rows too: with HAVING count(*) > 0, this row leaves the result"
)


def slice_plan(request: TransformRequest, schema: pa.Schema, *, has_pairs: bool = True) -> SlicePlan:
    """Return the plan for the records of a derivative, see `SlicePlan`."""
    return SlicePlan(
        directory=request.new_data_path,
        schema=schema,
        system_time=Instant.parse(request.system_time),
        event_time=None,
        next_offset=request.next_offset,
        keys=(),
        label=request.dataset_alias,
        advice=_WITHOUT_TIME,
        has_pairs=has_pairs,
    )
