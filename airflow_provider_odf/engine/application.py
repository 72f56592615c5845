"""The Spark application of an engine, and whether Spark's own OpenLineage listener reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.protocol import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"

RUN_ID = "spark.openlineage.applicationRunId"
"""Setting of the listener: the id of the application's run in lineage."""


def describe(spark: SparkSession) -> Engine:
    """Return the application of a session. A listener without a run id of its own has the empty one."""
    conf = spark.conf
    run = conf.get(RUN_ID, "") if has_listener(spark) else None
    return Engine(conf.get("spark.app.name", "") or "", spark.version, run)


def has_listener(spark: SparkSession) -> bool:
    """Return whether the OpenLineage listener reports the application."""
    listeners = spark.conf.get("spark.extraListeners", "") or ""
    return LISTENER in listeners and spark.conf.get("spark.openlineage.disabled", "false") != "true"
