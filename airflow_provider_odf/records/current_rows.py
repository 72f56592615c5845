"""Which records of a history are current rows, with Arrow; ``engine/current_rows.py`` says it to Spark.

With a key they are the newest records of each key whose operation is one of `merge_strategies.PRESENT`. Without a key
they are the records that no later one undoes.
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from airflow_provider_odf.merge_strategies import PRESENT


def newest_present(codes: pa.Array, operations: pa.ChunkedArray) -> list[int]:
    """Return the places of the current rows of a dataset with a key, ascending; ``codes`` are equal for equal keys."""
    newest = {code: place for place, code in enumerate(codes.to_pylist())}
    codes_of_operations = operations.to_pylist()
    return sorted(place for place in newest.values() if codes_of_operations[place] in PRESENT)


def not_undone(codes: pa.Array, operations: pa.ChunkedArray, *, is_first: bool = True) -> list[int]:
    """Return the places of the records that are left when those that undo each other are taken away, ascending.

    :param codes: equal for equal rows.
    :param is_first: whether no records are before these, so that a record that takes a row back which is not there
        counts for nothing.
    """
    left: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for place, (code, operation) in enumerate(zip(codes.to_pylist(), operations.to_pylist(), strict=True)):
        is_present, others = operation in PRESENT, left[code]
        if others and others[-1][1] != is_present:
            others.pop()
        elif is_present or not is_first:
            others.append((place, is_present))
    return sorted(place for others in left.values() for place, _ in others)
