"""``make demo``: run the example manifests of ``dags/`` as real Airflow DAGs and show the results.

All files are in ``.demo/``: an Airflow home with SQLite, the store, and a copy of ``dags/`` with changing data. The
first session has two batches; the second batch of coffee prices violates its contract. Later sessions find no new data.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent.parent
HOME = HERE / ".demo"
DAGS = HOME / "dags"
EVENTS = HOME / "lineage.jsonl"


def main() -> int:
    """Run the demo; return 0 if all results are as expected."""
    from airflow_provider_odf.engine.jvm import find_java
    from airflow_provider_odf.errors import OdfError

    try:
        find_java()
    except OdfError as e:
        print(e, file=sys.stderr)
        return 1
    is_first = not (HOME / "finished").exists()
    if is_first:
        shutil.rmtree(HOME, ignore_errors=True)
        shutil.copytree(HERE / "dags", DAGS, ignore=shutil.ignore_patterns("__pycache__", "by_hand", "*_*.py"))
        shutil.copy(HERE / "dags" / "odf_errors.py", DAGS)
    os.environ.update(
        AIRFLOW_HOME=str(HOME / "airflow"),
        AIRFLOW__CORE__DAGS_FOLDER=str(DAGS),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__LOGGING__LOGGING_LEVEL="INFO",
        AIRFLOW__ODF__STORE=str(HOME / "store"),
        AIRFLOW__ODF__PUSH_PATHS=str(DAGS / "data" / "arriving"),
        AIRFLOW__OPENLINEAGE__TRANSPORT=f'{{"type": "file", "log_file_path": "{EVENTS}", "append": true}}',
        AIRFLOW__OPENLINEAGE__NAMESPACE="demo",
        ODF_STORE=str(HOME / "store"),
    )
    if is_first:
        print("Setting up Airflow with SQLite in .demo/airflow ...", flush=True)
        log = (HOME / "setup.log").open("w")
        for command in (["db", "migrate"], ["dags", "reserialize"]):
            done = subprocess.run(
                [Path(sys.executable).with_name("airflow"), *command], stdout=log, stderr=subprocess.STDOUT, check=False
            )
            if done.returncode:
                print(f"airflow {' '.join(command)} failed, see {HOME / 'setup.log'}", file=sys.stderr)
                return 1
    from demo.show import Demo

    demo = Demo(HOME, DAGS, EVENTS)
    done = demo.first() if is_first else demo.again()
    if done:
        (HOME / "finished").touch()
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
