"""Commands of the tool on small datasets, each with what was there before, to be stopped at any call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_odf.chain.store import Store
from tests.cycle.derivatives import derivative, transform
from tests.manifests import derived, event, polled, polling, pushed, snapshot

Odf = Callable[..., object]
"""Runs a command that must end with an exit code, by default 0."""

GLOB = "{kind: FilesGlob, path: in/*.csv}"
CSV = "{kind: Csv, header: true, schema: [sku STRING, price BIGINT]}"
SNAPSHOT = "{kind: Snapshot, primaryKey: [sku]}"
CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:prices
info: {title: Prices, version: 1.0.0}
models: {prices: {fields: {price: {type: long, minimum: 0}}}}
"""
SOURCES = ("sku,price\na,1\n", "sku,price\na,2\nb,3\n")
FILES = {
    "prices.yaml": polled("prices", GLOB, CSV, SNAPSHOT),
    "edited.yaml": snapshot("prices", polling(GLOB, CSV, SNAPSHOT), event("SetInfo", description="edited")),
    "tested/prices.yaml": polled("prices", GLOB.replace("in/", "../in/"), CSV, SNAPSHOT),
    "tested/prices.datacontract.yaml": CONTRACT,
    "expensive.yaml": derived(
        "expensive",
        "{datasetRef: prices, alias: p}",
        "{kind: Sql, engine: spark, query: 'SELECT event_time, sku, price FROM p WHERE price > 1'}",
    ),
    "pushed.yaml": pushed("pushed", CSV),
    "pushed/1.csv": SOURCES[0],
    "pushed/2.csv": SOURCES[1],
}
STORE, COPIES = ("--store", "state/store"), "state/copies"


def at(hour: int) -> tuple[str, ...]:
    """Options of a run at an hour, whose blocks are the same each time."""
    return (*STORE, "--system-time", f"2024-01-01T{hour:02}:00:00Z")


@dataclass(frozen=True)
class Command:
    """A command of the tool, run in a folder with `FILES` and with the stores below ``state/``."""

    words: tuple[str, ...]
    prepare: Callable[[Odf], None] = lambda _: None
    """Makes the stores before it. It runs in that folder."""
    has_fixed_blocks: bool = True
    """Whether it makes the same blocks each time: not if it makes a new id, or has no option for its time."""
    is_slow: bool = False
    """Whether it starts a JVM."""
    code_again: int = 0
    """Exit code where there is nothing left to do."""


def deliver(number: int) -> None:
    """Write a file of the source."""
    path = Path(f"in/{number}.csv")
    path.parent.mkdir(exist_ok=True)
    path.write_text(SOURCES[number - 1])
    os.utime(path, (1_700_000_000 + number,) * 2)


def _one_hour(manifest: str) -> Callable[[Odf], None]:
    def prepare(odf: Odf) -> None:
        deliver(1)
        odf("run", *manifest.split(), *at(1))
        deliver(2)

    return prepare


def _hours(odf: Odf) -> None:
    _one_hour("prices.yaml")(odf)
    odf("run", "prices.yaml", *at(2))


def _pushed(odf: Odf) -> None:
    odf("push", "pushed", "pushed/1.csv", "--manifest", "pushed.yaml", *at(1))


def _copied(odf: Odf) -> None:
    deliver(1)
    odf("run", "prices.yaml", *at(1))
    odf("copy", "state/store/prices", COPIES)
    deliver(2)
    odf("run", "prices.yaml", *at(2))


def _garbage(odf: Odf) -> None:
    """Leave a block and a slice of a lost race, a candidate that can no longer be published, and folders of a run."""
    _hours(odf)
    prices = Path("state/store/prices")
    for name in ("blocks", "data"):
        (prices / name / f"f1620{'ab' * 32}").write_text("lost")
    first = min(prices.glob("blocks/*"), key=lambda path: path.stat().st_mtime)
    (prices / "refs/candidate-1").write_text(first.name)
    for name in ("merge-1", "poll-1"):
        Path(f"state/store/.work/prices/{name}").mkdir(parents=True)
        Path(f"state/store/.work/prices/{name}/rows").write_text("lost")


def _derivative(odf: Odf) -> None:
    """Make a derivative whose slices are no Parquet: no engine is needed, and the reset leaves none."""
    deliver(1)
    odf("run", "prices.yaml", *at(1))
    store = Store.open("state/store")
    prices = store.dataset("prices")
    transform(derivative(store, prices), prices)


def _rejected(odf: Odf) -> None:
    _one_hour("tested")(odf)
    Path("in/2.csv").write_text("sku,price\na,-2\n")
    odf("run", "tested", *at(2), code=1)


COMMANDS: Mapping[str, Command] = {
    "run": Command(("run", "edited.yaml", *at(2)), _one_hour("prices.yaml")),
    "run, new": Command(("run", "prices.yaml", *at(1)), lambda _: deliver(1), has_fixed_blocks=False),
    "run, contract": Command(("run", "tested", *at(2)), _one_hour("tested")),
    "push": Command(("push", "pushed", "pushed/2.csv", "--push-id", "2", *at(2)), _pushed),
    "publish": Command(("rejected", "publish", "prices", *STORE), _rejected, code_again=2),
    "discard": Command(("rejected", "discard", "prices", *STORE), _rejected, code_again=2),
    "copy, new": Command(("copy", "state/store/prices", COPIES), _hours),
    "copy, update": Command(("copy", "state/store/prices", COPIES), _copied),
    "gc": Command(("gc", "--delete", "--idle", "--older-than", "0", *STORE), _garbage),
    "reset": Command(("reset", "report", *STORE), _derivative, has_fixed_blocks=False),
    "run, derivative": Command(
        ("run", "prices.yaml", "expensive.yaml", *at(2)), _one_hour("prices.yaml expensive.yaml")
    ),
    "run, derivative, spark": Command(
        ("run", "prices.yaml", "expensive.yaml", "--spark", "always", *at(2)),
        _one_hour("prices.yaml expensive.yaml"),
        is_slow=True,
    ),
    "run, spark": Command(("run", "prices.yaml", "--spark", "always", *at(2)), _one_hour("prices.yaml"), is_slow=True),
}
