"""What reading gives."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Read:
    """Rows in input order, and what the user should know about how they were read."""

    frame: DataFrame
    notices: tuple[str, ...] = ()
