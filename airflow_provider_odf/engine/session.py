"""The Spark session of the engine: the settings that make every run give the same types and values.

UTC, ANSI, timestamps as milliseconds, no Hive, nothing written to the working directory. Names resolve ignoring case,
as is Spark's default. Slices follow "Columns" of the on-disk format: TIMESTAMP(MILLIS, UTC).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf.engine import jvm, spark_internals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOUNDARY: dict[str, str] = {
    # A table of a query is never a path: text.`/etc/passwd`.
    "spark.sql.runSQLOnFiles": "false",
    # ${env:NAME} in SQL is text, not a variable of the environment or a setting.
    "spark.sql.variable.substitute": "false",
}
"""What SQL may not reach, whoever wrote it."""

SETTINGS: dict[str, str] = BOUNDARY | {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.compression.codec": "snappy",
    # Encodings that the specification allows go beyond the list that Spark allows without it.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    # The filter by which readers refuse what does not fit names every column: inferring further filters from it takes
    # time and memory exponential in their number (minutes and gigabytes for twenty).
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Of every session, wherever Spark runs."""

LOCAL: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Of a session in a JVM of this process: nothing is looked up in or opened to the network."""


def create(
    app_name: str | None = None, master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, with the engine's settings and then ``conf``.

    Under spark-submit the JVM is there, and has its name and master; else one is started, ``local[*]`` by default.

    :raises InvalidInput: there is no Java.
    :raises InternalError: the JVM did not come up.
    """
    from pyspark.sql import SparkSession

    settings = SETTINGS | dict(conf or {})
    if spark_internals.has_jvm():
        _quiet()
        settings |= {"spark.app.name": app_name} if app_name else {}
        settings |= {"spark.master": master} if master else {}
        return SparkSession.builder.config(map={**settings}).getOrCreate()
    return start_local(app_name or "odf", master or "local[*]", settings)[0]


def start_local(
    app_name: str,
    master: str = "local[*]",
    conf: Mapping[str, str] = SETTINGS,
    extra: Sequence[str] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> tuple[SparkSession, subprocess.Popen[bytes]]:
    """A session in a JVM started for it, and that JVM's process. ``extra`` are JVM options; ``meanwhile`` is called
    while Java starts, before which pyspark is not imported."""
    # Worker processes must have this Python, not the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = LOCAL | {"spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "odf-no-warehouse")} | dict(conf)
    settings |= {"spark.app.name": app_name, "spark.master": master}
    gateway, process = jvm.launch(settings, extra, meanwhile)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _quiet()
    spark_conf = spark_internals.conf_of(gateway).setAll(list(settings.items()))
    return SparkSession(SparkContext(conf=spark_conf, gateway=gateway)), process


def of_request(spark: SparkSession) -> SparkSession:
    """A session for one request on the same Spark context, with views and settings of its own. No configuration of a
    cluster widens what SQL may reach in it."""
    session = spark.newSession()
    for key, value in BOUNDARY.items():
        session.conf.set(key, value)
    return session


def _quiet() -> None:
    """Errors reach the user through the response; pyspark would also print each as JSON with the JVM's stack."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
