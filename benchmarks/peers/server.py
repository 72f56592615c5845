"""A source over HTTP: the files of a directory with ETags and conditional requests. Prints its URL first."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    directory: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = (self.directory / self.path.strip("/")).read_bytes()
        etag = f'"{hash(content):x}"'
        is_known = self.headers["If-None-Match"] == etag
        self.send_response(304 if is_known else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", "0" if is_known else str(len(content)))
        self.end_headers()
        if not is_known:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    request_queue_size = 1024

    def handle_error(self, *_: object) -> None:
        """Clients hang up when they are done."""


def main(directory: str) -> None:
    Handler.directory = Path(directory)
    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
