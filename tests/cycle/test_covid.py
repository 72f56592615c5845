"""The example of COVID-19 cases: the state is the same however the provinces publish them, and days are counted once
the watermark of all provinces has passed them."""

import os

import pytest

from airflow_provider_odf.chain.record_rows import state_rows
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.replay import replay_transforms
from airflow_provider_odf.cycle.run import run_all
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from tests.cycle import covid

pytestmark = pytest.mark.spark

CUTS = {"at once": [3], "one by one": [1, 2, 3], "mixed": [1, 3]}
"""Numbers of pieces that the files have at each run. `make torture` runs those but "one by one"."""
CASES = ("province", "id", "reported_date", "gender", "location")
DAYS = ("province", "reported_date", "total_daily")


@pytest.fixture
def manifests(tmp_path, server):
    for province, text in covid.ROOTS.items():
        (tmp_path / f"{province}.yaml").write_text(text.format(url=f"{server.url}/{province}"))
    for name, text in covid.DERIVATIVES.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    loaded = load([tmp_path])
    assert loaded.problems == ()
    return loaded.manifests


def publish(server, count):
    """Put the first pieces on the server."""
    for province in covid.ROOTS:
        rows = [row for piece in covid.PIECES[:count] for row in piece[province]]
        server.serve(f"/{province}", covid.content(province, rows), etag=f'"{count}"')


def rows(store, name, columns):
    lines = (" ".join(str(row[column]) for column in columns) for row in state_rows(store.dataset(name)))
    return "".join(f"{line}\n" for line in sorted(lines))


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param("one by one", marks=pytest.mark.long),
        *(pytest.param(cut, marks=pytest.mark.torture) for cut in ("at once", "mixed")),
    ],
)
def test_days_are_counted_when_all_provinces_have_passed_them(manifests, server, store, engine, cut):
    days = []
    for number, count in enumerate(CUTS[cut], 1):
        publish(server, count)
        time = Instant.parse(f"2030-01-01T00:00:0{number}Z")
        cycles = [Cycle(store, str(m.snapshot.alias), engine, time, m, os.environ) for m in manifests]
        assert [str(outcome) for outcome in run_all(cycles) if outcome.error] == []
        days.append(rows(store, covid.DAILY, DAYS))
    assert rows(store, covid.CASES, CASES) == covid.EXPECTED_CASES
    assert days[-1] == covid.EXPECTED_DAYS
    ages = {row["id"]: row["age_group"] for row in state_rows(store.dataset("covid19.alberta.case-details.hm"))}
    assert ages == {1: "50s", 2: "<20", 3: "UNKNOWN", 4: "20s", 5: "80s"}
    if cut == "one by one":
        counts = [{line.split("T")[0]: int(line.split()[-1]) for line in text.splitlines()} for text in days]
        assert counts[0] == {}
        assert (counts[1]["AB 2020-03-05"], "ON 2020-03-06" in counts[1]) == (1, False)
        for name in covid.DERIVATIVES:
            replay_transforms(store, store.dataset(name), lambda r: engine.submit(r).result())
