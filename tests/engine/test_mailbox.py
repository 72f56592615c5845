"""A task and the driver of its application reach each other through a folder or a bucket."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from airflow_provider_odf import object_stores
from airflow_provider_odf.engine import mailbox
from airflow_provider_odf.engine.mailbox import ALIVE, REQUEST, RESPONSES, Mailbox, Task
from airflow_provider_odf.runner import apps
from tests.s3 import THROTTLED, Bucket, Fault, once, relaying, try_few_times, use

WATCH = """
import sys, time
from airflow_provider_odf.engine import mailbox
driver = mailbox.Driver(mailbox.at(sys.argv[1]), float(sys.argv[2]))
print(driver.request(), flush=True)
time.sleep(600)
"""
ENDED = "the task that submitted this application has ended: the application ends, too\n"


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path)
    bucket: Bucket = request.getfixturevalue("bucket")
    return f"{bucket.uri}/.work/readings/merge-1"


def watching(place: str, patience: float) -> subprocess.Popen[str]:
    """A driver that got its request, and would work for ten minutes."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", WATCH, place, str(patience)], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "the request\n"
    return process


def remove(place: str) -> None:
    if object_stores.is_object(place):
        bucket, key = object_stores.split(place)
        object_stores.client(bucket).delete([f"{key}/{name}" for name in (REQUEST, ALIVE)])
    else:
        Path(place, ALIVE).unlink()


def test_a_driver_ends_when_the_mailbox_is_removed(place: str) -> None:
    Task(mailbox.at(place), "the request")
    with watching(place, patience=600) as process:
        remove(place)
        assert process.communicate(timeout=60)[1] == ENDED
    assert process.returncode == 0


def test_a_driver_ends_when_the_task_is_silent(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "BEAT_SECONDS", 0.5)
    task = Task(mailbox.at(place), "the request")
    with watching(place, patience=8) as process:
        for _ in range(12):  # longer than the driver's patience
            assert task.new_responses() == []
            time.sleep(1)
        assert process.poll() is None
        assert process.communicate(timeout=60)[1] == ENDED
    assert process.returncode == 0


def test_the_driver_waits_longer_than_the_task_rests() -> None:
    assert mailbox.BEAT_SECONDS * 10 < mailbox.PATIENCE_SECONDS


def test_an_application_that_starts_after_its_task_ended_does_nothing(place: str, tmp_path: Path) -> None:
    command = [sys.executable, str(apps.application("run.py")), place]
    done = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ENDED
    assert mailbox.at(place).get(RESPONSES) is None
    assert [*tmp_path.iterdir()] == []


class Paused:
    """A mailbox whose driver has looked into it once."""

    pause = 600.0

    def __init__(self, mailbox: Mailbox) -> None:
        self.get, self.put = mailbox.get, mailbox.put


def test_responses_come_once_and_the_final_one_at_once(place: str) -> None:
    box = mailbox.at(place)
    task = Task(box, "the request")
    driver = mailbox.Driver(Paused(box))
    assert driver.request() == "the request"
    assert task.new_responses() == []
    driver.respond("reading a\x85b\u2028c", is_final=False)
    driver.respond("done", is_final=True)
    assert task.new_responses() == ["reading a\x85b\u2028c", "done"]
    assert task.new_responses() == []


@pytest.mark.parametrize("damaged", [b"reading\ndo", b"read", b""])
def test_of_damaged_responses_whole_lines_count(place: str, damaged: bytes) -> None:
    box = mailbox.at(place)
    task = Task(box, "the request")
    box.put(RESPONSES, b"reading\n")
    assert task.new_responses() == ["reading"]
    box.put(RESPONSES, damaged)
    assert task.new_responses() == []


def test_requests_that_fail_are_sent_again(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with relaying(s3) as relay:
        use(relay.url, monkeypatch)
        try_few_times(monkeypatch)
        place = f"{Bucket.new(s3).uri}/merge-1"
        relay.answer = once("PUT", "request.json$", THROTTLED, Fault.LOST)
        task = Task(mailbox.at(place), "the request")
        relay.answer = once("GET", "request.json$", Fault.TRUNCATED)
        driver = mailbox.Driver(Paused(mailbox.at(place)))
        assert driver.request() == "the request"
        relay.answer = once("PUT", "responses.jsonl$", Fault.CUT_IN_BODY, Fault.LOST_503)
        driver.respond("done", is_final=True)
        relay.answer = once("GET", "responses.jsonl$", Fault.TRUNCATED, Fault.CUT)
        assert task.new_responses() == ["done"]
