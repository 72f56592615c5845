from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest import model
from airflow_provider_odf.ui.chain_cache import FOLDER, read_history


@pytest.fixture
def area(store):
    store.work_area.mkdir(parents=True)
    return store.work_area


def block_file(dataset, block_hash):
    return Path(dataset.storage.location(f"blocks/{block_hash}"))


def test_only_newer_blocks_are_read(grow, area):
    numbers = grow()
    first = numbers.dataset.head()
    numbers.add(("+A", 1, "one"))
    before = read_history(numbers.dataset, area)
    assert before.state == replay(numbers.dataset)
    numbers.add(("+A", 2, "two"))
    expected = replay(numbers.dataset)
    block_file(numbers.dataset, first).rename(area / "kept")
    after = read_history(numbers.dataset, area)
    assert after.state == expected
    assert after.schemas == before.schemas
    assert [entry.block_hash for entry in after.schemas] == [first]


def test_a_damaged_file_counts_as_missing(grow, area):
    numbers = grow()
    kept = read_history(numbers.dataset, area)
    (file,) = (area / FOLDER).glob("*/history")
    for content in (file.read_bytes().replace(b"Root", b"Toor"), b"", b"history 0 x\n{}"):
        file.write_bytes(content)
        assert read_history(numbers.dataset, area) == kept


def test_a_chain_that_lost_the_block_is_read_again(grow, area):
    numbers = grow()
    base = numbers.dataset.head()
    newest = numbers.append(model.SetInfo(description="x"))
    read_history(numbers.dataset, area)
    numbers.dataset.storage.compare_and_set_ref("head", newest, base)
    assert read_history(numbers.dataset, area).state == replay(numbers.dataset)


def test_a_new_block_is_checked(grow, area):
    numbers = grow()
    read_history(numbers.dataset, area)
    block_file(numbers.dataset, numbers.append(model.SetInfo(description="x"))).write_bytes(b"damaged")
    with pytest.raises(ChainCorrupted):
        read_history(numbers.dataset, area)


def test_without_a_work_area_nothing_is_written(grow, store):
    numbers = grow()
    assert read_history(numbers.dataset, store.work_area).state == replay(numbers.dataset)
    assert not store.work_area.exists()
