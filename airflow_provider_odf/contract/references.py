"""The documents that ``$ref`` leads to: the contract itself, other files, and the web."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from airflow_provider_odf.contract.model import Spot
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem, SourceError
from airflow_provider_odf.manifest import yaml_source
from airflow_provider_odf.manifest.document import Document

if TYPE_CHECKING:
    import httpx

MAX_DOCUMENTS = 50
MAX_BYTES = 1 << 20
MAX_REDIRECTS = 5
TIMEOUT = 10.0

_WEB = ("http", "https")


class Unresolved(Exception):
    """A reference leads nowhere: why, and how to mend it."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class Offline(Exception):
    """A reference leads to the web, which may not be asked now."""


class Library:
    """A contract and the documents that it refers to, each of which is read once.

    ``is_offline`` leaves references to the web alone. ``is_attached`` refuses all references to other documents: an
    attachment is part of a chain, which others read elsewhere.
    """

    def __init__(self, root: Document, is_offline: bool = False, is_attached: bool = False) -> None:
        self.texts: list[str] = []
        """Texts of the other documents, in the order in which they were read."""
        self._is_offline, self._is_attached = is_offline, is_attached
        self._documents = {_uri_of(root): root}

    def resolve(self, base: Document, reference: str) -> Spot:
        """Return the value that a reference in a document leads to.

        :raises Unresolved: there is no such document, or no such value in it.
        :raises Offline: the document is on the web.
        :raises ManifestInvalid: the document is not YAML.
        """
        address, _, pointer = reference.partition("#")
        if address and self._is_attached:
            raise Unresolved("points outside the attachment", "move the definition into the attachment")
        document = self._document(_absolute(base, address)) if address else base
        try:
            return Spot(document).follow(unquote(pointer))
        except KeyError as e:
            raise Unresolved("does not resolve to a definition", _definitions(document)) from e

    def _document(self, uri: str) -> Document:
        if uri not in self._documents:
            if self._is_offline and _is_web(uri):
                raise Offline
            if len(self._documents) > MAX_DOCUMENTS:
                raise Unresolved(f"exceeds the limit of {MAX_DOCUMENTS} referenced documents")
            text = _download(uri) if _is_web(uri) else _read(Path(uri))
            self.texts.append(text)
            documents = yaml_source.parse(text, uri, is_exact=True)
            if len(documents) != 1 or not isinstance(documents[0].value, dict):
                raise Unresolved("points to a file that is not a single YAML mapping")
            self._documents[uri] = documents[0]
        return self._documents[uri]


def _is_web(uri: str) -> bool:
    return urlsplit(uri).scheme in _WEB


def _uri_of(document: Document) -> str:
    return document.file if _is_web(document.file) else str(Path(document.file).resolve())


def _absolute(base: Document, address: str) -> str:
    """Return the path of a file, or a URL.

    :raises Unresolved: the address has another scheme, or leads from the web to a file.
    """
    scheme = urlsplit(address).scheme
    if scheme in _WEB:
        return address
    if scheme not in ("", "file"):
        raise Unresolved(f"has the unknown scheme {scheme}", "use a path, file:// or https://")
    if _is_web(base.file):
        if scheme == "file":
            raise Unresolved(
                "points from a web document to a local file",
                "a web document can refer only to web documents: use an https:// URL",
            )
        return urljoin(base.file, address)
    return str((Path(base.file).parent / unquote(address.removeprefix("file://"))).resolve())


def _definitions(document: Document) -> str:
    names = document.value.get("definitions") if isinstance(document.value, dict) else None
    if isinstance(names, dict) and names:
        return "the document has " + ", ".join(f"#/definitions/{name}" for name in names)
    return "the document has no definitions"


def _read(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise Unresolved(f"points to a file of more than {MAX_BYTES >> 20} MiB")
        return yaml_source.read_text(path)
    except ManifestInvalid as e:
        raise Unresolved(f"points to {path}: {e.problems[0].message}", "correct the path") from e


def _download(url: str) -> str:
    """Return the text at a URL. Redirects may not lead into a narrower network than that of the URL."""
    import httpx

    try:
        with httpx.Client(timeout=TIMEOUT) as client, _response(client, url) as response:
            response.raise_for_status()
            data = b""
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise Unresolved(f"points to a document of more than {MAX_BYTES >> 20} MiB")
            return data.decode("utf-8-sig")
    except httpx.HTTPStatusError as e:
        raise Unresolved(f"cannot be read: {e.response.status_code} {e.response.reason_phrase}") from e
    except (httpx.HTTPError, httpx.InvalidURL, SourceError) as e:
        raise Unresolved(f"cannot be read: {e or type(e).__name__}") from e
    except UnicodeDecodeError as e:
        raise Unresolved("points to a document that is not UTF-8") from e


@contextmanager
def _response(client: httpx.Client, url: str) -> Iterator[httpx.Response]:
    from airflow_provider_odf.source.http import Guard, scope_of_response

    request = client.build_request("GET", url)
    narrowest = None
    for _ in range(MAX_REDIRECTS + 1):
        response = client.send(request, stream=True)
        narrowest = scope_of_response(response) if narrowest is None else narrowest
        if response.next_request is None:
            with closing(response):
                yield response
            return
        response.close()
        request = response.next_request
        request.extensions["trace"] = Guard(request, narrowest, "its URL").trace
    raise Unresolved(f"cannot be read: more than {MAX_REDIRECTS} redirects")


def problem(place: Place, reference: str, error: Unresolved) -> Problem:
    """Return the problem of a reference."""
    return Problem(place, f"$ref {reference} {error.message}", error.fix)
