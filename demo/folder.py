"""The folder of a demo: an Airflow home with SQLite, and a copy of ``dags/`` with changing data."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

NEXT_BATCH = ("coffee-prices/2026-05-02.csv",)
"""Files that arrive between the two rounds of the first session."""

PUSHED = {"parcel-scans": ("depot", "parcel-scans/2026-05-01.csv")}
"""Push source and file for each dataset without a polling source."""


@dataclass(frozen=True)
class Folder:
    """A folder, and the path or URI of the store that its DAGs publish to."""

    home: Path
    store: str

    @property
    def dags(self) -> Path:
        return self.home / "dags"

    @property
    def events(self) -> Path:
        return self.home / "lineage.jsonl"

    @property
    def finished(self) -> Path:
        """A file that is there when the first session had the results that it should have."""
        return self.home / "finished"

    def settings(self) -> dict[str, str]:
        """Return the environment of Airflow, and of ``odf``."""
        return {
            "AIRFLOW_HOME": str(self.home / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
            "AIRFLOW__ODF__STORE": self.store,
            "AIRFLOW__ODF__PUSH_PATHS": str(self.arriving),
            "AIRFLOW__OPENLINEAGE__TRANSPORT": f'{{"type": "file", "log_file_path": "{self.events}", "append": true}}',
            "AIRFLOW__OPENLINEAGE__NAMESPACE": "demo",
            "ODF_STORE": self.store,
        }

    def create(self) -> None:
        """Make the folder anew, without a database."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(ROOT / "dags", self.dags, ignore=shutil.ignore_patterns("__pycache__", "by_hand", "*_*.py"))
        shutil.copy(ROOT / "dags" / "odf_errors.py", self.dags)
        shutil.copytree(ROOT / "demo" / "dags", self.dags, dirs_exist_ok=True)

    def create_database(self, environment: Mapping[str, str]) -> bool:
        """Make Airflow's database with all DAGs; return False if that failed, and say why. It takes ten seconds."""
        print(f"Setting up Airflow with SQLite in {self.home.name}/airflow ...", flush=True)
        with (self.home / "setup.log").open("w") as log:
            for command in (["db", "migrate"], ["dags", "reserialize"]):
                done = subprocess.run(
                    [airflow(), *command], stdout=log, stderr=subprocess.STDOUT, check=False, env=environment
                )
                if done.returncode:
                    print(f"airflow {' '.join(command)} failed, see {log.name}", file=sys.stderr)
                    return False
        return True

    @property
    def arriving(self) -> Path:
        """Data that has not yet arrived."""
        return self.dags / "data" / "arriving"

    def conf(self, dataset: str) -> dict[str, str] | None:
        """Return the conf of a run of a dataset's DAG, which contains its push."""
        if dataset not in PUSHED:
            return None
        source, name = PUSHED[dataset]
        return {"source": source, "file": str(self.arriving / name)}

    def deliver(self, name: str) -> None:
        """Let a file arrive: from then on its source has it."""
        shutil.copy(self.arriving / name, self.dags / "data" / name)


EMBEDDED = Folder(ROOT / ".demo", str(ROOT / ".demo" / "store"))
"""The folder of ``make demo``."""


def airflow() -> str:
    """Return the path of the command ``airflow`` of this environment."""
    return str(Path(sys.executable).with_name("airflow"))
