"""The merge strategies, a module each. ``merge_strategies`` has their traits."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_odf.engine.strategies import append, changelog_stream, ledger, snapshot, upsert_stream
from airflow_provider_odf.engine.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "Append": Strategy(append.kernel, append.in_spark),
    "Ledger": Strategy(ledger.kernel, ledger.in_spark),
    "Snapshot": Strategy(snapshot.kernel, snapshot.in_spark),
    "ChangelogStream": Strategy(changelog_stream.kernel, changelog_stream.in_spark),
    "UpsertStream": Strategy(upsert_stream.kernel, upsert_stream.in_spark),
}
"""Name of a strategy -> its forms."""
