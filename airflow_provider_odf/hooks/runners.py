"""Runners by Airflow connection. Without a connection Spark runs in a child process of the task; a connection of type
``spark`` sends requests to its master by spark-submit, and one of type ``spark_connect`` merges on its Spark Connect
server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, TypeAlias

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from concurrent.futures import Future

    from airflow_provider_odf.chain.storage import Storage
    from airflow_provider_odf.hooks.applications import ApplicationLineage
    from airflow_provider_odf.protocol import Request, Success
    from airflow_provider_odf.runner import ConnectRunner, LocalRunner, Runner, SparkSubmitRunner
    from airflow_provider_odf.runner.runner import OnEngine, OnProgress

    GetExchange: TypeAlias = Callable[[], Storage | None]

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class TaskRunner:
    """The runner of a task. It reads the connection with the first request, since most polls send none. ``exchange``
    is that of `SparkSubmitRunner`."""

    def __init__(self, spark_conn_id: str | None, exchange: GetExchange = lambda: None) -> None:
        self.applications: ApplicationLineage | None = None
        self._spark_conn_id = spark_conn_id
        self._exchange = exchange
        self._runner: Runner | None = None
        self._open = ExitStack()

    @property
    def shares_disk(self) -> bool:
        return self.open().shares_disk

    def open(self) -> Runner:
        """Return the runner of the connection; the default connection is ``[odf] spark_conn_id``.

        :raises InvalidInput: no runner supports the type of the connection.
        """
        if self._runner is None:
            lineage = self.applications.settings if self.applications is not None else {}
            runner = open_runner(self._spark_conn_id or settings.read().spark_conn_id, lineage, self._exchange)
            self._runner = self._open.enter_context(runner)
        return self._runner

    def submit(
        self, request: Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[Success]:
        runner = self.open()
        if self.applications is None:
            return runner.submit(request, on_progress, on_engine)
        return self.applications.submit(runner, request, on_progress)

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()

    def __enter__(self) -> TaskRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner = None
        self._open.__exit__(kind, error, trace)


def open_runner(
    spark_conn_id: str | None = None, conf: Mapping[str, str] = NO_SETTINGS, exchange: GetExchange = lambda: None
) -> Runner:
    """Return the runner of a connection. It starts nothing before its first request.

    :param conf: settings of Spark, beside those of the connection.
    :param exchange: that of `SparkSubmitRunner`.

    :raises InvalidInput: no runner supports the type of the connection.
    """
    if not spark_conn_id:
        return local(conf)
    kind = BaseHook.get_connection(spark_conn_id).conn_type or ""
    if kind not in RUNNERS:
        raise InvalidInput(
            f"connection {spark_conn_id!r} is of type {kind!r}: use a connection of type 'spark' or 'spark_connect'"
        )
    return RUNNERS[kind](spark_conn_id, conf, exchange)


def local(conf: Mapping[str, str] = NO_SETTINGS, *, reads_objects: bool = False) -> LocalRunner:
    """Return a runner with Spark in a child process, as ``[odf] local_master`` and ``local_memory`` configure it;
    ``reads_objects`` is that of `LocalRunner`."""
    from airflow_provider_odf.runner import LocalRunner

    values = settings.read()
    memory = {"spark.driver.memory": values.local_memory} if values.local_memory else {}
    return LocalRunner(values.local_master, {**conf, **memory}, reads_objects=reads_objects)


def spark_submit(
    spark_conn_id: str, conf: Mapping[str, str] = NO_SETTINGS, exchange: GetExchange = lambda: None
) -> SparkSubmitRunner:
    """Return a runner that calls spark-submit with the connection's settings, read as the Spark provider reads them:
    master, deploy mode, queue, namespace, Kerberos, program.

    :raises InvalidInput: the connection needs the Kubernetes provider.
    """
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_provider_odf.runner import SparkSubmitRunner

    try:
        # The Spark provider has no public function that resolves a connection.
        connection = SparkSubmitHook(conn_id=spark_conn_id)._connection
    except (NameError, RuntimeError) as e:  # The hook raises them where the Kubernetes provider is missing.
        raise InvalidInput(
            f"connection {spark_conn_id!r} uses a Kubernetes master: install apache-airflow-providers-cncf-kubernetes"
        ) from e
    options = {"--queue": "queue", "--principal": "principal", "--keytab": "keytab"}
    arguments = [part for option, key in options.items() if connection[key] for part in (option, connection[key])]
    namespace = connection["namespace"]
    return SparkSubmitRunner(
        connection["master"],
        {**conf, **({"spark.kubernetes.namespace": namespace} if namespace else {})},
        deploy_mode=connection["deploy_mode"] or "client",
        arguments=arguments,
        exchange=exchange(),
        spark_submit=connection["spark_binary"] or "spark-submit",
    )


def spark_connect(spark_conn_id: str, conf: Mapping[str, str] = NO_SETTINGS, _: object = None) -> ConnectRunner:
    """Return a runner for the Spark Connect server of a connection, with ``[odf] local_master`` and ``local_memory``
    for what needs a JVM of its own.

    :raises InvalidInput: the connection has no host, or one with a path.
    """
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

    from airflow_provider_odf.runner import ConnectRunner

    if not BaseHook.get_connection(spark_conn_id).host:
        raise InvalidInput(f"connection {spark_conn_id!r} has no host: name the Spark Connect server")
    try:
        url = SparkConnectHook(spark_conn_id).get_connection_url()
    except ValueError:  # its message has no path
        raise InvalidInput(
            f"connection {spark_conn_id!r}: the host has a path, which Spark Connect does not allow"
        ) from None
    return ConnectRunner(url, local(conf, reads_objects=True))


RUNNERS: Mapping[str, Callable[[str, Mapping[str, str], GetExchange], Runner]] = {
    "spark": spark_submit,
    "spark_connect": spark_connect,
    "yarn": spark_submit,
    "k8s": spark_submit,
    "local": spark_submit,
}
"""Type of an Airflow connection -> the runner for it."""
