"""Run the DAGs and show their results, as the program of one session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import DAG
from rich.console import Console

from airflow_provider_odf import build_dags
from airflow_provider_odf.wording import counted
from demo.folder import DAGS, EVENTS, FINISHED, HOME, create

NEXT_BATCH = ("coffee-prices/2026-05-02.csv",)
"""Files that arrive between the two rounds of the first session."""

PUSHED = {"parcel-scans": ("depot", "parcel-scans/2026-05-01.csv")}
"""Push source and file for each dataset without a polling source."""


class Demo:
    """One session of the demo."""

    def __init__(self, home: Path, dags: Path, events: Path) -> None:
        self.home, self.dags, self.events = home, dags, events
        self.console = Console(width=None if sys.stdout.isatty() else 150, highlight=False, soft_wrap=True)
        self.engines = 0
        sys.addaudithook(self._count_engines)

    def first(self) -> bool:
        """Run two rounds; return whether their results are as expected."""
        self.say("First round: every dataset is new (two files of bike stations and river levels, a push of parcels)")
        states = self.round()
        self.say("Second round: a price list arrives that violates its contract")
        for name in NEXT_BATCH:
            shutil.copy(self.dags / "data" / "arriving" / name, self.dags / "data" / name)
        states |= {f"{dag} again": state for dag, state in self.round("coffee-prices").items()}
        self.show_datasets()
        self.say("Rejected candidates stay unpublished")
        self.odf("rejected", "list", "coffee-prices")
        self.odf("rejected", "show", "coffee-prices")
        self.show_lineage()
        self.console.print(
            "\nRun [bold]make demo[/] again: it polls, finds nothing new and starts no JVM.\n"
            "Or inspect the same datasets yourself: "
            f"[bold].venv/bin/odf tail river-levels --store {self.home.name}/store[/]\n"
            f"The task logs are in {self.home.name}/tasks.log.\n"
            "In the browser: [bold]make ui[/] starts Airflow with these datasets, and prints address and password.\n"
        )
        rejected = states.pop("coffee-prices again")
        return rejected == "failed" and set(states.values()) == {"success"}

    def again(self) -> bool:
        """Run one round; return whether there was no new data."""
        self.say("Polling every dataset again")
        states = self.round(*(dag.dag_id for dag in self._dags() if dag.dag_id not in PUSHED))
        # The DAG with the rejected price list fails until somebody decides.
        still_rejected = states.pop("coffee-prices") == "failed"
        is_quiet = self.engines == 0 and still_rejected and set(states.values()) == {"success"}
        if is_quiet:
            self.console.print("\nNo source has new data: no JVM was started, no block was written.")
            self.console.print("The price list is still rejected: its DAG fails until somebody decides.")
            self.odf("rejected", "list", "coffee-prices")
            self.console.print("See the datasets in the browser: [bold]make ui[/].")
        else:
            self.console.print(f"\nUnexpected results: see {self.home.name}/tasks.log.")
        self.console.print("Remove .demo/ to start over.")
        return is_quiet

    def round(self, *only: str) -> dict[str, str]:
        """Run the DAGs one after another and return their final states. The conf of a run contains its push."""
        states = {}
        for dag in self._dags(*only):
            engines = self.engines
            with _quiet(self.home / "tasks.log"):
                run = dag.test(run_conf=self._conf(dag.dag_id))
            states[dag.dag_id] = str(run.state)
            tasks = ", ".join(f"{ti.task_id} {ti.state}" for ti in _in_order(dag, run))
            jvms = self.engines - engines
            self.console.print(f"  DAG [bold]{dag.dag_id}[/]: {states[dag.dag_id]} ({tasks}; JVMs started: {jvms})")
        return states

    def show_datasets(self) -> None:
        for dag in self._dags():
            self.say(f"Dataset {dag.dag_id}: its history, its chain, verified")
            self.odf("tail", dag.dag_id, "-n", "20")
            self.odf("log", dag.dag_id)
            self.odf("verify", dag.dag_id)

    def show_lineage(self) -> None:
        """Show the datasets in the OpenLineage events of each task."""
        self.say("Lineage in OpenLineage events")
        names = Counter(_names(self.events))
        for (job, direction, namespace, name), count in sorted(names.items()):
            dataset = f"namespace={namespace} name={name}"
            self.console.print(f"  {job:32} {direction:6} {dataset} ({counted(count, 'event')})")

    def odf(self, *arguments: str) -> None:
        self.console.print(f"[dim]$ .venv/bin/odf {' '.join(arguments)} --store {self.home.name}/store[/]")
        sys.stdout.flush()
        subprocess.run([Path(sys.executable).with_name("odf"), *arguments], check=True)

    def say(self, title: str) -> None:
        self.console.print(f"\n[bold cyan]== {title}[/]")

    def _dags(self, *only: str) -> list[DAG]:
        dags = build_dags(self.dags)
        return [dag for dag_id, dag in sorted(dags.items()) if not only or dag_id in only]

    def _conf(self, dag_id: str) -> dict[str, Any] | None:
        if dag_id not in PUSHED:
            return None
        source, name = PUSHED[dag_id]
        return {"source": source, "file": str(self.dags / "data" / "arriving" / name)}

    def _count_engines(self, event: str, arguments: tuple[Any, ...]) -> None:
        # An engine is a child process that starts one JVM.
        if event == "subprocess.Popen" and any("spark_apps" in str(word) for word in arguments[1] or ()):
            self.engines += 1


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Redirect the output of Airflow's tasks to a file."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _in_order(dag: DAG, run: Any) -> list[Any]:
    order = [task.task_id for task in dag.topological_sort()]
    return sorted(run.get_task_instances(), key=lambda ti: order.index(ti.task_id))


def _names(events: Path) -> Iterator[tuple[str, str, str, str]]:
    for line in events.read_text().splitlines():
        event = json.loads(line)
        for direction in ("inputs", "outputs"):
            for dataset in event.get(direction) or ():
                yield event["job"]["name"], direction[:-1], dataset["namespace"], dataset["name"]


def main() -> int:
    """Run one session; return 0 if all results are as expected."""
    is_first = not FINISHED.exists()
    if is_first and not create():
        return 1
    demo = Demo(HOME, DAGS, EVENTS)
    done = demo.first() if is_first else demo.again()
    if done:
        FINISHED.touch()
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
