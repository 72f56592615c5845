"""The Spark session of the engine: settings that give the same types and values in every run.

UTC, ANSI, timestamps in milliseconds, no Hive, no files in the working directory. Names are compared ignoring case, as
is Spark's default. Slices follow "Columns" of the on-disk format: TIMESTAMP(MILLIS, UTC).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_odf import object_stores
from airflow_provider_odf.closed_files import spark_settings
from airflow_provider_odf.engine import jvm, spark_internals
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import InvalidInput, StorageError
from airflow_provider_odf.protocol import Engine, MergeRequest, Request
from airflow_provider_odf.read_steps import Types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

BOUNDARY: dict[str, str] = {
    # The name of a table is never a path, as in text.`/etc/passwd`.
    "spark.sql.runSQLOnFiles": "false",
    # ${env:NAME} in SQL is plain text, not an environment variable or a setting.
    "spark.sql.variable.substitute": "false",
}
"""Limits on SQL, also on queries by the engine."""

VALUES: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}
"""Settings on which the values of queries depend. A derivative must have the same rows on every cluster."""

SETTINGS: dict[str, str] = {
    **BOUNDARY,
    **VALUES,
    "spark.sql.parquet.compression.codec": "snappy",
    # The specification allows more encodings than Spark does without this setting.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    # The readers' filter for invalid values names every column. Inferring further filters from it takes time and memory
    # exponential in their number (minutes and gigabytes for twenty).
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Settings of every session, local or on a cluster."""

LOCAL: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Settings of a session in a JVM of this process: no name lookups, no ports open to the network."""


LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"

RUN_ID = "spark.openlineage.applicationRunId"
"""Setting of the listener: the id of the application's run in lineage."""


def create(
    app_name: str | None = None, master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the session of this process, with the engine's settings and then ``conf``.

    Under spark-submit, it uses the existing JVM. Otherwise it starts one, by default with the master ``local[*]``.

    :raises InvalidInput: there is no Java.
    :raises InternalError: the JVM did not start.
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
    """Start a JVM; return a session in it and its process.

    ``extra`` are JVM options. ``meanwhile`` is called while Java starts; pyspark is not imported before.
    """
    # Worker processes must use this Python, not the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    own = {"spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "odf-no-warehouse")}
    settings = LOCAL | own | spark_settings() | dict(conf)
    settings |= {"spark.app.name": app_name, "spark.master": master}
    gateway, process = jvm.launch(settings, extra, meanwhile)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _quiet()
    spark_conf = spark_internals.conf_of(gateway).setAll(list(settings.items()))
    return SparkSession(SparkContext(conf=spark_conf, gateway=gateway)), process


EXECUTORS = "spark.executorEnv."
_SECRETS_OF_EXECUTORS = "spark.kubernetes.executor.secretKeyRef."


def credentials(environment: Mapping[str, str], submitted: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that give executors the access of this process to object stores, which is in variables of
    its environment, as far as `object_stores.passed_on` says. They are set inside the driver, and hidden by Spark.

    ``submitted`` are the settings of spark-submit. Executors that get a file with the variables get none here: YARN
    writes those into the logs of a container.
    """
    prefixes = (EXECUTORS, _SECRETS_OF_EXECUTORS)
    known = [key.removeprefix(prefix) for key in submitted for prefix in prefixes if key.startswith(prefix)]
    variables = {} if object_stores.VARIABLES_FILE in known else object_stores.passed_on(environment, known)
    hidden = submitted.get("spark.redaction.regex", "(?i)secret|password|token|access[.]?key")
    return {
        **{EXECUTORS + name: value for name, value in variables.items()},
        # YARN logs the variables by their own names.
        "spark.redaction.regex": f"{hidden}|(AWS|GOOGLE|AZURE)_",
    }


def start_worker(spark: SparkSession, request: Request) -> None:
    """Run a Python worker on an executor, which fails if its Python or its libraries do not fit, before any work is
    done.

    :raises PySparkException, Py4JJavaError: it failed, see `spark_errors.unfit`.
    :raises StorageError: the executor does not see the folder to which it shall write.
    """
    folder = getattr(request, "new_data_path", "") or os.path.dirname(getattr(request, "output_data_path", ""))
    if not folder or object_stores.is_object(folder):
        spark.range(1).mapInArrow(partial(_sees, ""), "seen BOOLEAN").collect()
        return
    with storage_errors(Path(folder)), tempfile.NamedTemporaryFile(prefix=".seen-", dir=folder) as probe:
        (row,) = spark.range(1).mapInArrow(partial(_sees, probe.name), "seen BOOLEAN").collect()
    if not row["seen"]:
        raise StorageError(
            f"{folder}: the executors of Spark do not see this folder: share the store and the work area with them "
            "under the same path, or use a store in an object store"
        )


def _sees(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"seen": [os.path.exists(path)]})


def connect(url: str, app_name: str, code: str, request: Request, before: SparkSession | None = None) -> SparkSession:
    """Return a session of a Spark Connect server, with the engine's settings: the one before, if the server still knows
    it. Its workers import the engine from ``code``, a zip, which the server gets once. ``app_name`` names its requests
    in lineage. ``request`` is the next one; the first one that needs Python workers starts one, see `start_worker`.

    :raises InvalidInput: the server has another version of Spark.
    :raises StorageError: its workers do not see the folder to which they shall write.
    :raises PySparkException: the server cannot be reached.
    """
    if before is not None and not _is_known(before):
        before.stop()  # else pyspark would still use it as its default session
        before = None
    remote = _open(url, app_name, code) if before is None else before
    if _needs_worker(request) and remote.conf.get(_HAS_WORKER, None) is None:
        try:
            start_worker(remote, request)
        except Exception:
            remote.stop()
            raise
        remote.conf.set(_HAS_WORKER, "true")
    return remote


def _open(url: str, app_name: str, code: str) -> SparkSession:
    import pyspark
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    _quiet()
    remote: SparkSession = _with_patience(RemoteSession.builder.remote(url).create())
    if remote.version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
        remote.stop()
        raise InvalidInput(
            f"the Spark Connect server has Spark {remote.version}, but this client has pyspark {pyspark.__version__}: "
            "use the same minor version"
        )
    settable = {k: v for k, v in SETTINGS.items() if k.startswith("spark.sql.") and k not in _STATIC}
    for key, value in (settable | {_APPLICATION: app_name}).items():
        remote.conf.set(key, value)
    remote.addArtifacts(code, pyfile=True)
    return remote


def _needs_worker(request: Request) -> bool:
    """Whether tasks of Python may answer a request. The engine's process merges few rows itself, and a worker, which
    each session has for itself, takes more than a second to start."""
    if not isinstance(request, MergeRequest) or request.spark == "always" or request.read.format.types is Types.FILE:
        return True
    from airflow_provider_odf.records import files  # pyarrow, which a JVM that starts need not wait for

    return not all(files.are_small(source.paths) for source in request.inputs)


_APPLICATION = "spark.odf.application"
"""Setting of a session of a Connect server: the name that its application would have."""

_HAS_WORKER = "spark.odf.hasWorker"
"""Setting of a session of a Connect server: a Python worker of its own fits."""

_STATIC = ("spark.sql.catalogImplementation",)
"""SQL settings that only the start of Spark can set."""


def _with_patience(remote: Any) -> Any:
    """Return a session of which each call tries a server that does not answer for about 40 seconds, not for ten
    minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    remote.client.set_retry_policies([DefaultPolicy(max_retries=8, max_backoff=10_000)])
    return remote


def _is_known(remote: SparkSession) -> bool:
    """Whether the server still has a session: it was not restarted, and did not release it for being idle."""
    from pyspark.errors import PySparkException

    try:
        return remote.conf.get(_APPLICATION, None) is not None
    except PySparkException:
        return False


@contextmanager
def of_request(spark: SparkSession) -> Iterator[SparkSession]:
    """Open a session for one request on the same Spark context, with its own views and settings.

    It sets the limits on SQL and what decides about values again, whatever the cluster's configuration says. A session
    of a Connect server is a clone of one that has them, with the code of the engine, and is released after the request.
    """
    if spark_internals.is_remote(spark):
        clone = _with_patience(cast(Any, spark).cloneSession())
        clone.release_session_on_close = True  # pyspark 4.2 leaves it out in clones
        _clones.add(clone)
        try:
            yield clone
        finally:
            _clones.discard(clone)
            clone.stop()
        return
    session = spark.newSession()
    for key, value in (BOUNDARY | VALUES).items():
        session.conf.set(key, value)
    yield session


_clones: set[Any] = set()
"""Sessions of a Connect server whose requests run."""


def release(remote: SparkSession) -> None:
    """Release a session of a Connect server and those of its requests, whose jobs are cancelled."""
    for session in (*_clones, remote):
        session.stop()


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Change a setting of a session inside a block."""
    before = str(spark.conf.get(key))
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, before)


def describe(spark: SparkSession) -> Engine:
    """Return the application of a session. A listener without a run id of its own has the empty one. That of a Connect
    server does not know whose requests it answers."""
    conf = spark.conf
    if spark_internals.is_remote(spark):
        return Engine(conf.get(_APPLICATION) or "", spark.version)
    run = conf.get(RUN_ID, "") if has_listener(spark) else None
    return Engine(conf.get("spark.app.name", "") or "", spark.version, run)


def has_listener(spark: SparkSession) -> bool:
    """Return whether the OpenLineage listener reports the application."""
    listeners = spark.conf.get("spark.extraListeners", "") or ""
    return LISTENER in listeners and spark.conf.get("spark.openlineage.disabled", "false") != "true"


def _quiet() -> None:
    """Disable pyspark's loggers of query errors: they print errors as JSON with the JVM's stack.

    Errors reach the user in the response.
    """
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
