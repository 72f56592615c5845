"""A large installation on a real Airflow: a folder of many manifests in the DAG processor, datasets that are due at
once on the scheduler, and sources that wait in one triggerer. Its parts take minutes, so each is measured once.

The metadata database is a PostgreSQL of its own, where one is installed beside the packages ``psycopg2`` and
``asyncpg``; else it is SQLite."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import psutil
from sqlalchemy import Connection, DateTime, bindparam, create_engine, inspect, text

from benchmarks import check, odf, source
from benchmarks.measure import MIB, Run, program
from benchmarks.report import Row, row
from benchmarks.scale import Scale
from demo.airflow_api import Airflow
from demo.browse import free_port, set_passwords, settings, start
from demo.family import Family
from demo.folder import ROOT, airflow
from tests.dialect.risingwave import postgres

CASE = "installation"

DUE, SENSORS, WATCHED = 40, 100, 400
"""Datasets that are due at once, that a deferred sensor waits for, and that an asset watcher waits for; fewer in a
folder with few manifests."""
FOLDERS = 10
"""Folders with loaders of their own, beside the layout with one."""
LARGEST_FOLDER = 2500
"""Manifests of that one: of several thousand assets in one file, Airflow's query is too long for PostgreSQL."""
CHANGES = 5
"""Sources of each kind that change while all of them wait."""
POKE_INTERVAL = 10

PLAIN = """
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, Asset, get_parsing_context


def nothing():
    pass


for name in [f"plain-{{n}}" for n in range({number})]:
    if get_parsing_context().dag_id in (None, name):
        asset = Asset("file:///store/" + name)
        with DAG(name, schedule=None, catchup=False, max_active_runs=1) as dag:
            poll, merge = (PythonOperator(task_id=task, python_callable=nothing) for task in ("poll", "merge"))
            publish = PythonOperator(task_id="publish", python_callable=nothing, outlets=[asset])
            poll >> merge >> publish
        globals()[name] = dag
"""
SENSOR = """
from airflow.sdk import DAG, get_parsing_context
from airflow_provider_odf import MergeOperator, OdfHook, PollingSourceOperator, PollingSourceSensor, PublishOperator

for name, manifest in {manifests}.items():
    if get_parsing_context().dag_id in (None, "wait-" + name):
        of_dataset = {{"manifest": manifest}}
        with DAG("wait-" + name, schedule=None, catchup=False, max_active_runs=1) as dag:
            wait = PollingSourceSensor(task_id="wait", deferrable=True, poke_interval={interval}, **of_dataset)
            poll = PollingSourceOperator(task_id="poll", **of_dataset)
            merge = MergeOperator(task_id="merge", data=poll.output, **of_dataset)
            wait >> poll
            PublishOperator(task_id="publish", candidate=merge.output, outlets=[OdfHook().asset(name)])
        globals()["wait-" + name] = dag
"""


def run(scale: Scale) -> list[Row]:
    names = [f"d{n}" for n in range(scale.sources)]
    one = _Installation(scale.directory / "one", names[:LARGEST_FOLDER], 1)
    with one.database():
        alone = one.parse("DAG processor, one loader")
    shutil.rmtree(one.home)
    parted = _Installation(scale.directory / "parted", names, FOLDERS)
    with parted.database():
        parsed = [parted.parse(f"DAG processor, {FOLDERS} loaders"), parted.parse("the same again")]
        return [alone, *parsed, *_due(parted), *_waiting(parted)]


class _Installation:
    """An Airflow with a folder of manifests in one or several folders, each with its loader."""

    def __init__(self, home: Path, names: Sequence[str], folders: int) -> None:
        self.home, self.names, self.sources = home, names, source.Source(home / "served", (home / "served").as_uri())
        self.due = names[: min(DUE, len(names) // 5)]
        self.sensors = names[::-1][: min(SENSORS, len(names) // 10)]
        self.watched = names[::-1][len(self.sensors) :][: min(WATCHED, len(names) // 10)]
        self.sources.directory.mkdir(parents=True)
        self.manifests: dict[str, Path] = {}
        for n in range(folders):
            folder = home / "dags" / f"team-{n}"
            folder.mkdir(parents=True)
            for loader in ("odf.py", "odf_errors.py"):
                shutil.copy(ROOT / "dags" / loader, folder)
            for name in names[n::folders]:
                url = f"{self.sources.url}/{name}.csv"
                self.manifests[name] = odf.manifest(folder / f"{name}.yaml", url, source.READ, source.SNAPSHOT)
            own = "".join(f"\n  {name}: {{schedule: '@change'}}" for name in names[n::folders] if name in self.watched)
            defaults = f"defaults: {{schedule: null, poke_interval: {POKE_INTERVAL}}}\n"
            (folder / "odf.yaml").write_text(f"{defaults}datasets:{own or ' {}'}\n")
        (home / "dags" / "plain.py").write_text(PLAIN.format(number=len(self.due)))
        sensors = {name: str(self.manifests[name]) for name in self.sensors}
        (home / "dags" / "waiting.py").write_text(SENSOR.format(manifests=sensors, interval=POKE_INTERVAL))

    @cached_property
    def address(self) -> str:
        return f"http://127.0.0.1:{free_port(0)}"

    @contextmanager
    def database(self) -> Iterator[None]:
        """The metadata database, for as long as the context lasts."""
        programs = postgres.programs()
        if programs is None or not all(map(find_spec, ("psycopg2", "asyncpg"))):
            self.url = f"sqlite:///{self.home / 'airflow.db'}"
            program([airflow(), "db", "migrate"], environment=self.environment)
            yield
            return
        port = free_port(0)
        with postgres.running(programs, f"-c listen_addresses=127.0.0.1 -p {port}"):
            self.url = f"postgresql+psycopg2://tests@127.0.0.1:{port}/postgres"
            program([airflow(), "db", "migrate"], environment=self.environment)
            yield

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.home / "dags"),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.url,
            "AIRFLOW__ODF__STORE": str(self.home / "store"),
            "AIRFLOW__API_AUTH__JWT_SECRET": "installation" * 8,
            # The time is measured, so nothing may end it.
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "3600",
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "3600",
        }
        parallelism = {"AIRFLOW__CORE__PARALLELISM": str(2 * (os.cpu_count() or 1))}
        return os.environ | settings(self.address, self.home / "passwords.json") | own | parallelism

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        engine = create_engine(self.url)
        with engine.connect() as connection:
            yield connection
        engine.dispose()

    def scalar(self, query: str) -> int:
        with self.connected() as db:
            return db.scalar(text(query)) or 0

    def counts(self) -> Counter[str]:
        """Return the number of rows of each table."""
        with self.connected() as db:
            tables = inspect(db).get_table_names()
            return Counter({name: db.scalar(text(f'SELECT count(*) FROM "{name}"')) for name in tables})

    def parse(self, subject: str) -> Row:
        """Return the row of a DAG processor that parses each file once."""
        before = self.counts()
        done = program([airflow(), "dag-processor", "--num-runs", "1"], environment=self.environment)
        added = self.counts() - before
        with self.connected() as db:
            dags, seconds = db.execute(text("SELECT count(*), max(last_parse_duration) FROM dag")).one()
            errors = db.scalars(text("SELECT stacktrace FROM import_error")).all()
        assert dags >= len(self.names), (dags, errors, done.text[-2000:])
        assert not errors, errors
        new = f", {added.total() / dags:.1f} rows per DAG" if added.total() > dags else ""
        return row(CASE, subject, [done], note=f"{dags:,} DAGs, slowest file {seconds:.0f} s{new}")


# --- datasets that are due at once ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Round:
    """What runs of DAGs that were due at once took, and what each of them took in rows and, by part, in CPU seconds."""

    run: Run
    cpu: dict[str, float]
    rows: Counter[str]
    number: int

    def note(self) -> str:
        parts = ", ".join(f"{name} {cpu / self.number:.2f}" for name, cpu in self.cpu.items())
        rows = self.rows.total() / self.number
        return f"{3600 / self.run.seconds:.0f} runs an hour; CPU s: {parts}; {rows:.0f} rows a run"


def _due(installed: _Installation) -> Iterator[Row]:
    """Yield rows of runs: seconds between two of them, and CPU seconds of one."""
    plain = [f"plain-{n}" for n in range(len(installed.due))]
    for name in installed.due:
        installed.sources.publish(f"{name}.csv", 0)
    with _running(installed, "api-server", "scheduler") as (family, api):
        floor = _round(installed, family, api, plain)
        rounds = {"new dataset": _round(installed, family, api, installed.due)}
        rounds["unchanged source"] = _round(installed, family, api, installed.due)
        for name in installed.due:
            installed.sources.publish(f"{name}.csv", 1)
        rounds["changed source"] = _round(installed, family, api, installed.due)
    check.said([odf.inspect("log", installed.due[-1], installed.home / "store").text], "3 records (offsets 100..102)")
    subject = f"{len(plain)} due: plain DAG of 3 tasks"
    yield row(CASE, subject, [floor.run], note=floor.note())
    for name, one in rounds.items():
        yield row(CASE, f"{len(plain)} due: {name}", [one.run], subject, [floor.run], one.note())


def _round(installed: _Installation, family: Family, api: Airflow, dags: Sequence[str]) -> _Round:
    rows, cpu, before = installed.counts(), _cpu(family), len(_ended(installed, dags))
    for dag in dags:
        api.trigger(dag)
    _wait(family, lambda: len(_ended(installed, dags)) >= before + len(dags))
    time.sleep(2)  # processes of the last tasks end
    ended = _ended(installed, dags)[before:]
    assert {state for state, _, _ in ended} == {"success"}, ended
    seconds = max(end for _, _, end in ended) - min(begin for _, begin, _ in ended)
    used = {name: now - cpu[name] for name, now in _cpu(family).items()}
    memory = sum(member.memory_info().rss for process in family.processes.values() for member in _tree(process.pid))
    one = Run(seconds / len(dags), sum(used.values()) / len(dags), peak_mib=memory / MIB)
    return _Round(one, used, installed.counts() - rows, len(dags))


def _ended(installed: _Installation, dags: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return the state of each run of DAGs that has ended, and the times at which it was due and ended, in the order of
    the last."""
    query = text(
        "SELECT state, queued_at, end_date FROM dag_run"
        " WHERE state IN ('success', 'failed') AND dag_id IN :dags ORDER BY end_date"
    )
    typed = query.bindparams(bindparam("dags", expanding=True)).columns(queued_at=DateTime, end_date=DateTime)
    with installed.connected() as db:
        found = db.execute(typed, {"dags": dags}).all()
    return [(state, *(time.replace(tzinfo=UTC).timestamp() for time in times)) for state, *times in found]


# --- sources that wait ----------------------------------------------------------------------------------------------


def _waiting(installed: _Installation) -> Iterator[Row]:
    """Yield rows of sources that change one after the other while all wait: seconds from the change to the publication,
    and CPU seconds in a minute and memory of the triggerer while nothing changes."""
    waiting = [*installed.sensors, *installed.watched]
    for name in waiting:
        installed.sources.publish(f"{name}.csv", 0)
    odf.run(installed.home / "store", *map(installed.manifests.__getitem__, waiting))
    with _running(installed, "api-server", "scheduler", "triggerer") as (family, api):
        for name in installed.sensors:
            api.trigger(f"wait-{name}")
        _wait(
            family,
            lambda: (
                installed.scalar("SELECT count(*) FROM task_instance WHERE state = 'deferred'")
                == len(installed.sensors)
            ),
        )
        _wait(
            family,
            lambda: installed.scalar("SELECT count(*) FROM trigger WHERE triggerer_id IS NOT NULL") == len(waiting),
        )
        time.sleep(2 * POKE_INTERVAL)  # the first look costs more
        cpu, begin = _cpu(family)["triggerer"], time.monotonic()
        time.sleep(4 * POKE_INTERVAL)
        used = (_cpu(family)["triggerer"] - cpu) / (time.monotonic() - begin) * 60
        memory = sum(member.memory_info().rss for member in _tree(family.processes["triggerer"].pid)) / MIB
        dags = {"asset watcher": {name: name for name in installed.watched[:CHANGES]}}
        dags["deferred sensor"] = {name: f"wait-{name}" for name in installed.sensors[:CHANGES]}
        for kind, names in dags.items():
            delays = [_change(installed, family, *pair) for pair in names.items()]
            note = f"{len(waiting)} wait, looked at every {POKE_INTERVAL} s"
            yield row(
                CASE, f"change to publication, {kind}", [Run(s, used, peak_mib=memory) for s in delays], note=note
            )


def _change(installed: _Installation, family: Family, name: str, dag: str) -> float:
    """Return the seconds from the change of a source until the run of its DAG has ended."""
    installed.sources.publish(f"{name}.csv", 1)
    changed = time.time()
    _wait(family, lambda: bool(_ended(installed, [dag])))
    ((state, _, end),) = _ended(installed, [dag])
    assert state == "success", (dag, state)
    return end - changed


# --- processes ------------------------------------------------------------------------------------------------------


@contextmanager
def _running(installed: _Installation, *components: str) -> Iterator[tuple[Family, Airflow]]:
    """Yield components of Airflow that run, and the API."""
    passwords = set_passwords(installed.home / "passwords.json")
    with Family(15, installed.environment) as family:
        ended = start(family, installed.home / f"{components[-1]}.log", installed.address, components)
        assert ended is None, f"{ended} ended"
        api = Airflow(installed.address, "admin", passwords["admin"])
        _wait(
            family, lambda: installed.scalar("SELECT count(*) FROM job WHERE state = 'running'") >= len(components) - 1
        )
        yield family, api


def _wait(family: Family, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds.

    :raises AssertionError: a component ended, or an hour has passed.
    """
    end = time.monotonic() + 3600
    while not condition():
        ended = family.wait(0.5)
        assert ended is None, f"{ended} ended"
        assert time.monotonic() < end, "nothing has changed for an hour"


def _cpu(family: Family) -> dict[str, float]:
    """Return the CPU seconds of each component until now, with those of tasks beside those of their scheduler."""
    used: dict[str, float] = {}
    for name, process in family.processes.items():
        main, *others = (member.cpu_times() for member in _tree(process.pid))
        used[name] = main.user + main.system
        below = (
            main.children_user
            + main.children_system
            + sum(map(sum, ((t.user, t.system, t.children_user, t.children_system) for t in others)))
        )
        rest = "tasks" if name == "scheduler" else name
        used[rest] = used.get(rest, 0) + below
    return used


def _tree(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]
