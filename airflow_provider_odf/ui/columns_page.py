"""Profiles of the columns of a dataset: what the values of its newest publications are like.

The profile of a block never changes, and is kept with the other caches of pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fastapi.responses import HTMLResponse

from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.dataset_facts import columns as facts_of_columns
from airflow_provider_odf.contract.sensitivity import MASKED
from airflow_provider_odf.reading.profile import MOST_ROWS, ColumnProfile, profile
from airflow_provider_odf.ui.chain_cache import PageCache
from airflow_provider_odf.ui.subject import SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import DataSlice
    from airflow_provider_odf.ui.subject import Subject

_BLOCKS = 10
"""Newest blocks of data whose profiles are shown."""
_MOST_BLOCKS = 300
"""Newest blocks among which those with data are looked for."""

_PROFILES = PageCache[dict[str, list[ColumnProfile]]]("profiles", 1, dict[str, list[ColumnProfile]])
"""Hash of a block -> profiles of its columns."""


@dataclass(frozen=True)
class Column:
    """A column: its profile in the newest block with data, and those before, newest first."""

    newest: ColumnProfile
    earlier: tuple[ColumnProfile, ...]
    is_sensitive: bool

    @property
    def null_shares(self) -> tuple[float, float] | None:
        """The least and the greatest share of nulls in earlier blocks, None without any."""
        shares = [one.null_share for one in self.earlier if one.rows]
        return (min(shares), max(shares)) if shares else None

    @property
    def has_unusual_nulls(self) -> bool:
        """Whether the share of nulls is outside of what earlier blocks had, by more than a twentieth."""
        usual = self.null_shares
        return usual is not None and not usual[0] - 0.05 <= self.newest.null_share <= usual[1] + 0.05

    def shown(self, value: object) -> object:
        return MASKED if self.is_sensitive and value is not None else value


def columns(subject: SubjectOf) -> HTMLResponse:
    """Return the profile of each column in the newest publication, beside that of earlier ones."""
    profiles = list(_read(subject).items())
    newest = profiles[0][1] if profiles else []
    before = [{column.name: column for column in of_block} for _, of_block in profiles[1:]]
    record = subject.newest_record
    return subject.render(
        "columns.html",
        "/columns",
        columns=[
            Column(
                column,
                tuple(earlier[column.name] for earlier in before if column.name in earlier),
                column.name.lower() in subject.sensitive,
            )
            for column in newest
        ],
        types={column["name"]: column["type"] for column in facts_of_columns(subject.history.state.schema)}
        if subject.history.state.schema is not None
        else {},
        said=record[1].columns if record is not None else {},
        block_hash=profiles[0][0] if profiles else None,
        earlier=len(before),
        most=MOST_ROWS,
    )


def _read(subject: Subject) -> Mapping[str, list[ColumnProfile]]:
    """Return the profiles of the newest blocks with data, newest first.

    :raises ChainCorrupted: a block or a slice is missing or damaged.
    """
    known = _PROFILES.read(subject.pages_folder) or {}
    newest = islice(_slices(subject), _BLOCKS)
    state = subject.history.state
    found = {
        block_hash: known[block_hash] if block_hash in known else profile(subject.cached, data_slice, state)
        for block_hash, data_slice in newest
    }
    if found.keys() != known.keys() and cache_file.make_folder(subject.store.work_area, subject.pages_folder):
        _PROFILES.write(subject.pages_folder, found)
    return found


def _slices(subject: Subject) -> Iterator[tuple[str, DataSlice]]:
    for block_hash, block in subject.dataset.data_blocks(subject.history.state.head, _MOST_BLOCKS):
        if (data_slice := getattr(block.event, "new_data", None)) is not None:
            yield block_hash, data_slice
