"""DAGs of derivatives: tasks, the assets that schedule them, and their documentation."""

from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import AssetAny

from airflow_provider_odf import build_dags
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest.names import DatasetId
from tests.manifests import derived, pushed

SQL = "\n        kind: Sql\n        engine: spark\n        query: SELECT event_time, id FROM x"


def root(folder: Path, name: str) -> None:
    (folder / f"{name.replace('/', '.')}.yaml").write_text(pushed(name, "{kind: NdJson}"))


def derivative(folder: Path, name: str, *inputs: str) -> None:
    refs = ", ".join(f"{{datasetRef: '{ref}'}}" for ref in inputs)
    (folder / f"{name.replace('/', '.')}.yaml").write_text(derived(name, refs, SQL))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dags").mkdir()
    return tmp_path / "dags"


@pytest.fixture
def built(folder, tmp_path):
    def build():
        return build_dags(folder, store=str(tmp_path / "store"), schedule="@daily")

    return build


def wakes(dag, store):
    """The datasets whose events start a DAG, each by itself."""
    assets = dag.schedule.objects if isinstance(dag.schedule, AssetAny) else dag.schedule
    assert isinstance(dag.schedule, AssetAny) == (len(assets) > 1)
    return [asset.uri.removeprefix(f"{store.as_uri()}/") for asset in assets]


def assert_watched(dag, *elsewhere, own=(), poke_interval=60):
    """The assets of inputs start a DAG; one trigger watches those that lie in other stores."""
    *assets, watched = dag.schedule.objects
    assert [asset.uri for asset in assets] == [*elsewhere, *own]
    assert not any(asset.watchers for asset in assets)
    assert (watched.name, watched.group) == (f"{dag.dag_id}/inputs", "odf-source")
    (watcher,) = watched.watchers
    assert (watcher.trigger.inputs, watcher.trigger.poke_interval) == (list(elsewhere), poke_interval)
    assert (watcher.trigger.dataset, watcher.trigger.odf_conn_id) == (dag.dag_id, "odf_default")


def test_tasks_and_schedules_over_two_levels(folder, built, tmp_path):
    for name in ("com.acme.Orders", "acme/parts", "weather"):
        root(folder, name)
    (folder / "deeper").mkdir()
    derivative(folder / "deeper", "first", "com.acme.orders", "acme/parts")
    derivative(folder, "second", "first", "weather")
    derivative(folder, "third", "first")
    dags, store = built(), tmp_path / "store"
    assert wakes(dags["first"], store) == ["com.acme.Orders", "acme/parts"]
    assert wakes(dags["second"], store) == ["first", "weather"]
    assert wakes(dags["third"], store) == ["first"]
    for name in ("first", "second", "third"):
        assert [task.task_id for task in dags[name].topological_sort()] == ["transform", "publish"]
        assert (dags[name].max_active_runs, dags[name].catchup, dags[name].tags) == (1, False, {"odf"})
    for name, reader in (("com.acme.Orders", "first"), ("acme.parts", "first"), ("first", "third")):
        published = {asset.uri for asset in dags[name].get_task("publish").outlets}
        schedule = dags[reader].schedule
        assert published < {a.uri for a in getattr(schedule, "objects", schedule)} | {None}
    assert {a.uri for a in dags["first"].get_task("transform").inlets} == {f"{store.as_uri()}/first"}


def test_a_contract_is_tested_between_transform_and_publish(folder, built):
    root(folder, "orders")
    derivative(folder, "report", "orders")
    (folder / "report.datacontract.yaml").write_text("")
    dag = built()["report"]
    assert [task.task_id for task in dag.topological_sort()] == ["transform", "contract_test", "publish"]
    assert dag.get_task("publish").upstream_task_ids == {"transform", "contract_test"}
    assert dag.get_task("contract_test").upstream_task_ids == {"transform"}


def test_an_input_of_another_folder_is_spelled_as_the_store_has_it(folder, built, tmp_path, chain):
    chain("Acme.Orders")
    derivative(folder, "report", "acme.orders")
    dag = built()["report"]
    assert wakes(dag, tmp_path / "store") == ["Acme.Orders"]
    assert dag.tags == {"odf"}


def test_an_input_by_id(folder, built, tmp_path, chain):
    derivative(folder, "report", chain("Acme.Orders"), chain("acme/parts"))
    assert wakes(built()["report"], tmp_path / "store") == ["Acme.Orders", "acme/parts"]


def test_inputs_by_their_location(folder, built, tmp_path, chain):
    store, partner = tmp_path / "store", tmp_path / "partner"
    chain("acme/parts")
    chain("weather", partner)
    root(folder, "Orders")
    derivative(folder, "report", *(f"{store.as_uri()}/{name}" for name in ("orders", "acme/Parts", "later")))
    derivative(folder, "forecast", f"{partner.as_uri()}/weather/", f"{partner.as_uri()}/nothing")
    dags = built()
    assert wakes(dags["report"], store) == ["Orders", "acme/parts", "later"]
    assert_watched(dags["forecast"], f"{partner.as_uri()}/weather", f"{partner.as_uri()}/nothing")
    missing = f"there is no dataset at {partner.as_uri()}/nothing (mount its store, or correct the location)"
    assert missing in dags["forecast"].doc_md
    assert f"there is no dataset at {partner.as_uri()}/weather" not in dags["forecast"].doc_md
    assert f"there is no dataset at {store.as_uri()}/later" in dags["report"].doc_md
    assert f"there is no dataset at {store.as_uri()}/orders" not in dags["report"].doc_md


def test_inputs_in_remote_stores_are_not_asked_for(folder, built):
    """A loader waits for no server: here nobody listens."""
    refs = ("s3://Lake/odf/orders/", "https://LOCALHOST:1/odf/weather")
    derivative(folder, "report", *refs)
    (folder / "odf.yaml").write_text("defaults: {poke_interval: 5}")
    dag = built()["report"]
    assert_watched(dag, "s3://Lake/odf/orders", "https://localhost:1/odf/weather", poke_interval=5)
    assert dag.tags == {"odf"}


def test_an_input_by_id_in_another_store(folder, built, tmp_path, chain, monkeypatch):
    partner = tmp_path / "partner"
    monkeypatch.setenv("AIRFLOW__ODF__INPUT_STORES", f"{tmp_path}/nothing, {partner}")
    derivative(folder, "report", chain("Weather", partner), chain("orders"))
    dag = built()["report"]
    assert_watched(dag, f"{partner.as_uri()}/Weather", own=[f"{tmp_path.as_uri()}/store/orders"])
    assert dag.tags == {"odf"}


def test_an_unknown_input_is_a_warning(folder, built, tmp_path, caplog):
    root(folder, "orders")
    unknown = str(DatasetId(b"\1" * 32))
    derivative(folder, "report", "order", "orders", unknown)
    derivative(folder, "lonely", unknown)
    dags = built()
    warning = "report.yaml:8:29: input order is neither in these manifests nor in the store (did you mean `orders`?)"
    assert f"{folder}/{warning}" in dags["report"].doc_md
    assert f"input {unknown} is neither in these manifests nor in the store" in dags["report"].doc_md
    assert dags["report"].tags == {"odf", "warning"}
    assert wakes(dags["report"], tmp_path / "store") == ["order", "orders"]
    assert dags["lonely"].schedule is None


def test_derivatives_that_name_each_other_show_their_circle(folder, built):
    derivative(folder, "a", "b")
    derivative(folder, "b", "a")
    derivative(folder, "report", "a")
    dags = built()
    assert {name: "invalid manifest" in dag.tags for name, dag in dags.items()} == {
        "a": True, "b": True, "report": False
    }  # fmt: skip
    for name in ("a", "b"):
        message = f"{folder}/{name}.yaml:8:29: dataset {name} reads itself through others: "
        assert message in dags[name].doc_md
        with pytest.raises(AirflowFailException, match="reads itself through others"):
            dags[name].get_task("validate").execute({})


def test_an_input_whose_manifest_is_not_valid_is_no_unknown_one(folder, built):
    root(folder, "orders")
    (folder / "orders.yaml").write_text((folder / "orders.yaml").read_text().replace("NdJson", "NoJson"))
    derivative(folder, "report", "orders")
    assert built()["report"].tags == {"odf"}


def test_for_a_task_nothing_is_said_about_inputs_in_other_files(folder, built, monkeypatch, caplog):
    root(folder, "orders")
    derivative(folder, "report", "orders")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "report")
    assert list(built()) == ["report"]
    assert "orders" not in caplog.text


def test_a_store_that_cannot_be_read_hides_no_dag(folder, tmp_path):
    derivative(folder, "report", "orders", str(DatasetId(b"\1" * 32)))
    (asset,) = build_dags(folder, store="s3://bucket/store")["report"].schedule
    assert asset.uri == "s3://bucket/store/orders"


def test_a_schedule_in_odf_yaml_is_not_used(folder, built, tmp_path):
    root(folder, "orders")
    derivative(folder, "report", "orders")
    (folder / "odf.yaml").write_text("defaults: {schedule: '@weekly'}\ndatasets: {report: {schedule: '@hourly'}}\n")
    dag = built()["report"]
    assert wakes(dag, tmp_path / "store") == ["orders"]
    assert (
        f"{folder}/odf.yaml:2:21: `schedule` is not used: the inputs of the derivative report schedule it" in dag.doc_md
    )


def test_the_documentation_shows_inputs_and_queries(folder, built):
    root(folder, "orders")
    root(folder, "parts")
    (folder / "report.yaml").write_text(
        derived("report", "{datasetRef: orders, alias: o|o}, {datasetRef: parts}", SQL)
        .replace("engine: spark", "engine: flink\n        temporalTables: [{name: parts, primaryKey: [a, b]}]")
        .replace(
            "query: SELECT event_time, id FROM x",
            "queries: [{alias: step`1, query: \"select '```'\\nfrom o\"}, {query: 'select <b>1</b> /* ![x](y) */'}]",
        )
    )
    assert built()["report"].doc_md == (
        "## report\n\n"
        "| Kind | Derivative dataset |\n|---|---|\n"
        "| Input | `orders` as `o\\|o` |\n"
        "| Input | `parts` |\n"
        "| Engine | flink |\n"
        "| Temporal table | `parts` by `a`, `b` |\n"
        "| Manifest | `report.yaml` |\n"
        f"| Stored at | `{(folder.parent / 'store').as_uri()}/report` |\n"
        "| Pages | [Dataset](/odf/datasets/report), [Data](/odf/datasets/report/data), "
        "[Blocks](/odf/datasets/report/blocks), [Contract](/odf/datasets/report/contract), "
        "[Rejected](/odf/datasets/report/rejected) |\n\n"
        "**Query `` step`1 ``**\n\n"
        "````\nselect '```'\nfrom o\n````\n\n"
        "**Query**\n\n"
        "```\nselect <b>1</b> /* ![x](y) */\n```\n"
    )


@pytest.fixture
def chain(tmp_path):
    """Makes a dataset without data and returns its id."""
    from airflow_provider_odf.chain.commit import Draft
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest import model
    from airflow_provider_odf.manifest.names import DatasetAlias

    def make(name, folder=tmp_path / "store"):
        store = Store.open(folder)
        dataset = store.create(DatasetAlias.parse(name))
        seed = model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root")
        draft = Draft(dataset, None)
        draft.append(seed, Instant.parse("2024-05-02T08:00:00Z"))
        dataset.storage.compare_and_set_ref("head", None, draft.state.head)
        store.registry.remember(dataset.alias, seed.dataset_id)
        return seed.dataset_id

    return make
