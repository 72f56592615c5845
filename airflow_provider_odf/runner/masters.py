"""Masters of Spark as users write them, and the runner for each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast, get_args

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import SparkUse
from airflow_provider_odf.runner.connect import ConnectRunner
from airflow_provider_odf.runner.local import LocalRunner
from airflow_provider_odf.runner.runner import Runner
from airflow_provider_odf.runner.spark_submit import SparkSubmitRunner

_LOCAL = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?")
_CLUSTER = re.compile(r"yarn|(spark|k8s)://\S+")
_CONNECT = re.compile(r"sc://\S+")
_MASTERS = "local[N], spark://HOST:PORT, yarn, k8s://HOST:PORT or sc://HOST:PORT"


@dataclass(frozen=True)
class SparkChoice:
    """When Spark is used, and its master. Without a master, Spark runs in a child process with all processors."""

    use: SparkUse | None = None
    master: str | None = None

    @property
    def is_always(self) -> bool:
        """Whether Spark is used although the work can be done without."""
        return self.use == "always" or self.master is not None

    def of(self, configured: SparkUse | None) -> SparkUse | None:
        """Return the use of Spark of a dataset for which ``odf.yaml`` has one: it wins over that of a master."""
        return self.use if self.master is None and self.use else configured or self.use

    def runner(self) -> Runner:
        """Return the runner for the master. It starts nothing before its first request."""
        if self.master is None:
            return LocalRunner()
        if _CONNECT.fullmatch(self.master):
            return ConnectRunner(self.master, LocalRunner(reads_objects=True))
        return LocalRunner(self.master) if _LOCAL.fullmatch(self.master) else SparkSubmitRunner(self.master)


def parse(text: str | None) -> SparkChoice:
    """Return what a text chooses: ``needed``, ``always``, or a master. One of an application is always used; a Spark
    Connect server, beside which the engine's process costs nothing, if needed.

    :raises InvalidInput: it is none of these.
    """
    if text is None:
        return SparkChoice()
    if text in get_args(SparkUse):
        return SparkChoice(cast(SparkUse, text))
    if _CONNECT.fullmatch(text):
        return SparkChoice(None, text)
    if _LOCAL.fullmatch(text) or _CLUSTER.fullmatch(text):
        return SparkChoice("always", text)
    raise InvalidInput(f"{text!r} is not a use or a master of Spark: use needed, always, {_MASTERS}")
