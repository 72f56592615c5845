"""The rows of a source of a contract test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine.contract.texts import Declared
from airflow_provider_odf.engine.schema import quoted


class Unreadable(Exception):
    """Spark cannot read a source; the message says why."""


@dataclass(frozen=True)
class Data:
    """The rows of a source.

    ``types`` are the logical types of fields if values are text, else None. ``malformed`` is the column with
    records that are no rows, empty if there is none. ``broken`` are columns and nested fields by path that Spark cannot
    read, with the reason; the frame lacks them. ``problem`` says which of the files cannot be read.
    """

    frame: DataFrame
    is_small: bool = False
    types: Declared | None = None
    malformed: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    @property
    def system(self) -> tuple[str, ...]:
        """Columns outside of the contract."""
        return (self.malformed,) if self.malformed else ()


def with_malformed(frame: DataFrame, beside: str, malformed: str) -> DataFrame:
    """Return the rows of a text file of which ``malformed`` can be queried alone, which Spark refuses: it is computed
    from a column ``beside`` it, too."""
    both = "CASE WHEN {0} IS NULL THEN {1} ELSE concat({1}, '') END".format(quoted(beside), quoted(malformed))
    return frame.withColumn(malformed, F.expr(both))


def file_name(uri: str) -> str:
    """Return the name of a file for messages."""
    return unquote(uri).rpartition("/")[2]


def as_path(uri: str) -> str:
    """Return a URI that Spark lists as a path that Spark reads, which it takes as a glob."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", unquote(uri))
