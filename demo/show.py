"""Run the DAGs and show their results, as the program of one session."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_provider_odf import build_dags
from airflow_provider_odf.wording import counted
from demo.folder import EMBEDDED, NEXT_BATCH, PUSHED, Folder
from demo.screen import Screen


class Demo(Screen):
    """One session of the demo."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(f"{folder.home.name}/store")
        self.folder = folder
        self._log = folder.home / "tasks.log"

    def first(self) -> bool:
        """Run two rounds; return whether their results are as expected."""
        self.say("First round: every dataset is new (two files of bike stations and river levels, a push of parcels)")
        states = self.round()
        self.say("Second round: a price list arrives that violates its contract")
        for name in NEXT_BATCH:
            self.folder.deliver(name)
        states |= {f"{dag} again": state for dag, state in self.round("coffee-prices").items()}
        self.show_datasets()
        self.say("Rejected candidates stay unpublished")
        self.odf("rejected", "list", "coffee-prices")
        self.odf("rejected", "show", "coffee-prices")
        self.show_lineage()
        self.print(
            "\nRun [bold]make demo[/] again: it polls, finds nothing new and starts no JVM.\n"
            "Or inspect the same datasets yourself: "
            f"[bold].venv/bin/odf tail river-levels --store {self.folder.home.name}/store[/]\n"
            f"The task logs are in {self.folder.home.name}/tasks.log.\n"
            "In the browser: [bold]make ui[/] starts Airflow with these datasets, and prints address and password.\n"
        )
        rejected = states.pop("coffee-prices again")
        return rejected == "failed" and set(states.values()) == {"success"}

    def again(self) -> bool:
        """Run one round; return whether there was no new data."""
        self.say("Polling every dataset again")
        before = self._jvms()
        states = self.round(*(dag.dag_id for dag in self._dags() if dag.dag_id not in PUSHED))
        # The DAG with the rejected price list fails until somebody decides.
        still_rejected = states.pop("coffee-prices") == "failed"
        is_quiet = self._jvms() == before and still_rejected and set(states.values()) == {"success"}
        if is_quiet:
            self.print("\nNo source has new data: no JVM was started, no block was written.")
            self.print("The price list is still rejected: its DAG fails until somebody decides.")
            self.odf("rejected", "list", "coffee-prices")
            self.print("See the datasets in the browser: [bold]make ui[/].")
        else:
            self.print(f"\nUnexpected results: see {self.folder.home.name}/tasks.log.")
        self.print("Remove .demo/ to start over.")
        return is_quiet

    def round(self, *only: str) -> dict[str, str]:
        """Run the DAGs one after another and return their final states. The conf of a run contains its push."""
        states = {}
        for dag in self._dags(*only):
            before = self._jvms()
            with _quiet(self._log):
                run = dag.test(run_conf=self.folder.conf(dag.dag_id))
            states[dag.dag_id] = str(run.state)
            tasks = ", ".join(f"{ti.task_id} {ti.state}" for ti in _in_order(dag, run))
            started = self._jvms() - before
            self.print(f"  DAG [bold]{dag.dag_id}[/]: {states[dag.dag_id]} ({tasks}; JVMs started: {started})")
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
        names = Counter(_names(self.folder.events))
        for (job, direction, namespace, name), count in sorted(names.items()):
            dataset = f"namespace={namespace} name={name}"
            self.print(f"  {job:32} {direction:6} {dataset} ({counted(count, 'event')})")

    def _dags(self, *only: str) -> list[DAG]:
        dags = build_dags(self.folder.dags)
        return [dag for dag_id, dag in sorted(dags.items()) if not only or dag_id in only]

    def _jvms(self) -> int:
        """Return how often a task has said that it starts a JVM."""
        return self._log.read_text().count("starting Spark") if self._log.exists() else 0


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
    is_first = not EMBEDDED.finished.exists()
    if is_first:
        EMBEDDED.create()
        if not EMBEDDED.create_database(os.environ):
            return 1
    demo = Demo(EMBEDDED)
    done = demo.first() if is_first else demo.again()
    if done:
        EMBEDDED.finished.touch()
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
