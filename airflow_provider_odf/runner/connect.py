"""A Spark Connect server, which does the work of Spark that needs no plans of its JVM."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from airflow_provider_odf import datafusion, protocol
from airflow_provider_odf.closed_files import user_cache
from airflow_provider_odf.owned_folders import TemporaryDirectory
from airflow_provider_odf.runner import apps
from airflow_provider_odf.runner.local import LocalRunner, Remote
from airflow_provider_odf.runner.runner import OnEngine, OnProgress, Runner


class ConnectRunner(Runner):
    """Merges and tests contracts on a Spark Connect server, ``sc://HOST:PORT``, without a JVM.

    Checking a query needs Spark's plans, which a server does not show. So ``local`` answers requests that only analyze
    queries, and those with queries that can only be analyzed with data: of sources without declared columns, of
    contracts, and of derivatives. It keeps which queries it accepted, in the user's cache directory, under a hash of
    the query, the declared columns, the engine and Spark; a merge whose query is not there is analyzed first.
    """

    def __init__(
        self, url: str, local: LocalRunner, conf: Mapping[str, str] | None = None, *, threads: int = 2
    ) -> None:
        self._directory = TemporaryDirectory("connect")
        self._code = apps.bundle(self._directory.path)
        self._local = local
        self._remote = LocalRunner(conf=conf, threads=threads, remote=Remote(url, self._code))

    @property
    def shares_disk(self) -> bool:
        return False

    def submit(
        self, request: protocol.Request, on_progress: OnProgress | None = None, on_engine: OnEngine | None = None
    ) -> Future[protocol.Success]:
        if not _is_without_plans(request):
            answer = self._local.submit(request, on_progress, on_engine)
            answer.add_done_callback(lambda done: self._keep(request, done))
            return answer
        if not isinstance(request, protocol.MergeRequest) or self._is_checked(request):
            return self._remote.submit(request, on_progress, on_engine)
        result: Future[protocol.Success] = Future()
        result.set_running_or_notify_cancel()

        def on_checked(check: Future[protocol.Success]) -> None:
            try:
                check.result()
                self._remote.submit(request, on_progress, on_engine).add_done_callback(on_answer)
            except Exception as e:
                result.set_exception(e)

        def on_answer(answer: Future[protocol.Success]) -> None:
            error = answer.exception()
            result.set_exception(error) if error else result.set_result(answer.result())

        if on_progress:
            on_progress("checking the query in a local Spark, which is done once")
        self.submit(_analysis(request)).add_done_callback(on_checked)
        return result

    def close(self) -> None:
        self._remote.close()
        self._local.close()
        self._directory.remove()

    def _is_checked(self, request: protocol.Request) -> bool:
        file = self._record(request)
        return file is None or file.exists()

    def _keep(self, request: protocol.Request, answer: Future[protocol.Success]) -> None:
        """Keep that a query was accepted."""
        if answer.exception() is None and (file := self._record(request)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()

    def _record(self, request: protocol.Request) -> Path | None:
        """Return the file that tells that the query of a merge was accepted; None without such a query."""
        if not isinstance(request, protocol.MergeRequest) or not _has_spark_query(request):
            return None
        if request.read.columns is None:
            return None
        facts = protocol.to_json((request.preprocess, request.read.columns))
        text = json.dumps([self._code.name, version("pyspark"), facts], sort_keys=True)
        return user_cache() / "queries" / hashlib.sha256(text.encode()).hexdigest()


def _has_spark_query(request: protocol.MergeRequest) -> bool:
    return request.preprocess is not None and request.preprocess.engine != datafusion.NAME


def _is_without_plans(request: protocol.Request) -> bool:
    """Whether a request can be answered without Spark's plans, once its query is checked."""
    if isinstance(request, protocol.VerifyRequest):
        return True
    if isinstance(request, protocol.ContractTestRequest):
        return not _has_queries(request.contract)
    if not isinstance(request, protocol.MergeRequest) or not request.inputs or _has_queries(request.contract):
        return False
    return request.read.columns is not None or not _has_spark_query(request)


def _has_queries(contract: protocol.Contract | None) -> bool:
    """Whether clauses of a contract have SQL, or expectations whose conditions may have SQL."""
    return contract is not None and any({"query", "kwargs"} & set(check.arguments) for check in contract.checks)


def _analysis(request: protocol.MergeRequest) -> protocol.MergeRequest:
    """Return the request that only analyzes the query of a merge."""
    return replace(request, inputs=(), history=(), prev_state=None, new_state_path=None, contract=None)
