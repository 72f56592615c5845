"""The memory that rows may take outside of the JVM: a share of what the JVM may take."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

SHARE = 3
"""The rows take a third of the heap's limit. Sorting, encoding and the state need about as much again."""

_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def of_session(spark: SparkSession) -> int:
    """Return the maximum number of bytes of rows in memory.

    Without a setting, Java's heap is a quarter of the memory.
    """
    heap = re.fullmatch(r"(\d+)([bkmgt]?)b?", _heap(spark).strip().lower())
    return (int(heap[1]) << _UNITS[heap[2]] if heap else _memory() // 4) // SHARE


def _heap(spark: SparkSession) -> str:
    return spark.conf.get("spark.driver.memory", "") or ""


def _memory() -> int:
    """Return the memory of this machine or container in bytes, 0 if it is unknown."""
    with suppress(OSError, ValueError):
        return int(_CGROUP.read_text())
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemTotal")), 0)
    return 0
