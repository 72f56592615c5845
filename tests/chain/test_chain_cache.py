from pathlib import Path

import pytest

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest import model
from airflow_provider_odf.ui.chain_cache import FOLDER, read_history, read_positions


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


def test_blocks_are_read_once_for_the_history_and_the_positions(grow, area):
    numbers = grow()
    first = numbers.dataset.head()
    numbers.add(("+A", 1, "one"), ("+A", 2, "two"))
    read_history(numbers.dataset, area)
    block_file(numbers.dataset, first).rename(area / "kept")
    assert read_positions(numbers.dataset, numbers.dataset.head(), area).offsets == [-1, -1, -1, 1]
    numbers.add(("+A", 3, "three"))
    read_history(numbers.dataset, area)
    head = numbers.dataset.head()
    block_file(numbers.dataset, head).rename(area / "newest")
    assert read_positions(numbers.dataset, head, area).offsets == [-1, -1, -1, 1, 2]


def test_slices_are_kept_with_the_history(grow, area):
    numbers = grow()
    for number in range(3):
        numbers.add(("+A", number, "x"))
    read_history(numbers.dataset, area)
    slices = read_history(numbers.dataset, area).state.slices
    assert [(s.offset_interval.start, s.offset_interval.end) for s in slices] == [(0, 0), (1, 1), (2, 2)]
    assert slices == replay(numbers.dataset).slices


def test_positions_that_are_lost_or_of_another_branch_are_read_again(grow, area):
    numbers = grow()
    base = numbers.dataset.head()
    numbers.add(("+A", 1, "one"))
    read_history(numbers.dataset, area)
    (file,) = (area / FOLDER).glob("*/positions")
    numbers.dataset.storage.compare_and_set_ref("head", numbers.dataset.head(), base)
    read_history(numbers.dataset, area)
    assert read_positions(numbers.dataset, base, area).offsets == [-1, -1, -1]
    file.unlink()
    other = numbers.draft.state.head
    numbers.dataset.storage.compare_and_set_ref("head", base, other)
    read_history(numbers.dataset, area)
    assert read_positions(numbers.dataset, other, area).offsets == [-1, -1, -1, 0]
