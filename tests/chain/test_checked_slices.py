from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_odf.chain import slices
from airflow_provider_odf.errors import ChainCorrupted


@pytest.fixture
def check(grow, tmp_path: Path):
    """Check all slices of a dataset of three; the messages that it gives."""
    growing = grow()
    for number in range(3):
        growing.add(("+A", number, f"text {number}"))
    cache = tmp_path / "cache"
    cache.mkdir()

    def check(dataset_id: str = "did:odf:1") -> list[str]:
        messages: list[str] = []
        dataset = replace(growing.dataset, cache=cache)
        slices.check_unrecorded(dataset, dataset_id, growing.draft.state.slices, messages.append)
        return messages

    check.files = [Path(growing.dataset.location) / "data" / s.physical_hash for s in growing.draft.state.slices]
    check.record = cache / slices.RECORD
    return check


def test_each_slice_is_read_once(check):
    (message,) = check()
    assert message.startswith("checking 3 slices, ")
    assert check() == []


def test_a_file_that_was_written_is_read_again(check):
    check()
    file = check.files[1]
    data, stat = file.read_bytes(), file.stat()
    file.write_bytes(data)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # no tool can set the time of the change itself
    (message,) = check()
    assert message.startswith("checking 1 slice, ")
    file.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(ChainCorrupted, match=f"{file.name}: checksum mismatch: the content has the hash"):
            check()
    file.unlink()
    with pytest.raises(ChainCorrupted, match=f"{file.name}: the file is missing"):
        check()


def test_a_damaged_record_or_that_of_another_dataset_says_nothing(check):
    check()
    assert len(check("did:odf:2")) == 1
    data = check.record.read_bytes()
    check.record.write_bytes(data.replace(b'"slices"', b'"slicez"'))
    assert len(check("did:odf:2")) == 1
    assert check("did:odf:2") == []


def test_without_the_right_to_write_slices_are_read_each_time(check, tmp_path: Path):
    check.record.parent.rmdir()
    assert (len(check()), len(check())) == (1, 1)
    assert not check.record.parent.exists()
    check.record.parent.write_text("a file where the directory should be")
    assert (len(check()), len(check())) == (1, 1)


@pytest.mark.parametrize("small", [slices._SMALL, 0])
def test_without_a_cache(grow, monkeypatch, small):
    """Slices up to a size are compared one after the other, larger ones in threads."""
    monkeypatch.setattr(slices, "_SMALL", small)
    growing = grow()
    file = growing.add(("+A", 1, "a"))
    for _ in range(2):
        slices.check_unrecorded(growing.dataset, "did:odf:1", growing.draft.state.slices)
    file.write_bytes(b"")
    with pytest.raises(ChainCorrupted, match=f"{file.name}: has 0 bytes, but its block records "):
        slices.check_unrecorded(growing.dataset, "did:odf:1", growing.draft.state.slices)
