"""What was fetched is not fetched again before it is merged, and never hides what is newer."""

from __future__ import annotations

import dataclasses
import fcntl
import io
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib

import pytest

from airflow_provider_odf.errors import SourceError, StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import savepoint, work_area


def statuses_and_bodies(server):
    return [(path, headers.get("if-none-match")) for path, headers in server.requests]


def test_a_retry_asks_but_does_not_fetch_again(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    first = poller.url(url)
    again = poller.url(url)
    assert statuses_and_bodies(server) == [("/a", None), ("/a", '"v1"')]
    assert poller.messages == [f"{url}: reusing the data that an earlier attempt fetched"]
    assert poller.content(again) == [b"abc"]
    assert again.files[0].state == first.files[0].state
    assert again.files[0].event_time == first.files[0].event_time
    assert again.directory != first.directory


def test_newer_data_replace_what_was_kept(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    poller.url(url)
    server.resources["/a"].content, server.resources["/a"].etag = b"abcd", '"v2"'
    assert poller.content(poller.url(url)) == [b"abcd"]
    assert poller.content(poller.url(url)) == [b"abcd"]
    assert statuses_and_bodies(server) == [("/a", None), ("/a", '"v1"'), ("/a", '"v2"')]


def test_a_source_that_went_back_is_up_to_date(server, poller):
    url, old = server.serve("/a", b"new", etag='"v1"'), poller.state("odf/etag", '"v0"')
    poller.url(url, state=old)
    server.resources["/a"].content, server.resources["/a"].etag = b"old", '"v0"'
    assert poller.url(url, state=old) is None


def test_what_was_kept_stands_in_for_a_source_that_is_down(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    poller.url(url)
    server.resources["/a"].statuses = [503] * 9
    polled = poller.url(url)
    assert poller.content(polled) == [b"abc"]
    said = re.sub(r"\d+ s ago", "N s ago", polled.warnings[0])
    assert said == f"{url}: HTTP 503 Service Unavailable; using the data fetched N s ago"


def test_a_source_that_is_gone_is_not_stood_in_for(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    poller.url(url)
    del server.resources["/a"]
    with pytest.raises(SourceError, match="not found"):
        poller.url(url)


def test_without_validators_it_counts_for_a_limited_time(server, poller):
    url = server.serve("/a", b"abc")
    poller.url(url)
    server.resources["/a"].content = b"abcd"
    assert poller.content(poller.url(url)) == [b"abc"]
    assert len(server.requests) == 1
    assert poller.content(poller.url(url, options=dataclasses.replace(poller.options, savepoint_age=0))) == [b"abcd"]


def test_discarding_removes_all_and_the_next_poll_fetches(server, poller):
    url = server.serve("/a", b"abc")
    work_area.discard(poller.url(url).directory)
    assert poller.leftovers == []
    poller.url(url)
    assert len(server.requests) == 2


def test_discarding_takes_nothing_from_a_poll_that_runs_elsewhere(server, poller):
    url = server.serve("/a", b"abc")
    first, second = poller.url(url), poller.url(url)
    work_area.discard(first.directory)
    assert poller.content(second) == [b"abc"]
    work_area.discard(second.directory)
    assert poller.leftovers == []


def test_another_state_template_or_prepare_step_is_another_poll(server, poller):
    poller.environment["KEY"] = "1"
    url = server.serve("/a", b"abc\n") + "?${{ env.KEY }}"
    poller.url(url)
    poller.url(url, state=poller.state("odf/content-hash", "f00"))
    poller.environment["KEY"] = "2"
    poller.url(url)
    poller.url(url, model.PrepStepPipe(command=("cat",)))
    assert len(server.requests) == 4


def test_prepared_files_are_kept_as_they_are(server, poller):
    url = server.serve("/a", b"abc\ndef\n", etag='"v1"')
    step = model.PrepStepPipe(command=("head", "-n1"))
    poller.url(url, step)
    assert poller.content(poller.url(url, step)) == [b"abc\n"]


@pytest.mark.parametrize("damage", ["cut", "index", "missing"])
def test_a_damaged_savepoint_is_as_none(server, poller, damage):
    url = server.serve("/a", b"abc")
    poller.url(url)
    (kept,) = poller.work.glob("savepoint-*")
    for path in kept.iterdir():
        if damage == "index" and path.suffix == ".json":
            path.write_text("{")
        if damage != "index" and path.suffix != ".json":
            path.unlink()
            if damage == "cut":
                path.write_bytes(b"a")
    assert poller.content(poller.url(url)) == [b"abc"]
    assert len(server.requests) == 2


def test_a_savepoint_that_vanishes_meanwhile(server, poller, monkeypatch):
    url = server.serve("/a", b"abc")
    poller.url(url)
    load = savepoint.load

    def load_and_lose(*kept):
        saved = load(*kept)
        shutil.rmtree(saved.result.directory)
        return saved

    monkeypatch.setattr(savepoint, "load", load_and_lose)
    assert poller.content(poller.url(url)) == [b"abc"]


def test_a_savepoint_that_vanishes_half_way_is_not_written_through(server, poller, monkeypatch):
    """What is fetched anew must not land in the files that another poll holds links to."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", b"old a")
        archive.writestr("b", b"old b")
    url = server.serve("/a", packed.getvalue())
    step = model.PrepStepDecompress(format="Zip", sub_path="*")
    first = poller.url(url, step)
    load = savepoint.load

    def load_and_lose(*kept):
        saved = load(*kept)
        saved.result.files[0].paths[1].unlink()
        return saved

    monkeypatch.setattr(savepoint, "load", load_and_lose)
    server.resources["/a"].content = (
        packed.getvalue()
        .replace(b"old", b"new")
        .replace(zlib.crc32(b"old a").to_bytes(4, "little"), zlib.crc32(b"new a").to_bytes(4, "little"))
        .replace(zlib.crc32(b"old b").to_bytes(4, "little"), zlib.crc32(b"new b").to_bytes(4, "little"))
    )
    assert poller.content(poller.url(url, step)) == [b"new anew b"]
    assert poller.content(first) == [b"old aold b"]


def test_files_of_this_machine_are_not_kept(poller):
    (poller.base / "a.csv").write_text("abc")
    poller.url("a.csv")
    assert list(poller.work.glob("savepoint-*")) == []


def test_directories_of_polls_that_died_long_ago_are_removed(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    old = poller.url(url).directory
    assert old.exists()
    poller.url(url)
    assert old.exists()
    eight_days_ago = time.time() - 8 * 24 * 3600
    os.utime(old, (eight_days_ago, eight_days_ago))
    poller.url(url)
    assert not old.exists()


def test_directories_of_polls_that_were_killed_are_removed(poller):
    script = (
        "import os, pathlib, sys\n"
        "from airflow_provider_odf.source import work_area\n"
        "with work_area.polling(pathlib.Path(sys.argv[1])) as directory:\n"
        "    (directory / 'download.part').write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, poller.work], check=False)
    assert [name.rpartition("/")[2] for name in poller.leftovers if "/" in name] == [".owner", "download.part"]
    with work_area.polling(poller.work) as running, work_area.polling(poller.work) as other:
        assert sorted(poller.work.iterdir()) == sorted((running, other))
    assert sorted(poller.work.iterdir()) == sorted((running, other))
    assert list(running.iterdir()) == []


def test_failures_leave_nothing_behind(server, poller):
    url = server.serve("/a", b"abc")
    with pytest.raises(SourceError, match="false"):
        poller.url(url, model.PrepStepPipe(command=("false",)))
    assert poller.leftovers == []


def test_a_work_area_that_cannot_be_written(server, poller):
    poller.work.write_text("a file where a folder should be")
    with pytest.raises(
        StorageError,
        match=r"^work area .*/work: .*\(free space there, or set another work area\)$",
    ):
        poller.url(server.serve("/a", b"abc"))


def test_a_poll_that_ends_is_not_taken_for_killed_by_one_that_looks_at_that_moment(tmp_path):
    with work_area.polling(tmp_path) as directory:
        looking = (directory / ".owner").open()
    with looking:
        fcntl.flock(looking, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert looking.read() == ""


def test_what_was_altered_is_fetched_again(server, poller):
    """Each file of a savepoint in turn, its index too."""
    url = server.serve("/a", bytes(range(256)), etag='"v1"')
    poller.url(url)
    for number in range(2):
        for name in ("savepoint.json", "download"):
            (kept,) = poller.work.glob("savepoint-*")
            (file,) = [path for path in kept.iterdir() if (path.name == "savepoint.json") == (name == "savepoint.json")]
            data = bytearray(file.read_bytes())
            data[len(data) // (number + 2)] ^= 1
            file.write_bytes(data)
            assert poller.content(poller.url(url)) == [bytes(range(256))]
    assert [etag for _, etag in statuses_and_bodies(server)] == [None] * 5
    assert poller.content(poller.url(url)) == [bytes(range(256))]
    assert statuses_and_bodies(server)[-1] == ("/a", '"v1"')


def test_a_savepoint_of_another_dataset_is_not_used(server, poller):
    url = server.serve("/a", b"abc", etag='"v1"')
    poller.url(url)
    poller.dataset_id = "did:odf:2"
    poller.url(url)
    assert statuses_and_bodies(server) == [("/a", None), ("/a", None)]
