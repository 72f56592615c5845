"""``odf lineage``: names of datasets, and the upstream graph from chains that are written here without an engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest import model
from tests.cycle.derivatives import commit, derivative, ingest, root, transform

from .test_cli import in_this_process

PROGRAM = """
import atexit, sys
from airflow_provider_odf.cli import main
atexit.register(lambda: print([m for m in sys.modules if m in ("httpx", "openlineage.client", "airflow")]))
main()
"""
SOURCE = "https://me:pa55@example.org/orders.csv?key=f00&year=2024"


def odf(*arguments: str, input: bytes | None = None) -> str:
    result = CliRunner().invoke(app, ["lineage", *arguments], input=input, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert odf("name", "s3a://lake/orders/") == "s3://lake\torders\n"
    assert odf("name", "s3a://lake/orders/", "--naming-spec", "2024") == "s3://lake\t/orders\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.csv").touch()
    assert odf("name", "./orders.csv") == f"file\t{tmp_path}/orders.csv\n"
    assert odf("name", "here.csv") == f"file\t{tmp_path}/here.csv\n"
    assert odf("name", "jdbc:postgresql://me:pa55@DB/shop", "public.t") == "postgres://db:5432\tshop.public.t\n"


def test_names_by_line() -> None:
    """As a user starts it: one answer for each line, whatever its bytes, without the whole client of OpenLineage."""
    lines = (
        b"jdbc:mysql://h/db\tt\r\nbad://[\n\ns3:///pa55\n/a%0Ab%09c\n/\xff\ns3://lake/w\tdb.t\ns3://lake/k\t\ngs://b/k"
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "lineage", "name", "-"],
        input=lines,
        capture_output=True,
        check=True,
        env={**os.environ, "ODF_NAMING_SPEC": "current"},
    )
    assert done.stdout.decode().splitlines() == [
        "mysql://h:3306\tdb.t",
        "error\tthe URI is not valid",
        "error\tthe URI is missing",
        "error\tthe s3 URI has no bucket or an invalid one",
        "file\t/a%0Ab%09c",
        "file\t/�",
        "s3://lake/w\tdb.t",
        "s3://lake\tk",
        "gs://b\tk",
        "[]",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s3:///pa55", "the s3 URI has no bucket or an invalid one"),
        ("orders", "this is no URI, and no such path exists: write a file that does not exist yet as ./FILE"),
    ],
)
def test_no_name(text: str, reason: str, tmp_path: Path) -> None:
    assert in_this_process(["lineage", "name", text], tmp_path) == (2, "", f"no name in lineage: {reason}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``orders`` (polled) and ``prices`` (pushed, another store) -> ``report``; this and ``orders`` -> ``summary``."""
    folder = tmp_path_factory.mktemp("lineage")
    store, other = Store.open(folder / "store"), Store.open(folder / "other")
    orders, prices = root(store), root(other, "acme/prices")
    read, merge = model.ReadStepCsv(), model.MergeStrategyAppend()
    fetch = model.FetchStepUrl(url=SOURCE)
    commit(orders, replay(orders), model.SetPollingSource(fetch=fetch, read=read, merge=merge))
    commit(prices, replay(prices), model.AddPushSource(source_name="shop", read=read, merge=merge))
    ingest(orders)
    ingest(prices)
    report = derivative(store, orders, prices)
    transform(report, orders, prices)
    summary = derivative(store, orders, report, name="summary")
    transform(summary, orders, report)
    ingest(orders)
    return folder


def test_the_upstream_tree(folder: Path) -> None:
    store, other = str(folder / "store"), str(folder / "other")
    heads = {name: replay(Store.open(store).dataset(name)).head for name in ("report", "summary")}
    lines = odf("show", "summary", "--store", store, "--input-store", other).splitlines()
    assert lines[0].split() == ["dataset", "or", "source", "kind", "version", "namespace", "name"]
    rows = [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in lines[2:]]
    read = odf("show", "orders", "--store", store, "--format", "json")
    assert json.loads(read)[0]["version"] not in lines[3], "the version that was read is older than the head"
    assert [[row[0], row[1], *row[-2:]] for row in rows] == [
        ["summary", "Derivative", "file", f"{store}/summary"],
        ["├─ orders", "Root", "file", f"{store}/orders"],
        [
            "│  └─ https://example.org/orders.csv?key=***&year=2024",
            "Polling source",
            "https://example.org",
            "/orders.csv?year=2024",
        ],
        ["└─ report", "Derivative", "file", f"{store}/report"],
        ["├─ orders (see above)", "Root", "file", f"{store}/orders"],
        ["└─ acme/prices", "Root", "file", f"{other}/acme/prices"],
        ["└─ shop", "Push source", "└─ shop", "Push source"],
    ]
    assert rows[0][2] == heads["summary"][:13]
    assert "pa55" not in "".join(lines)


def test_the_upstream_graph_for_programs(folder: Path) -> None:
    store = str(folder / "store")
    prices = replay(Store.open(folder / "other").dataset("acme/prices")).dataset_id
    nodes = json.loads(odf("show", "summary", "--store", store, "--format", "json", "--naming-spec", "2024"))
    assert [(node["label"], node["kind"]) for node in nodes] == [
        ("summary", "Derivative"),
        ("orders", "Root"),
        ("report", "Derivative"),
        ("https://example.org/orders.csv?key=***&year=2024", "Polling source"),
        (f"{prices} as acme/prices", "Unknown"),
    ]
    assert nodes[0]["inputs"] == [
        {
            "label": "orders",
            "kind": "Root",
            "namespace": "file://127.0.0.1:0",
            "name": f"{store}/orders",
            "version": nodes[1]["version"],
        },
        {
            "label": "report",
            "kind": "Derivative",
            "namespace": "file://127.0.0.1:0",
            "name": f"{store}/report",
            "version": nodes[2]["version"],
        },
    ]
    assert nodes[4] == {
        "label": f"{prices} as acme/prices",
        "kind": "Unknown",
        "namespace": None,
        "name": None,
        "version": None,
        "inputs": [],
    }


def test_as_of_a_block(folder: Path) -> None:
    """Before its first transformation a derivative has read nothing: its inputs are as of their heads."""
    store = str(folder / "store")
    dataset = Store.open(store).dataset("report")
    first = [hash_ for hash_, _ in dataset.walk()][-1]
    for option in (("--ref", first), ("--as-of", first[:13])):
        nodes = json.loads(odf("show", "report", "--store", store, *option, "--format", "json"))
        assert [(node["label"], node["version"]) for node in nodes] == [("report", first)]


def test_an_input_with_a_new_history(tmp_path: Path) -> None:
    """The block that was read is gone; one that is missing from the history of the head is an error."""
    store = Store.open(tmp_path / "store")
    orders = root(store)
    before = replay(orders)
    report = derivative(store, orders)
    read = ingest(orders)
    transform(report, orders)
    missing = tmp_path / "store" / "orders" / "blocks" / read
    missing.unlink()
    with pytest.raises(ChainCorrupted, match="refs/head is damaged"):
        odf("show", "report", "--store", store.location)
    orders.storage.compare_and_set_ref("head", read, before.head)
    assert json.loads(odf("show", "report", "--store", store.location, "--format", "json"))[1] == {
        "label": "orders",
        "kind": "Rewritten",
        "namespace": "file",
        "name": orders.location,
        "version": read,
        "inputs": [],
    }
