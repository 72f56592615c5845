"""Results that threads compute ahead, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ahead(call: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result for each item, in order. Only as many are computed ahead as there are processors."""
    count = os.cpu_count() or 1
    pending = deque[Future[Result]]()
    pool = ThreadPoolExecutor(count, thread_name_prefix="columnar")
    try:
        for item in items:
            if len(pending) > count:
                yield pending.popleft().result()
            pending.append(pool.submit(call, item))
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
