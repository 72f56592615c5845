import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.apply import apply
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.cycle.push import push
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: export
      read: {kind: Parquet}
      merge: {kind: Append}
"""
TIME = Instant.parse("2026-05-01T00:00:00Z")


@pytest.fixture
def store(tmp_path):
    (tmp_path / "orders.yaml").write_text(MANIFEST)
    store = Store.open(tmp_path / "store")
    apply(store, load([tmp_path / "orders.yaml"]).manifests[0], TIME)
    return store


def pushed(store, *data, source_name="export"):
    return push(store, "orders", data, source_name=source_name, system_time=TIME)


def test_files_are_one_input(store, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_text(name)
    polled = pushed(store, str(tmp_path / "b.parquet"), f"file://{tmp_path}/a.parquet")
    (file,) = polled.files
    assert file.paths == (str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet"))
    assert (polled.source_name, polled.base, polled.system_time) == (
        "export",
        store.dataset("orders").head(),
        "2026-05-01T00:00:00Z",
    )


def test_a_folder_is_its_part_files(store, tmp_path):
    out = tmp_path / "my out"
    out.mkdir()
    for name in ("part-1.parquet", "part-0.parquet", "_SUCCESS", ".part-0.parquet.crc"):
        (out / name).touch()
    for data in (str(out), out.as_uri()):
        (file,) = pushed(store, data).files
        assert file.paths == (str(out / "part-0.parquet"), str(out / "part-1.parquet"))


def test_the_same_content_again_is_up_to_date(store, tmp_path):
    file = tmp_path / "a.parquet"
    file.write_text("a")
    state = pushed(store, str(file)).files[0].state
    dataset = store.dataset("orders")
    draft = Draft(dataset, ChainState.of(dataset))
    seen = model.SourceState(source_name="export", kind=state.kind, value=state.value)
    head = draft.append(model.AddData(new_source_state=seen), TIME)
    dataset.storage.compare_and_set_ref("head", dataset.head(), head)

    assert pushed(store, str(file)) == UpToDate()
    file.write_text("b")
    assert pushed(store, str(file)).files[0].state != state


@pytest.mark.parametrize(
    ("data", "source", "message"),
    [
        ("/no/such.parquet", "export", "/no/such.parquet: no such file"),
        ("s3://bucket/a.parquet", "export", "s3://bucket/a.parquet: only local paths and file: URIs"),
        ("/no/such.parquet", "exprt", "no push source 'exprt'"),
        ("/no/such.parquet", None, "no polling source"),
    ],
)
def test_what_cannot_be_taken_is_refused(store, data, source, message):
    with pytest.raises(InvalidInput, match=message):
        pushed(store, data, source_name=source)
