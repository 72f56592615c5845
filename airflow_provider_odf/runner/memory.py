"""How a local engine keeps within little memory: what a heap of some size means for Spark, Java and malloc.

The heap is only a part: the JVM needs about 250 MiB beside it, and each task a process of Python of 100 to 200. So a
bounded heap bounds the tasks, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_odf.errors import InvalidInput

VARIABLE = "ODF_LOCAL_MEMORY"

TASK_BYTES = 256 << 20
"""Heap for each task that runs at once."""

AMPLE_BYTES = 2 << 30
"""A heap from which on time counts more than memory."""

_RETURNING = {
    # What is free goes back to the system: Arrow's own pool and malloc's arenas, one for each thread, keep half as much
    # again as is in use.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}

_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True)
class Bounds:
    """Spark settings, environment, and the most tasks at once of a local engine; None: as many as processors."""

    conf: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    tasks: int | None = None


def bounds(heap: str | None) -> Bounds:
    """What a heap, given as Java does, bounds; nothing without one.

    :raises InvalidInput: it is no size.
    """
    if not heap:
        return Bounds()
    size = _bytes(heap)
    tasks = max(1, min(size // TASK_BYTES, os.cpu_count() or 1))
    conf = {"spark.driver.memory": heap}
    return Bounds(conf, {}, tasks) if size >= AMPLE_BYTES else Bounds(conf | _lean(size), _RETURNING, tasks)


def _lean(size: int) -> dict[str, str]:
    return {
        # A sort spills when it has this part of the heap: what it holds could as well be on disk.
        "spark.memory.fraction": "0.3",
        "spark.unsafe.sorter.spill.read.ahead.enabled": "false",
        # Those that have read would else be there for another minute, while one writes.
        "spark.python.factory.idleWorkerMaxPoolSize": "1",
        # New objects are mostly dead at once. With little room for them and a full collection before the rest grows,
        # the heap has little that is dead.
        "spark.driver.extraJavaOptions": f"-Xmn{size >> 13}k -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
        " -Dio.netty.allocator.numDirectArenas=1",
    }


def _bytes(size: str) -> int:
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise InvalidInput(f"memory of the engine: {size!r} is no size: write 512m or 2g ({VARIABLE}, or local_memory)")
    return int(found[1]) << _UNITS[found[2].lower()]
