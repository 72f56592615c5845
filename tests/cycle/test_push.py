"""Pushed files, records and URIs become the input of a merge, also again and after a lost race."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from airflow_provider_odf.cycle.messages import Input, Pushed, UpToDate
from airflow_provider_odf.cycle.push import Push, again, push
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import from_json, to_json

from .conftest import cycle_of
from .pushing import TIME, UPSERT, publish, push_to, source


def test_files_are_one_input(store, declare, file, tmp_path):
    declare(source())
    (tmp_path / "b c.ndjson").write_text('{"id": 2}\n')
    polled = push_to(store, (tmp_path / "b c.ndjson").as_uri(), file)
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
        (one,) = push_to(store, data).files
        assert one.paths == (str(out / "part-0.json"), str(out / "part-1.json"))


def test_copies_outlive_their_originals_and_keep_their_names(store, declare, tmp_path):
    declare(source())
    out = tmp_path / "out"
    (out / "x").mkdir(parents=True)
    (out / "x" / "1.json").write_text('{"id": 1}\n')
    (out / "2.json").write_text('{"id": 2}\n')
    polled = push_to(store, out, copies=True)
    paths = polled.files[0].paths
    directory = store.work_area / "orders" / polled.directory
    assert paths == (str(directory / "files/2.json"), str(directory / "files/x/1.json"))
    with pytest.raises(InvalidInput, match="another pushed file has the same name: rename one of them"):
        push_to(store, out, out, copies=True)


def test_records_are_written_as_ndjson(store, declare):
    declare(source())
    records = [{"id": 1, "at": datetime(2026, 5, 1, tzinfo=UTC), "of": Decimal("1.10"), "ü": None}, {}]
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
        ({"a": {1}}, r"records\[1\]: JSON cannot represent a set"),
        ({"a": float("nan")}, r"records\[1\]: Out of range float"),
    ],
)
def test_invalid_records_leave_no_files(store, declare, record, message):
    declare(source())
    with pytest.raises(InvalidInput, match=message):
        push(cycle_of(store, "orders", time=TIME), Push(records=[{}, record]))
    assert list(store.work_area.rglob("*.ndjson")) == []


# --- URIs -------------------------------------------------------------------------------------------------------------


def test_a_url_is_fetched(store, declare, server):
    declare(source())
    url = server.serve("/a.ndjson", b'{"id": 7}\n')
    polled = push_to(store, f"{url}?sig=s3cr3t")
    (one,) = polled.files
    with open(one.paths[0]) as file:
        assert file.read() == '{"id": 7}\n'
    assert (one.label, one.event_time) == (f"{url}?***", "2026-05-01T00:00:00Z")
    assert polled.pushed.origins == (f"{url}?***",)
    assert "s3cr3t" not in str(polled)


def test_no_message_has_a_secret_of_a_url(store, declare, server):
    declare(source())
    url = server.url.replace("http://", "http://me:passw0rd@") + "/no.json?sig=s3cr3t"
    messages = []
    with pytest.raises(Exception, match="not found") as refused:
        push(cycle_of(store, "orders", time=TIME, progress=messages.append), Push((url,)))
    text = f"{refused.value} {messages}"
    assert "/no.json?***" in text
    assert "s3cr3t" not in text
    assert "passw0rd" not in text


def test_environment_variables_stay_out_of_urls(store, declare, server, monkeypatch):
    monkeypatch.setenv("ODF_KEY", "s3cr3t")
    declare(source())
    with pytest.raises(InvalidInput, match="value not found"):
        push_to(store, server.url + "/${{ env.ODF_KEY }}")


def test_equal_pushes_of_events_are_two_events(store, declare, file):
    declare(source(merge="Append"))
    first = push_to(store, file)
    assert first.files[0].state is None
    publish(store, first)
    assert isinstance(push_to(store, file), Input)


def test_the_same_state_again_right_away_is_up_to_date(store, declare, file):
    declare(source(merge=UPSERT))
    publish(store, push_to(store, file))
    assert push_to(store, file) == UpToDate("up to date: the same content was already pushed (block 2)")
    file.write_text('{"id": 2}\n')
    assert isinstance(push_to(store, file), Input)


def test_the_same_state_again_after_another_source_is_merged(store, declare, file, tmp_path):
    declare(source("a", merge=UPSERT), source("b", merge=UPSERT))
    (tmp_path / "b.json").write_text('{"id": 1, "v": 2}\n')
    publish(store, push_to(store, file, source_name="a"))
    publish(store, push_to(store, tmp_path / "b.json", source_name="b"))
    assert isinstance(push_to(store, file, source_name="a"), Input)


def test_the_same_state_again_under_a_changed_source_is_merged(store, declare, file):
    declare(source(merge=UPSERT))
    publish(store, push_to(store, file))
    declare(source(read="Json", merge=UPSERT))
    assert isinstance(push_to(store, file), Input)


@pytest.mark.parametrize("merge", ["Append", UPSERT])
def test_a_push_id_is_merged_once(store, declare, file, merge):
    declare(source(merge=merge))
    publish(store, push_to(store, file, push_id="run-1"))
    publish(store, push_to(store, file, push_id="run-2"))
    assert isinstance(push_to(store, file, push_id="run-1"), UpToDate)
    assert isinstance(push_to(store, file, push_id="run-3"), Input)
    file.write_text('{"id": 2}\n')
    assert isinstance(push_to(store, file, push_id="run-1"), Input)


def test_an_overtaken_push_goes_onto_the_new_head(store, declare, file):
    declare(source())
    polled = push_to(store, file, push_id="run-1", copies=True)
    other = push_to(store, file, push_id="run-2", copies=True)
    publish(store, other)
    moved = again(cycle_of(store, "orders"), polled)
    assert (moved.base, moved.files) == (store.dataset("orders").head(), polled.files)
    publish(store, moved)
    assert isinstance(again(cycle_of(store, "orders"), polled), UpToDate)


def test_an_overtaken_push_without_its_files_says_what_to_do(store, declare, file):
    declare(source())
    polled = push_to(store, file)
    file.unlink()
    with pytest.raises(InvalidInput, match="clear the push task"):
        again(cycle_of(store, "orders"), polled)
