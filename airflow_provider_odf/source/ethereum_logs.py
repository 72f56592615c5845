"""FetchStep::EthereumLogs: logs of contracts from a node, by its JSON-RPC over HTTP, as Parquet.

The columns are those of ``eth_getLogs``; with a signature the struct ``event`` has the decoded values. The state is the
last block that was read, as ``NUMBER@HASH``, as in the reference implementation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.ethereum_events import Event
from airflow_provider_odf.manifest import fetch_kinds, log_filter
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.log_filter import LogFilter
from airflow_provider_odf.source import source_state
from airflow_provider_odf.source.fetching import Context, Fetch, SourceFile, SourceFiles
from airflow_provider_odf.source.transfer import Transfer, TryAgain

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepEthereumLogs

_RETRYABLE = 500
_TOO_MANY, _OK = 429, 200


@dataclass(frozen=True)
class _Step:
    """A step with its templates filled."""

    url: str
    chain_id: int | None
    filter: LogFilter
    event: Event | None
    label: str


def prepare(step: FetchStepEthereumLogs, context: Context) -> Fetch:
    """Return how to read the logs of a step.

    :raises InvalidInput: a template cannot be filled, filter or signature are not valid, no node is known for the
        chain, or the extra ``ethereum`` is not installed.
    """
    label = fetch_kinds.kind_of(step).label(step)
    url = step.node_url or context.options.ethereum_nodes.get(str(step.chain_id))
    if url is None:
        place = context.options.where("ethereum_nodes")
        raise InvalidInput(f"{label}: no node is known for the chain: set `nodeUrl`, or {place} = {step.chain_id}=URL")
    url = urls.fill(url, context.environment)
    context.environment.hide(*redaction.literals(url))
    filter_ = log_filter.parse(step.filter, lambda text: Event.parse(text).selector) if step.filter else LogFilter()
    event = Event.parse(step.signature) if step.signature else None
    if event is not None:
        filter_ = filter_.only("topic0", frozenset((event.selector,)))
    if empty := [column for column, values in filter_.values.items() if not values]:
        raise InvalidInput(f"{label}: no log can pass the filter, which excludes all values of {empty[0]}")
    return Fetch(lambda context: _fetch(_Step(url, step.chain_id, filter_, event, label), context), texts=url)


def _fetch(step: _Step, context: Context) -> SourceFiles:
    """Return the logs after the last block that was read."""
    with _Node(step, context) as node:
        value = source_state.value_of(context.state, source_state.ETAG)
        node.check_chain(step.chain_id)
        warnings = [*_reorganized(node, value, step.label)] if value else []
        first = max(int(value.partition("@")[0]) + 1 if value else 0, step.filter.first_block)
        newest = _number(node.block(context.options.ethereum_newest)["number"])
        last = newest if step.filter.last_block is None else min(newest, step.filter.last_block)
        scan, files, has_more = _Scan(node, step, context, first, last), list[SourceFile](), False
        try:
            for file in scan.batches():
                files.append(file)
                if has_more := len(files) == context.options.batches and scan.first <= last:
                    warnings.append(f"{step.label}: has more logs: the next poll continues")
                    break
        except SourceError as e:
            if not files:
                raise
            warnings.append(f"{e}; earlier logs were kept")
    return context.result(*files, warnings=tuple(warnings), has_more=has_more)


def _reorganized(node: _Node, state: str, label: str) -> Iterator[str]:
    """Yield a warning if the chain no longer has the block of a state."""
    number, _, digest = state.partition("@")
    block = node.call("eth_getBlockByNumber", hex(int(number)), False)
    if block is None or block["hash"].removeprefix("0x") != digest:
        yield (
            f"{label}: block {number} was replaced after its logs were read: the dataset may have logs that the chain "
            "no longer has, and lack others"
        )


class _Scan:
    """Reads ranges of blocks. A range that a node refuses is halved."""

    def __init__(self, node: _Node, step: _Step, context: Context, first: int, last: int) -> None:
        self.node, self.step, self.context, self.first, self.last = node, step, context, first, last
        self.stride = context.options.ethereum_block_stride

    def batches(self) -> Iterator[SourceFile]:
        """Yield the logs in batches, each with the state after it.

        Without logs the state moves after a whole stride alone: another block of metadata is not worth less.
        """
        logs, start, number = list[dict[str, Any]](), self.first, 0
        while self.first <= self.last:
            logs += self._next()
            if len(logs) >= self.context.options.batch_records or (self.first > self.last and logs):
                yield self._file(logs, number)
                logs, start, number = [], self.first, number + 1
        if self.first - start >= self.context.options.ethereum_block_stride:
            yield self._file([], number)

    def _next(self) -> list[dict[str, Any]]:
        """Return the logs of the next range."""
        while True:
            end = min(self.last, self.first + self.stride - 1)
            try:
                logs = self.node.logs(self.step.filter, self.first, end)
            except _Refused:
                if end == self.first:
                    raise
                self.stride = (end - self.first + 1) // 2
                continue
            self.first = end + 1
            self.context.tell(f"{self.step.label}: {len(logs)} logs of the blocks up to {end} of {self.last}")
            return sorted(logs, key=lambda log: (_number(log["blockNumber"]), _number(log["logIndex"])))

    def _file(self, logs: list[dict[str, Any]], number: int) -> SourceFile:
        block = self.node.block(hex(self.first - 1))
        state = source_state.etag(f"{self.first - 1}@{block['hash'].removeprefix('0x')}")
        target = self.context.directory / f"batch-{number:05}"
        if logs:
            _write(logs, self.step, target)
        return SourceFile((target,) if logs else (), self.context.system_time, state, self.step.label)


class _Refused(SourceError):
    """The node answered with an error."""


class _Node:
    """A client of one node."""

    def __init__(self, step: _Step, context: Context) -> None:
        options = context.options
        self._step, self._options, self._directory = step, options, context.directory
        self._client = httpx.Client(timeout=httpx.Timeout(options.read_timeout, connect=options.connect_timeout))
        self._tell = context.tell

    def __enter__(self) -> _Node:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def check_chain(self, expected: int | None) -> None:
        """Check the chain of the node.

        :raises SourceError: it is another one.
        """
        if expected is not None and (actual := _number(self.call("eth_chainId"))) != expected:
            raise SourceError(f"{self._step.label}: the node has chain {actual}, not {expected}", ("chain_id",))

    def block(self, number: str) -> Mapping[str, Any]:
        """Return the header of a block by its hexadecimal number or name."""
        block = self.call("eth_getBlockByNumber", number, False)
        if block is None:
            raise SourceError(f"{self._step.label}: the node has no block {number}")
        return dict(block)

    def logs(self, filter_: LogFilter, first: int, last: int) -> list[dict[str, Any]]:
        """Return the logs of a range of blocks."""
        texts = {name: [f"0x{value.hex()}" for value in sorted(values)] for name, values in filter_.values.items()}
        topics = [texts.get(f"topic{i}") for i in range(4)]
        while topics and topics[-1] is None:
            topics.pop()
        condition = {"address": texts.get("address"), "topics": topics}
        ranges = {"fromBlock": hex(first), "toBlock": hex(last)}
        logs = self.call("eth_getLogs", {**ranges, **{name: value for name, value in condition.items() if value}})
        return [log for log in logs if not log.get("removed")]

    def call(self, method: str, *parameters: Any) -> Any:
        """Return the result of a call.

        :raises SourceError: the node refuses it, or its answer is not JSON-RPC.
        :raises SourceUnavailable: it does not respond.
        """
        transfer = Transfer(self._step.label, self._directory, self._options, self._tell)
        return transfer.retry(lambda: self._attempt(method, parameters))

    def _attempt(self, method: str, parameters: tuple[Any, ...]) -> Any:
        label = self._step.label
        try:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
            response = self._client.post(self._step.url, json=request)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise urls.invalid(label) from None
        except httpx.TransportError as e:
            raise TryAgain(f"{label}: {str(e) or type(e).__name__}") from None
        if response.status_code == _TOO_MANY or response.status_code >= _RETRYABLE:
            raise TryAgain(f"{label}: HTTP {response.status_code}")
        try:
            answer = response.json()
            error = answer.get("error")
        except (ValueError, AttributeError):
            raise SourceError(f"{label}: no JSON-RPC at the address (HTTP {response.status_code})") from None
        if error or "result" not in answer:
            message = error.get("message") if isinstance(error, dict) else f"HTTP {response.status_code}"
            raise _Refused(f"{label}: {method}: the node refused the request: {message}")
        return answer["result"]


def _number(text: str) -> int:
    return int(text, 16)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _write(logs: list[dict[str, Any]], step: _Step, target: Path) -> None:
    """Write logs as Parquet.

    :raises SourceError: a log does not fit the signature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers, binary, time = pa.int64(), pa.binary(), pa.timestamp("ms", "UTC")
    types = {"block_number": numbers, "block_hash": binary, "block_timestamp": time, "transaction_index": numbers,
             "transaction_hash": binary, "log_index": numbers, "address": binary, "topic0": binary, "topic1": binary,
             "topic2": binary, "topic3": binary, "data": binary}  # fmt: skip
    if step.event is not None:
        types["event"] = step.event.type
    optional = ("block_timestamp", "topic0", "topic1", "topic2", "topic3")
    schema = pa.schema([pa.field(name, type_, nullable=name in optional) for name, type_ in types.items()])
    pq.write_table(pa.Table.from_pylist([_row(log, step) for log in logs], schema), target)


def _row(log: Mapping[str, Any], step: _Step) -> dict[str, Any]:
    topics, data = [_bytes(topic) for topic in log["topics"]], _bytes(log["data"])
    time = log.get("blockTimestamp")
    row: dict[str, Any] = {
        "block_number": _number(log["blockNumber"]),
        "block_hash": _bytes(log["blockHash"]),
        "block_timestamp": None if time is None else _number(time) * 1000,
        "transaction_index": _number(log["transactionIndex"]),
        "transaction_hash": _bytes(log["transactionHash"]),
        "log_index": _number(log["logIndex"]),
        "address": _bytes(log["address"]),
        **{f"topic{i}": topic for i, topic in enumerate(topics)},
        "data": data,
    }
    if step.event is not None:
        try:
            row["event"] = step.event.decode(topics, data)
        except ValueError as e:
            transaction = log["transactionHash"]
            raise SourceError(f"{step.label}: log {row['log_index']} of transaction {transaction}: {e}") from None
    return row
