"""Trying again: what every fetch over a network does when a server stumbles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from airflow_provider_odf.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_odf.source.options import Options


class TryAgain(SourceUnavailable):
    """This try failed, the next may not; ``after`` is when the server wants it, in seconds."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


def retrying(options: Options, is_hopeless: Callable[[], bool] | None = None) -> Retrying:
    """Calls again after each `TryAgain`, with growing pauses, until it is hopeless: after so many tries, if not told
    otherwise. The last error is raised."""
    stop = (lambda _state: is_hopeless()) if is_hopeless else stop_after_attempt(options.attempts)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TryAgain) and error.after is not None:
            return error.after
        return float(min(options.first_wait * 2 ** (state.attempt_number - 1), options.longest_wait))

    return Retrying(retry=retry_if_exception_type(TryAgain), wait=wait, stop=stop, reraise=True)
