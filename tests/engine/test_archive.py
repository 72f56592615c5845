"""The class-data archive of the JVM."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

from airflow_provider_odf.engine import archive, jvm


class TestArchive:
    @pytest.fixture(autouse=True)
    def _own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.delenv("ODF_CLASS_ARCHIVE", raising=False)

    @pytest.fixture
    def java(self) -> str:
        return shutil.which("java") or pytest.skip("no java")

    def test_is_not_used_before_it_exists(self, java: str) -> None:
        assert archive.options(java) == ()

    def test_is_used_once_it_exists_unless_switched_off(self, java: str, monkeypatch: pytest.MonkeyPatch) -> None:
        path = archive._path(java)
        path.parent.mkdir()
        path.touch()
        assert archive.options(java)[0] == f"-XX:SharedArchiveFile={path}"
        assert not archive.start_making(java)
        monkeypatch.setenv("ODF_CLASS_ARCHIVE", "off")
        assert archive.options(java) == ()

    def test_is_made_by_one_process_only(self, java: str) -> None:
        path = archive._path(java)
        path.parent.mkdir()
        assert archive._lock(path)
        assert not archive.start_making(java)

    def test_the_maker_is_no_child_that_is_left_running(
        self, java: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(sys, "executable", "true")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert archive.start_making(java)
            gc.collect()
        assert caught == []

    def test_a_cache_that_cannot_be_written_is_no_error(
        self, java: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("ODF_CACHE_DIR", str(tmp_path / "file" / "below"))
        assert not archive.start_making(java)

    @pytest.mark.benchmark
    @pytest.mark.spark
    def test_is_made_and_fits(self, java: str, tmp_path: Path) -> None:
        import subprocess
        import sys

        subprocess.run([sys.executable, "-m", "airflow_provider_odf.engine.archive_training", java], check=True)
        (made,) = (tmp_path / "cache").iterdir()
        assert made == archive._path(java)
        strict = [java, "-Xshare:on", *archive.options(java), *jvm.SHORT_JOBS, "-cp", jvm.classpath(), "-version"]
        subprocess.run(strict, check=True, capture_output=True)
        made.chmod(0o600)
        with made.open("r+b") as file:
            file.seek(made.stat().st_size // 2)
            (byte,) = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        assert subprocess.run(strict, check=False, capture_output=True).returncode == 1
