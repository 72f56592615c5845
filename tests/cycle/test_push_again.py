"""Pushes of content that was pushed before, and pushes that lost a race."""

import pytest

from airflow_provider_odf.cycle.messages import Input, UpToDate
from airflow_provider_odf.cycle.push import again
from airflow_provider_odf.errors import InvalidInput

from .conftest import cycle_of
from .pushing import UPSERT, publish, push_to, source


def test_equal_pushes_of_events_are_two_events(store, declare, file):
    declare(source(merge="Append"))
    first = push_to(store, file)
    assert first.files[0].state is None
    publish(store, first)
    assert isinstance(push_to(store, file), Input)


def test_the_same_state_again_right_away_is_up_to_date(store, declare, file):
    declare(source(merge=UPSERT))
    publish(store, push_to(store, file))
    assert push_to(store, file) == UpToDate("up to date: the same was pushed already (block 2)")
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
