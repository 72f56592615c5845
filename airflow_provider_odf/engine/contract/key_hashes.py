"""Hashes of keys, which tell most keys apart without a shuffle.

Rows with the same key have the same hash, so a hash that one row has is a unique key. Only the other rows, the
suspects, are grouped by their keys: those that share a hash, and those with a null in the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from airflow_provider_odf.engine import spark_internals
from airflow_provider_odf.engine.contract.conditions import complete

_SHARE_OF_HEAP = 4
"""Data is hashed up to the driver's heap divided by this: a hash has 8 bytes, a row on disk rarely less than 20."""

_MOST_REPEATED = 1000
"""Maximum number of repeated hashes that a filter selects."""


@dataclass(frozen=True)
class KeyHashes:
    """The hashes of the key that some columns, given as SQL, are in the rows of a frame."""

    frame: DataFrame
    columns: tuple[str, ...]

    @property
    def single(self) -> int:
        """The number of rows that are alone with their hash."""
        return self._counts[0]

    @cached_property
    def suspects(self) -> DataFrame | None:
        """All other rows; None if there are none."""
        single, repeated, nulls = self._counts
        if single == 0:
            return self.frame
        if not repeated and not nulls:
            return None
        conditions = [f"NOT ({complete(self.columns)})"] if nulls else []
        conditions += [f"{self._hash} IN ({', '.join(f'{value}L' for value in repeated)})"] if repeated else []
        return self.frame.where(" OR ".join(conditions))

    @property
    def _hash(self) -> str:
        return f"xxhash64({', '.join(self.columns)})"

    @cached_property
    def _counts(self) -> tuple[int, Sequence[int], int]:
        """The number of single hashes, the repeated hashes, and the number of keys with nulls. With too many of them,
        no row counts as single."""
        if spark_internals.size_in_bytes(self.frame) > spark_internals.heap_bytes() // _SHARE_OF_HEAP:
            return 0, (), 0
        hashed = self.frame.selectExpr(f"CASE WHEN {complete(self.columns)} THEN {self._hash} END AS hash").toArrow()
        hashes = hashed.column("hash")
        values, counts = pc.value_counts(hashes.drop_null()).flatten()
        repeated = values.filter(pc.greater(counts, pa.scalar(1, counts.type))).to_pylist()
        return (
            (0, (), 0) if len(repeated) > _MOST_REPEATED else (len(values) - len(repeated), repeated, hashes.null_count)
        )
