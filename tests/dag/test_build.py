from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_odf.dag.build import Defaults, build
from airflow_provider_odf.manifest.folder_settings import settings_for
from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: acme/orders
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://user:secret@example.com/orders.csv?key=${{ env.KEY }}
      read:
        kind: Csv
        schema:
          - id BIGINT
          - price DECIMAL(8,2)
      merge:
        kind: Snapshot
        primaryKey: [id]
    - kind: SetInfo
      description: |
        Orders of Acme.

        All of them.
      keywords: [sales]
    - kind: SetLicense
      shortName: CC0
      name: Creative Commons Zero
      websiteUrl: https://creativecommons.org/publicdomain/zero/1.0/
"""


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "orders.yaml").write_text(MANIFEST)
    return load([tmp_path / "orders.yaml"]).manifests[0]


def built(manifest, **defaults):
    defaults.setdefault("store", "/data/odf")
    return build(manifest, settings_for(manifest.file, "acme/orders"), Defaults(**defaults))


def test_tasks_and_their_order(manifest):
    dag = built(manifest)
    assert dag.dag_id == "acme.orders"
    assert [t.task_id for t in dag.topological_sort()] == ["poll", "merge", "publish"]
    assert dag.get_task("publish").upstream_task_ids == {"merge"}


def test_a_contract_beside_the_manifest_is_tested(manifest):
    (manifest.file.parent / "orders.datacontract.yaml").write_text("")
    dag = built(manifest)
    assert [t.task_id for t in dag.topological_sort()] == ["poll", "merge", "contract_test", "publish"]
    assert dag.get_task("publish").upstream_task_ids == {"merge", "contract_test"}


def test_defaults(manifest):
    dag = built(manifest)
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == ("@hourly", False, 1)
    assert dag.start_date == datetime(2024, 1, 1, tzinfo=UTC)
    assert dag.tags == {"odf", "sales"}
    assert dag.description == "Orders of Acme."
    task = dag.get_task("merge")
    assert (task.owner, task.retries, task.retry_delay) == ("odf", 2, timedelta(minutes=1))


def test_folder_settings_count_more_than_the_call(manifest):
    (manifest.file.parent / "odf.yaml").write_text(
        "defaults:\n  retries: 5\n  tags: [team]\n  pool: spark\n  spark_conn_id: cluster\n"
        "datasets:\n  acme/orders:\n    schedule: '@daily'\n    store: /elsewhere\n"
        "    start_date: 2026-05-01T00:00:00Z\n"
    )
    dag = built(manifest, schedule="@weekly", spark_conn_id="other")
    assert dag.schedule == "@daily"
    assert dag.start_date == datetime(2026, 5, 1, tzinfo=UTC)
    assert dag.tags == {"odf", "sales", "team"}
    merge = dag.get_task("merge")
    assert (merge.retries, merge.pool, merge.spark_conn_id, merge.store) == (5, "spark", "cluster", "/elsewhere")


@pytest.mark.parametrize(("written", "schedule"), [("", "@weekly"), ("defaults: {schedule: null}", None)])
def test_schedule_of_the_call(manifest, written, schedule):
    (manifest.file.parent / "odf.yaml").write_text(written)
    assert built(manifest, schedule="@weekly").schedule == schedule


def test_a_source_that_starts_its_dag(manifest):
    (manifest.file.parent / "odf.yaml").write_text("defaults: {schedule: '@change', poke_interval: 5}")
    (asset,) = built(manifest).schedule
    assert asset.name == "acme/orders/source"
    (watcher,) = asset.watchers
    assert watcher.trigger.serialize() == (
        "airflow_provider_odf.triggers.polling_source.PollingSourceTrigger",
        {
            "manifest": str(manifest.file),
            "dataset": "acme/orders",
            "store": "/data/odf",
            "odf_conn_id": "odf_default",
            "contract": None,
            "poke_interval": 5,
            "outage": 3600,
        },
    )


def test_every_dataset_of_a_loader_can_start_on_change(manifest):
    (asset,) = built(manifest, schedule="@change").schedule
    assert asset.watchers[0].trigger.poke_interval == 60


def test_what_airflow_stores_of_a_watched_source_has_no_secrets(manifest):
    from tests.airflow_parts import DagSerialization

    stored = DagSerialization.to_dict(built(manifest, schedule="@change"))["dag"]["timetable"]
    assert "PollingSourceTrigger" in str(stored)
    assert "secret" not in str(stored)
    assert "env.KEY" not in str(stored)


def test_the_asset_is_the_datasets_directory(manifest):
    (asset,) = built(manifest).get_task("publish").outlets
    assert asset.uri == "file:///data/odf/acme/orders"


def test_building_twice_gives_the_same(manifest):
    from tests.airflow_parts import DagSerialization

    first, second = (DagSerialization.to_dict(built(manifest)) for _ in range(2))
    assert first == second
