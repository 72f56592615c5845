"""Edits that a dataset refuses for its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.evolution.plan import plan
from airflow_provider_odf.manifest.manifest import Manifest

from .editing import (
    READ,
    Edited,
    K,
    V,
    polling,
    pushing,
    refused,
    sql,
)


def test_the_kind_of_a_dataset_stays(with_data: Edited) -> None:
    manifest = with_data.manifest(polling())
    snapshot = manifest.snapshot.model_copy(update={"kind": "Derivative"})
    state = replay(with_data.store.dataset("things"))
    planned = plan(state, Manifest(snapshot, manifest.file, manifest.document))
    assert refused(planned) == ["5: dataset things exists as Root, not Derivative: a dataset never changes its kind"]


def test_names_of_system_columns_stay_once_there_are_columns(with_data: Edited, tmp_path: Path) -> None:
    assert refused(with_data.plan(polling(), "{kind: SetVocab, eventTimeColumn: at}")) == [
        "8: the dataset has the system columns offset, op, system_time, event_time; their names cannot change"
    ]
    fresh = Edited(tmp_path / "fresh")
    fresh.file.parent.mkdir()
    fresh.apply(polling())
    assert fresh.apply(polling(), "{kind: SetVocab, eventTimeColumn: at}").vocab.event_time_column == "at"


STRATEGIES = {
    "Append": "{kind: Append}",
    "Ledger": "{kind: Ledger, primaryKey: [k]}",
    "Snapshot": "{kind: Snapshot, primaryKey: [k]}",
    "UpsertStream": "{kind: UpsertStream, primaryKey: [k]}",
    "ChangelogStream": "{kind: ChangelogStream, primaryKey: [k]}",
}

ALLOWED = {("Ledger", "Append")} | {
    (before, after)
    for before in ("Ledger", "Snapshot", "UpsertStream", "ChangelogStream")
    for after in ("Snapshot", "UpsertStream", "ChangelogStream")
}

OP_READ = "{kind: NdJson, schema: [op INT, k BIGINT NOT NULL, v STRING]}"


@pytest.mark.parametrize("before", STRATEGIES)
@pytest.mark.parametrize("after", STRATEGIES)
def test_a_strategy_goes_on_with_data_that_it_reads_rightly(edited: Edited, before: str, after: str) -> None:
    reads = {name: OP_READ if name == "ChangelogStream" else READ for name in STRATEGIES}
    edited.apply(polling(reads[before], STRATEGIES[before]))
    changed = polling(reads[after], STRATEGIES[after])
    assert edited.plan(changed).problems == ()  # before there are data
    edited.add_data(K, V)
    is_allowed = before == after or (before, after) in ALLOWED
    expected = [f"7: the dataset has data merged by {before}, which {after} cannot continue"]
    assert refused(edited.plan(changed)) == ([] if is_allowed else expected)


def test_the_key_of_data_stays_also_for_a_source_that_comes_back(with_data: Edited) -> None:
    message = ["7: the dataset has data merged under the key (k), not (v)"]
    other = "{kind: UpsertStream, primaryKey: [v]}"
    assert refused(with_data.plan(polling(merge=other))) == message
    with_data.apply()
    assert refused(with_data.plan(polling(merge=other))) == message
    assert refused(with_data.plan(pushing("web", merge=other))) == message
    assert with_data.plan(pushing("web")).problems == ()


def test_the_order_of_a_glob_stays(edited: Edited) -> None:
    time = "eventTime: {kind: FromPath, pattern: (.*)}"
    by_name = polling(fetch=f"{{kind: FilesGlob, path: a/*, {time}}}")
    by_time = polling(fetch=f"{{kind: FilesGlob, path: a/*, {time}, order: ByEventTime}}")
    edited.apply(by_name)
    assert edited.plan(by_time).problems == ()
    edited.add_data(K, V)
    assert refused(edited.plan(by_time)) == [
        "7: files were ingested in the order ByName; in the order ByEventTime all of them would be ingested again"
    ]
    assert edited.plan(by_name).problems == ()


def test_sql_is_checked_before_anything_is_written(edited: Edited, with_data: Edited) -> None:
    message = "No field named z. The columns are input.k, input.v."
    source = polling(preprocess=sql("select k, z from input", "datafusion"))
    assert [p.message for p in edited.plan(source).problems] == [message]
    assert [p.message for p in with_data.plan(source).problems] == [message]
    assert with_data.plan(polling(preprocess=sql("select k, v from input", "datafusion"))).problems == ()
