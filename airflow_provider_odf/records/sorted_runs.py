"""Rows that do not fit in memory, in order: sorted runs on disk, which are read side by side.

Only the column that sorts them is in memory, and a piece of each run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.records.threads import map_ahead

RUN_BYTES = 48 << 20
"""Bytes of a run, which is sorted in memory."""

BATCH = 8192
"""Rows that are read from a run at once."""


def in_order(tables: Iterable[pa.Table], by: str, directory: str, piece: int) -> Iterator[pa.Table]:
    """Yield the rows of tables in the order of a column without nulls, then of the tables, in pieces of some rows.

    The runs are in files without a name in a directory, of which nothing is left however this process ends.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        runs = [
            _Run(files.enter_context(tempfile.TemporaryFile(dir=directory)), table, by)
            for table in grouped(tables, RUN_BYTES)
        ]
        if not runs:
            return
        keys = pa.chunked_array([run.keys for run in runs])
        places = pc.sort_indices(keys)
        counts = (_counts(places.slice(start, piece), runs) for start in range(0, len(places), piece))
        # The runs are read in order, by this thread; the pieces are sorted by others.
        parts = (pa.concat_tables([run.next(n) for run, n in zip(runs, count, strict=True)]) for count in counts)
        yield from map_ahead(lambda part: part.take(pc.sort_indices(part[by])), parts)


class _Run:
    """Sorted rows in a file of Arrow's format, read from the start."""

    def __init__(self, file: IO[bytes], table: pa.Table, by: str) -> None:
        rows = table.take(pc.sort_indices(table[by])).combine_chunks()
        self.keys = pa.concat_arrays(rows[by].chunks)
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=BATCH)
        file.flush()
        self._file = pa.ipc.open_file(file)
        self._batch, self._kept = 0, rows.schema.empty_table()

    def next(self, count: int) -> pa.Table:
        """Return the next rows."""
        parts = [self._kept]
        while sum(part.num_rows for part in parts) < count:
            parts.append(pa.Table.from_batches([self._file.get_batch(self._batch)]))
            self._batch += 1
        rows = pa.concat_tables(parts)
        self._kept = rows.slice(count)
        return rows.slice(0, count)


def grouped(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of at least some bytes, each column in one piece."""
    kept, taken = list[pa.Table](), 0
    for table in tables:
        kept.append(table)
        taken += table.nbytes
        if taken >= size:
            yield pa.concat_tables(kept).combine_chunks()
            kept, taken = [], 0
    if any(table.num_rows for table in kept):
        yield pa.concat_tables(kept).combine_chunks()


def _counts(places: pa.Array, runs: list[_Run]) -> list[int]:
    """Return how many of some places are in each run."""
    counts, done = list[int](), 0
    for run in runs:
        up_to = pc.sum(pc.less(places, done + len(run.keys))).as_py()
        before = pc.sum(pc.less(places, done)).as_py()
        counts.append(up_to - before)
        done += len(run.keys)
    return counts
