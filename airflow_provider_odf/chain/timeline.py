"""The blocks of a chain a page at a time, newest first, with what each brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.dataset_facts import event_summary
from airflow_provider_odf.manifest import model, public_source
from airflow_provider_odf.merge_strategies import OPERATION_NAMES

if TYPE_CHECKING:
    from airflow_provider_odf.instant import Instant


@dataclass(frozen=True)
class Entry:
    """One block. ``counts`` are numbers of records by operation (``+A``), empty for a block without records, None if
    its slice cannot be read."""

    block_hash: str
    number: int
    system_time: Instant
    kind: str
    event_summary: str
    counts: Mapping[str, int] | None


@dataclass(frozen=True)
class Timeline:
    """Blocks, newest first, and the hash of the next older block, or None after the seed."""

    entries: tuple[Entry, ...]
    older: str | None


def timeline(
    dataset: Dataset, start: str, n: int, operation_column: str, input_name: Callable[[str, str | None], str]
) -> Timeline:
    """Return ``n`` blocks from the block ``start`` on. Only these blocks are read.

    :param input_name: returns the name of an input for people, from its ref and alias.
    :raises ChainCorrupted: a block is missing or damaged.
    """
    blocks = list(islice(dataset.walk(start), n))
    entries = tuple(
        Entry(
            block_hash,
            block.sequence_number,
            block.system_time,
            block.event.kind,
            event_summary(public_source.dump(block.event), input_name).partition("\n")[0],
            _counts(dataset, block.event, operation_column),
        )
        for block_hash, block in blocks
    )
    return Timeline(entries, blocks[-1][1].prev_block_hash)


def _counts(dataset: Dataset, event: model.Variant, operation_column: str) -> Mapping[str, int] | None:
    new_data = getattr(event, "new_data", None)
    return {} if new_data is None else count_operations(dataset, new_data, operation_column)


def count_in_all(
    dataset: Dataset, data_slices: Iterable[model.DataSlice], operation_column: str
) -> Mapping[str, int] | None:
    """Return the numbers of records of several slices by operation, or None if a file cannot be read."""
    total: Counter[str] = Counter()
    for data_slice in data_slices:
        counts = count_operations(dataset, data_slice, operation_column)
        if counts is None:
            return None
        total.update(counts)
    return total


def count_operations(dataset: Dataset, data_slice: model.DataSlice, operation_column: str) -> Mapping[str, int] | None:
    """Return the numbers of records of a slice by operation, or None if its file cannot be read. Only the column of the
    operation is read."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from airflow_provider_odf.errors import ChainCorrupted, StorageError

    source = slices.location(dataset, data_slice)
    counts = dict.fromkeys(OPERATION_NAMES, 0)
    try:
        with slices.read_errors(source), pq.ParquetFile(source) as file:
            for batch in file.iter_batches(columns=[operation_column]):
                for entry in pc.value_counts(batch.column(0)).to_pylist():
                    counts[OPERATION_NAMES[entry["values"]]] += entry["counts"]
    except (ChainCorrupted, StorageError, IndexError, TypeError):
        return None
    return {name: number for name, number in counts.items() if number}
