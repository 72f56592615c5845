"""What a changed manifest appends to a chain, and what it is refused. No engine runs: data blocks are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.evolution.inputs import with_ids
from airflow_provider_odf.evolution.plan import plan
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from tests.manifests import derived

from .editing import (
    Edited,
    polling,
    pushing,
    refused,
    shown,
    sql,
)


def test_a_new_dataset_gets_all_of_its_events(edited: Edited) -> None:
    planned = edited.plan("{kind: SetInfo, description: A}", "{kind: SetInfo, description: B}", polling())
    assert (planned.is_new, [c.event.kind for c in planned.changes]) == (
        True,
        ["SetInfo", "SetInfo", "SetPollingSource"],
    )
    assert [str(c.place.line) for c in planned.changes if c.place] == ["7", "8", "9"]


def test_what_is_planned_is_what_is_applied(with_data: Edited) -> None:
    events = polling(fetch="{kind: Url, url: 'https://example.com/b.csv'}"), "{kind: SetInfo, description: Things}"
    planned = with_data.plan(*events)
    before = replay(with_data.store.dataset("things"))
    state = with_data.apply(*events)
    appended = [block.event for _, block in with_data.store.dataset("things").walk(state.head)]
    assert appended[: len(planned.changes)][::-1] == [c.event for c in planned.changes]
    assert state.sequence_number == before.sequence_number + 2
    assert with_data.plan(*events).changes == ()
    assert shown(planned) == [
        ("SetPollingSource", [("fetch.url", "https://example.com/a.csv", "https://example.com/b.csv")]),
        ("SetInfo", []),
    ]


def test_a_new_derivative_has_the_ids_of_its_inputs(with_data: Edited, tmp_path: Path) -> None:
    file = tmp_path / "derived.yaml"
    file.write_text(derived("derived", "{datasetRef: things}", sql("select 1 as event_time")))
    planned = plan(None, with_ids(load([file]).manifests[0], with_data.store))
    assert refused(planned) == []
    [change] = planned.changes
    assert isinstance(change.event, model.SetTransform)
    things = replay(with_data.store.dataset("things")).dataset_id
    assert [(i.dataset_ref, i.alias) for i in change.event.inputs] == [(things, "things")]


def test_an_input_that_the_store_does_not_have_is_refused(with_data: Edited, tmp_path: Path) -> None:
    file = tmp_path / "derived.yaml"
    file.write_text(derived("derived", "{datasetRef: thing}", sql("select 1 as event_time")))
    with pytest.raises(ManifestInvalid) as refusal:
        with_ids(load([file]).manifests[0], with_data.store)
    [problem] = refusal.value.problems
    assert (problem.place.line, problem.fix) == (8, "did you mean `things`?")
    assert problem.message == f"input thing is not in the store {with_data.store.location}"


def test_nothing_is_written_where_something_is_refused(with_data: Edited) -> None:
    blocks = sorted((Path(with_data.store.dataset("things").location) / "blocks").iterdir())
    with pytest.raises(ManifestInvalid, match=r"things.yaml:8:\d+: the dataset has data merged by Snapshot"):
        with_data.apply("{kind: SetInfo, description: New}", polling(merge="{kind: Append}"))
    assert sorted((Path(with_data.store.dataset("things").location) / "blocks").iterdir()) == blocks


def test_a_source_that_is_gone_is_disabled_and_can_come_back(with_data: Edited) -> None:
    assert [c.event for c in with_data.plan().changes] == [model.DisablePollingSource()]
    state = with_data.apply()
    assert state.polling_source is None
    assert with_data.plan().changes == ()
    assert [c.event.kind for c in with_data.plan(polling()).changes] == ["SetPollingSource"]
    state = with_data.apply(polling())
    assert state.polling_source is not None
    assert state.polling_state.value == "1"


def test_push_sources_go_and_come_by_name(edited: Edited) -> None:
    edited.apply(pushing("web"), pushing("app"))
    assert [c.event for c in edited.plan(pushing("app"), pushing("api")).changes] == [
        model.DisablePushSource(source_name="web"),
        edited.manifest(pushing("api")).snapshot.metadata[0],
    ]
    assert set(edited.apply(pushing("app"), pushing("api")).push_sources) == {"app", "api"}
    assert set(edited.apply(pushing("web"), pushing("app")).push_sources) == {"web", "app"}


def test_one_kind_of_source_takes_the_place_of_the_other(edited: Edited) -> None:
    edited.apply(polling())
    planned = edited.plan(pushing("web"))
    assert [c.event.kind for c in planned.changes] == ["DisablePollingSource", "AddPushSource"]
    edited.apply(pushing("web"))
    state = edited.apply(polling())
    assert (state.polling_source is not None, dict(state.push_sources)) == (True, {})


def test_a_chain_of_changes_can_be_folded_again(with_data: Edited, tmp_path: Path) -> None:
    steps: list[Callable[[], ChainState]] = [
        lambda: with_data.apply(),
        lambda: with_data.apply(pushing("web"), pushing("app")),
        lambda: with_data.apply(pushing("app", merge="{kind: UpsertStream, primaryKey: [k]}")),
        lambda: with_data.apply(polling(), "{kind: SetLicense, shortName: a, name: b, websiteUrl: 'https://c.d'}"),
    ]
    for step in steps:
        state = step()
        assert replay(with_data.store.dataset("things")) == state
    assert state.sequence_number == 11
