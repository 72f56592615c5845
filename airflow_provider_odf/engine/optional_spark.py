"""A Spark session that need not exist: some requests are answered without, and Spark takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class NeedsSpark(Exception):
    """The request cannot be answered without Spark."""


def required(spark: SparkSession | None) -> SparkSession:
    """Return the session.

    :raises NeedsSpark: there is none.
    """
    if spark is None:
        raise NeedsSpark
    return spark
