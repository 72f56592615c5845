"""A contract tested on a file by the engine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from spark_jobs import timed

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import load
from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.contract import sources
from airflow_provider_odf.protocol import Source


def main() -> None:
    given = json.loads(sys.argv[1])
    spark = session.create("odf", "local[2]")
    contract = compile_models(load(Path(given["contract"])), ["orders"])
    source = Source("orders", "parquet", (given["data"],))

    def test() -> int:
        report = sources.test(spark.newSession(), contract, (source,), None)
        return sum(result.outcome == "fail" for result in report.results)

    timed(spark, test)


if __name__ == "__main__":
    main()
