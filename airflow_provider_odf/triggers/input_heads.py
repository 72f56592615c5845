"""``InputHeadsTrigger``: fires when an input of a derivative in another store has a new head."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_provider_odf.hooks.odf import OdfHook
from airflow_provider_odf.triggers.change import DEFAULT_OUTAGE, DEFAULT_POKE_INTERVAL, ChangeTrigger

if TYPE_CHECKING:
    import httpx

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store


class InputHeadsTrigger(ChangeTrigger):
    """Compares the heads of inputs that lie in other stores with those that the derivative has read, in the triggerer.

    It reads ``refs/head`` of each, one small file, and the newest blocks of a new head: only records and a newer
    watermark count. The derivative's chain records how far its inputs were read. Events are those of
    `PollingSourceTrigger`. An input that does not exist yet is not new.

    The triggerer needs access to the inputs and to the derivative's store with the same paths as workers.

    :param dataset: name of the derivative.
    :param inputs: locations of the inputs' folders.
    :param store: path or URI of the derivative's store, instead of the connection's.
    :param odf_conn_id: connection of type ``odf`` that names the store.
    :param poke_interval: seconds between two checks.
    :param outage: seconds without a response after which an error event is sent; None: no error event.
    """

    fields = ("dataset", "inputs", "store", "odf_conn_id", "poke_interval", "outage")
    what = "inputs"
    takes_turns = False

    def __init__(
        self,
        *,
        dataset: str,
        inputs: Sequence[str],
        store: str | None = None,
        odf_conn_id: str = OdfHook.default_conn_name,
        poke_interval: float = DEFAULT_POKE_INTERVAL,
        outage: float | None = DEFAULT_OUTAGE,
    ) -> None:
        super().__init__()
        self.dataset = dataset
        self.inputs = list(inputs)
        self.store = store
        self.odf_conn_id = odf_conn_id
        self.poke_interval = poke_interval
        self.outage = outage
        self._read: frozenset[str] = frozenset()
        """Heads up to which nothing is new for the derivative."""

    @property
    def subject(self) -> str:
        return self.dataset

    async def _version(self, client: httpx.AsyncClient | None) -> str | None:
        """Return the heads with something new for the derivative."""
        return await asyncio.wrap_future(_in_own_thread(self._new_heads))

    def _new_heads(self) -> str | None:
        store = self._store  # opened first, as it knows the credentials of the others
        heads = {head: source for source in self._sources if (head := source.storage.get_ref("head"))}
        if not self._read.issuperset(heads):
            read = _heads_read(store, self.dataset)
            self._read = read.union(head for head, source in heads.items() if not _has_news(source, head, read))
        return " ".join(sorted(heads.keys() - self._read)) or None

    @cached_property
    def _store(self) -> Store:
        return OdfHook(self.odf_conn_id, store=self.store).get_conn()

    @cached_property
    def _sources(self) -> list[Dataset]:
        from airflow_provider_odf.chain.dataset import Dataset
        from airflow_provider_odf.chain.storages import open_storage
        from airflow_provider_odf.manifest.names import DatasetAlias

        return [Dataset(DatasetAlias.parse("input"), open_storage(location)) for location in self.inputs]


def _heads_read(store: Store, name: str) -> frozenset[str]:
    """Return the heads of the inputs up to which a derivative was computed."""
    from airflow_provider_odf.manifest.model import ExecuteTransform

    dataset = store.get(name)
    blocks = dataset.data_blocks() if dataset is not None else ()
    newest = next((block.event for _, block in blocks if isinstance(block.event, ExecuteTransform)), None)
    inputs = newest.query_inputs if newest is not None else ()
    return frozenset(filter(None, (i.new_block_hash or i.prev_block_hash for i in inputs)))


def _has_news(source: Dataset, head: str, read: Collection[str]) -> bool:
    """Return whether an input has records or a newer watermark after those of the blocks in ``read``: a derivative
    takes in nothing else. Blocks are read from the head to the newest one of data that was read before.

    A chain that cannot be read has news: the run says what is wrong with it."""
    from airflow_provider_odf.errors import ChainCorrupted
    from airflow_provider_odf.manifest.model import AddData, ExecuteTransform

    watermark, was_read = None, False
    try:
        for block_hash, block in source.walk(source.target("head", head)):
            was_read = was_read or block_hash in read
            if not isinstance(event := block.event, AddData | ExecuteTransform):
                continue
            if was_read:
                return watermark not in (None, event.new_watermark)
            if event.new_data is not None:
                return True
            watermark = watermark or event.new_watermark
    except ChainCorrupted:
        return True
    return watermark is not None


def _in_own_thread(look: Callable[[], str | None]) -> Future[str | None]:
    """Return the future of a look at inputs. A server that does not answer may hold it up for minutes: neither another
    look, nor other work in shared threads, nor the end of the process waits for it."""
    future: Future[str | None] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(look())
        except Exception as e:
            future.set_exception(e)

    threading.Thread(target=run, name="input-heads", daemon=True).start()
    return future
