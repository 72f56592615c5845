"""Retries of fetches over a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from airflow_provider_odf.errors import SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_odf.source.options import Options


class TryAgain(SourceUnavailable):
    """A retryable failure of one attempt; ``after`` is the pause that the server asks for, in seconds."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


def retrying(options: Options, is_hopeless: Callable[[], bool] | None = None) -> Retrying:
    """Return a retry policy: retry after `TryAgain` with growing pauses, until ``is_hopeless`` or, without it, for
    ``options.attempts`` attempts. The last error is raised."""
    stop = (lambda _state: is_hopeless()) if is_hopeless else stop_after_attempt(options.attempts)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TryAgain) and error.after is not None:
            return error.after
        return float(min(options.first_wait * 2 ** (state.attempt_number - 1), options.longest_wait))

    return Retrying(retry=retry_if_exception_type(TryAgain), wait=wait, stop=stop, reraise=True)
