"""Threads in which Airflow's triggerer may be asked."""

import asyncio

from asgiref.sync import async_to_sync

from airflow_provider_odf.threads import in_thread


async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_what_a_thread_asks_is_answered_in_the_loop_that_started_it() -> None:
    """Airflow 3.1 asks so for connections; in another loop, it mixes up the answers."""

    async def asked() -> bool:
        return await in_thread(async_to_sync(_loop)) is asyncio.get_running_loop()

    assert asyncio.run(asked())
