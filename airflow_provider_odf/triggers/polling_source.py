"""``PollingSourceTrigger``: wakes a task when a source has something new."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from pydantic import TypeAdapter

from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.watch import Position


class PollingSourceTrigger(BaseTrigger):
    """Asks a source again and again, in the triggerer, without fetching from it.

    The event is ``{"status": "changed"}`` or ``{"status": "error", "message"}``. A source that cannot be reached is
    asked again.

    :param fetch: the fetch step, in the manifest's spelling.
    :param base: folder that paths are relative to.
    :param state: the source's state as it was read last, in the chain's spelling.
    :param poke_interval: seconds between two questions.
    """

    def __init__(self, *, fetch: dict[str, Any], base: str, state: dict[str, Any] | None, poke_interval: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fetch = fetch
        self.base = base
        self.state = state
        self.poke_interval = poke_interval

    @classmethod
    def of(cls, position: Position, poke_interval: float) -> PollingSourceTrigger:
        """The trigger that waits for a source to go beyond a position."""
        state = model.dump(position.state) if position.state else None
        return cls(fetch=model.dump(position.fetch), base=str(position.base), state=state, poke_interval=poke_interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        cls = type(self)
        fields = ("fetch", "base", "state", "poke_interval")
        return f"{cls.__module__}.{cls.__qualname__}", {name: getattr(self, name) for name in fields}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            while not await self.has_changed():
                await asyncio.sleep(self.poke_interval)
            yield _event(status="changed")
        except OdfError as e:
            yield _event(status="error", message=str(e))

    async def has_changed(self) -> bool:
        """Whether the source has something new. A source that cannot be reached has not.

        :raises OdfError: the source is not what the step says; asking again does not help.
        """
        from airflow_provider_odf.source.watch import has_changed

        fetch: model.FetchStep = TypeAdapter(model.FetchStep).validate_python(self.fetch)
        state = model.SourceState.model_validate(self.state) if self.state else None
        try:
            return await has_changed(fetch, base=Path(self.base), state=state, environment=os.environ)
        except OdfError as e:
            if not e.is_transient:
                raise
            self.log.warning("%s; asking again in %s s", e, self.poke_interval)
            return False


def _event(**payload: str) -> TriggerEvent:
    return TriggerEvent(payload)  # type: ignore[no-untyped-call]
