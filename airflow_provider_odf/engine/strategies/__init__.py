"""The merge strategies, a module each. ``merge_strategies`` has their traits."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_odf.engine.strategies import append, changelog_stream, ledger, snapshot, upsert_stream
from airflow_provider_odf.engine.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "Append": Strategy(append.in_arrow, append.in_spark),
    "Ledger": Strategy(ledger.in_arrow, ledger.in_spark),
    "Snapshot": Strategy(snapshot.in_arrow, snapshot.in_spark),
    "ChangelogStream": Strategy(changelog_stream.in_arrow, changelog_stream.in_spark),
    "UpsertStream": Strategy(upsert_stream.in_arrow, upsert_stream.in_spark),
}
"""Name of a strategy -> its forms."""
