"""Globs: the same files as `glob.glob`, and an error where it is silent."""

from __future__ import annotations

import glob
import os
import random
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_provider_odf.contract import binding
from airflow_provider_odf.errors import SourceError, StorageError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.source import matching, uris
from airflow_provider_odf.source.files_glob import stamps
from tests.orders import ORDERS

from .conftest import PATIENT, SYSTEM_TIME

NAMES = ("a", "b", "ab.csv", "b.csv", ".h", "[x]", "é.csv", "a b.csv")
PARTS = ("*", "**", "a", "b", "*.csv", "?", "[ab]", "[!a]*", ".*", "a*", "**.csv", ".", "..", "b.csv", "[[]x]", "")


def tree(seed: random.Random, folder: Path, depth: int = 0) -> None:
    """Random files and folders, with links to files, to folders, to nothing and to themselves."""
    for name in seed.sample(NAMES, seed.randint(1, 4)):
        path, kind = folder / name, seed.random()
        if kind < 0.4 and depth < 3:
            path.mkdir()
            tree(seed, path, depth + 1)
        elif kind < 0.75:
            path.write_text(name)
        else:
            path.symlink_to(seed.choice(("a", "b", "b.csv", "nowhere", name)))


def distinct(base: Path, paths: Iterable[str]) -> set[tuple[str, str]]:
    """Files without the ways to them: circles of links make these endless."""
    files = (os.path.split(os.path.join(base, path)) for path in paths if os.path.isfile(os.path.join(base, path)))
    return {(os.path.realpath(folder), name) for folder, name in files}


def compare(seeds: range, folder: Path) -> int:
    """Compare random patterns over random trees; return how many files matched."""
    count = 0
    for number in seeds:
        seed = random.Random(number)
        base = folder / str(number)
        base.mkdir()
        tree(seed, base)
        if number % 4 == 0:
            # One link back: with two, `glob.glob` takes all ways around both, forty links far.
            seed.choice([base, *filter(Path.is_dir, base.glob("*"))]).joinpath(f"back-{number}").symlink_to(base)
        for _ in range(12):
            pattern = "/".join(seed.choice(PARTS) for _ in range(seed.randint(1, 4)))
            # An absolute pattern of this machine's root takes long.
            pattern = pattern.lstrip("/") or "*"
            if pattern.count("**") > 1:
                continue
            if seed.random() < 0.1:
                pattern = f"{glob.escape(str(base))}/{pattern}"
            expected = distinct(base, glob.glob(pattern, root_dir=base, recursive=True))
            assert distinct(base, matching.paths(pattern, base)) == expected, (number, pattern)
            count += len(expected)
    return count


def test_random_patterns_match_what_glob_matches(tmp_path):
    assert compare(range(60), tmp_path) > 150


@pytest.mark.torture
def test_many_random_patterns_match_what_glob_matches(tmp_path):
    assert compare(range(60, 400), tmp_path) > 800


def test_keys_match_as_files_do(tmp_path):
    """The same patterns over the same names, as a tree of folders and as a list of keys."""
    count = 0
    for number in range(60):
        seed = random.Random(number)
        base = tmp_path / str(number)
        base.mkdir()
        tree(seed, base)
        for link in (path for path in base.rglob("*") if path.is_symlink()):
            link.unlink()
        keys = [str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()]
        for _ in range(12):
            parts = [seed.choice([part for part in PARTS if part not in ("", ".", "..")]) for _ in range(4)]
            pattern = "/".join(parts[: seed.randint(1, 4)])
            files = {path for path in matching.paths(pattern, base) if (base / path).is_file()}
            assert {key for key in keys if matching.matches(key.split("/"), pattern.split("/"))} == files, pattern
            count += len(files)
    assert count > 150


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open no file."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


LIMIT = r"Too many open files \(raise the limit for open files \(ulimit -n\) and run again\)$"


def test_a_folder_that_cannot_be_opened_is_not_up_to_date(poller):
    step = model.FetchStepFilesGlob(path="in/*.csv")
    state = poller.state("odf/etag", "a.csv")
    with pytest.raises(StorageError, match=LIMIT), no_more_files():
        stamps(step, poller.base, state, PATIENT, system_time=SYSTEM_TIME, discarded={})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_folders_and_files_that_a_user_may_not_read(poller):
    """Another user, since root may read everything."""
    for name in ("list", "enter"):
        (poller.base / name).mkdir()
        (poller.base / name / "b.csv").write_text("b")
    (poller.base / "list").chmod(0o711)
    (poller.base / "enter").chmod(0o744)
    closed = [folder for folder in poller.base.parents if folder.stat().st_mode & 0o055 != 0o055]
    before = {folder: folder.stat().st_mode & 0o7777 for folder in closed}
    (poller.base / "m").mkdir()
    (poller.base / "m" / "orders.datacontract.yaml").symlink_to(poller.base / "enter" / "b.csv")
    (poller.base / "m" / "orders.yaml").write_text(ORDERS)
    (manifest,) = load([poller.base / "m" / "orders.yaml"]).manifests
    state = poller.state("odf/etag", "a.csv")
    for folder, mode in before.items():
        folder.chmod(mode | 0o055)
    os.seteuid(65534)
    try:
        problems = []
        for pattern in ("list/*.csv", "enter/*.csv", "*/b.csv", "**/*.csv"):
            step = model.FetchStepFilesGlob(path=pattern)
            with pytest.raises(SourceError, match="Permission denied") as error:
                stamps(step, poller.base, state, PATIENT, system_time=SYSTEM_TIME, discarded={})
            problems.append(str(error.value).replace(str(poller.base), "."))
        for folder in ("list", "enter"):
            with pytest.raises(StorageError, match="Permission denied"):
                uris.local_files(str(poller.base / folder))
        with pytest.raises(StorageError, match=r"orders\.datacontract\.yaml: Permission denied"):
            binding.contract_location(manifest)
    finally:
        os.seteuid(0)
        for folder, mode in before.items():
            folder.chmod(mode)
    assert problems[:2] == [
        "list/*.csv: ./list cannot be read: Permission denied: correct its permissions",
        "enter/*.csv: ./enter/b.csv cannot be read: Permission denied: correct its permissions",
    ]
