"""Many sources waited for in one process: each asked now and then whether it has changed. Ours or a bare request."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import psutil

ROUNDS = 3
"""How often each source is asked: the first time costs more, the others are what waiting costs."""


class Tally:
    """What the questions of a round cost."""

    def __init__(self, sources: int) -> None:
        self.sources = sources
        self.asked = 0
        self.seconds = 0.0
        self.cpu: list[float] = [time.process_time()]
        self.done = asyncio.Event()

    async def ask(self, question: Awaitable[object]) -> None:
        start = time.perf_counter()
        await question
        self.seconds += time.perf_counter() - start
        self.asked += 1
        if self.asked % self.sources == 0:
            self.cpu.append(time.process_time())
            if len(self.cpu) > ROUNDS:
                self.done.set()


def ours(tally: Tally, folder: Path, pause: float) -> list[Callable[[], Awaitable[None]]]:
    from airflow_provider_odf.triggers.polling_source import PollingSourceTrigger

    class Tallied(PollingSourceTrigger):
        async def _check(self, client: httpx.AsyncClient | None) -> str | None:
            versions: list[str | None] = []

            async def check() -> None:
                versions.append(await super(Tallied, self)._check(client))

            await tally.ask(check())
            return versions[0]

    def waiting(manifest: Path) -> Callable[[], Awaitable[None]]:
        async def wait() -> None:
            trigger = Tallied(manifest=str(manifest), store=str(folder / "store"), poke_interval=pause)
            async for event in trigger.run():
                raise AssertionError(event)

        return wait

    return [waiting(manifest) for manifest in sorted(folder.glob("*.yaml"))]


def bare(tally: Tally, url: str, etag: str, pause: float) -> list[Callable[[], Awaitable[None]]]:
    client, turns = httpx.AsyncClient(limits=httpx.Limits(max_connections=64)), asyncio.Semaphore(64)

    async def wait() -> None:
        await asyncio.sleep(random.uniform(0, pause))
        while True:
            async with turns:
                await tally.ask(client.get(url, headers={"If-None-Match": etag}))
            await asyncio.sleep(pause)

    return [wait] * tally.sources


async def main(what: str, folder: str, url: str, etag: str, sources: int, pause: float) -> None:
    process = psutil.Process()
    warm = Tally(1)
    await _run(ours(warm, Path(folder), 0.01)[:1] if what == "ours" else bare(warm, url, etag, 0.01)[:1], warm)
    gc.collect()
    before = process.memory_info().rss
    tally = Tally(sources)
    after = await _run(ours(tally, Path(folder), pause) if what == "ours" else bare(tally, url, etag, pause), tally)
    first, *rest = (b - a for a, b in zip(tally.cpu, tally.cpu[1:], strict=False))
    answer = {
        "seconds": tally.seconds / tally.asked,
        "cpu": sum(rest) / len(rest) / sources,
        "first_cpu": first / sources,
        "bytes": (after - before) / sources,
        "rss": after,
    }
    print(json.dumps(answer))


async def _run(waiting: list[Callable[[], Awaitable[None]]], tally: Tally) -> int:
    """Resident memory while all wait."""
    tasks = [asyncio.ensure_future(wait()) for wait in waiting]
    done = asyncio.ensure_future(tally.done.wait())
    await asyncio.wait([done, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task.done():
            task.result()
    memory = psutil.Process().memory_info().rss
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return memory


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
