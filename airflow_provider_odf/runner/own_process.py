"""Small merges and transforms that need no Spark, in threads of this process: to start another one takes longer.

Nothing of them is seen before the coordinator commits it, so if this process ends meanwhile, it leaves what a killed
engine leaves. At its end the interpreter waits for them, which takes a moment.
"""

from __future__ import annotations

import importlib
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from traceback import format_exc
from typing import TypeAlias

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.engine.optional_spark import NeedsSpark, may_use_arrow
from airflow_provider_odf.runner.runner import Pending, settle

SMALL = 1 << 20
"""Maximum size in bytes of the files that a merge in this process reads, or of the new ones that a transform reads."""

Take: TypeAlias = Callable[[], Pending | None]
"""Takes a request back that is still pending."""

_import = threading.Lock()
"""Modules of pyspark import each other in circles, which fails if two threads begin."""


def is_small(request: protocol.Request) -> bool:
    """Whether a request may need no Spark, tests no contract, and reads few bytes of local files."""
    if isinstance(request, protocol.MergeRequest) and request.inputs and may_use_arrow(request):
        paths = [path for source in request.inputs for path in source.paths]
        paths += [part.path for part in request.history]
        state = request.prev_state
    elif isinstance(request, protocol.TransformRequest) and request.arrow_query and request.spark != "always":
        paths = [path for source in request.query_inputs for path in source.data_paths]
        state = None
    else:
        return False
    try:
        files = [*map(Path, paths), *(Path(state.path).iterdir() if state is not None else ())]
        return request.contract is None and sum(path.stat().st_size for path in files) <= SMALL
    except OSError:  # an object, or a file that is missing: the engine has the message
        return False


class OwnProcess:
    """``threads`` requests run concurrently; others wait. ``heap`` is the heap that a JVM would have, which bounds the
    memory of a merge. ``with_spark`` answers a request of which a value turned out to need Spark.

    The code that pops a pending request settles it.
    """

    def __init__(self, threads: int, heap: str, with_spark: Callable[[protocol.Request, Take], None]) -> None:
        self._heap = heap
        self._with_spark = with_spark
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="engine")
        self._numbers = itertools.count()
        self._pending: dict[int, Pending] = {}

    def ask(self, request: protocol.Request, pending: Pending) -> None:
        number = next(self._numbers)
        self._pending[number] = pending
        self._threads.submit(self._answer, number, request, pending)

    def end(self) -> None:
        """Fail the pending requests. A merge that runs ends without an answer."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for number in list(self._pending):
            if (pending := self._pending.pop(number, None)) is not None:
                pending.future.set_exception(errors.EngineLost("the runner was closed", was_closed=True))

    def _answer(self, number: int, request: protocol.Request, pending: Pending) -> None:
        response: protocol.Response
        try:
            with _import:
                engine = importlib.import_module("airflow_provider_odf.engine.request")
                is_merge = isinstance(request, protocol.MergeRequest)
                operation = "merge" if is_merge else "transform.arrow_transform"
                importlib.import_module(f"airflow_provider_odf.engine.{operation}")
            response = engine.answer(None, request, pending.reports.pass_on, self._heap)
        except NeedsSpark:
            self._with_spark(request, lambda: self._pending.pop(number, None))
            return
        except BaseException as e:  # a library is missing, or one that is not of Python panics
            response = protocol.InternalError(f"{type(e).__name__}: {e}", format_exc())
        if self._pending.pop(number, None) is not None:
            settle(pending.future, response)
