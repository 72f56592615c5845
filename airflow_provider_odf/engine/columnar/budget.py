"""The memory that rows may take outside of the JVM: a share of what the JVM may take."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

SHARE = 3
"""The rows take a third of the heap's limit. Sorting, encoding and the state need about as much again."""

LEAST = 128 << 20
"""Bytes that suffice for small data."""

_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def of_heap(heap: str) -> int:
    """Return the maximum number of bytes of rows in memory for the JVM's maximum heap in Spark's notation.

    Without one, Java's heap is a quarter of the memory.
    """
    size = re.fullmatch(r"(\d+)([bkmgt]?)b?", heap.strip().lower())
    return (int(size[1]) << _UNITS[size[2]] if size else _memory() // 4) // SHARE


def _memory() -> int:
    """Return the memory of this machine or container in bytes, 0 if it is unknown."""
    with suppress(OSError, ValueError):
        return int(_CGROUP.read_text())
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemTotal")), 0)
    return 0
