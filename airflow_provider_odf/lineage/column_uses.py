"""How a column is used to make another one, or to decide which rows there are.

The words are the subtypes of transformations in OpenLineage's facet ``columnLineage`` 1-2-0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

Way: TypeAlias = Literal[
    "IDENTITY",
    "TRANSFORMATION",
    "AGGREGATION",
    "CONDITIONAL",
    "FILTER",
    "GROUP_BY",
    "JOIN",
    "SORT",
    "WINDOW",
]
"""A subtype of a transformation."""

DIRECT: tuple[Way, ...] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
"""Ways in which values of a column go into another one, weakest first. All other ways are indirect."""


class Source(NamedTuple):
    """A column of a table."""

    table: str
    column: str


UNKNOWN = Source("", "")
"""Any column of any table: what stands there could not be resolved."""


@dataclass(frozen=True)
class Use:
    """A use of a column. ``is_masking`` says that the result does not show the values: a hash, or a number of rows."""

    source: Source
    way: Way
    is_masking: bool = False


Uses: TypeAlias = frozenset[Use]
NONE: Uses = frozenset()


def used(uses: Iterable[Use], way: Way, *, is_masking: bool = False) -> Uses:
    """Return the uses of columns whose results are used in a way. An indirect use stays indirect."""
    return frozenset(replace(use, way=_composed(use.way, way), is_masking=use.is_masking or is_masking) for use in uses)


def _composed(inner: Way, outer: Way) -> Way:
    if outer not in DIRECT:
        return outer
    return max(inner, outer, key=DIRECT.index) if inner in DIRECT else inner


def union(parts: Iterable[Iterable[Use]]) -> Uses:
    """Return all uses of some parts."""
    return NONE.union(*parts)


@dataclass(frozen=True)
class Relation:
    """The columns of a table or query with their uses, in order. ``rows`` are uses that decide which rows there are, or
    their order. ``others`` are the uses of a column that is not listed; None if there is no such column."""

    columns: tuple[tuple[str, Uses], ...] = ()
    rows: Uses = NONE
    others: Uses | None = None

    def get(self, name: str) -> Uses | None:
        """Return the uses of a column, or None if there is none."""
        return union(uses for column, uses in self.columns if column == name) if self.has(name) else self.others

    def has(self, name: str) -> bool:
        """Whether a column is listed."""
        return any(column == name for column, _ in self.columns)

    @property
    def with_any_names(self) -> Relation:
        """It, where the columns that a query gives no name may have any name: engines choose it."""
        if not self.has(""):
            return self
        named = tuple(column for column in self.columns if column[0])
        return Relation(named, self.rows, (self.get("") or NONE) | (self.others or NONE))

    @property
    def everything(self) -> Uses:
        """The uses of all columns."""
        return union([*(uses for _, uses in self.columns), self.others or NONE])


NOT_RESOLVED: Uses = frozenset([Use(UNKNOWN, "TRANSFORMATION")])
OPEN = Relation(others=NOT_RESOLVED)
"""A relation whose columns are not known."""
NOT_FOLLOWED = Relation(rows=NOT_RESOLVED, others=NOT_RESOLVED)
"""A relation of which nothing is known."""
