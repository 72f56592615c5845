"""Functions that wait, in threads of an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a function returns in a thread of its own.

    Airflow's triggerer may be asked for connections there, as from threads that asgiref starts alone: in those of
    `asyncio.to_thread`, Airflow 3.1 makes a second loop, which confuses its messages and ends the triggerer.
    """
    return await sync_to_async(function, thread_sensitive=False)(*args, **kwargs)
