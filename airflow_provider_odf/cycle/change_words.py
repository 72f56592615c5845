"""What a candidate changes in its dataset, in words for people."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.timeline import count_in_all
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
    slices = filter(None, (getattr(block.event, "new_data", None) for _, block in new))
    counts = count_in_all(dataset, slices, operation_column)
    if counts is None:  # whoever reads the slice is told
        return f"{counted(candidate.records, 'record')} published"
    words = [f"{counted(counts[sign], 'row')} {verb}" for sign, verb in _VERBS.items() if counts.get(sign)]
    return listed(words) if words else "no rows changed"
