"""Calls that run ahead in threads, in order.

Arrow, the hashes and file systems release the interpreter lock, so they run side by side.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

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


P = ParamSpec("P")


class Stage:
    """``pending`` is the maximum number of calls that wait or run. It bounds the memory of their arguments."""

    def __init__(self, name: str, pending: int) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._pending = pending
        self._futures: deque[Future[object]] = deque()

    def run(self, call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Add a call. Wait while too many are pending. An exception of an earlier call is raised here."""
        while len(self._futures) >= self._pending:
            self._futures.popleft().result()
        self._futures.append(self._pool.submit(call, *args, **kwargs))

    def finish(self) -> None:
        """Wait for all calls, and raise the first exception of those that were not waited for."""
        while self._futures:
            self._futures.popleft().result()
        self._pool.shutdown()

    def cancel(self) -> None:
        """Drop the calls that have not begun, and wait for the one that runs."""
        self._pool.shutdown(cancel_futures=True)
