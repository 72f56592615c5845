from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.cycle.publish import change_words
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from tests.chain.conftest import Growing

COLUMNS = (pa.field("id", pa.int64()), pa.field("value", pa.string()))


@pytest.fixture
def numbers(tmp_path):
    return Growing(Store.open(tmp_path).create(DatasetAlias.parse("numbers")), model.MergeStrategyAppend(), COLUMNS)


def test_what_changed_since_the_base(numbers):
    base = numbers.dataset.head()
    assert (
        change_words(numbers.dataset, Candidate("numbers", base, base, "candidate-x", records=0)) == "no rows changed"
    )
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"), ("+A", 3, "three"))
    first = numbers.dataset.head()
    candidate = Candidate("numbers", base, first, "candidate-x", records=3)
    assert change_words(numbers.dataset, candidate) == "3 rows added"
    numbers.add(("-C", 1, "one"), ("+C", 1, "uno"), ("-R", 2, "two"))
    file = numbers.add(("+A", 4, "four"))
    candidate = Candidate("numbers", first, numbers.dataset.head(), "candidate-x", records=4)
    words = change_words(numbers.dataset, candidate)
    assert words == "1 row added, 1 row retracted, 1 row corrected"
    Path(file).unlink()
    assert change_words(numbers.dataset, candidate) == "4 records published"
