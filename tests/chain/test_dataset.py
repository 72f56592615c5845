from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.errors import ChainCorrupted, DatasetNotFound

HEAD = "f16206ad99eed43c278a2331d0373331599726c65169f3a830a553ff56a6b948dbed0"
EVENTS = ["Seed", "SetPollingSource", "SetDataSchema", "AddData", "AddData", "AddData"]


def test_walk_goes_from_the_newest_block_to_the_seed(foreign):
    cities = foreign("cities")
    blocks = list(cities.walk())
    assert [block.event.kind for _, block in blocks] == EVENTS[::-1]
    assert [block.sequence_number for _, block in blocks] == [5, 4, 3, 2, 1, 0]
    assert cities.head() == blocks[0][0]
    assert blocks[0][1] == cities.block(blocks[0][0])


def test_walk_from_a_hash(foreign):
    cities = foreign("cities")
    third = list(cities.walk())[2][0]
    assert [block.event.kind for _, block in cities.walk(third)] == EVENTS[3::-1]


def test_refs_beyond_head(foreign):
    cities = foreign("cities")
    assert cities.head("candidate-1") is None
    with pytest.raises(DatasetNotFound, match="cities has no ref 'candidate-1'"):
        list(cities.walk("candidate-1"))
    cities.storage.compare_and_set_ref("candidate-1", None, cities.head())
    assert len(list(cities.walk("candidate-1"))) == 6


def test_missing_block(foreign):
    cities = foreign("cities")
    seed = list(cities.walk())[-1][0]
    (Path(cities.location) / "blocks" / seed).unlink()
    with pytest.raises(ChainCorrupted, match=f"blocks/{seed}: the block is missing"):
        list(cities.walk())


def test_changed_block(foreign):
    cities = foreign("cities")
    path = Path(cities.location) / "blocks" / cities.head()
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(
        ChainCorrupted, match=rf"{path.name}: checksum mismatch: the content has the hash f1620[0-9a-f]{{64}}"
    ):
        cities.block(cities.head())


@pytest.mark.parametrize("content", ["", "f1620", "../../etc/passwd", "f9680c00120" + "00" * 32])
def test_refs_must_hold_a_hash(foreign, content):
    cities = foreign("cities")
    (Path(cities.location) / "refs/head").write_text(content)
    with pytest.raises(ChainCorrupted, match=r"refs/head is damaged: it holds .*, which is not a block hash; "):
        cities.head()


def test_a_flipped_bit_of_a_ref_is_told_with_the_hash_that_it_was(foreign):
    cities = foreign("cities")
    file, head = Path(cities.location) / "refs/head", cities.head()
    for at in range(len(head)):
        data = bytearray(head.encode())
        data[at] ^= 1 << at % 7
        file.write_bytes(data)
        with pytest.raises(ChainCorrupted) as raised:
            cities.head()
        assert str(raised.value).startswith(f"{file} is damaged: it holds ")
        assert str(raised.value).endswith(
            f"; write the similar block hash {head} into the file, then run `odf verify cities --store "
            f"{Path(cities.location).parent}`"
        )


def test_a_ref_to_a_block_that_is_not_there(foreign):
    cities = foreign("cities")
    (Path(cities.location) / "refs/head").write_text("f1620" + "ab" * 32)
    with pytest.raises(
        ChainCorrupted, match=r"refs/head is damaged: it holds 'f1620.*', but blocks/ has no such block"
    ):
        list(cities.walk())


def test_is_hash():
    assert is_hash(HEAD)
    for text in ("", "head", HEAD[:-1], HEAD.upper(), "F" + HEAD[1:], "f9680c00120" + "00" * 32):
        assert not is_hash(text)
