import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle.poll import position
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from tests.manifests import appending

MANIFEST = appending()
TIME = Instant.parse("2026-05-01T00:00:00Z")
SEEN = model.SourceState(source_name="default", kind="odf/etag", value="1.csv")


def manifest(tmp_path, text=MANIFEST):
    (tmp_path / "readings.yaml").write_text(text)
    return load([tmp_path / "readings.yaml"]).manifests[0]


def read_up_to(store, state):
    dataset = store.dataset("readings")
    draft = Draft(dataset, replay(dataset))
    head = draft.append(model.AddData(new_source_state=state), TIME)
    dataset.storage.compare_and_set_ref("head", dataset.head(), head)


def test_a_dataset_that_does_not_exist_has_read_nothing(store, tmp_path):
    found = position(store, manifest(tmp_path))
    assert (found.state, found.base, found.fetch.path) == (None, tmp_path, "in/*.csv")


def test_the_chain_says_what_was_read(store, tmp_path):
    apply(store, manifest(tmp_path), TIME)
    assert position(store, manifest(tmp_path)).state is None
    read_up_to(store, SEEN)
    assert position(store, manifest(tmp_path)).state == SEEN


def test_another_source_was_not_read_yet(store, tmp_path):
    apply(store, manifest(tmp_path), TIME)
    read_up_to(store, SEEN)
    url = MANIFEST.replace("kind: FilesGlob", "kind: Url").replace("path: in/*.csv", "url: https://example.com/in.csv")
    edited = manifest(tmp_path, url)
    assert position(store, edited).state is None


def test_what_was_pushed_says_nothing_of_a_polling_source(store, tmp_path):
    push = MANIFEST.replace("SetPollingSource", "AddPushSource\n      sourceName: default").replace(
        "      fetch:\n        kind: FilesGlob\n        path: in/*.csv\n", ""
    )
    apply(store, manifest(tmp_path, push), TIME)
    read_up_to(store, SEEN)
    apply(store, manifest(tmp_path), TIME)
    assert position(store, manifest(tmp_path)).state is None
    polled = SEEN.model_copy(update={"value": "2.csv"})
    read_up_to(store, polled)
    assert position(store, manifest(tmp_path)).state == polled
    apply(store, manifest(tmp_path, push), TIME)
    read_up_to(store, SEEN.model_copy(update={"value": "pushed"}))
    apply(store, manifest(tmp_path), TIME)
    assert position(store, manifest(tmp_path)).state == polled


def test_there_must_be_something_to_wait_for(store, tmp_path):
    push = MANIFEST[: MANIFEST.index("    - kind")] + (
        "    - kind: AddPushSource\n      sourceName: a\n      read: {kind: Parquet}\n      merge: {kind: Append}\n"
    )
    with pytest.raises(InvalidInput, match="readings has no polling source to wait for"):
        position(store, manifest(tmp_path, push))
