"""What a run says of its source beside the data."""

from __future__ import annotations

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.manifest import model
from tests.manifests import polled

from .conftest import Run, Write


def manifest(write: Write, fetch: str, prepare: str = "[]"):
    return write("numbers.yaml", polled("numbers", fetch, "{kind: Csv, schema: [n INT]}", prepare=prepare))


@pytest.mark.spark
def test_late_files_are_told_at_every_run_and_each_file_moves_the_watermark(
    store: Store, run: Run, write: Write
) -> None:
    path = r"{kind: FilesGlob, path: 'in/*', eventTime: {kind: FromPath, pattern: '(\d{4}-\d\d-\d\d)'}}"
    numbers = manifest(write, path)
    write("in/2024-05-02", "1\n")
    write("in/2024-05-03", "2\n")
    assert str(run(numbers)) == "published 2 records (offsets 0..1)"
    blocks = [b.event for _, b in store.dataset("numbers").walk() if isinstance(b.event, model.AddData)][::-1]
    assert [(e.new_source_state.value, str(e.new_watermark)) for e in blocks] == [
        ("2024-05-02", "2024-05-02T00:00:00Z"),
        ("2024-05-03", "2024-05-03T00:00:00Z"),
    ]
    write("in/2024-05-01", "0\n")
    late = (
        "in/*: skipped files that sort before ingested ones: in/2024-05-01 "
        "(ingest them with `odf push`, then move them to another folder)"
    )
    for _ in range(2):
        outcome = run(numbers)
        assert (str(outcome), outcome.notices) == ("up to date", (late,))


def test_what_the_source_does_not_fit_is_named_with_its_place(run: Run, write: Write) -> None:
    path = r"{kind: FilesGlob, path: 'in/*', eventTime: {kind: FromPath, pattern: '-(\d{4}-\d\d-\d\d)'}}"
    numbers = manifest(write, path)

    def message() -> str:
        return str(run(numbers).error).replace(f"{numbers.parent}/", "")

    assert message().startswith("numbers.yaml:8:38: in/*: no file matches in ")
    write("in/notes.txt", "1\n")
    assert message() == (
        r"numbers.yaml:8:83: in/notes.txt: eventTime.pattern -(\d{4}-\d\d-\d\d) matches no part of the path: correct "
        "the pattern, or move files without a time in their path to another folder"
    )
    numbers = manifest(write, "{kind: Url, url: nope.csv}")
    assert message() == "numbers.yaml:8:31: nope.csv: not found: correct the path, or put the file there"


@pytest.mark.spark
def test_what_is_cached_forever_is_not_read_again_whatever_else_the_manifest_says(
    store: Store, run: Run, write: Write
) -> None:
    forever = "{kind: Url, url: a.csv, cache: {kind: Forever}}"
    write("a.csv", "1\n")
    assert str(run(manifest(write, forever))) == "published 1 record (offsets 0..0)"
    write("a.csv", "2\n")
    assert str(run(manifest(write, forever))) == "up to date"
    assert (
        str(run(manifest(write, forever, "[{kind: Pipe, command: [cat]}]")))
        == "up to date (manifest applied: SetPollingSource)"
    )
    assert str(run(manifest(write, forever.replace("a.csv", "./a.csv")))) == "published 1 record (offsets 1..1)"
    assert [row["n"] for row in tail_rows(store.dataset("numbers"), 10)] == [1, 2]
