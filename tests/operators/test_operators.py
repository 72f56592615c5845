"""What the operators say without Spark; what they do with it is in tests/examples."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from pyiceberg.catalog import load_catalog

from airflow_provider_odf import (
    ContractTestOperator,
    ExportTableOperator,
    MergeOperator,
    PollingSourceOperator,
    PublishOperator,
    TransformOperator,
    VerifyOperator,
)
from airflow_provider_odf.chain.codec import decode_frame
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId
from tests.airflow_parts import IS_OLDEST
from tests.chain.conftest import Growing
from tests.cycle import derivatives
from tests.manifests import appending

TABLE = ("form", "table", "folder", "catalog", "catalog_properties")
APPEND, ID = model.MergeStrategyAppend(), pa.field("id", pa.int64())


@pytest.fixture
def where(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "two.yaml").write_text(appending("one") + "---\n" + appending("two"))
    return {"manifest": str(tmp_path / "two.yaml"), "store": str(tmp_path / "store")}


def test_a_poll_makes_the_dataset_and_hands_its_input_on(where, tmp_path):
    (tmp_path / "in" / "1.csv").write_text("1\n")
    found = PollingSourceOperator(task_id="poll", dataset="two", **where).execute({})
    state = replay(Store.open(where["store"]).dataset("two"))
    assert (found["dataset"], found["base"], found["hasMore"]) == ("two", state.head, False)
    (file,) = found["files"]
    assert (file["label"], file["state"]) == ("in/1.csv", {"kind": "odf/etag", "value": "1.csv"})
    assert not (tmp_path / "store" / "one").exists()


DECLARED = """\
    - kind: SetDataSchema
      schema:
        fields:
          - {name: offset, type: {kind: Int64}}
          - {name: op, type: {kind: Int32}}
          - {name: system_time, type: {kind: Timestamp}}
          - {name: event_time, type: {kind: Timestamp}}
          - {name: id, type: {kind: Option, inner: {kind: Int64}}}
"""


def test_metadata_have_the_manifest_version_of_the_setting(where, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ODF__MANIFEST_VERSION", "2")
    (tmp_path / "two.yaml").write_text(appending("two") + DECLARED)
    for _ in range(2):
        with pytest.raises(AirflowFailException, match="no file matches"):
            PollingSourceOperator(task_id="poll", **where).execute({})
    dataset = Store.open(where["store"]).dataset("two")
    blocks = [
        decode_frame((Path(dataset.location) / "blocks" / block_hash).read_bytes()) for block_hash, _ in dataset.walk()
    ]
    assert [(version, block.event.kind) for version, block in blocks] == [
        (2, "SetDataSchema"),
        (2, "SetPollingSource"),
        (2, "Seed"),
    ]
    assert blocks[0][1].event.schema_ is None


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'schema: ["id BIGINT"]',
            "schema: {fields: [{name: id, type: {kind: Option, inner: {kind: Int64}}}]}",
            "write the columns as `name TYPE`",
        ),
        ("inner: {kind: Int64}}}", "inner: {kind: Int64}}, extra: {a.b: c}}", "attributes need manifest version 3"),
    ],
)
def test_what_version_2_has_no_place_for_is_refused(where, tmp_path, monkeypatch, before, after, message):
    monkeypatch.setenv("AIRFLOW__ODF__MANIFEST_VERSION", "2")
    (tmp_path / "two.yaml").write_text((appending("two") + DECLARED).replace(before, after))
    with pytest.raises(AirflowFailException, match=message):
        PollingSourceOperator(task_id="poll", **where).execute({})
    assert Store.open(where["store"]).get("two") is None


def test_a_file_of_several_datasets_needs_a_name(where):
    with pytest.raises(AirflowFailException, match="several datasets; name one of them: one, two"):
        PollingSourceOperator(task_id="poll", **where).execute({})


def test_nothing_new_skips(where, tmp_path):
    text = appending("pushed")
    steps = "    - kind: AddPushSource\n      sourceName: a\n      read: {kind: Parquet}\n      merge: {kind: Append}\n"
    (tmp_path / "pushed.yaml").write_text(text[: text.index("    - kind")] + steps)
    where["manifest"] = str(tmp_path / "pushed.yaml")
    with pytest.raises(AirflowSkipException, match="no polling source"):
        PollingSourceOperator(task_id="poll", **where).execute({})


def test_a_manifest_that_is_not_valid_says_where(where, tmp_path):
    (tmp_path / "two.yaml").write_text(appending("one").replace("path:", "pth:"))
    with pytest.raises(AirflowFailException, match=r"two.yaml:10:9: unknown key `pth`"):
        PollingSourceOperator(task_id="poll", **where).execute({})


def test_files_need_a_dataset():
    with pytest.raises(AirflowFailException, match="needs dataset= or manifest="):
        MergeOperator(task_id="merge", data="/tmp/x.parquet", store="/nowhere").execute({})


def test_a_test_needs_a_contract(where):
    candidate = {"dataset": "two", "base": "a", "candidate": "b", "ref": "candidate-0", "records": 1}
    operator = ContractTestOperator(task_id="contract_test", dataset="two", candidate=candidate, **where)
    with pytest.raises(AirflowFailException, match="two has no data contract: add one next to the manifest"):
        operator.execute({})


def test_publishing_what_is_not_there_says_so(where):
    candidate = {"dataset": "two", "base": "a", "candidate": "b", "ref": "candidate-0"}
    with pytest.raises(AirflowFailException, match="no dataset two in"):
        PublishOperator(task_id="publish", candidate=candidate, store=where["store"]).execute({})


@pytest.fixture
def derived(tmp_path):
    """A derivative whose only input was never ingested."""
    store = Store.open(tmp_path / "derived")
    root = store.create(DatasetAlias.parse("orders"))
    derivatives.commit(root, None, model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root"))
    derivatives.derivative(store, root)
    return str(tmp_path / "derived")


def test_a_transform_without_new_records_skips_and_starts_no_jvm(derived):
    head = Store.open(derived).dataset("report").head()
    transform = TransformOperator(task_id="transform", dataset="report", store=derived)
    with pytest.raises(AirflowSkipException, match="report: up to date: input orders has no data yet"):
        transform.execute({})
    assert Store.open(derived).dataset("report").head() == head
    assert transform.task_lineage() is None


def test_a_transform_whose_input_is_missing_says_so(derived):
    shutil.rmtree(Path(derived, "orders"))
    with pytest.raises(AirflowFailException, match=r"the input did:odf:\w+ as orders is not in"):
        TransformOperator(task_id="transform", dataset="report", store=derived).execute({})


@pytest.mark.parametrize("replay", [True, False])
def test_verifying_counts_what_is_intact(derived, replay):
    dataset = Store.open(derived).dataset("orders")
    verify = VerifyOperator(task_id="verify", dataset="orders", store=derived, replay=replay)
    numbers = {"blocks": 1, "slices": 0, "records": 0} | ({"transformations": 0} if replay else {})
    assert verify.execute({}) == {"dataset": "orders", "head": dataset.head(), **numbers}
    (read,) = verify.task_lineage().inputs
    assert (read.name, read.facets["version"].datasetVersion) == (dataset.location, dataset.head())


@pytest.fixture
def slices(tmp_path):
    """A dataset of two slices."""
    growing = Growing(Store.open(tmp_path / "store").create(DatasetAlias.parse("ids")), APPEND, [ID])
    for number in range(2):
        growing.add(("+A", number))
    return growing


def test_verifying_again_begins_after_the_verified_head(slices, tmp_path, capsys):
    verify = VerifyOperator(task_id="verify", dataset="ids", store=str(tmp_path / "store"), only_new=True)
    assert verify.execute({})["blocks"] == 5
    head = slices.dataset.head()
    slices.add(("+A", 2), ("+A", 3))
    made = verify.execute({})
    numbers = {"blocks": 1, "slices": 1, "records": 2, "transformations": 0}
    assert made == {"dataset": "ids", "head": slices.dataset.head(), "verifiedBefore": head, **numbers}
    assert f"5 blocks up to {head[:13]} were verified at 2" in capsys.readouterr().out


@pytest.mark.spark
def test_verifying_in_tasks_of_spark(slices, tmp_path):
    verify = VerifyOperator(task_id="verify", dataset="ids", store=str(tmp_path / "store"), spark="always")
    assert verify.execute({})["slices"] == 2
    file = next(Path(slices.dataset.location, "data").iterdir())
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(AirflowFailException, match=f"{file}: checksum mismatch: .* the file is damaged: restore it"):
        verify.execute({})


def test_verifying_a_damaged_dataset_fails_without_retries(derived):
    dataset = Store.open(derived).dataset("orders")
    block = Path(dataset.location, "blocks", dataset.head())
    block.write_bytes(block.read_bytes()[:-1] + b"!")
    with pytest.raises(AirflowFailException, match=f"{block}: checksum mismatch"):
        VerifyOperator(task_id="verify", dataset="orders", store=derived).execute({})


@pytest.mark.skipif(IS_OLDEST, reason="a catalog of type sql needs SQLAlchemy 2, which Airflow 3.0 does not allow")
def test_a_table_goes_to_the_catalog_of_the_properties(tmp_path):
    dataset = Growing(Store.open(tmp_path / "store").create(DatasetAlias.parse("acme/a-b")), APPEND, [ID])
    dataset.add(("+A", 7))
    lake = {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/lake"}
    export = ExportTableOperator(
        task_id="export", dataset="acme/a-b", store=str(tmp_path / "store"), form="iceberg", catalog_properties=lake
    )
    made = export.execute({})
    assert [(table["name"], table["records"]) for table in made["tables"]] == [("acme.a_b", 1)]
    with load_catalog("odf", **lake) as catalog:
        assert catalog.load_table("acme.a_b").scan().to_arrow()["id"].to_pylist() == [7]
    (read,) = export.task_lineage().inputs
    assert read.facets["version"].datasetVersion == made["head"]


def test_a_table_without_columns_says_so(derived):
    export = ExportTableOperator(task_id="export", dataset="orders", store=derived, form="delta")
    with pytest.raises(AirflowFailException, match="dataset orders has no columns yet: run it first"):
        export.execute({})


@pytest.mark.parametrize(
    ("operator", "fields"),
    [
        (PollingSourceOperator, ("dataset", "manifest", "store", "contract")),
        (MergeOperator, ("dataset", "manifest", "store", "contract", "data", "source_name")),
        (ContractTestOperator, ("dataset", "manifest", "store", "contract", "candidate", "source_name")),
        (TransformOperator, ("dataset", "manifest", "store", "contract")),
        (VerifyOperator, ("dataset", "manifest", "store", "contract")),
        (PublishOperator, ("dataset", "manifest", "store", "contract", "candidate")),
        (ExportTableOperator, ("dataset", "manifest", "store", "contract", *TABLE)),
    ],
)
def test_templated_fields(operator, fields):
    assert operator.template_fields == fields


class Said:
    """A task instance that keeps its XComs."""

    def __init__(self):
        self.xcoms = {}

    def xcom_push(self, key, value):
        self.xcoms[key] = value


def test_what_a_task_said_is_an_xcom_for_the_pages(where, tmp_path):
    for name in ("1.csv", "2.csv", "3.csv"):
        (tmp_path / "in" / name).write_text("" if name != "2.csv" else "1\n")
    task = Said()
    PollingSourceOperator(task_id="poll", dataset="two", **where).execute({"ti": task})
    assert task.xcoms == {
        "odf_notices": [
            "empty files that sort before other files count as ingested: in/1.csv. Later polls do not read them, even "
            "if they are no longer empty",
            "skipped empty files: in/3.csv. A later poll reads them when they are no longer empty",
        ]
    }


def test_a_skipped_task_says_it_too(where, tmp_path):
    (tmp_path / "in" / "1.csv").write_text("")
    task = Said()
    with pytest.raises(AirflowSkipException):
        PollingSourceOperator(task_id="poll", dataset="two", **where).execute({"ti": task})
    assert task.xcoms == {
        "odf_notices": ["skipped empty files: in/1.csv. A later poll reads them when they are no longer empty"]
    }
