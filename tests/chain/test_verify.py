from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import info_files
from airflow_provider_odf.chain.verify import Verified, verify
from airflow_provider_odf.errors import ChainCorrupted, DatasetNotFound
from airflow_provider_odf.manifest import model

EXPECTED = {"cities": Verified(6, 3, 9), "sensors": Verified(10, 3, 4)}


@pytest.mark.parametrize("name", EXPECTED)
def test_datasets_of_another_writer(foreign, name):
    assert verify(foreign(name)) == EXPECTED[name]


def test_progress_and_refs(foreign):
    cities, steps = foreign("cities"), []
    older = list(cities.walk())[1][0]
    cities.storage.compare_and_set_ref("older", None, older)
    assert verify(cities, "older", steps.append) == Verified(5, 2, 7)
    blocks = [f"block {number} of 5" for number in (1, 2, 3, 4, 5)]
    assert [str(step).split(":")[0] for step in steps] == [*blocks, *(f"slice {n} of 3" for n in (1, 2, 3))]
    with pytest.raises(DatasetNotFound):
        verify(cities, "none")


def test_every_byte_of_every_block_counts(foreign):
    cities = foreign("cities")
    for path in (Path(cities.location) / "blocks").iterdir():
        data = path.read_bytes()
        for at in range(0, len(data), 7):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
            with pytest.raises(ChainCorrupted, match=path.name):
                verify(cities)
        path.write_bytes(data)
    assert verify(cities) == EXPECTED["cities"]


def test_every_byte_of_every_slice_counts(foreign):
    cities = foreign("cities")
    for path in (Path(cities.location) / "data").iterdir():
        data = path.read_bytes()
        for at in range(0, len(data), 31):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
            for is_quick in (False, True):
                with pytest.raises(ChainCorrupted, match=rf"{path.name}: checksum mismatch: the content has the hash"):
                    verify(cities, is_quick=is_quick)
        path.write_bytes(data)
    assert verify(cities) == EXPECTED["cities"]


def test_missing_longer_and_shorter_slices(foreign):
    cities = foreign("cities")
    path = next((Path(cities.location) / "data").iterdir())
    data = path.read_bytes()
    for changed in (data[:-1], data + b"\0"):
        path.write_bytes(changed)
        with pytest.raises(
            ChainCorrupted, match=f"{path.name}: has {len(changed)} bytes, but its block records {len(data)}"
        ):
            verify(cities)
    path.unlink()
    with pytest.raises(ChainCorrupted, match=f"{path.name}: the file is missing"):
        verify(cities)


def test_refs_and_files_about_blocks(foreign):
    cities = foreign("cities")
    head = cities.head()
    info_files.put(cities, "reports", head, {"base": head})
    cities.storage.put(f"info/reports/{'f1620' + 'ab' * 32}.json", b'{"base": "of version 0.1.0"}')
    assert verify(cities) == EXPECTED["cities"]
    file = Path(cities.location) / f"info/reports/{head}.json"
    data = file.read_bytes()
    for changed in (data.replace(b'"base": "f16', b'"base": "f17'), data.replace(b"sha256", b"sha257")):
        file.write_bytes(changed)
        with pytest.raises(ChainCorrupted, match=rf"{file.name} is damaged: restore it from a backup or remove it. "):
            verify(cities)
    file.write_bytes(data)
    (Path(cities.location) / "refs/candidate-1").write_text(head[:-1])
    with pytest.raises(ChainCorrupted, match=r"refs/candidate-1 is damaged: .* write the similar block hash"):
        verify(cities)


def replaced(growing, write, **said) -> str:
    """Add a slice whose file ``write`` makes; its physical hash and size are right, the rest is what the block says."""
    path = Path(growing.dataset.storage.location("x.parquet"))
    write(path)
    physical = multiformats.hash_file(path)
    size = path.stat().st_size
    growing.dataset.storage.adopt(f"data/{physical}", path)
    good = growing.draft.state.slices[-1]
    interval = model.OffsetInterval(start=good.offset_interval.end + 1, end=good.offset_interval.end + 1)
    new_data = good.model_copy(update={"physical_hash": physical, "size": size, "offset_interval": interval, **said})
    growing.append(
        model.AddData(
            prev_offset=growing.draft.state.last_offset, new_data=new_data, new_watermark=growing.draft.state.watermark
        )
    )
    return physical


def test_blocks_that_lie_about_their_slices(grow):
    growing = grow()
    path = growing.add(("+A", 1, "x"))
    assert verify(growing.dataset) == Verified(4, 1, 1)
    rows = pq.read_table(path)

    other = replaced(growing, lambda p: pq.write_table(rows.set_column(5, "value", pa.array(["y"])), p))
    with pytest.raises(ChainCorrupted, match=f"{other}: logical hash mismatch: the rows have f9680c00120"):
        verify(growing.dataset)
    assert verify(growing.dataset, is_quick=True) == Verified(5, 2, 2)


def test_a_slice_with_another_number_of_records(grow):
    growing = grow()
    rows = pq.read_table(growing.add(("+A", 1, "x")))
    double = replaced(growing, lambda p: pq.write_table(pa.concat_tables([rows, rows]), p))
    with pytest.raises(ChainCorrupted, match=f"{double}: has 2 records, but its block records the offsets 1 to 1"):
        verify(growing.dataset)


def test_a_slice_that_is_no_parquet(grow):
    growing = grow()
    growing.add(("+A", 1, "x"))
    text = replaced(growing, lambda p: p.write_text("no parquet"))
    with pytest.raises(ChainCorrupted, match=f"{text}: cannot read the slice"):
        verify(growing.dataset)


def test_a_slice_of_a_type_without_logical_hash(grow):
    growing = grow()
    rows = pq.read_table(growing.add(("+A", 1, "x")))
    mapped = rows.append_column("m", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())))
    name = replaced(growing, lambda p: pq.write_table(mapped, p))
    with pytest.raises(ChainCorrupted, match=f"{name}: .*m"):
        verify(growing.dataset)


def test_checkpoints(grow):
    growing = grow()
    growing.dataset.storage.put("checkpoints/x", b"state")
    physical = multiformats.sha3_256(b"state")
    growing.dataset.storage.adopt(f"checkpoints/{physical}", Path(growing.dataset.location) / "checkpoints/x")
    growing.append(model.AddData(new_checkpoint=model.Checkpoint(physical_hash=physical, size=5)))
    assert verify(growing.dataset) == Verified(4, 0, 0)
    (Path(growing.dataset.location) / "checkpoints" / physical).write_bytes(b"STATE")
    with pytest.raises(ChainCorrupted, match=f"checkpoints/{physical}: checksum mismatch: the content has the hash"):
        verify(growing.dataset)
