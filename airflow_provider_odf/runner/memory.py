"""Settings of Spark, Java and malloc for a local engine with a small heap.

The JVM needs about 250 MiB besides the heap, and each task a Python process of 100 to 200 MiB. So a limited heap also
limits the tasks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_odf.errors import InvalidInput

VARIABLE = "ODF_LOCAL_MEMORY"

TASK_BYTES = 256 << 20
"""Heap for each concurrent task."""

LEAST = "456m"
"""Least heap. Spark needs 450 MiB of it, and Java counts one of the two survivor spaces, an 80th, as no memory."""

AMPLE_BYTES = 2 << 30
"""Heap size from which the JVM options favor speed over memory."""

_SETTING = f"{VARIABLE} or [odf] local_memory"

_RETURNING = {
    # Return free memory to the system: Arrow's pool and malloc's arenas, one per thread, keep half of the used size.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}

_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True)
class Bounds:
    """Spark settings, environment, and maximum number of concurrent tasks of a local engine. None: one per
    processor."""

    conf: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    tasks: int | None = None


def bounds(heap: str | None) -> Bounds:
    """Return the settings for a heap in Java's notation; without a heap there are none.

    :raises InvalidInput: the heap is not a size, or smaller than `LEAST`.
    """
    if not heap:
        return Bounds()
    size = _bytes(heap)
    if size < _bytes(LEAST):
        raise InvalidInput(f"{_SETTING}: Spark does not start with a heap of {heap!r}: use {LEAST} or more")
    tasks = max(1, min(size // TASK_BYTES, os.cpu_count() or 1))
    conf = {"spark.driver.memory": heap}
    return Bounds(conf, {}, tasks) if size >= AMPLE_BYTES else Bounds(conf | _lean(size), _RETURNING, tasks)


def _lean(size: int) -> dict[str, str]:
    return {
        # A sort spills to disk when it uses this part of the heap.
        "spark.memory.fraction": "0.3",
        "spark.unsafe.sorter.spill.read.ahead.enabled": "false",
        # Idle Python workers would otherwise stay for a minute after reading.
        "spark.python.factory.idleWorkerMaxPoolSize": "1",
        # Most objects die young. A small young generation, and a full collection before the heap grows, keep it small.
        "spark.driver.extraJavaOptions": f"-Xmn{size >> 13}k -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
        " -Dio.netty.allocator.numDirectArenas=1",
    }


def _bytes(size: str) -> int:
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise InvalidInput(f"{_SETTING}: {size!r} is not a size: use a size such as 512m or 2g")
    return int(match[1]) << _UNITS[match[2].lower()]
