"""A node of an Ethereum chain on this machine: JSON-RPC over HTTP, with recorded logs."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.http_server import hosting

RETH = "0xae78736cd615f374d3085123a210448e74fc6393"
MINTED = "0x6155cfd0fd028b0ca77e8495a60cbe563e8bce8611f0aad6fedbdaafc05d44a2"
BURNED = "0x19783b34589160c168487dc7f9c51ae0bcefe67a47d6708fba90f6ce0366d3d1"


def token_log(block: int, index: int, topic: str, account: str, *numbers: int, **changes: Any) -> dict[str, Any]:
    """A log of the rETH token as a node returns it: the account indexed, the numbers of 256 bits in the data."""
    return {
        "address": RETH,
        "topics": [topic, f"0x{account:0>64}"],
        "data": "0x" + "".join(f"{number:064x}" for number in numbers),
        "blockHash": f"0x{block:064x}",
        "blockNumber": hex(block),
        "transactionHash": f"0x{block * 10 + index:064x}",
        "transactionIndex": "0x2",
        "logIndex": hex(index),
        "removed": False,
        **changes,
    }


@dataclass
class Node:
    """``newest`` is its newest block; ``statuses`` are answered before anything else; a request for more than
    ``most_blocks`` is refused; ``forks`` are blocks that have another hash. ``requests`` are those for logs."""

    url: str
    chain_id: int = 1
    newest: int = 0
    logs: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    most_blocks: int = 10**9
    forks: set[int] = field(default_factory=set)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, method: str, parameters: list[Any]) -> dict[str, Any]:
        """The result or error of a call."""
        return {"result": hex(self.chain_id)} if method == "eth_chainId" else getattr(self, method)(*parameters)

    def eth_getBlockByNumber(self, number: str, _full: bool) -> dict[str, Any]:  # noqa: N802
        names = {"latest": self.newest, "safe": self.newest - 1, "finalized": self.newest - 2}
        block = names[number] if number in names else int(number, 16)
        if block > self.newest:
            return {"result": None}
        return {"result": {"number": hex(block), "hash": f"0x{block + (block in self.forks) * 16**9:064x}"}}

    def eth_getLogs(self, condition: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        self.requests.append(condition)
        first, last = (int(condition[name], 16) for name in ("fromBlock", "toBlock"))
        if last - first >= self.most_blocks:
            return {"error": {"code": -32005, "message": f"range of more than {self.most_blocks} blocks"}}
        wanted = [condition.get("address"), *condition.get("topics", [])]
        return {
            "result": [
                log
                for log in self.logs
                if first <= int(log["blockNumber"], 16) <= last
                and all(w is None or v in w for w, v in zip(wanted, [log["address"], *log["topics"]], strict=False))
            ]
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        node = self.server.state
        status = node.statuses.pop(0) if node.statuses else 200
        result = node.answer(call["method"], call["params"]) if status == 200 else {}
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], **result}).encode() if result else b"<html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the test run's output is for tests."""


def running() -> contextlib.AbstractContextManager[Node]:
    """A node that runs as long as the context does."""
    return hosting(_Handler, Node)
