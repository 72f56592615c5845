"""What a candidate changes in its dataset, in words for people."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.timeline import count_operations
from airflow_provider_odf.wording import counted, listed

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.cycle.messages import Candidate

_VERBS = {"+A": "added", "-R": "retracted", "+C": "corrected"}
"""Operation -> what it does to a row; ``-C`` is the other half of ``+C``."""


def change_words(dataset: Dataset, candidate: Candidate) -> str:
    """Return what the blocks of a candidate change, such as ``3 rows added, 1 row corrected``.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    operation_column = replay(dataset, candidate.candidate).vocab.operation_type_column
    new = takewhile(lambda entry: entry[0] != candidate.base, dataset.walk(candidate.candidate))
    counts: Counter[str] = Counter()
    for _, block in new:
        data_slice = getattr(block.event, "new_data", None)
        if data_slice is None:
            continue
        found = count_operations(dataset, data_slice, operation_column)
        if found is None:  # whoever reads the slice is told
            return f"{counted(candidate.records, 'record')} published"
        counts.update(found)
    words = [f"{counted(counts[sign], 'row')} {verb}" for sign, verb in _VERBS.items() if counts[sign]]
    return listed(words) if words else "no rows changed"
