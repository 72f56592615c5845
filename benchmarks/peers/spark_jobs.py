"""Spark jobs and scans of files, counted in the status store, and the time of a first and a second run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any


def timed(spark: Any, test: Callable[[], int]) -> None:
    """Run a test twice, and print the time, the Spark jobs and the scans of the second run.

    ``test`` returns the number of failed clauses.
    """
    start = time.perf_counter()
    test()
    first = time.perf_counter() - start
    jobs, scans = _jobs(spark), _scans(spark)
    start = time.perf_counter()
    failed = test()
    seconds = time.perf_counter() - start
    answer = {"seconds": seconds, "first": first, "failed": failed}
    print(json.dumps({**answer, "jobs": _jobs(spark) - jobs, "scans": _scans(spark) - scans}), flush=True)


def _jobs(spark: Any) -> int:
    return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).size())


def _scans(spark: Any) -> int:
    """Scans of Parquet files in the plans of all queries so far."""
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    plans = (executions.apply(i).physicalPlanDescription().partition("\n\n")[0] for i in range(executions.size()))
    return sum(plan.count("Scan parquet") for plan in plans)
