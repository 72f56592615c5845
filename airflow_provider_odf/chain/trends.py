"""Numbers of the newest blocks with data: records by operation, size, and distance of the watermark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.timeline import count_operations
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import PublishedHistory
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import MetadataBlock

_BLOCKS_PER_POINT = 20
"""Blocks without data that are read for each point at most."""


@dataclass(frozen=True)
class Point:
    """A block that added data, or that says that there was nothing to add.

    ``counts`` are numbers of records by operation, None if the slice cannot be read. ``size`` is in bytes.
    """

    block_hash: str
    number: int
    published: Instant
    counts: Mapping[str, int] | None
    size: int
    watermark: Instant | None

    @property
    def lag(self) -> float | None:
        """Seconds from the watermark to the publication, None without a watermark."""
        if self.watermark is None:
            return None
        return (self.published.to_datetime() - self.watermark.to_datetime()).total_seconds()


def newest_points(history: PublishedHistory, n: int, operation_column: str) -> list[Point]:
    """Return the newest ``n`` blocks of data of a history, oldest first; fewer if many other blocks are between them.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    blocks = islice(history.dataset.walk(history.hashes[-1]), n * _BLOCKS_PER_POINT)
    return list(islice(_points(history, blocks, operation_column), n))[::-1]


def _points(
    history: PublishedHistory, blocks: Iterator[tuple[str, MetadataBlock]], operation_column: str
) -> Iterator[Point]:
    for block_hash, block in blocks:
        event = block.event
        if isinstance(event, model.AddData | model.ExecuteTransform):
            new = event.new_data
            counts = {} if new is None else count_operations(history.dataset, new, operation_column)
            yield Point(
                block_hash,
                block.sequence_number,
                history.since(block.sequence_number, block.system_time),
                counts,
                0 if new is None else new.size,
                event.new_watermark,
            )
