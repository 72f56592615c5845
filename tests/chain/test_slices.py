"""Faults of Parquet files: damage, and what the operating system refuses."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.chain.slices import read_errors
from airflow_provider_odf.errors import ChainCorrupted, StorageError


def test_damaged_and_missing_files_are_corrupted(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    for file in (damaged, tmp_path / "missing"):
        with pytest.raises(ChainCorrupted), read_errors(str(file)):
            pq.read_table(str(file))


def test_a_file_that_cannot_be_opened_is_not_damaged(tmp_path: Path) -> None:
    file = tmp_path / "slice"
    pq.write_table(pa.table({"a": [1]}), file)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(StorageError) as caught, read_errors(str(file)):
            pq.read_table(str(file))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    advice = "raise the limit for open files (ulimit -n) and run again"
    assert str(caught.value) == f"{file}: Too many open files ({advice})"


def test_a_lack_of_memory_is_not_damage() -> None:
    with (
        pytest.raises(StorageError, match=r"^/s: Cannot allocate memory \(free memory and run again\)$"),
        read_errors("/s"),
    ):
        pa.allocate_buffer(1 << 50)


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_no_number_of_the_operating_system_is_damage(number: int) -> None:
    error = OSError(number, os.strerror(number))
    expected = ChainCorrupted if number == errno.ENOENT else StorageError
    with pytest.raises(expected), read_errors("/s"):
        raise error
