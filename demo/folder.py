"""The folder of the demo: an Airflow home with SQLite, the store, and a copy of ``dags/`` with changing data."""

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
FINISHED = HOME / "finished"
"""Is there when the first session had the results that it should have."""


def configure() -> None:
    """Set Airflow's settings, for this process and those that it starts."""
    os.environ.update(
        AIRFLOW_HOME=str(HOME / "airflow"),
        AIRFLOW__CORE__DAGS_FOLDER=str(DAGS),
        AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION="False",
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__LOGGING__LOGGING_LEVEL="INFO",
        AIRFLOW__ODF__STORE=str(HOME / "store"),
        AIRFLOW__ODF__PUSH_PATHS=str(DAGS / "data" / "arriving"),
        AIRFLOW__OPENLINEAGE__TRANSPORT=f'{{"type": "file", "log_file_path": "{EVENTS}", "append": true}}',
        AIRFLOW__OPENLINEAGE__NAMESPACE="demo",
        ODF_STORE=str(HOME / "store"),
    )


def create() -> bool:
    """Make the folder anew, with Airflow's database; return False if that failed, and say why."""
    shutil.rmtree(HOME, ignore_errors=True)
    shutil.copytree(HERE / "dags", DAGS, ignore=shutil.ignore_patterns("__pycache__", "by_hand", "*_*.py"))
    shutil.copy(HERE / "dags" / "odf_errors.py", DAGS)
    shutil.copytree(HERE / "demo" / "dags", DAGS, dirs_exist_ok=True)
    print("Setting up Airflow with SQLite in .demo/airflow ...", flush=True)
    with (HOME / "setup.log").open("w") as log:
        for command in (["db", "migrate"], ["dags", "reserialize"]):
            done = subprocess.run([airflow(), *command], stdout=log, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                print(f"airflow {' '.join(command)} failed, see {log.name}", file=sys.stderr)
                return False
    return True


def airflow() -> str:
    """Return the path of the command ``airflow`` of this environment."""
    return str(Path(sys.executable).with_name("airflow"))
