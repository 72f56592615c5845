"""The datasets of the page about joins with 20,000 flights: DuckDB computes the same rows, and a correction of planes
changes the flights of these planes only."""

import csv
import os
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import duckdb
import pytest
import yaml

from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.store import Store
from docs.pages import DOCS, blocks
from tests.shared_engine import shared_engine

pytestmark = [pytest.mark.spark, pytest.mark.pages]

PAGE = (DOCS / "how-to" / "join-datasets.md").read_text()
LEVELS = ("flights.with-weather", "flights.with-planes", "daily-delays")
FLIGHTS, DAYS = 20_000, 30
START = datetime(2026, 5, 1, tzinfo=UTC)
CARRIERS, AIRPORTS = ("AA", "BB", "CC", "DD"), ("EWR", "JFK", "LGA")
TAILS = [f"N{number}" for number in range(600)]


@pytest.fixture
def run(tmp_path):
    """Runs ``odf`` in a folder with the manifests of the page, and returns what it prints."""
    for block in blocks(PAGE):
        if block.file is not None and block.file.endswith(".yaml"):
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
    (tmp_path / "bin").mkdir()
    with shared_engine(tmp_path / "bin") as programs:

        def run(*arguments):
            command, environment = [programs / "odf", *arguments], os.environ | {"ODF_STORE": str(tmp_path / "store")}
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


def write(folder, name, rows):
    file = folder / "dags" / "data" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def flights(r):
    """Flights at different minutes of 30 days. Some planes are not in the list of planes."""
    minutes = sorted(r.sample(range(DAYS * 24 * 60), FLIGHTS))
    return [
        {
            "departed_at": (START + timedelta(minutes=minute)).isoformat(),
            "carrier": r.choice(CARRIERS),
            "flight": r.randrange(1, 900),
            "origin": r.choice(AIRPORTS),
            "tailnum": r.choice(TAILS),
            "delay": r.choice([0, 0, 0, 5, 15, 40, 120]),
        }
        for minute in minutes
    ]


def weather(r):
    hours = [(hour, airport) for hour in range(DAYS * 24) for airport in AIRPORTS]
    return [
        {"hour": (START + timedelta(hours=hour)).isoformat(), "airport": airport, "wind": r.randrange(40)}
        for hour, airport in r.sample(hours, len(hours) * 9 // 10)
    ]


def planes(r):
    return [{"tailnum": tail, "model": r.choice(["A320", "B737", "E190"]), "seats": 100} for tail in TAILS[:500]]


def of_duckdb(store, folder):
    """Compute the rows of all levels from the current rows of the roots, by the queries of the manifests."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in ("flights", "weather", "planes"):
            table = state_rows(store.dataset(name)).arrow()
            connection.register(name, table.drop_columns("system_time"))
        rows, of_level = {}, {}
        for name in LEVELS:
            manifest = yaml.safe_load((folder / "dags" / f"{name}.yaml").read_text())
            (transform,) = (e for e in manifest["content"]["metadata"] if e["kind"] == "SetTransform")
            for source in transform["inputs"]:
                if source["datasetRef"] in of_level:
                    connection.register(source["alias"], of_level[source["datasetRef"]])
            of_level[name] = connection.sql(transform["transform"]["query"]).to_arrow_table()
            rows[name] = Counter(zip(*(column.to_pylist() for column in of_level[name].columns), strict=True))
    return rows


def rows(table):
    columns = table.drop_columns("system_time").columns
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def test_levels_of_joins_are_those_of_duckdb_and_correct_only_what_changed(run, tmp_path):
    r = Random(1)
    flown, list_ = flights(r), planes(r)
    write(tmp_path, "flights/1.csv", flown)
    write(tmp_path, "weather/1.csv", weather(r))
    write(tmp_path, "planes/2026-05-01.csv", list_)
    run("run", "dags")
    store = Store.open(tmp_path / "store")
    state = {name: rows(state_rows(store.dataset(name)).arrow()) for name in LEVELS}
    assert state == of_duckdb(store, tmp_path)
    assert [state[name].total() for name in LEVELS] == [FLIGHTS, FLIGHTS, len(CARRIERS) * DAYS]

    # Five planes have other seats, one is new, one is gone.
    corrected, gone, new = TAILS[10:15], TAILS[20], TAILS[550]
    later = [plane | {"seats": 222} if plane["tailnum"] in corrected else plane for plane in list_]
    later = [plane for plane in later if plane["tailnum"] != gone]
    write(tmp_path, "planes/2026-05-08.csv", [*later, {"tailnum": new, "model": "A321", "seats": 190}])
    output = run("run", "dags")
    changed = [flight for flight in flown if flight["tailnum"] in (*corrected, gone, new)]
    groups = {(f["carrier"], f["departed_at"][:10]) for f in changed if f["delay"]}
    assert "flights.with-weather: up to date\n" in output
    assert f"flights.with-planes: published {2 * len(changed)} records" in output
    assert f": {len(changed)} corrected\n" in output
    assert {name: rows(state_rows(store.dataset(name)).arrow()) for name in LEVELS} == of_duckdb(store, tmp_path)

    joined = tail_rows(store.dataset("flights.with-planes"), 2 * len(changed)).arrow()
    assert Counter(joined["op"].to_pylist()) == {2: len(changed), 3: len(changed)}
    assert set(joined["tailnum"].to_pylist()) == {*corrected, gone, new}
    daily = tail_rows(store.dataset("daily-delays"), 2 * len(groups)).arrow()
    assert Counter(daily["op"].to_pylist()) == {2: len(groups), 3: len(groups)}
    of_groups = zip(daily["carrier"].to_pylist(), daily["day"].to_pylist(), strict=True)
    assert {(carrier, str(day)[:10]) for carrier, day in of_groups} == groups
    assert run("verify", *LEVELS, "--replay").count(": ok: ") == len(LEVELS)
