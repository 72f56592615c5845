from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_odf.chain import state as states
from airflow_provider_odf.chain.replay import replay, replay_all
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest import model

BLOCKS = 3 + 62


@pytest.fixture
def cached(grow, store):
    """A dataset of 65 blocks in a store with a directory for its cache: what a merge leaves."""
    numbers = grow()
    numbers.dataset = store.dataset(numbers.dataset.alias)
    numbers.dataset.cache.mkdir(parents=True)
    numbers.add(("+A", 1, "one"))
    for number in range(61):
        numbers.append(model.SetInfo(description=f"edition {number}"))
    return numbers


def kept_file(dataset):
    return dataset.cache / "chain-state"


def block_file(dataset, block_hash):
    return Path(dataset.storage.location(f"blocks/{block_hash}"))


def count_reads(dataset, monkeypatch):
    """Return the dataset and a list that gets the name of each block that is read from now on."""
    reads: list[str] = []
    storage, get = type(dataset.storage), type(dataset.storage).get

    def counted(self, name):
        if name.startswith("blocks/"):
            reads.append(name)
        return get(self, name)

    monkeypatch.setattr(storage, "get", counted)
    return reads


def test_known_blocks_are_not_read_again(cached, monkeypatch):
    expected = replay_all(cached.dataset)
    assert replay(cached.dataset) == expected
    reads = count_reads(cached.dataset, monkeypatch)
    assert replace(replay(cached.dataset), slices=()) == replace(expected, slices=())
    assert not reads
    head = cached.add(("+A", 2, "two"), ("+A", 3, "three")) and cached.dataset.head()
    newest = replay(cached.dataset)
    assert reads == [f"blocks/{head}"]
    assert (newest.sequence_number, newest.last_offset) == (BLOCKS, 2)
    assert [(s.offset_interval.start, s.offset_interval.end) for s in newest.slices] == [(0, 0), (1, 2)]
    assert newest == replay_all(cached.dataset)


def test_slices_of_a_kept_state(cached):
    expected = replay(cached.dataset).slices
    slices = replay(cached.dataset).slices
    assert isinstance(slices, states.CachedSlices)
    assert len(slices) == 1
    assert (tuple(slices), slices[0], slices[-1:]) == (expected, expected[0], expected)


def test_a_short_chain_is_not_kept(grow, store):
    numbers = grow()
    dataset = store.dataset(numbers.dataset.alias)
    dataset.cache.mkdir(parents=True)
    replay(dataset)
    assert not kept_file(dataset).exists()


def test_without_a_cache_directory_nothing_is_written(cached, store):
    cached.dataset.cache.rmdir()
    replay(cached.dataset)
    assert not cached.dataset.cache.exists()


def test_the_file_follows_a_growing_chain(cached, monkeypatch):
    replay(cached.dataset)
    for number in range(states.LEAST_BLOCKS):
        cached.append(model.SetInfo(description=f"more {number}"))
    replay(cached.dataset)
    reads = count_reads(cached.dataset, monkeypatch)
    assert replay(cached.dataset).info.description == "more 63"
    assert not reads


@pytest.mark.parametrize("number", [1, 3, 40])
def test_a_block_that_was_written_to_is_read_again(cached, number):
    replay(cached.dataset)
    block_hash = next(h for h, block in cached.dataset.walk() if block.sequence_number == number)
    file = block_file(cached.dataset, block_hash)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ChainCorrupted, match=f"{block_hash}: checksum mismatch"):
        replay(cached.dataset)


def test_a_lost_block_is_missed(cached):
    replay(cached.dataset)
    block_hash = next(h for h, block in cached.dataset.walk() if block.sequence_number == 7)
    block_file(cached.dataset, block_hash).unlink()
    with pytest.raises(ChainCorrupted, match=f"{block_hash}: the block is missing"):
        replay(cached.dataset)


def test_a_damaged_file_counts_as_missing(cached):
    expected = replay(cached.dataset)
    content = kept_file(cached.dataset).read_bytes()
    for damaged in (content[:-1], content.replace(b"edition", b"editing"), b"", b"chain-state 0 x\n", b"\xff" * 90):
        kept_file(cached.dataset).write_bytes(damaged)
        assert states.read_cached(cached.dataset) is None
        assert replay(cached.dataset) == expected


def test_another_chain_under_the_name(cached):
    replay(cached.dataset)
    head = cached.dataset.head()
    older = next(h for h, block in cached.dataset.walk() if block.sequence_number == 10)
    assert replay(cached.dataset, older) == replay_all(cached.dataset, older)
    cached.dataset.storage.compare_and_set_ref("head", head, older)
    assert replay(cached.dataset) == replay_all(cached.dataset, older)


def test_state_of_another_writer(foreign, tmp_path, monkeypatch):
    monkeypatch.setattr(states, "LEAST_BLOCKS", 1)
    for name in ("sensors", "cities"):
        dataset = replace(foreign(name), cache=tmp_path / name)
        dataset.cache.mkdir()
        state = replay(dataset)
        kept = states.read_cached(dataset)
        assert kept is not None
        assert replace(kept.state, slices=tuple(kept.state.slices)) == state
