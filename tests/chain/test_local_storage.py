from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from airflow_provider_odf.chain import durable_files
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.errors import CommitConflict, InvalidInput, StorageError
from tests.crash.power_loss import NOTHING, Disk

A, B = "f1620" + "aa" * 32, "f1620" + "bb" * 32


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "dataset")


def files(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_a_file_is_written_once(storage):
    assert storage.put_if_absent("blocks/x", b"first") is True
    assert storage.put_if_absent("blocks/x", b"second") is False
    assert storage.get("blocks/x") == b"first"
    assert files(storage.root) == ["blocks/x"]


def test_put_replaces(storage):
    storage.put("info/x", b"first")
    storage.put("info/x", b"second")
    assert storage.get("info/x") == b"second"
    assert files(storage.root) == ["info/x"]


def test_missing_files(storage):
    assert storage.get("blocks/x") is None
    assert storage.stat("blocks/x") is None
    with pytest.raises(StorageError, match="blocks/x: No such file"), storage.open("blocks/x"):
        pass


@pytest.mark.parametrize(
    ("umask", "file", "folder"),
    [(0o000, 0o660, 0o770), (0o002, 0o660, 0o770), (0o022, 0o640, 0o750), (0o077, 0o600, 0o700)],
)
def test_files_are_shared_with_the_group_as_the_umask_says(storage, tmp_path, umask, file, folder):
    before = os.umask(umask)
    try:
        storage.put_if_absent("blocks/x", b"")
        storage.compare_and_set_ref("head", None, "f1620")
        (tmp_path / "part").write_bytes(b"data")
        storage.adopt("data/x", tmp_path / "part")
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in storage.root.rglob("*")}
    assert {modes[path] for path in modes if path.is_file()} == {file}
    assert {modes[path] for path in modes if path.is_dir()} == {folder}


def test_folders_inherit_the_group_of_a_folder(storage):
    storage.root.mkdir(parents=True, exist_ok=True)
    storage.root.chmod(0o2775)
    storage.put_if_absent("blocks/x", b"")
    assert (storage.root / "blocks").stat().st_mode & 0o2007 == 0o2000


def test_adopt_moves_a_file_in(storage, tmp_path):
    (tmp_path / "part").write_bytes(b"data")
    inode = (tmp_path / "part").stat().st_ino
    storage.adopt("data/x", tmp_path / "part")
    assert storage.get("data/x") == b"data"
    assert (storage.root / "data/x").stat().st_ino == inode
    assert not (tmp_path / "part").exists()


def test_adopt_of_what_is_there_drops_the_source(storage, tmp_path):
    storage.put("data/x", b"data")
    (tmp_path / "part").write_bytes(b"data")
    storage.adopt("data/x", tmp_path / "part")
    assert not (tmp_path / "part").exists()
    assert files(storage.root) == ["data/x"]


def test_adopt_from_another_file_system(storage, tmp_path):
    if not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        (Path(other) / "part").write_bytes(b"data")
        storage.adopt("data/x", Path(other) / "part")
        assert not (Path(other) / "part").exists()
    assert storage.get("data/x") == b"data"
    assert files(storage.root) == ["data/x"]


def test_adopt_of_nothing_is_an_error(storage, tmp_path):
    with pytest.raises(StorageError, match="No such file"):
        storage.adopt("data/x", tmp_path / "part")


def test_file_systems_without_hard_links(storage, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert storage.put_if_absent("blocks/x", b"data") is True
    assert files(storage.root) == ["blocks/x"]


def test_refs_move_by_compare_and_set(storage):
    assert storage.get_ref("head") is None
    storage.compare_and_set_ref("head", None, A)
    assert (storage.root / "refs/head").read_bytes() == A.encode()
    storage.compare_and_set_ref("head", A, B)
    assert storage.get_ref("head") == B
    storage.compare_and_set_ref("head", B, None)
    assert storage.get_ref("head") is None


@pytest.mark.parametrize(("present", "expected"), [(None, A), (A, None), (A, B)])
def test_a_ref_that_was_moved_is_a_conflict(storage, present, expected):
    if present:
        storage.compare_and_set_ref("head", None, present)
    with pytest.raises(CommitConflict, match="refs/head points to"):
        storage.compare_and_set_ref("head", expected, B)
    assert storage.get_ref("head") == present


def test_refs_are_listed(storage):
    assert storage.refs() == []
    for name in ("rejected-2", "head", "candidate-1"):
        storage.compare_and_set_ref(name, None, A)
    (storage.root / "refs" / ".pending-0123").write_text("left over")
    assert storage.refs() == ["candidate-1", "head", "rejected-2"]


@pytest.mark.parametrize("name", ["", ".lock", "../head", "a/b", "a b", "-"])
def test_names_of_refs_are_checked(storage, name):
    with pytest.raises(InvalidInput, match="not the name of a ref"):
        storage.get_ref(name)
    with pytest.raises(InvalidInput):
        storage.compare_and_set_ref(name, None, A)


def test_a_lock_that_is_never_freed_is_an_error(storage, monkeypatch):
    monkeypatch.setattr(durable_files, "LOCK_TIMEOUT", 0.05)
    storage.compare_and_set_ref("head", None, A)
    with (storage.root / "refs/.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="locked by another process for more than"):
            storage.compare_and_set_ref("head", A, B)
    storage.compare_and_set_ref("head", A, B)


def test_what_a_killed_process_left_is_in_nobodys_way(storage):
    (storage.root / "blocks").mkdir(parents=True)
    (storage.root / "blocks" / ".pending-0123456789abcdef").write_bytes(b"half")
    (storage.root / "refs").mkdir()
    (storage.root / "refs" / ".lock").touch()
    assert storage.put_if_absent("blocks/x", b"data")
    storage.compare_and_set_ref("head", None, A)
    assert storage.refs() == ["head"]


FULL_DISK = """
import resource, sys
from pathlib import Path
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.errors import StorageError
storage = LocalStorage(Path(sys.argv[1]))
storage.put("info/alias", b"x")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for write in (lambda: storage.put_if_absent("blocks/x", bytes(5000)), lambda: storage.put("info/alias", bytes(5000))):
    try:
        write()
    except StorageError as e:
        print(e)
"""


def test_a_disk_that_ends_leaves_nothing_half_written(storage):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, storage.root], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        f"{storage.root}/blocks/x: File too large (raise the limit for the size of files (ulimit -f) and run again)",
        f"{storage.root}/info/alias: File too large (raise the limit for the size of files (ulimit -f) and run again)",
    ]
    assert files(storage.root) == ["info/alias"]
    assert storage.get("info/alias") == b"x"


def test_a_full_disk_is_named_with_what_to_do(storage, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"blocks/x: No space left on device \(free space"):
        storage.put_if_absent("blocks/x", b"data")
    assert files(storage.root) == []


def test_a_store_below_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        LocalStorage(tmp_path / "file" / "dataset").put_if_absent("blocks/x", b"")


def test_uri_is_that_of_the_directory(tmp_path):
    assert LocalStorage(Path("/data/my store")).uri == "file:///data/my%20store"


def test_files_of_a_killed_writer_survive_a_loss_of_power_once_a_ref_leads_to_them(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk.of(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: disk.sync(f"/proc/self/fd/{descriptor}"))
    for name in ("blocks", "data", "info"):  # each is killed before it syncs the names
        (storage.root / name).mkdir(parents=True, exist_ok=True)
        (storage.root / name / A).write_text(name)
        disk.sync(str(storage.root / name / A))
    (storage.root / "refs").mkdir()
    (storage.root / "slice").write_text("data")
    assert storage.put_if_absent(f"blocks/{A}", b"blocks") is False
    storage.adopt(f"data/{A}", storage.root / "slice")
    storage.compare_and_set_ref("head", None, A)
    storage.sync("info")
    storage.sync("checkpoints")  # which is not there
    disk.lose_power(NOTHING, 1)
    disk.close()
    assert storage.get_ref("head") == A
    assert [storage.get(f"{name}/{A}") for name in ("blocks", "data", "info")] == [b"blocks", b"data", b"info"]
