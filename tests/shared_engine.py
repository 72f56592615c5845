"""One Spark for all `odf` processes that a test starts.

A process starts an engine of its own with its first request, which takes seconds. Tests of what commands print give it
a relay in place of that engine: the requests go to the Spark of the test process. How an engine starts and ends is
tested in ``tests/runner``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer

from airflow_provider_odf import errors, protocol
from airflow_provider_odf.runner import LocalRunner, Runner


@contextmanager
def shared_engine(folder: Path, without_airflow: bool = False) -> Iterator[Path]:
    """A folder with an ``odf`` that sends its requests to one Spark, which starts with the first of them."""
    odf, engine = folder / "odf", folder / "engine"
    blocked = "sys.modules['airflow'] = None" if without_airflow else ""
    root = str(Path(__file__).parents[1])
    odf.write_text(_ODF.format(python=sys.executable, engine=str(engine), root=root, blocked=blocked))
    odf.chmod(0o755)
    with LocalRunner("local[2]") as runner, _Server(str(engine), runner) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder
        server.shutdown()


_ODF = """\
#!{python}
import os, sys
{blocked}
sys.path.insert(0, {root!r})
os.environ["ODF_TEST_ENGINE"] = {engine!r}
from airflow_provider_odf.cli import main
from airflow_provider_odf.runner import apps
from tests import engine_relay
apps.application = lambda name: engine_relay.__file__
main()
"""


class _Server(ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, runner: Runner) -> None:
        self.runner = runner
        super().__init__(path, _Client)


class _Client(StreamRequestHandler):
    """One process: lines of requests, as ``engine.serve`` reads them."""

    server: _Server

    def handle(self) -> None:
        lock = threading.Lock()
        for line in self.rfile:
            if not line.strip():
                break
            number, _, text = line.decode().split(" ", 2)
            request = protocol.loads_request(text)
            operation = protocol.operation(request)

            def respond(response: protocol.Response, number: str = number, operation: str = operation) -> None:
                with lock:
                    self.wfile.write(f"{number} {protocol.dumps_response(operation, response)}\n".encode())

            answer = self.server.runner.submit(request, lambda message: respond(protocol.Progress(message)))
            respond(_response(answer))


def _response(answer: Future[protocol.Success]) -> protocol.Response:
    try:
        return answer.result()
    except errors.InvalidQuery as e:
        return protocol.InvalidQuery(str(e))
    except errors.InternalError as e:
        return protocol.InternalError(str(e), e.backtrace)
