"""Each merge strategy has its row, its model in a manifest, its place in blocks, and its kernel."""

from __future__ import annotations

from typing import get_args

from airflow_provider_odf.engine.strategies import kernel_of
from airflow_provider_odf.manifest import fragments
from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, can_follow


def test_a_strategy_is_known_everywhere() -> None:
    models = {model.model_fields["kind"].default: model for model in get_args(get_args(fragments.MergeStrategy)[0])}
    assert set(MERGE_STRATEGIES) == set(models)
    for name, traits in MERGE_STRATEGIES.items():
        assert traits.has_key == ("primary_key" in models[name].model_fields), name
        assert callable(kernel_of(name)), name
        assert traits.compares_columns == ("compare_columns" in models[name].model_fields), name


def test_numbers_in_blocks_stay() -> None:
    members = get_args(get_args(fragments.MergeStrategy)[0])
    assert [member.__name__ for member in members] == [
        "MergeStrategyAppend",
        "MergeStrategyLedger",
        "MergeStrategySnapshot",
        "MergeStrategyChangelogStream",
        "MergeStrategyUpsertStream",
    ]
    assert [member.model_fields["kind"].default for member in members] == list(MERGE_STRATEGIES)


def test_a_strategy_goes_on_only_with_a_history_that_it_reads_rightly() -> None:
    followers = {a: [b for b in MERGE_STRATEGIES if a != b and can_follow(a, b)] for a in MERGE_STRATEGIES}
    assert followers == {
        "Append": [],
        "Ledger": ["Append", "Snapshot", "ChangelogStream", "UpsertStream"],
        "Snapshot": ["ChangelogStream", "UpsertStream"],
        "ChangelogStream": ["Snapshot", "UpsertStream"],
        "UpsertStream": ["Snapshot", "ChangelogStream"],
    }
