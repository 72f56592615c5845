"""Several processes write one dataset at once, and some of them are killed: nothing is lost, doubled or half there."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.verify import verify

WRITER = """
import sys
from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import CommitConflict
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId

root, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store, time = Store.open(root), Instant.parse("2024-05-02T08:00:00Z")
# What is imported late must be there before the race begins.
codec.encode(model.MetadataBlock(system_time=time, sequence_number=0, event=model.SetInfo()))
DatasetId.create()
print("ready", flush=True)
sys.stdin.readline()

def open_or_create():
    while (dataset := store.get("raced")) is None:
        dataset = store.create(DatasetAlias.parse("raced"))
        draft = Draft(dataset)
        draft.append(model.Seed(dataset_id=str(DatasetId.create()), dataset_kind="Root"), time)
        draft.append(model.SetInfo(description="created by " + name), time)
        try:
            dataset.storage.compare_and_set_ref("head", None, draft.state.head)
            print("created", flush=True)
        except CommitConflict:
            pass
    return dataset

dataset = open_or_create()
for number in range(count):
    while True:
        base = replay(dataset)
        draft = Draft(dataset, base)
        value = f"{name}/{number}"
        state = model.SourceState(source_name=name, kind="test", value=value)
        draft.append(model.AddData(new_source_state=state), time)
        try:
            dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)
        except CommitConflict:
            continue
        print("published", value, flush=True)
        break
"""


def start(store, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, store.location, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def release(writers: Sequence[subprocess.Popen[str]]) -> None:
    """Let all go at the same moment, once all have started."""
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()


def published(dataset) -> list[str]:
    """Values in the chain, oldest first."""
    states = [getattr(block.event, "new_source_state", None) for _, block in dataset.walk()]
    return [state.value for state in reversed(states) if state is not None]


@pytest.mark.parametrize(("count", "commits"), [(4, 15), pytest.param(8, 50, marks=pytest.mark.torture)])
def test_racing_writers(store, count, commits):
    writers = [start(store, f"w{n}", commits) for n in range(count)]
    release(writers)
    outputs = [writer.communicate(timeout=500) for writer in writers]
    assert [errors for _, errors in outputs] == [""] * count
    assert sum(out.count("created\n") for out, _ in outputs) == 1

    dataset = store.dataset("raced")
    values = published(dataset)
    assert sorted(values) == sorted(f"w{n}/{i}" for n in range(count) for i in range(commits))
    for n in range(count):
        assert [v for v in values if v.startswith(f"w{n}/")] == [f"w{n}/{i}" for i in range(commits)]
    assert verify(dataset).blocks == count * commits + 2
    assert replay(dataset).push_states["w0"].value == f"w0/{commits - 1}"


def test_killed_writers(store):
    """What a killed writer had published stays, what it had not is not there, and the next writer goes on at once."""
    chance = random.Random(1)
    acknowledged: list[str] = []
    for attempt in range(6):
        writers = [start(store, f"a{attempt}w{n}", 10_000) for n in range(2)]
        release(writers)
        if attempt % 2:
            writers[0].stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            out, _ = writer.communicate(timeout=60)
            acknowledged += re.findall(r"published (\S+)\n", out)
        dataset = store.get("raced")
        if dataset is not None:
            values = published(dataset)
            assert verify(dataset).blocks == len(values) + 2
            assert set(acknowledged) <= set(values)
            assert len(set(values)) == len(values)
    assert acknowledged
