"""A folder of DAGs parsed twice in one process, as Airflow's DAG processor does: manifests, or plain Python files."""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path

import psutil
from airflow.sdk import DAG

PLAIN = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset

with DAG("{name}", schedule="@daily", catchup=False, max_active_runs=1, tags={{"odf"}}, auto_register=False) as dag:
    poll, merge = EmptyOperator(task_id="poll"), EmptyOperator(task_id="merge")
    publish = EmptyOperator(task_id="publish", outlets=[Asset("file:///store/{name}")])
    poll >> merge >> publish
"""


def manifests(folder: Path) -> dict[str, DAG]:
    from airflow_provider_odf import build_dags

    return build_dags(folder)


def plain(folder: Path) -> dict[str, DAG]:
    files = sorted(folder.glob("*.py"))
    return {file.stem: runpy.run_path(str(file))["dag"] for file in files}


def main(kind: str, folder: str) -> None:
    parse = {"manifests": manifests, "plain": plain}[kind]
    parse(Path(folder) / "one")  # imports
    answer: dict[str, float] = {}
    for name in ("first", "again"):
        start = time.process_time()
        dags = parse(Path(folder))
        answer[name] = time.process_time() - start
        answer[f"{name}_mib"] = psutil.Process().memory_info().rss / 2**20
    print(json.dumps({"dags": len(dags), "seconds": answer["first"], "cpu": answer["first"], **answer}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
