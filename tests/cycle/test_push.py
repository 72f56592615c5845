from datetime import datetime, timezone
from decimal import Decimal

import pytest

from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.intake import Push
from airflow_provider_odf.cycle.messages import Input, Pushed, UpToDate
from airflow_provider_odf.cycle.push import again, push
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import from_json, to_json

from .conftest import cycle_of

HEAD = """\
kind: DatasetSnapshot
version: 1
content:
  name: orders
  kind: Root
  metadata:
"""
SOURCE = """\
    - kind: AddPushSource
      sourceName: {name}
      read: {{kind: {read}}}
      merge: {{kind: {merge}}}
"""
POLLED = """\
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: "in/*.csv.gz", eventTime: {kind: FromPath, pattern: '(\\d{4}-\\d\\d-\\d\\d)'}}
      prepare: [{kind: Decompress, format: Gzip}]
      read: {kind: Csv}
      merge: {kind: Append}
"""
TIME = Instant.parse("2026-05-01T00:00:00Z")
UPSERT = "UpsertStream, primaryKey: [id]"


def source(name="export", read="NdJson", merge="Append"):
    return SOURCE.format(name=name, read=read, merge=merge)


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def declare(store, tmp_path):
    """Makes the dataset say what these sources say."""

    def declare(*sources):
        (tmp_path / "orders.yaml").write_text(HEAD + "".join(sources))
        loaded = load([tmp_path / "orders.yaml"])
        assert loaded.problems == ()
        apply(store, loaded.manifests[0], TIME)

    return declare


@pytest.fixture
def file(tmp_path):
    (tmp_path / "a.ndjson").write_text('{"id": 1}\n')
    return tmp_path / "a.ndjson"


def pushed(store, *uris, time=TIME, **given):
    where = {name: given.pop(name) for name in ("copies",) if name in given}
    return push(cycle_of(store, "orders", time=time), Push(tuple(map(str, uris)), **given), **where)


def published(store, polled):
    """As if the input had brought no records: its source state alone is recorded."""
    dataset, state = store.dataset("orders"), polled.files[0].state
    draft = Draft(dataset, replay(dataset))
    seen = model.SourceState(source_name=polled.source_name, kind=state.kind, value=state.value) if state else None
    event = model.AddData(new_source_state=seen, new_watermark=None if seen else TIME)
    head = draft.append(event, TIME)
    dataset.storage.compare_and_set_ref("head", dataset.head(), head)


def test_files_are_one_input(store, declare, file, tmp_path):
    declare(source())
    (tmp_path / "b c.ndjson").write_text('{"id": 2}\n')
    polled = pushed(store, (tmp_path / "b c.ndjson").as_uri(), file)
    (one,) = polled.files
    assert one.paths == (str(tmp_path / "b c.ndjson"), str(file))
    assert (polled.source_name, polled.base) == ("export", store.dataset("orders").head())
    assert (polled.system_time, one.event_time) == ("2026-05-01T00:00:00Z", "2026-05-01T00:00:00Z")
    assert polled.directory is None
    assert from_json(Input, to_json(polled)) == polled


def test_a_folder_is_its_part_files(store, declare, tmp_path):
    declare(source())
    out = tmp_path / "my out"
    out.mkdir()
    for name in ("part-1.json", "part-0.json", "_SUCCESS", ".part-0.json.crc"):
        (out / name).touch()
    for data in (str(out), out.as_uri()):
        (one,) = pushed(store, data).files
        assert one.paths == (str(out / "part-0.json"), str(out / "part-1.json"))


def test_copies_outlive_their_originals_and_keep_their_names(store, declare, tmp_path):
    declare(source())
    out = tmp_path / "out"
    (out / "x").mkdir(parents=True)
    (out / "x" / "1.json").write_text('{"id": 1}\n')
    (out / "2.json").write_text('{"id": 2}\n')
    polled = pushed(store, out, copies=True)
    paths = polled.files[0].paths
    directory = store.work_area / "orders" / polled.directory
    assert paths == (str(directory / "files/2.json"), str(directory / "files/x/1.json"))
    with pytest.raises(InvalidInput, match="another file of the same push has this name"):
        pushed(store, out, out, copies=True)


def test_records_are_written_as_ndjson(store, declare):
    declare(source())
    records = [{"id": 1, "at": datetime(2026, 5, 1, tzinfo=timezone.utc), "of": Decimal("1.10"), "ü": None}, {}]
    polled = push(
        cycle_of(store, "orders", time=TIME), Push(records=records, event_time=Instant.parse("2020-01-01T00:00:00Z"))
    )
    (one,) = polled.files
    with open(one.paths[0]) as file:
        assert file.read() == '{"id": 1, "at": "2026-05-01T00:00:00+00:00", "of": "1.10", "ü": null}\n{}\n'
    assert (one.label, one.event_time) == ("records", "2020-01-01T00:00:00Z")
    assert polled.pushed == Pushed(is_records=True)


def test_no_records_are_input_without_records(store, declare):
    declare(source())
    polled = push(cycle_of(store, "orders", time=TIME), Push(records=[]))
    with open(polled.files[0].paths[0]) as file:
        assert file.read() == ""


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], r"records\[1\] is not an object: \[1\]"),
        ({"a": {1}}, r"records\[1\]: a set has no form in JSON"),
        ({"a": float("nan")}, r"records\[1\]: Out of range float"),
    ],
)
def test_records_that_are_none_leave_nothing_behind(store, declare, record, message):
    declare(source())
    with pytest.raises(InvalidInput, match=message):
        push(cycle_of(store, "orders", time=TIME), Push(records=[{}, record]))
    assert list(store.work_area.rglob("*.ndjson")) == []


# --- which source -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "given", "chosen"),
    [(["a"], None, "a"), (["a", "default"], None, "default"), (["a", "default"], "a", "a")],
)
def test_the_source_that_is_meant(store, declare, file, names, given, chosen):
    declare(*map(source, names))
    assert pushed(store, file, source_name=given).source_name == chosen


def test_one_of_several_sources_must_be_named(store, declare, file):
    declare(source("a"), source("b"))
    with pytest.raises(
        InvalidInput, match=r"has the push sources a, b: say which .`--source`, or `source` in the conf"
    ):
        pushed(store, file)


def test_a_disabled_source_says_so_until_it_is_added_again(store, declare, file):
    declare(source("a"), source("b"))
    declare(source("a"))
    with pytest.raises(InvalidInput, match=r"push source b of orders was disabled at 2026-05-01T00:00:00Z \(block 3\)"):
        pushed(store, file, source_name="b")
    declare(source("a"), source("b"))
    assert pushed(store, file, source_name="b").source_name == "b"


@pytest.mark.parametrize(
    ("uri", "name", "message"),
    [
        ("/no/such.json", "export", "/no/such.json: no such file"),
        ("s3://bucket/a.json", "export", "s3://bucket/a.json: s3: is an unknown scheme"),
        ("/no/such.json", "exprt", r"no push source 'exprt' \(did you mean `export`\?\)"),
    ],
)
def test_what_cannot_be_taken_is_refused(store, declare, uri, name, message):
    declare(source())
    with pytest.raises(InvalidInput, match=message):
        pushed(store, uri, source_name=name)


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        ("Csv", b"\x1f\x8b\x08\x00", "is a gzip file, and the source reads Csv: push sources have no prepare steps"),
        ("NdJson", b"PK\x03\x04", "is a zip file, and the source reads NdJson"),
        ("NdJson", b"PAR1", "is a Parquet file, and the source reads NdJson"),
    ],
)
def test_a_file_of_another_form_is_refused(store, declare, tmp_path, read, content, message):
    declare(source(read=read))
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        pushed(store, tmp_path / "x")


def test_a_polling_source_takes_files_as_if_it_had_fetched_them(store, declare, tmp_path):
    import gzip

    declare(POLLED)
    (tmp_path / "late-2026-04-01.csv.gz").write_bytes(gzip.compress(b"1\n"))
    polled = pushed(store, tmp_path / "late-2026-04-01.csv.gz")
    (one,) = polled.files
    with open(one.paths[0]) as file:
        assert file.read() == "1\n"
    assert (one.event_time, one.state, polled.source_name) == ("2026-04-01T00:00:00Z", None, None)


# --- the same again ---------------------------------------------------------------------------------------------------


def test_equal_pushes_of_events_are_two_events(store, declare, file):
    declare(source(merge="Append"))
    first = pushed(store, file)
    assert first.files[0].state is None
    published(store, first)
    assert isinstance(pushed(store, file), Input)


def test_the_same_state_again_right_away_is_up_to_date(store, declare, file):
    declare(source(merge=UPSERT))
    published(store, pushed(store, file))
    assert pushed(store, file) == UpToDate("up to date: the same was pushed already (block 2)")
    file.write_text('{"id": 2}\n')
    assert isinstance(pushed(store, file), Input)


def test_the_same_state_again_after_another_source_is_merged(store, declare, file, tmp_path):
    declare(source("a", merge=UPSERT), source("b", merge=UPSERT))
    (tmp_path / "b.json").write_text('{"id": 1, "v": 2}\n')
    published(store, pushed(store, file, source_name="a"))
    published(store, pushed(store, tmp_path / "b.json", source_name="b"))
    assert isinstance(pushed(store, file, source_name="a"), Input)


def test_the_same_state_again_under_a_changed_source_is_merged(store, declare, file):
    declare(source(merge=UPSERT))
    published(store, pushed(store, file))
    declare(source(read="Json", merge=UPSERT))
    assert isinstance(pushed(store, file), Input)


@pytest.mark.parametrize("merge", ["Append", UPSERT])
def test_a_push_id_is_taken_once(store, declare, file, merge):
    declare(source(merge=merge))
    published(store, pushed(store, file, push_id="run-1"))
    published(store, pushed(store, file, push_id="run-2"))
    assert isinstance(pushed(store, file, push_id="run-1"), UpToDate)
    assert isinstance(pushed(store, file, push_id="run-3"), Input)
    file.write_text('{"id": 2}\n')
    assert isinstance(pushed(store, file, push_id="run-1"), Input)


def test_an_overtaken_push_goes_onto_the_new_head(store, declare, file):
    declare(source())
    polled = pushed(store, file, push_id="run-1", copies=True)
    other = pushed(store, file, push_id="run-2", copies=True)
    published(store, other)
    moved = again(cycle_of(store, "orders"), polled)
    assert (moved.base, moved.files) == (store.dataset("orders").head(), polled.files)
    published(store, moved)
    assert isinstance(again(cycle_of(store, "orders"), polled), UpToDate)


def test_an_overtaken_push_without_its_files_says_what_to_do(store, declare, file):
    declare(source())
    polled = pushed(store, file)
    file.unlink()
    with pytest.raises(InvalidInput, match="clear the push task"):
        again(cycle_of(store, "orders"), polled)


# --- URIs -------------------------------------------------------------------------------------------------------------


def test_a_url_is_fetched(store, declare, server):
    declare(source())
    url = server.serve("/a.ndjson", b'{"id": 7}\n')
    polled = pushed(store, f"{url}?sig=s3cr3t")
    (one,) = polled.files
    with open(one.paths[0]) as file:
        assert file.read() == '{"id": 7}\n'
    assert (one.label, one.event_time) == (f"{url}?***", "2026-05-01T00:00:00Z")
    assert polled.pushed.origins == (f"{url}?***",)
    assert "s3cr3t" not in str(polled)


def test_a_secret_of_a_url_is_never_told(store, declare, server):
    declare(source())
    url = server.url.replace("http://", "http://me:passw0rd@") + "/no.json?sig=s3cr3t"
    told = []
    with pytest.raises(Exception, match="not found") as refused:
        push(cycle_of(store, "orders", time=TIME, progress=told.append), Push((url,)))
    text = f"{refused.value} {told}"
    assert "/no.json?***" in text
    assert "s3cr3t" not in text
    assert "passw0rd" not in text


def test_environment_variables_stay_out_of_urls(store, declare, server, monkeypatch):
    monkeypatch.setenv("ODF_KEY", "s3cr3t")
    declare(source())
    with pytest.raises(InvalidInput, match="value not found"):
        pushed(store, server.url + "/${{ env.ODF_KEY }}")
