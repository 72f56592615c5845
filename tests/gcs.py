"""Google Cloud Storage's XML API, by which clients write, before the JSON API of fake-gcs-server.

The server decides conditions, generations and listings. Parts of an upload are joined here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

_BOUNDARY = "odf-boundary"


class XmlServer(ThreadingHTTPServer):
    """Answers requests of the XML API from a server of the JSON API."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, json_api: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.json_api = urlsplit(json_api).netloc
        self.uploads: dict[str, dict[int, bytes]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving_xml(json_api: str) -> Iterator[XmlServer]:
    server = XmlServer(json_api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: XmlServer

    def do_GET(self) -> None:
        bucket, key, query = self._target()
        if not key:
            self._list(bucket, query)
            return
        conditions = {name: value for name in ("Range", "If-Match", "If-None-Match") if (value := self.headers[name])}
        status, headers, content = self._ask("GET", f"{_object(bucket, key)}?alt=media", headers=conditions)
        names = ("ETag", "Last-Modified", "Content-Range", "x-goog-generation")
        self._send(status, content, {name: value for name in names if (value := headers[name])})

    do_HEAD = do_GET  # noqa: N815

    def do_PUT(self) -> None:
        bucket, key, query = self._target()
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if part := query.get("partNumber"):
            self.server.uploads[query["uploadId"]][int(part)] = content
            self._send(200, b"", {"ETag": f'"{part}"'})
        elif source := self.headers["x-goog-copy-source"]:
            _, copied, name = unquote(f"/{source.lstrip('/')}").split("/", 2)
            self._written(
                "POST", f"{_object(copied, name)}/rewriteTo/b/{bucket}/o/{quote(key, '')}?{self._condition()}", b"{}"
            )
        else:
            self._upload(bucket, key, content)

    def do_POST(self) -> None:
        bucket, key, query = self._target()
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        if "uploads" in query:
            upload = f"upload-{len(self.server.uploads)}"
            self.server.uploads[upload] = {}
            xml = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            self._send(200, xml.encode())
        else:
            parts = self.server.uploads.pop(query["uploadId"])
            etag = b"<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"
            self._upload(bucket, key, b"".join(parts[number] for number in sorted(parts)), etag)

    def do_DELETE(self) -> None:
        bucket, key, query = self._target()
        if upload := query.get("uploadId"):
            self.server.uploads.pop(upload, None)
            self._send(204, b"")
        else:
            status, _, content = self._ask("DELETE", _object(bucket, key))
            self._send(status, content)

    def _target(self) -> tuple[str, str, dict[str, str]]:
        url = urlsplit(self.path)
        bucket, _, key = url.path.removeprefix("/").partition("/")
        return bucket, unquote(key), dict(parse_qsl(url.query, keep_blank_values=True))

    def _condition(self) -> str:
        generation = self.headers["x-goog-if-generation-match"]
        return urlencode({"ifGenerationMatch": generation}) if generation else ""

    def _upload(self, bucket: str, key: str, content: bytes, answer: bytes = b"") -> None:
        about = json.dumps({"name": key, "contentType": "application/octet-stream"}).encode()
        parts = [b"Content-Type: application/json\r\n\r\n" + about, b"Content-Type: */*\r\n\r\n" + content]
        body = b"".join(f"--{_BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{_BOUNDARY}--".encode()
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart&{self._condition()}"
        self._written("POST", path, body, {"Content-Type": f"multipart/related; boundary={_BOUNDARY}"}, answer)

    def _written(
        self, method: str, path: str, body: bytes, headers: dict[str, str] | None = None, answer: bytes = b""
    ) -> None:
        status, _, content = self._ask(method, path, body, headers)
        if status != 200:
            self._send(status, content)
            return
        about = json.loads(content)
        about = about.get("resource", about)
        self._send(200, answer, {"ETag": about["etag"], "x-goog-generation": about["generation"]})

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        names = {"prefix": "prefix", "delimiter": "delimiter", "max-keys": "maxResults"}
        names |= {"continuation-token": "pageToken", "start-after": "startOffset"}
        asked = urlencode({name: query[key] for key, name in names.items() if key in query})
        status, _, content = self._ask("GET", f"/storage/v1/b/{bucket}/o?{asked}")
        if status != 200:
            self._send(status, content)
            return
        found = json.loads(content)
        objects = "".join(
            f"<Contents><Key>{escape(o['name'])}</Key><LastModified>{o['updated']}</LastModified>"
            f'<ETag>"{escape(o["etag"])}"</ETag>'
            f"<Size>{o['size']}</Size></Contents>"
            for o in found.get("items", ())
            if o["name"] != query.get("start-after")
        )
        folders = "".join(
            f"<CommonPrefixes><Prefix>{escape(p)}</Prefix></CommonPrefixes>" for p in found.get("prefixes", ())
        )
        token = found.get("nextPageToken")
        rest = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        self._send(200, f"<ListBucketResult>{objects}{folders}{rest}</ListBucketResult>".encode())

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, HTTPMessage, bytes]:
        connection = HTTPConnection(self.server.json_api)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        if status >= 400:
            missing = "NoSuchKey" if self.command in ("GET", "HEAD", "DELETE") else "NoSuchBucket"
            code = {404: missing, 412: "PreconditionFailed"}.get(status, "InternalError")
            message = "The specified bucket does not exist." if code == "NoSuchBucket" else code
            content = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def _object(bucket: str, key: str) -> str:
    return f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}"
