"""Merge strategies of Open Data Fabric, one row each, and the codes of the operation column.

All parts of the package import this module, so that it uses the standard library only. ``manifest/fragments.py`` has
the fields of a strategy in a manifest, and its module in ``engine/strategies`` computes its records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

APPEND, RETRACT, CORRECT_FROM, CORRECT_TO = range(4)
"""Codes of the operation column."""

OPERATION_NAMES = ("+A", "-R", "-C", "+C")
"""Names of the operation codes, by code."""

OPERATIONS_TEXT = ", ".join(f"{code} ({name})" for code, name in enumerate(OPERATION_NAMES))
"""Operation codes as messages list them."""

PRESENT = (APPEND, CORRECT_TO)
"""Operations after which the newest record of a key is its current row.

After -R, or after -C without its +C, the key has no current row. ``engine/current_rows.py`` applies this rule with
Spark, ``records/current_rows.py`` and, for merges, ``engine/columnar/state.py`` with Arrow.
"""


CACHED_SLICES = 16
"""Slices of a history, or after a state cache, from which its state is cached."""

CACHED_BYTES = 16 << 20
"""Bytes of a history from which its state may be cached, whatever the number of slices."""


class StateNeeded(Enum):
    """Part of the history that a strategy reads before it merges new rows."""

    NONE = "nothing"
    KEYS = "the keys so far"
    ROWS = "the current row of each key"


class OperationColumn(Enum):
    """Whether new rows have a column with their operation."""

    NONE = "the merge adds it"
    OPTIONAL = "rows may have it"
    REQUIRED = "rows must have it"


@dataclass(frozen=True)
class Traits:
    """Properties of a merge strategy."""

    module: str
    """Module of ``engine/strategies/`` with its kernel."""
    has_key: bool = True
    compares_columns: bool = False
    """Whether ``compareColumns`` may limit what counts as a change."""
    state: StateNeeded = StateNeeded.NONE
    operation_column: OperationColumn = OperationColumn.NONE
    has_current_rows: bool = False
    """Whether the newest record of each key is its current row.

    A contract then tests the current rows, otherwise the new rows.
    """
    retracts_missing_rows: bool = False
    """Whether each input has all current rows of the source, so that missing rows are retracted."""
    is_by_event_time: bool = False
    """Whether the records of a slice are sorted by event time, then by place in the input, instead of by key."""
    may_become: tuple[str, ...] = ()
    """Other strategies that can continue the history."""

    @property
    def has_state(self) -> bool:
        """Whether new rows are compared with the history. If so, the same input adds nothing the second time."""
        return self.state is not StateNeeded.NONE


_BY_KEY = ("Snapshot", "ChangelogStream", "UpsertStream")

MERGE_STRATEGIES: Mapping[str, Traits] = MappingProxyType({
    "Append": Traits("append", has_key=False, is_by_event_time=True),
    "Ledger": Traits(
        "ledger",
        state=StateNeeded.KEYS,
        is_by_event_time=True,
        may_become=("Append", *_BY_KEY),
    ),
    "Snapshot": Traits(
        "snapshot",
        compares_columns=True,
        state=StateNeeded.ROWS,
        has_current_rows=True,
        retracts_missing_rows=True,
        may_become=_BY_KEY,
    ),
    "ChangelogStream": Traits(
        "changelog_stream",
        operation_column=OperationColumn.REQUIRED,
        has_current_rows=True,
        may_become=_BY_KEY,
    ),
    "UpsertStream": Traits(
        "upsert_stream",
        state=StateNeeded.ROWS,
        operation_column=OperationColumn.OPTIONAL,
        has_current_rows=True,
        may_become=_BY_KEY,
    ),
})  # fmt: skip
"""Name of a strategy -> its traits, in the order of the strategies' numbers in metadata blocks."""


def can_follow(before: str, after: str) -> bool:
    """Whether a strategy can continue a history that another one wrote."""
    return before == after or after in MERGE_STRATEGIES[before].may_become
