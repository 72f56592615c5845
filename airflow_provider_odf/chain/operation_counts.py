"""Numbers of the records of slices by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.errors import ChainCorrupted, StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.merge_strategies import OPERATION_NAMES


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
