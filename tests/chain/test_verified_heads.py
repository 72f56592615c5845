"""A verified head lets a later verification begin after it, and nobody but the user can say that there is one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_odf.chain import verified_heads
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import Verified, verify
from airflow_provider_odf.errors import ChainCorrupted
from tests.chain.conftest import Growing


@pytest.fixture
def verified(grow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Growing:
    """A dataset of two slices whose head was verified."""
    monkeypatch.setattr(verified_heads, "folder", lambda: tmp_path / "mine")
    growing = grow()
    growing.add(("+A", 1, "x"))
    growing.add(("+A", 2, "y"), ("+A", 3, "z"))
    assert verify(growing.dataset, only_new=True) == Verified(5, 2, 3)
    return growing


def numbers(dataset: Dataset, **options: bool) -> tuple[int, ...]:
    return tuple(verify(dataset, **options).numbers.values())


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"!")


def test_only_new_blocks_are_read(verified: Growing) -> None:
    head, data = verified.dataset.head(), Path(verified.dataset.location, "data")
    damage(next(data.iterdir()))
    damage(Path(verified.dataset.location, "blocks", list(verified.dataset.walk())[-1][0]))
    new = verified.add(("+A", 4, "u"))
    told = verify(verified.dataset, only_new=True)
    assert tuple(told.numbers.values()) == (1, 1, 1)
    assert (told.base.head, told.base.blocks, told.base.time == told.base.complete) == (head, 5, True)
    assert told.notice == f"5 blocks up to {head[:13]} were verified at {told.base.time}, and are not read again"
    again = verify(verified.dataset, only_new=True)
    assert tuple(again.numbers.values()) == (0, 0, 0)
    assert again.base.complete == told.base.time < again.base.time
    assert f"(everything at once at {told.base.time})" in again.notice
    for options in ({}, {"is_quick": True}):
        with pytest.raises(ChainCorrupted, match="checksum mismatch"):
            verify(verified.dataset, **options)
    newest = verified.add(("+A", 5, "v"))
    damage(newest)
    with pytest.raises(ChainCorrupted, match=newest.name):
        verify(verified.dataset, only_new=True)
    damage(new)  # no longer new; the one after it was not kept as verified
    with pytest.raises(ChainCorrupted, match=newest.name):
        verify(verified.dataset, only_new=True)


def test_a_damaged_candidate_on_a_verified_head(verified: Growing) -> None:
    head = verified.dataset.head()
    slice_of_candidate = verified.add(("+A", 4, "u"))
    candidate = verified.dataset.head()
    verified.dataset.storage.compare_and_set_ref("head", candidate, head)
    verified.dataset.storage.compare_and_set_ref("rejected-1", None, candidate)
    assert numbers(verified.dataset, only_new=True) == (0, 0, 0)
    damage(slice_of_candidate)
    for only_new in (True, False):
        with pytest.raises(ChainCorrupted, match=slice_of_candidate.name):
            verify(verified.dataset, only_new=only_new)


def test_a_quick_verification_is_none(verified: Growing) -> None:
    verified.add(("+A", 4, "u"))
    assert numbers(verified.dataset, is_quick=True, only_new=True) == (1, 1, 1)
    assert numbers(verified.dataset, only_new=True) == (1, 1, 1)


@pytest.mark.parametrize("only_new", [True, False])
def test_a_head_that_moved_back_is_told_once(verified: Growing, only_new: bool) -> None:
    head = verified.dataset.head()
    verified.dataset.storage.compare_and_set_ref("head", head, list(verified.dataset.walk())[1][0])
    told = verify(verified.dataset, only_new=only_new)
    assert (tuple(told.numbers.values()), told.base, told.lost.head) == ((4, 1, 1), None, head)
    assert told.notice.startswith(f"the history no longer has block {head[:13]}, the head that was verified at 2")
    assert verify(verified.dataset, only_new=only_new).lost is None


def test_what_is_not_believed(verified: Growing, tmp_path: Path) -> None:
    whole, folder = (5, 2, 3), tmp_path / "mine"
    copy = Path(shutil.copytree(verified.dataset.location, tmp_path / "copies" / verified.dataset.alias.name))
    elsewhere = Store.open(copy.parent).dataset(verified.dataset.alias.name)
    (record,) = folder.iterdir()
    assert numbers(elsewhere, only_new=True) == whole
    (other,) = {*folder.iterdir()} - {record}
    assert numbers(verified.dataset, only_new=True) == (0, 0, 0)
    other.replace(record)  # that of another dataset
    assert numbers(verified.dataset, only_new=True) == whole
    damage(record)
    assert numbers(verified.dataset, only_new=True) == whole
    folder.chmod(0o770)  # others could have written it
    assert numbers(verified.dataset, only_new=True) == whole
    assert verified_heads.read(replace(verified.dataset)) is None
