"""Every file in dags/ is run here, as Airflow runs it."""

import asyncio
import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, ParamValidationError
from pyiceberg.table import StaticTable

from airflow_provider_odf.chain.codec import decode_frame
from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle import decisions
from airflow_provider_odf.cycle.candidates import rejections
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.operators.links import ReportLink
from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger
from tests.airflow_parts import IS_OLD, IS_OLDEST
from tests.lineage_schemas import schema_errors

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.slow,
    # Airflow's own.
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),
]

EXAMPLES = Path(__file__).parents[2] / "dags"
POLLED = ["bike-stations", "city-parks", "coffee-prices", "river-levels", "support-tickets"]
PUSHED = ["parcel-scans"]
TASKS = ("poll", "merge", "publish")
PUSHES = ("push", "merge", "publish")
TESTED = ("poll", "merge", "contract_test", "publish")


def run_task(dags, dag, task):
    """Run a DAG of one task; its state and XCom."""
    (ti,) = dags.dags[dag].test().get_task_instances()
    return str(ti.state), ti.xcom_pull(task_ids=task)


def run(dags, dag_id, conf=None):
    """States of the tasks of one run."""
    dag_run = dags.dags[dag_id].test(run_conf=conf)
    return {ti.task_id: str(ti.state) for ti in dag_run.get_task_instances()}


def execute(dags, dag_id, task_id, context=None, **fields):
    """The XCom of a task in a run of its own, where each has a copy of the task."""
    task = dags.dags[dag_id].get_task(task_id).prepare_for_execution()
    for name, value in fields.items():
        setattr(task, name, value)
    return task.execute(context or {})


def rows(store, name, *columns):
    return [tuple(row[c] for c in columns) for row in tail_rows(store.dataset(name), 100)]


def test_nothing_in_the_folder_is_left_out(dags):
    loaders = {"odf.py", "odf_errors.py"}
    assert {f.name for f in EXAMPLES.glob("*.py")} == {
        *loaders,
        "export_table.py",
        "forward_changes.py",
        "merge_parquet.py",
        "push_records.py",
        "read_on_spark.py",
        "start_on_change.py",
        "watch_health.py",
    }
    by_hand = ["export_table", "forward_changes", "merge_parquet", "push_records", "read_on_spark"]
    by_hand += ["start_on_change", "watch_health"]
    assert sorted(dags.dags) == sorted([*POLLED, *PUSHED, *by_hand])
    manifests = {f.name.partition(".")[0] for f in EXAMPLES.glob("*.yaml")}
    assert manifests == {*POLLED, *PUSHED, "odf"}


@pytest.mark.long
def test_bike_stations_keep_what_changed_between_two_lists(dags, store):
    assert run(dags, "bike-stations") == dict.fromkeys(TESTED, "success")
    assert rows(store, "bike-stations", "offset", "op", "station_id", "docks") == [
        (0, "+A", 1, 24),
        (1, "+A", 2, 18),
        (2, "+A", 3, 12),
        (3, "+A", 4, 40),
        (4, "-C", 1, 24),
        (5, "+C", 1, 30),
        (6, "-R", 3, 12),
        (7, "+A", 5, 36),
    ]
    verify(store.dataset("bike-stations"))


def test_nothing_new_skips_the_run_and_starts_no_jvm(dags, store, one_jvm):
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    started, head = one_jvm.started, store.dataset("river-levels").head()
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "skipped")
    assert (one_jvm.started, store.dataset("river-levels").head()) == (started, head)


@pytest.mark.long
def test_a_consumer_reads_each_record_once(dags, store):
    def forwarded():
        return run_task(dags, "forward_changes", "forward")

    assert forwarded()[0] == "failed"  # there is no dataset yet
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    assert [forwarded(), forwarded()] == [("success", 11), ("success", 0)]
    newer = Path(dags.dag_folder) / "data" / "river-levels" / "2026-05-03.csv"
    newer.write_text("measured_at,station,level_cm,rising\n2026-05-03T00:00:00Z,Weser,181,n\n")
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    assert forwarded() == ("success", 1)


@pytest.mark.skipif(IS_OLDEST, reason="the catalog in SQLite needs SQLAlchemy 2, which Airflow 3.0 does not allow")
def test_a_publication_reaches_the_iceberg_table(dags, store):
    def export():
        return run_task(dags, "export_table", "export")

    assert export()[0] == "failed"  # there is no dataset yet
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    state, made = export()
    (table,) = made.pop("tables")
    assert (state, made) == ("success", {"dataset": "river-levels", "head": store.dataset("river-levels").head()})
    assert (table["name"], table["records"], table["change"]) == ("odf.river_levels", 11, "created")
    levels = StaticTable.from_metadata(table["location"]).scan().to_arrow().sort_by("offset")
    assert levels["level_cm"].to_pylist() == [row["level_cm"] for row in tail_rows(store.dataset("river-levels"), 100)]
    (event,) = outlet_events("river-levels-table")
    assert (event["head"], event["tables"]) == (made["head"], [table])
    assert export()[1]["tables"][0]["change"] == "unchanged"


def outlet_events(name):
    """What the events of an asset say."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session

    with create_session() as session:
        events = session.query(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return [event.extra for event in events.filter(AssetModel.name == name)]


def test_every_block_has_the_manifest_version_of_the_setting(dags, store, one_jvm, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__MANIFEST_VERSION", "2")
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    record = {"event_time": "2026-05-01T17:40:00Z", "parcel": "P-1001", "place": "van 7"}
    assert run(dags, "parcel-scans", {"source": "scanner", "records": [record]}) == dict.fromkeys(PUSHES, "success")
    for name in ("river-levels", "parcel-scans"):
        dataset = store.dataset(name)
        blocks = {h: decode_frame((Path(dataset.location) / "blocks" / h).read_bytes()) for h, _ in dataset.walk()}
        assert {version for version, _ in blocks.values()} == {2}
        schemas = [b.event for _, b in blocks.values() if b.event.kind == "SetDataSchema"]
        assert [(s.schema_, bool(s.raw_arrow_schema)) for s in schemas] == [(None, True)]


def test_the_store_of_a_connection_is_the_same_in_tasks_and_in_commands(dags, tmp_path, monkeypatch, read_again):
    from airflow.models import Connection
    from airflow.utils.session import create_session
    from sqlalchemy import delete

    monkeypatch.delenv("ODF_STORE")
    with create_session() as session:
        session.add(Connection("odf_default", "odf", host=str(tmp_path / "of-connection")))
    try:
        again = read_again(Path(dags.dag_folder))
        (asset,) = again.dags["city-parks"].get_task("publish").outlets
        assert asset.uri == f"file://{tmp_path}/of-connection/city-parks"
        again.dags["city-parks"].test(mark_success_pattern="merge|publish|contract_test")
        assert (tmp_path / "of-connection" / "city-parks" / "refs" / "head").is_file()
    finally:
        with create_session() as session:
            session.execute(delete(Connection))


@pytest.mark.long
def test_a_store_that_is_gone_begins_no_new_history(dags, store, one_jvm, tmp_path):
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")
    head = store.dataset("river-levels").head()
    Path(store.location).rename(tmp_path / "unmounted")
    states = run(dags, "river-levels")
    assert states == {"poll": "failed", "merge": "upstream_failed", "publish": "upstream_failed"}
    assert list(store.datasets()) == []
    shutil.rmtree(Path(store.location), ignore_errors=True)
    (tmp_path / "unmounted").rename(Path(store.location))
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "skipped")
    assert store.dataset("river-levels").head() == head
    shutil.rmtree(Path(store.location))
    store.forget(DatasetAlias.parse("river-levels"))
    assert run(dags, "river-levels") == dict.fromkeys(TASKS, "success")


def test_river_levels_take_each_reading_once(dags, store, one_jvm):
    run(dags, "river-levels")
    assert rows(store, "river-levels", "offset", "op", "event_time", "station", "level_m", "is_rising") == [
        (0, "+A", "2026-05-01T00:00:00Z", "Alder Bridge", 2.12, True),
        (1, "+A", "2026-05-01T00:00:00Z", "Low Weir", 0.87, False),
        (2, "+A", "2026-05-01T06:00:00Z", "Alder Bridge", 2.19, True),
        (3, "+A", "2026-05-01T06:00:00Z", "Low Weir", 0.85, False),
        (4, "+A", "2026-05-01T06:00:00Z", "Ox Ford", 1.4, False),
        (5, "+A", "2026-05-01T12:00:00Z", "Alder Bridge", 2.23, True),
        (6, "+A", "2026-05-01T12:00:00Z", "Low Weir", 0.84, False),
        (7, "+A", "2026-05-01T12:00:00Z", "Ox Ford", 1.38, False),
        (8, "+A", "2026-05-02T00:00:00Z", "Alder Bridge", 2.31, True),
        (9, "+A", "2026-05-02T00:00:00Z", "Low Weir", 0.9, True),
        (10, "+A", "2026-05-02T00:00:00Z", "Ox Ford", None, False),
    ]


@pytest.mark.long
def test_city_parks_keep_what_changed_on_the_map(dags, store, one_jvm):
    assert run(dags, "city-parks") == dict.fromkeys(TASKS, "success")
    file = Path(dags.dag_folder) / "data" / "city-parks.geojson"
    file.write_text(file.read_text().replace("Old Cemetery", "Poplar Garden"))
    os.utime(file, (0, 2_000_000_000))
    run(dags, "city-parks")
    assert rows(store, "city-parks", "offset", "op", "park_id", "name", "has_playground") == [
        (0, "+A", 1, "Mill Meadow", True),
        (1, "+A", 2, "Old Cemetery", False),
        (2, "-C", 2, "Old Cemetery", False),
        (3, "+C", 2, "Poplar Garden", False),
    ]
    ((geometry,), *_) = rows(store, "city-parks", "geometry")
    ring = [[7.5, 47.5], [7.75, 47.5], [7.75, 47.75], [7.5, 47.5]]
    assert json.loads(geometry) == {"type": "Polygon", "coordinates": [ring]}


def test_the_documentation_of_a_dag_has_the_readme_and_the_licence(dags):
    text = dags.dags["city-parks"].doc_md
    assert "### City parks" in text
    assert "| License | [Creative Commons Attribution 4.0 International](https://creativecommons.org/" in text


def test_support_tickets_are_all_kept(dags, store, one_jvm):
    assert run(dags, "support-tickets") == dict.fromkeys(TASKS, "success")
    assert rows(store, "support-tickets", "offset", "event_time", "ticket", "topic", "minutes") == [
        (0, "2026-04-27T09:12:00Z", 9001, "login", 12.5),
        (1, "2026-04-28T14:40:00Z", 9002, "invoice", 55.0),
        (2, "2026-04-30T08:05:30Z", 9003, "login", 7.25),
    ]


@pytest.mark.long
def test_coffee_prices_that_break_the_contract_stay_unpublished(dags, store, one_jvm, monkeypatch):
    assert run(dags, "coffee-prices") == dict.fromkeys(TESTED, "success")
    dataset = store.dataset("coffee-prices")
    head = dataset.head()
    folder = Path(dags.dag_folder) / "data"
    shutil.copy(folder / "arriving" / "coffee-prices" / "2026-05-02.csv", folder / "coffee-prices")

    assert run(dags, "coffee-prices") == {
        "poll": "success",
        "merge": "success",
        "contract_test": "failed",
        "publish": "upstream_failed",
    }
    assert dataset.head() == head
    (rejection,) = rejections(dataset)
    broken = [(r.field, r.failed_rows) for r in rejection.report.results if r.outcome == "fail"]
    assert broken == [("sku", 1), ("origin", 1), ("price", 1)]

    # A rejection stays red until something changes, with a link to the report.
    started = one_jvm.started
    assert run(dags, "coffee-prices") == dict.fromkeys(TESTED, "upstream_failed") | {"poll": "failed"}
    poll = dags.dags["coffee-prices"].get_task("poll").prepare_for_execution()
    with pytest.raises(AirflowFailException, match=r"coffee-prices is still rejected: .*; to inspect it: odf "):
        poll.execute({})
    assert "/odf/reports/coffee-prices/" in ReportLink().get_link(poll, ti_key=SimpleNamespace(dag_id="coffee-prices"))
    monkeypatch.setenv("AIRFLOW__ODF__STILL_REJECTED", "skip")
    assert run(dags, "coffee-prices") == dict.fromkeys(TESTED, "skipped")
    assert one_jvm.started == started

    rows = "C-102,Highland Filter,Ethiopia,24.00\nC-103,Dark Harbour,Colombia,21.90\nC-105,Andes Espresso,Peru,23.10\n"
    (folder / "coffee-prices" / "2026-05-02.csv").write_text(f"sku,title,origin,price\n{rows}")
    assert run(dags, "coffee-prices") == dict.fromkeys(TESTED, "success")
    assert dataset.head() != head
    assert ("C-105", "Peru") in [(row["sku"], row["origin"]) for row in state_rows(dataset)]


@pytest.mark.long
def test_an_empty_input_fails_the_merge_and_the_next_poll_until_somebody_decides(dags, store, one_jvm):
    assert run(dags, "bike-stations")["publish"] == "success"
    folder = Path(dags.dag_folder) / "data" / "bike-stations"
    (folder / "2026-05-15.ndjson").write_text("\n")
    after = {"contract_test": "upstream_failed", "publish": "upstream_failed"}
    assert run(dags, "bike-stations") == {"poll": "success", "merge": "failed"} | after
    assert run(dags, "bike-stations") == {"poll": "failed", "merge": "upstream_failed"} | after
    dataset = store.dataset("bike-stations")
    assert decisions.publish_anyway(store, dataset, decisions.chosen(dataset, None))
    assert run(dags, "bike-stations") == dict.fromkeys(TESTED, "skipped")
    assert list(state_rows(dataset)) == []


def test_a_merge_that_another_writer_overtook_merges_again(dags, store, one_jvm):
    """And a task that is run again after its data was published finds them published."""
    polled = execute(dags, "support-tickets", "poll")
    run(dags, "support-tickets")
    with pytest.raises(AirflowSkipException, match="support-tickets: up to date"):
        execute(dags, "support-tickets", "merge", data=polled)

    dataset = store.dataset("support-tickets")
    folder = Path(dags.dag_folder) / "data" / "support-tickets"
    (folder / "week-19.json").write_text('{"tickets": [{"event_time": "2026-05-04T10:00:00Z", "ticket": 9004}]}')
    candidate = execute(dags, "support-tickets", "merge", data=polled)
    assert (candidate["base"], candidate["offsets"]) == (dataset.head(), {"start": 3, "end": 3})


def test_merge_parquet_takes_what_a_task_wrote(dags, store, one_jvm, lineage):
    assert run(dags, "merge_parquet") == dict.fromkeys(("export", "merge", "publish"), "success")
    check_engines(lineage(6)["merge_parquet.merge", "COMPLETE"], "arrow", version("pyarrow"))
    assert not [e["job"]["name"] for e in lineage.all() if e["job"]["name"].startswith("odf_")]
    assert rows(store, "shop-orders", "offset", "op", "event_time", "order_id", "status", "total") == [
        (0, "+A", "2026-05-01T09:30:00Z", 501, "paid", "19.90"),
        (1, "+A", "2026-05-01T09:30:00Z", 502, "shipped", "240.00"),
        (2, "+A", "2026-05-01T09:30:00Z", 503, "new", "7.50"),
    ]
    assert run(dags, "merge_parquet") == {"export": "success", "merge": "skipped", "publish": "skipped"}


@pytest.mark.long
def test_parcel_scans_take_records_and_files(dags, store, one_jvm, lineage):
    scanned = {"event_time": "2026-05-01T17:40:00Z", "parcel": "P-1001", "place": "van 7"}
    evening = str(Path(dags.dag_folder) / "data" / "arriving" / "parcel-scans" / "2026-05-01.csv")
    assert run(dags, "parcel-scans", {"records": [scanned], "source": "scanner"}) == dict.fromkeys(PUSHES, "success")
    events = lineage(3)
    assert names(events["parcel-scans.push", "COMPLETE"]) == ([], [])
    assert names(events["parcel-scans.merge", "COMPLETE"]) == ([], [("file", f"{store.location}/parcel-scans")])
    assert run(dags, "parcel-scans", {"file": evening, "source": "depot"}) == dict.fromkeys(PUSHES, "success")
    assert run(dags, "parcel-scans", {"records": [scanned], "source": "scanner"}) == dict.fromkeys(PUSHES, "success")
    assert rows(store, "parcel-scans", "event_time", "parcel", "place") == [
        ("2026-05-01T17:40:00Z", "P-1001", "van 7"),
        ("2026-05-01T18:05:00Z", "P-1001", "depot"),
        ("2026-05-01T18:06:00Z", "P-1002", "depot"),
        ("2026-05-01T17:40:00Z", "P-1001", "van 7"),
    ]
    events = lineage(3)
    assert names(events["parcel-scans.push", "COMPLETE"])[0] in ([], [("file", evening)])
    with pytest.raises(ParamValidationError, match="param source: No value passed"):
        run(dags, "parcel-scans", {"file": evening})


def test_a_run_pushes_once_however_often_its_tasks_run(dags, store, one_jvm):
    conf = {"records": [{"parcel": "P-1001"}], "source": "scanner"}
    task = SimpleNamespace(dag_id="parcel-scans", run_id="manual__1", task_id="push", map_index=-1, try_number=1)
    context = {"dag_run": SimpleNamespace(conf=conf), "ti": task, "outlet_events": MagicMock()}
    pushed = execute(dags, "parcel-scans", "push", context)
    candidate = execute(dags, "parcel-scans", "merge", context, data=pushed)
    execute(dags, "parcel-scans", "publish", context, candidate=candidate)
    head = store.dataset("parcel-scans").head()
    for again, fields in (("push", {}), ("merge", {"data": pushed})):
        with pytest.raises(AirflowSkipException, match="the same content was already pushed"):
            execute(dags, "parcel-scans", again, context, **fields)
    execute(dags, "parcel-scans", "publish", context, candidate=candidate)
    assert store.dataset("parcel-scans").head() == head


@pytest.mark.skipif(IS_OLD, reason="dag.test of Airflow 3.1 does not start a task that a new version of its DAG has")
def test_what_is_pushed_is_tested_too(dags, store, one_jvm, read_again):
    folder = Path(dags.dag_folder)
    (folder / "parcel-scans.datacontract.yaml").write_text(
        "dataContractSpecification: 1.2.1\nid: urn:scans\ninfo: {title: Scans, version: 1.0.0}\n"
        "models: {parcel_scans: {fields: {parcel: {type: string, pattern: '^P-'}}}}\n"
    )
    found = read_again(folder)
    tested = ("push", "merge", "contract_test", "publish")
    good, bad = ({"records": [{"parcel": parcel}], "source": "scanner"} for parcel in ("P-1", "Q-1"))
    assert run(found, "parcel-scans", good) == dict.fromkeys(tested, "success")
    states = {"push": "success", "merge": "success", "contract_test": "failed", "publish": "upstream_failed"}
    assert run(found, "parcel-scans", bad) == states
    assert rows(store, "parcel-scans", "parcel") == [("P-1",)]


def test_push_records_upserts_what_a_task_returned(dags, store, one_jvm):
    assert run(dags, "push_records") == dict.fromkeys(("quotes", *PUSHES), "success")
    assert rows(store, "exchange-rates", "op", "event_time", "currency", "rate") == [
        ("+A", "2026-05-01T14:15:00Z", "CHF", "0.9512"),
        ("+A", "2026-05-01T14:15:00Z", "USD", "1.0845"),
    ]
    again = run(dags, "push_records")
    assert again == {"quotes": "success", "push": "success", "merge": "skipped", "publish": "skipped"}


def test_read_on_spark_hands_typed_parquet_on(dags, store, one_jvm):
    assert run(dags, "read_on_spark") == dict.fromkeys(TASKS, "success")
    assert rows(store, "water-temperatures", "offset", "event_time", "lake", "celsius") == [
        (0, "2026-05-01T00:00:00Z", "Heron Lake", 11.4),
        (1, "2026-05-01T00:00:00Z", "Long Pond", 12.9),
        (2, "2026-05-02T00:00:00Z", "Heron Lake", 11.9),
        (3, "2026-05-03T00:00:00Z", "Heron Lake", 12.1),
        (4, "2026-05-03T00:00:00Z", "Long Pond", 13.4),
    ]


def test_an_asset_event_says_what_was_published(dags, store, one_jvm):
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    run(dags, "support-tickets")
    with create_session() as session:
        query = select(AssetEvent.extra).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        (extra,) = session.scalars(query.where(AssetModel.uri == f"{store.uri}/support-tickets")).all()
    assert extra == {
        "blockHash": store.dataset("support-tickets").head(),
        "offsets": {"start": 0, "end": 2},
        "records": 3,
        "watermark": "2026-04-30T08:05:30Z",
        "changes": "3 rows added",
        "link": f"/odf/datasets/support-tickets/blocks/{store.dataset('support-tickets').head()}",
    }


def test_lineage_of_a_cycle_that_publishes_and_one_that_is_rejected(
    dags, store, one_jvm, lineage, tmp_path, monkeypatch
):
    datahub = tmp_path / "datahub"
    datahub.mkdir()
    monkeypatch.setenv("AIRFLOW__ODF__DATAHUB_FILE", str(datahub))
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.org/af")
    monkeypatch.setenv("AIRFLOW__ODF__SPARK", "always")
    run(dags, "coffee-prices", {"openlineage": OUTER})
    assert roots(lineage.all()) == {("night", "nightly.trigger", OUTER["parentRunId"])}
    folder = Path(dags.dag_folder) / "data"
    events = lineage(8)
    name = ("file", f"{store.location}/coffee-prices")
    source = ("file", f"{folder}/coffee-prices")
    head = store.dataset("coffee-prices").head()
    before = events["coffee-prices.contract_test", "COMPLETE"]["run"]["runId"]
    check_engines(events["coffee-prices.merge", "COMPLETE"], "spark", version("pyspark"))
    assert "odf_engine" not in events["coffee-prices.publish", "COMPLETE"]["run"]["facets"]
    assert {key: names(event) for key, event in events.items() if key[1] == "COMPLETE"} == {
        ("coffee-prices.poll", "COMPLETE"): ([source], []),
        ("coffee-prices.merge", "COMPLETE"): ([source], [name]),
        ("coffee-prices.contract_test", "COMPLETE"): ([name], []),
        ("coffee-prices.publish", "COMPLETE"): ([], [name]),
    }
    (published,) = events["coffee-prices.publish", "COMPLETE"]["outputs"]
    assert published["facets"]["version"]["datasetVersion"] == head
    assert published["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    assert published["outputFacets"]["outputStatistics"]["rowCount"] == 4
    assert [f["name"] for f in published["facets"]["schema"]["fields"]] == [
        *("offset", "op", "system_time", "event_time"),
        *("sku", "title", "origin", "price"),
    ]

    shutil.copy(folder / "arriving" / "coffee-prices" / "2026-05-02.csv", folder / "coffee-prices")
    first = len(lineage.all())
    run(dags, "coffee-prices", {"openlineage": {**OUTER, **OUTERMOST}})
    assert roots(lineage.all(first, dag="coffee-prices")) == {("night", "nightly", OUTERMOST["rootParentRunId"])}
    check_parents(lineage.all(first, dag="coffee-prices"))
    events = lineage(9)
    (tested,) = events["coffee-prices.contract_test", "FAIL"]["inputs"]
    assert tested["facets"]["version"]["datasetVersion"] != head
    failed = [a for a in tested["inputFacets"]["dataQualityAssertions"]["assertions"] if not a["success"]]
    assert [a["column"] for a in failed] == ["sku", "origin", "price"]

    # DataHub gets the same results, under the run ids and the dataset's name of these events.
    after = events["coffee-prices.contract_test", "FAIL"]["run"]["runId"]
    urn = f"urn:li:dataset:(urn:li:dataPlatform:file,{store.location}/coffee-prices,PROD)"
    assert sorted(results_in(datahub)) == sorted(
        [(before, urn, head, "SUCCESS"), (after, urn, tested["facets"]["version"]["datasetVersion"], "FAILURE")]
    )


OUTER = {
    "parentRunId": "01941f29-7c00-7087-8906-40e512c257bd",
    "parentJobNamespace": "night",
    "parentJobName": "nightly.trigger",
}
OUTERMOST = {
    "rootParentRunId": "01941f29-7c00-743e-b109-28b18d0a19c5",
    "rootParentJobNamespace": "night",
    "rootParentJobName": "nightly",
}
"""The run of an outer orchestrator, and the one above all, as it passes them in the conf of a DAG run."""


def roots(events):
    """The roots of the runs of tasks, Spark applications and their actions."""
    events = [event for event in events if event["job"]["facets"]["jobType"]["jobType"] != "DAG"]
    assert {e["job"]["name"] for e in events} >= {"odf_merge_coffee_prices", "odf_merge_coffee_prices.merge"}
    found = (event["run"]["facets"]["parent"]["root"] for event in events)
    return {(root["job"]["namespace"], root["job"]["name"], root["run"]["runId"]) for root in found}


def check_parents(events):
    """The outer run is the parent of the DAG run, a task that of its application."""
    parents = {e["job"]["name"]: e["run"]["facets"]["parent"]["job"]["name"] for e in events}
    assert parents["odf_merge_coffee_prices"] == "coffee-prices.merge"
    assert parents["odf_merge_coffee_prices.merge"] == "odf_merge_coffee_prices"
    assert parents["coffee-prices.merge"] == "coffee-prices"
    assert parents["coffee-prices"] == "nightly.trigger"


def check_engines(event, name, number):
    """A task's run names what worked on its rows. Its processing engine is Airflow's to set, after all operators."""
    facets = event["run"]["facets"]
    assert schema_errors(event) == []
    assert (facets["odf_engine"]["name"], facets["odf_engine"]["version"]) == (name, number)
    assert facets["processing_engine"]["name"] == "Airflow"


def results_in(folder):
    """The run id, the dataset, the block and the worst result of each file; each event links to its report."""
    for file in folder.iterdir():
        aspects = [p["aspect"]["json"] for p in json.loads(file.read_text()) if p["aspectName"] == "assertionRunEvent"]
        assert all(a["result"]["externalUrl"].startswith("https://airflow.example.org/af/odf/rep") for a in aspects)
        (found,) = {(a["runId"], a["asserteeUrn"], a["batchSpec"]["nativeBatchId"]) for a in aspects}
        yield *found, min(a["result"]["type"] for a in aspects)


def names(event):
    return tuple([(d["namespace"], d["name"]) for d in event[side]] for side in ("inputs", "outputs"))


WAITING = '''
"""A DAG that waits for new prices before it polls them."""
from pathlib import Path
from airflow.sdk import DAG
from airflow_provider_odf import PollingSourceOperator, PollingSourceSensor

manifest = str(Path(__file__).parent / "coffee-prices.yaml")
with DAG("waiting", schedule=None):
    wait = PollingSourceSensor(task_id="wait", manifest=manifest, deferrable=True, poke_interval=0.2)
    wait >> PollingSourceOperator(task_id="poll", manifest=manifest)
'''


def test_a_deferred_sensor_is_woken_by_a_new_file(dags, store, one_jvm, read_again, monkeypatch):
    folder = Path(dags.dag_folder)
    run(dags, "coffee-prices")
    (folder / "waiting.py").write_text(WAITING)
    answers = []
    check = PollingSourceTrigger._check

    async def check_and_add_a_file(trigger, client):
        answers.append(await check(trigger, client))
        if len(answers) == 2:  # the sensor has asked and deferred, the trigger has asked once
            (folder / "data" / "coffee-prices" / "2026-05-03.csv").write_text("sku,title,origin,price\n")
        return answers[-1]

    monkeypatch.setattr(PollingSourceTrigger, "_check", check_and_add_a_file)
    assert run(read_again(folder), "waiting") == {"wait": "success", "poll": "success"}
    assert [answer is not None for answer in answers] == [False, False, True]


@pytest.mark.parametrize(
    ("dag_id", "name"), [("start_on_change", "visitor-counts"), ("coffee-prices", "coffee-prices")]
)
def test_a_file_that_arrives_starts_a_run(dags, store, one_jvm, read_again, dag_id, name):
    folder = Path(dags.dag_folder)
    settings = folder / "odf.yaml"
    settings.write_text(f"{settings.read_text()}  coffee-prices: {{schedule: '@change', poke_interval: 1}}\n")
    assert set(run(read_again(folder), dag_id).values()) == {"success"}
    trigger = watcher_of(read_again, folder, dag_id, f"{name}/source")

    async def fire():
        events = trigger.run()
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(1.5)
        assert not waiting.done()
        header, row = (folder / "data" / name / "2026-05-01.csv").read_text().splitlines()[:2]
        (folder / "data" / name / "2026-05-09.csv").write_text(f"{header}\n{row}\n")
        return await asyncio.wait_for(waiting, 20)

    event = asyncio.run(fire())
    assert queued(trigger, event) == [dag_id]
    assert set(run(dags, dag_id).values()) == {"success"}


def watcher_of(read_again, folder, dag_id, asset):
    """The trigger that Airflow gives to its triggerer for a DAG that is not paused."""
    from airflow.models.asset import AssetModel
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from sqlalchemy import select, update

    from tests.airflow_parts import smart_decode_trigger_kwargs

    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(is_paused=False))
    read_again(folder)
    with create_session() as session:
        (row,) = session.scalar(select(AssetModel).where(AssetModel.name == asset)).triggers
        assert row.classpath == f"{PollingSourceTrigger.__module__}.PollingSourceTrigger"
        given = {name: smart_decode_trigger_kwargs(value) for name, value in row.kwargs.items()}
        trigger = PollingSourceTrigger(**given | {"poke_interval": 0.2})
        trigger.trigger_id = row.id
    return trigger


def queued(trigger, event):
    """The DAGs that Airflow starts for an event of a trigger."""
    from airflow.models.asset import AssetDagRunQueue
    from airflow.models.trigger import Trigger
    from airflow.utils.session import create_session
    from sqlalchemy import delete, select

    with create_session() as session:
        session.execute(delete(AssetDagRunQueue))
    Trigger.submit_event(trigger.trigger_id, event)
    with create_session() as session:
        return list(session.scalars(select(AssetDagRunQueue.target_dag_id)))


@pytest.mark.skipif(IS_OLDEST, reason="Airflow 3.0 keeps the whole path of a file with an import error")
def test_airflow_shows_a_bad_manifest_and_hides_no_dag(dags, store):
    from airflow.models.dag import DagModel
    from airflow.models.errors import ParseImportError
    from airflow.utils.session import create_session
    from sqlalchemy import select

    from tests.airflow_parts import read_bag, sync_bag_to_db

    folder = Path(dags.dag_folder)
    bad = folder / "support-tickets.yaml"
    bad.write_text(bad.read_text().replace("kind: Append", "kind: Apend"))
    bag = read_bag(dag_folder=folder, bundle_path=folder)
    sync_bag_to_db(bag, "dags-folder", None)
    with create_session() as session:
        errors = session.execute(select(ParseImportError.filename, ParseImportError.stacktrace)).all()
        shown = session.scalars(select(DagModel.dag_id).where(~DagModel.is_stale, ~DagModel.has_import_errors)).all()
    ((file, message),) = errors
    assert file == "odf_errors.py"
    assert f"{bad}:21:15: " in message
    assert {"bike-stations", "coffee-prices", "river-levels", "merge_parquet", "read_on_spark"} <= set(shown)
    bad.unlink()
    sync_bag_to_db(read_bag(dag_folder=folder, bundle_path=folder), "dags-folder", None)
