"""What triggers have in common that wait for a change: one event for each, and outages of what they look at."""

from __future__ import annotations

import asyncio
import random
import time
from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_odf.errors import OdfError

if TYPE_CHECKING:
    import httpx

DEFAULT_POKE_INTERVAL = 60.0

DEFAULT_OUTAGE = 3600.0

_LONGEST_DELAY = 60.0
"""Maximum random delay of the first check, so that triggers that start together do not check at once."""

_FIRST_REMINDER, _LONGEST_PAUSE = 300.0, 3600.0
"""Seconds after which a change that was not ingested is reported again; the pauses double from first to longest."""


class ChangeFilter:
    """Selects which changes to report. A change that was not ingested is reported again with growing pauses: its run
    may have failed, or Airflow may have lost the event."""

    def __init__(self) -> None:
        self._reported: object = None
        self._due = self._pause = 0.0

    def should_report(self, version: object, now: float, *, longest: bool = False) -> bool:
        """Return whether to report a new ``version`` (None: nothing new) at time ``now`` in seconds. With ``longest``
        it is only repeated after the longest pause, for versions that do not indicate a change."""
        if version is None:
            self._reported = None
            return False
        if version != self._reported:
            self._reported, self._pause = version, _LONGEST_PAUSE if longest else _FIRST_REMINDER
        elif now < self._due:
            return False
        else:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._due = now + self._pause
        return True


class ChangeTrigger(BaseEventTrigger):
    """Looks at something every ``poke_interval`` seconds, and reports each new version of it as one event.

    A subclass has its arguments as attributes. If what it looks at is away, the trigger logs this once and retries; an
    outage of more than ``outage`` seconds is an error event.
    """

    fields: ClassVar[tuple[str, ...]]
    """Names of the arguments."""
    what: ClassVar[str]
    """What it looks at, in messages."""
    takes_turns: ClassVar[bool] = True
    """Whether it checks with the client that all triggers share, and so within its limit of concurrent requests."""

    poke_interval: float
    outage: float | None

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._last_problem: str | None = None
        self._outage_start = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        cls = type(self)
        return f"{cls.__module__}.{cls.__qualname__}", {name: getattr(self, name) for name in self.fields}

    @property
    @abstractmethod
    def subject(self) -> str:
        """What messages are about."""

    @abstractmethod
    async def _version(self, client: httpx.AsyncClient | None) -> str | None:
        """Return the version of what is new, or None if nothing is.

        :raises OdfError: it cannot be read now if the error is transient, else a retry does not help.
        """

    async def run(self) -> AsyncIterator[TriggerEvent]:
        from airflow_provider_odf.source.fetching import UNKNOWN
        from airflow_provider_odf.source.http_client import shared_client

        changes = ChangeFilter()
        await asyncio.sleep(random.uniform(0, min(self.poke_interval, _LONGEST_DELAY)))  # noqa: S311 - no secret
        async with shared_client() as shared:
            while True:
                try:
                    async with shared.turns if self.takes_turns else nullcontext():
                        version = await self._check(shared.client)
                    event = {"status": "changed"}
                except Exception as e:
                    version = self._message(e)
                    event = {"status": "error", "message": version}
                if changes.should_report(version, time.monotonic(), longest=version == UNKNOWN):
                    yield TriggerEvent(event)  # type: ignore[no-untyped-call]
                await asyncio.sleep(self.poke_interval)

    async def _check(self, client: httpx.AsyncClient | None) -> str | None:
        """Return the version of what is new, or None if nothing is, or it is away now."""
        try:
            version = await self._version(client)
        except OdfError as e:
            if not e.is_transient or self._lasts_too_long(str(e)):
                raise
            return None
        if self._last_problem is not None:
            self.log.info("%s: the %s is available again", self.subject, self.what)
            self._last_problem = None
        return version

    def _message(self, error: Exception) -> str:
        """Return the message of an error event. An unexpected error must not end the trigger, which would then never
        check again; its text may contain secrets and goes to the triggerer's log only."""
        if isinstance(error, OdfError | AirflowException | AirflowRuntimeError):
            return str(error)
        message = f"{self.subject}: cannot check the {self.what}: {type(error).__name__}, see the log of the triggerer"
        if self._is_new(message):
            self.log.error("%s: cannot check the %s", self.subject, self.what, exc_info=error)
        return message

    def _lasts_too_long(self, problem: str) -> bool:
        """Return whether an outage is longer than allowed, and log a new problem."""
        if self._is_new(problem):
            self.log.warning("%s; retrying every %s s", problem, self.poke_interval)
        return self.outage is not None and time.monotonic() - self._outage_start >= self.outage

    def _is_new(self, problem: str) -> bool:
        """Return whether a problem differs from that of the last check."""
        if self._last_problem is None:
            self._outage_start = time.monotonic()
        before, self._last_problem = self._last_problem, problem
        return problem != before
