"""The datasets of the page about derivatives, as the scheduler of Airflow runs them."""

from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.verify import verify
from docs.lineage_picture import draw
from docs.pages import DOCS, blocks
from tests.examples import lineage_family
from tests.examples.scheduler import emit, fire_triggers, runs, schedule, trigger
from tests.lineage_graph import components, faults
from tests.lineage_schemas import schema_errors

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.pages,
    # Airflow's own.
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The HMAC key"),
]

PAGE = (DOCS / "how-to" / "derive-a-dataset.md").read_text()
LATER = "dags/data/customers/2026-05-08.csv"
LOADER = "# airflow dag\nfrom airflow_provider_odf import build_dags\n\nglobals().update(build_dags(__file__))\n"
CONTRACT = """\
dataContractSpecification: 1.2.1
id: orders-with-cities
info: {title: Orders, version: 1.0.0}
models:
  orders-with-cities:
    fields:
      order_id: {type: long, required: true, unique: true}
"""
FIRST, SECOND = "orders-with-cities", "revenue"
"""DAGs of derivatives: a generated one, and that of the page behind it."""
TASKS = {FIRST: {"transform", "contract_test", "publish"}, SECOND: {"transform", "publish", "verify"}}


@pytest.fixture
def folder(tmp_path):
    """The files of the page, but for the one that comes later."""
    for block in blocks(PAGE):
        if block.file is not None and block.file != LATER:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
    dags = tmp_path / "dags"
    (dags / "odf.py").write_text(LOADER)
    (dags / "odf.yaml").write_text("defaults: {schedule: null}\n")
    (dags / ".airflowignore").write_text("revenue-by-city.yaml\n")
    (dags / "orders-with-cities.datacontract.yaml").write_text(CONTRACT)
    for name, text in lineage_family.FILES.items():
        (dags / name).write_text(text)
    return tmp_path


@pytest.fixture
def dags(database, store, one_jvm, folder, read_again):
    return read_again(folder)


def rows(store, name, *columns):
    return [tuple(str(row[c]) for c in columns) for row in tail_rows(store.dataset(name), 100)]


def heads(store):
    return {str(dataset.alias): dataset.head() for dataset in store.datasets()}


def new_runs(earlier):
    """The runs of derivatives since, by DAG: their type, and the one state of all tasks."""
    found = {}
    for dag_id, kind, states in runs(FIRST, SECOND)[len(earlier) :]:
        assert set(states) == TASKS[dag_id]
        (state,) = set(states.values())
        found.setdefault(dag_id, []).append((kind, state))
    return found


ONCE = [("asset_triggered", "success")]
SKIPPED = [("asset_triggered", "skipped")]


def test_the_scheduler_runs_two_levels_and_events_only_wake_them(dags, store, folder, one_jvm, lineage):
    trigger("orders", "customers")
    schedule(dags)
    ran = new_runs([])
    # Each of its two inputs wakes the first one: one run takes both.
    assert sorted(ran[FIRST]) == SKIPPED + ONCE
    assert ran[SECOND] == ONCE
    assert rows(store, "revenue-by-city", "op", "city", "revenue") == [
        ("+A", "Bergen", "25.00"),
        ("+A", "Oslo", "52.50"),
    ]
    check_lineage(lineage, store)

    # Doubled events.
    before, published, earlier = one_jvm.started, heads(store), runs(FIRST, SECOND)
    for name in ("orders", "orders", "customers", "orders-with-cities", "revenue-by-city"):
        emit(store.dataset(name).uri)
    schedule(dags)
    assert new_runs(earlier) == {FIRST: SKIPPED, SECOND: SKIPPED}
    assert (one_jvm.started, heads(store)) == (before, published)

    trigger("by-hand", "strict-customers")
    schedule(dags)

    # Lost events: Airflow sends none to a paused DAG.
    (later,) = (block for block in blocks(PAGE) if block.file == LATER)
    (folder / LATER).write_text(later.text)
    earlier = runs(FIRST, SECOND)
    fire_triggers()
    trigger("customers")
    schedule(dags, paused=[FIRST])
    schedule(dags)
    assert new_runs(earlier) == {}
    (folder / "dags" / "data" / "orders" / "2.csv").write_text(
        "order_id,ordered_at,customer_id,amount\n4,2026-05-09T08:00:00Z,11,7.00\n"
    )
    trigger("orders")
    schedule(dags)
    assert new_runs(earlier) == {FIRST: ONCE, SECOND: ONCE}
    assert {order for (order,) in rows(store, "orders-with-cities", "order_id")[3:]} == {"3", "4"}
    state = state_rows(store.dataset("revenue-by-city"))
    assert sorted((row["city"], str(row["revenue"])) for row in state) == [("Bergen", "37.50"), ("Oslo", "47.00")]
    for dataset in store.datasets():
        verify(dataset)
    check_graph(lineage.all(), folder)


def check_lineage(lineage, store):
    """The transform of the second level read the version that is the first one's head."""
    event = lineage(24)[(f"{SECOND}.transform", "COMPLETE")]
    first, second = store.dataset("orders-with-cities"), store.dataset("revenue-by-city")
    versions = [
        (part["name"], part["facets"]["version"]["datasetVersion"]) for part in event["inputs"] + event["outputs"]
    ]
    assert versions == [(first.location, first.head()), (second.location, second.head())]
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {
        name: [(i["name"], i["field"], i["transformations"][0]["subtype"]) for i in field["inputFields"]]
        for name, field in fields.items()
    } == {
        "event_time": [(first.location, "ordered_at", "AGGREGATION")],
        "city": [(first.location, "city", "IDENTITY")],
        "revenue": [(first.location, "amount", "AGGREGATION")],
    }


def check_graph(events, folder):
    """All events are valid and form one graph, which is the picture of the documentation."""
    assert [error for event in events for error in schema_errors(event)] == []
    assert faults(events) == []
    assert len(components(events)) == 1
    assert draw(events, [f"{folder}/"]) == (DOCS / "how-to" / "lineage.svg").read_text()
    assert {e["job"]["name"] for e in events if e["eventType"] == "FAIL"} == {
        *("strict-customers", "strict-customers.contract_test"),
        *("by-hand", "by-hand.push", "odf_merge_orders", "odf_merge_orders.merge"),
    }
    states = [e["eventType"] for e in events if e["job"]["name"] == "by-hand.wait"]
    assert states == ["START", "START", "COMPLETE"]
    mapped = [e for e in events if e["job"]["name"] == "by-hand.verify"]
    assert sorted((e["eventType"], Path(e["inputs"][0]["name"]).name) for e in mapped) == [
        *(("COMPLETE", "customers"), ("COMPLETE", "orders")),
        *(("START", "customers"), ("START", "orders")),
    ]
    check_facets(
        next(e for e in events if (e["job"]["name"], e["eventType"]) == ("strict-customers.merge", "COMPLETE"))
    )


def check_facets(event):
    """A merge into a dataset with a contract."""
    (output,) = event["outputs"]
    facets = output["facets"]
    assert facets["ownership"]["owners"] == [{"name": "Sales", "type": "OWNER"}]
    assert facets["documentation"]["description"] == "Customers in one city"
    assert [(t["key"], t["value"], t["source"], t.get("field")) for t in facets["tags"]["tags"]] == [
        ("people", "true", "ODF", None),
        ("crm", "true", "CONTRACT", None),
        ("pii", "true", "CONTRACT", "city"),
        ("classification", "restricted", "CONTRACT", "city"),
    ]
    assert {f["name"]: f["description"] for f in facets["schema"]["fields"] if "description" in f} == {
        "customer_id": "Number of the customer"
    }
    source = event["inputs"][0]["name"]
    assert {
        name: [(i["name"], i["field"], [t["subtype"] for t in i["transformations"]]) for i in field["inputFields"]]
        for name, field in facets["columnLineage"]["fields"].items()
    } == {
        "customer_id": [(source, "customer_id", ["IDENTITY"]), ("crm.public.customers", "id", [])],
        "city": [(source, "city", ["TRANSFORMATION"])],
    }
    statistics = output["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], event["inputs"][0]["inputFacets"]["inputStatistics"]["fileCount"]) == (3, 1)
    assert event["job"]["facets"]["sql"]["query"] == "SELECT customer_id, upper(city) AS city FROM input"
