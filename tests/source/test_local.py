"""Polls of files: state by modification time, and content that stands still."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError, SourceUnavailable
from airflow_provider_odf.source import local

NOON = 1714651200  # 2024-05-02T12:00:00Z


def write(path, text, mtime=NOON):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (mtime, mtime))
    return path


def test_state_and_event_time_are_the_modification_time_in_milliseconds(poller):
    path = write(poller.base / "a.csv", "x")
    os.utime(path, ns=(0, NOON * 10**9 + 123_600_000))
    (file,) = poller.url(f"file://{path}").files
    assert file.state == poller.state("odf/last-modified", "2024-05-02T12:00:00.124Z")
    assert str(file.event_time) == "2024-05-02T12:00:00.124Z"
    assert poller.url(f"file://{path}", state=file.state) is None


@pytest.mark.parametrize("url", ["data/a b.csv", "./data/a b.csv", "file://data/a%20b.csv", "file:data/a%20b.csv"])
def test_relative_paths_are_relative_to_the_manifest(poller, url):
    write(poller.base / "data" / "a b.csv", "x")
    polled = poller.url(url)
    assert poller.content(polled) == [b"x"]
    assert polled.files[0].label == url


def test_what_was_polled_stays_when_the_file_changes(poller):
    path = write(poller.base / "a.csv", "old")
    polled = poller.url("a.csv")
    path.write_text("new and longer")
    assert poller.content(polled) == [b"old"]


def test_missing_file_and_directory(poller):
    with pytest.raises(SourceError, match=r"^/.*/dags/nope\.csv: not found: correct the path, or put the file there$"):
        poller.url("nope.csv")
    (poller.base / "folder").mkdir()
    with pytest.raises(SourceError, match=r"^folder: is a folder: use FilesGlob for its files$"):
        poller.url("folder")
    assert poller.leftovers == []


def test_what_is_no_file(poller):
    os.mkfifo(poller.base / "pipe.csv")
    with pytest.raises(SourceError, match=r"^pipe\.csv: is a pipe or a device, not a file$"):
        poller.url("pipe.csv")
    with pytest.raises(SourceError, match=r"^file:///dev/zero: is a pipe or a device, not a file$"):
        poller.url("file:///dev/zero")
    with pytest.raises(InvalidInput, match=r"^file:///a%00: not a valid URL after its templates are filled: "):
        poller.url("file:///a%00")


def test_a_file_that_never_rests_is_unavailable(poller, monkeypatch):
    path = poller.base / "busy.csv"
    path.write_text("x")
    copy = shutil.copyfileobj

    def copy_while_it_grows(*args):
        copy(*args)
        with path.open("a") as file:
            file.write("x")

    monkeypatch.setattr(shutil, "copyfileobj", copy_while_it_grows)
    with pytest.raises(SourceUnavailable, match=r"^busy\.csv: the file changed while it was read: retry later$"):
        poller.url("busy.csv")


def test_a_change_right_after_the_copy_has_another_time(tmp_path):
    """Clocks of file systems tick every few milliseconds; a second change within one tick must not be missed."""
    path, target = tmp_path / "a", tmp_path / "b"
    for n in range(20):
        path.write_text("old")
        time_of_copy = local.copy(path, target, "a")
        path.write_text("new")
        assert local.modified(path.stat()) != time_of_copy, n
        assert target.read_text() == "old"
