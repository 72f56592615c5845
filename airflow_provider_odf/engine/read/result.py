"""Result of reading."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from airflow_provider_odf.protocol import PositionalHeader


@dataclass(frozen=True)
class Read:
    """Rows in input order, with notices for the user.

    ``headers`` has the headers of files whose columns were matched by position.
    """

    frame: DataFrame
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
