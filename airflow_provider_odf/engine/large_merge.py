"""Merge of a large input by Spark. The workers write the records and check for duplicate keys.

Duplicate keys are rare, so that the slice is written without sorting them out. If there are duplicates, the slice is
written again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import duplicates, slices
from airflow_provider_odf.engine.state import History
from airflow_provider_odf.engine.strategies import STRATEGIES
from airflow_provider_odf.protocol import NewSlice
from airflow_provider_odf.records.schema import COPY
from airflow_provider_odf.records.slice_file import DuplicateKeys, SlicePlan


@dataclass(frozen=True)
class LargeMerge:
    """New rows, and the state that they are merged with.

    ``count`` is the number of new rows, None if the files do not have it.
    """

    new: DataFrame
    state: DataFrame | None
    history: History
    count: int | None

    def write(self, plan: SlicePlan) -> tuple[NewSlice | None, int]:
        """Write the slice. Return it (None without records) and the number of dropped duplicate rows.

        :raises InvalidQuery: rows with the same key differ.
        """
        is_counted = self.count is not None
        records = self._records(self.new.withColumn(COPY, F.lit(1)) if is_counted else self.new)
        try:
            # Equal rows of a changed key are several corrections, which the numbers of rows then show.
            new_slice = self._write(records, replace(plan, has_pairs=not is_counted))
            if not self._has_duplicates(new_slice):
                return new_slice, 0
            if new_slice is not None:
                Path(new_slice.path).unlink(missing_ok=True)
        except DuplicateKeys:
            pass
        layout = self.history.layout
        if self.history.has_only_keys:
            distinct, dropped = duplicates.collapse(records, layout, plan.label)
            return self._write(distinct, plan), dropped
        distinct, dropped = duplicates.collapse(self.new, layout, plan.label)
        return self._write(self._records(distinct), plan), dropped

    def _records(self, rows: DataFrame) -> DataFrame:
        return STRATEGIES[self.history.merge.kind].in_spark(rows, self.state, self.history.layout)

    def _write(self, records: DataFrame, plan: SlicePlan) -> NewSlice | None:
        order = self.history.layout.order(self.history.merge.traits.order)
        return slices.write_in_task(records, order, plan)

    def _has_duplicates(self, new_slice: NewSlice | None) -> bool:
        if self.count is not None:
            return duplicates.have_merged(self.new, self.count, new_slice, self.history)
        if new_slice is None or not self.history.has_only_keys:
            return False
        return duplicates.are_in(self.new.sparkSession, new_slice, self.history.layout)
