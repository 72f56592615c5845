"""Cycles of a container source, with a stand-in for the container runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.manifest import model
from tests.manifests import polled

from .conftest import Run, Write

MANIFEST = polled("feed", "{kind: Container, image: 'feed:1'}", "{kind: Csv, schema: [id INT]}")

# What comes before the volume: run --rm --name NAME --network none --volume.
RUNTIME = """
    #!/bin/sh
    [ "$1" = --version ] && exit
    shift 7; out=${1%%:/opt*}
    n=$((${ODF_ETAG:-0} + 1)); [ $n -gt LAST ] && { printf $ODF_ETAG > $out/new-etag; exit 0; }
    printf $n > $out/new-etag; [ $n = LAST ] || touch $out/new-has-more-data
    [ $n = 2 ] || echo $n
"""


@pytest.fixture
def runtime(write: Write):
    """A runtime whose container has so many states, of which the second brings no data."""

    def upto(last: int) -> tuple[str, ...]:
        path = write("runtime", RUNTIME.replace("LAST", str(last)))
        path.chmod(0o755)
        return (str(path),)

    return upto


def source_state(store: Store) -> model.SourceState | None:
    dataset = store.dataset("feed")
    return replay(dataset).polling_state


@pytest.mark.spark
def test_each_batch_is_a_commit_and_one_without_data_only_moves_the_state(
    store: Store, run: Run, write: Write, runtime
) -> None:
    manifest = write("feed.yaml", MANIFEST)
    assert str(run(manifest, container_command=runtime(3))) == "published 2 records (offsets 0..1)"
    added = [b.event for _, b in store.dataset("feed").walk() if isinstance(b.event, model.AddData)][::-1]
    assert [(e.new_data is not None, e.new_source_state.value) for e in added] == [
        (True, "1"),
        (False, "2"),
        (True, "3"),
    ]
    assert [row["id"] for row in tail_rows(store.dataset("feed"), 10)] == [1, 3]
    assert str(run(manifest, container_command=runtime(3))) == "up to date"
    assert verify(store.dataset("feed")).records == 2


def test_a_state_that_moves_without_data_needs_no_engine(store: Store, run: Run, write: Write, runtime) -> None:
    manifest, path = write("feed.yaml", MANIFEST), runtime(2)
    script = Path(path[0])
    script.write_text(script.read_text().replace("|| echo $n", "|| true"))
    assert str(run(manifest, container_command=path, runner=None)) == "up to date"
    assert source_state(store) == model.SourceState(source_name="default", kind="odf/etag", value="2")
    assert replay(store.dataset("feed")).last_offset is None
