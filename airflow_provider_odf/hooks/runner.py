"""Runners by Airflow connection: without one Spark runs in a child process of the task, with one of type ``spark``
requests go to its master by spark-submit."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from concurrent.futures import Future

    from airflow_provider_odf.protocol import Request, Success
    from airflow_provider_odf.runner import LocalRunner, Runner, SparkSubmitRunner
    from airflow_provider_odf.runner.runner import OnProgress


class TaskRunner:
    """The runner of a task. Its connection is opened with the first request: most polls send none."""

    def __init__(self, spark_conn_id: str | None) -> None:
        self._spark_conn_id = spark_conn_id
        self._runner: Runner | None = None
        self._open = ExitStack()

    @property
    def started(self) -> int:
        return self._runner.started if self._runner is not None else 0

    def open(self) -> Runner:
        """Return the runner of the connection, without one that of ``[odf] spark_conn_id``.

        :raises InvalidInput: the connection is of a type that no runner is for.
        """
        if self._runner is None:
            runner = open_runner(self._spark_conn_id or settings.read().spark_conn_id)
            self._runner = self._open.enter_context(runner)
        return self._runner

    def submit(self, request: Request, on_progress: OnProgress | None = None) -> Future[Success]:
        return self.open().submit(request, on_progress)

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


def open_runner(spark_conn_id: str | None = None, *, app_name: str = "odf") -> Runner:
    """The runner of a connection; nothing is started before its first request.

    :raises InvalidInput: the connection is of a type that no runner is for.
    """
    return submitting(spark_conn_id) if spark_conn_id else local(app_name)


def local(app_name: str = "odf") -> LocalRunner:
    """Spark in a child process, as ``[odf] local_master`` and ``local_memory`` say."""
    from airflow_provider_odf.runner import LocalRunner

    values = settings.read()
    conf = {"spark.driver.memory": values.local_memory} if values.local_memory else {}
    return LocalRunner(values.local_master, conf, app_name=app_name)


def submitting(spark_conn_id: str) -> SparkSubmitRunner:
    """spark-submit as the Spark provider reads the connection: master, deploy mode, queue, namespace, Kerberos, binary.

    :raises InvalidInput: the connection is not of type ``spark``.
    """
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_provider_odf.runner import SparkSubmitRunner

    kind = SparkSubmitHook.get_connection(spark_conn_id).conn_type
    if kind not in ("spark", "yarn", "k8s", "local"):
        raise InvalidInput(f"connection {spark_conn_id} is of type {kind}; Spark runs on a connection of type spark")
    try:
        # The Spark provider has no public form of what it makes of a connection.
        connection = SparkSubmitHook(conn_id=spark_conn_id)._connection
    except (NameError, RuntimeError) as e:  # its way of saying that it misses the Kubernetes provider
        message = f"connection {spark_conn_id} leads to Kubernetes: install apache-airflow-providers-cncf-kubernetes"
        raise InvalidInput(message) from e
    options = {"--queue": "queue", "--principal": "principal", "--keytab": "keytab"}
    arguments = [part for option, key in options.items() if connection[key] for part in (option, connection[key])]
    namespace = connection["namespace"]
    return SparkSubmitRunner(
        connection["master"],
        {"spark.kubernetes.namespace": namespace} if namespace else {},
        deploy_mode=connection["deploy_mode"] or "client",
        arguments=arguments,
        spark_submit=connection["spark_binary"] or "spark-submit",
    )
