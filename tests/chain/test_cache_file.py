"""Kept files count only where they were written: under their name, in the folder of their dataset."""

import itertools
import random
import shutil
from dataclasses import replace

import pytest

from airflow_provider_odf.chain import cache_file, slices
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.reading.difference import DifferenceScan
from airflow_provider_odf.ui import verification
from airflow_provider_odf.ui.chain_cache import pages_folder, read_history, read_positions


def test_a_file_from_another_place_counts_as_missing(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    cache_file.write(tmp_path / "a" / "history", "history 2", b"of a")
    assert cache_file.read(tmp_path / "a" / "history", "history 2") == b"of a"
    for place in (tmp_path / "b" / "history", tmp_path / "a" / "positions"):
        shutil.copyfile(tmp_path / "a" / "history", place)
        assert cache_file.read(place, "history 2") is None


def answers(numbers, store):
    """What pages show of a dataset, from its kept files where they count."""
    folder, state = pages_folder(numbers.dataset, store.work_area), replay(numbers.dataset)
    cached, offsets = replace(numbers.dataset, cache=folder), OffsetRange("offset", 0, state.last_offset)
    difference = DifferenceScan(cached, state, offsets=offsets)
    verified = verification.newest(folder)
    return (
        read_history(numbers.dataset, store.work_area),
        read_positions(numbers.dataset, state.head, store.work_area),
        difference.to_table().to_pylist(),
        verified and verified.head,
    )


def verified(numbers, store):
    folder = pages_folder(numbers.dataset, store.work_area)
    folder.mkdir(parents=True)
    head = numbers.dataset.head()
    done = verification.Verification(
        head, "a user", Instant.now(), ended=Instant.now(), verified=verify(numbers.dataset)
    )
    verification.VERIFICATIONS.write(folder, done)


@pytest.mark.parametrize("seed", [0])
def test_copies_of_files_of_another_dataset_change_no_answer(grow, store, seed):
    """Each kept file of a dataset in place of each of another one, which may have the same blocks at its beginning."""
    choice = random.Random(seed)
    store.work_area.mkdir(parents=True)
    datasets = [grow(name) for name in ("numbers", "others", "acme/numbers")]
    for numbers in datasets:
        numbers.add(("+A", 1, "one"))
        for n in range(choice.randint(1, 3)):
            numbers.add(("+A", 2 + n, choice.choice(["two", "three"])))
        if numbers is not datasets[-1]:
            verified(numbers, store)
    expected = [answers(numbers, store) for numbers in datasets]
    folders = [pages_folder(numbers.dataset, store.work_area) for numbers in datasets]
    files = [file for folder in folders for file in folder.iterdir() if file.name != slices.RECORD]
    assert {file.name.partition("-")[0] for file in files} == {"history", "positions", "difference", "verification"}
    kept, copies = {file: file.read_bytes() for file in files}, 0
    for source, folder in itertools.product(files, folders):
        names = {file.name for file in files if file.parent == folder} | {source.name}
        for target in (folder / name for name in names if folder / name != source):
            target.write_bytes(kept[source])
            copies += 1
            at = folders.index(folder)
            assert answers(datasets[at], store)[:3] == expected[at][:3]
            assert answers(datasets[at], store)[3] in (None, expected[at][3])
            target.unlink()
            if target in kept:
                target.write_bytes(kept[target])
    assert copies > 80


def test_the_state_cache_of_readers_survives_a_move_of_the_work_area(grow, store, tmp_path):
    numbers = grow()
    store.work_area.mkdir(parents=True)
    read_history(numbers.dataset, store.work_area)
    moved = tmp_path / "elsewhere"
    shutil.copytree(store.work_area, moved)
    file = pages_folder(numbers.dataset, moved) / "history"
    assert cache_file.read(file, "history 3") is not None
