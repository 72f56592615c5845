"""Objects of S3, Google Cloud Storage and Azure Blob Storage as sources: one by its URI, or all that match a pattern.

The state of an object is its ETag. An interrupted read resumes on condition of the ETag, so parts of two versions never
mix. Objects are listed page by page, from the text before the first wildcard on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import SourceError, SourceUnavailable
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.source import decompress, matching, source_state
from airflow_provider_odf.source.fetching import Address, Context, Entry, Fetch, SourceFiles, Watched
from airflow_provider_odf.source.transfer import Transfer, TryAgain
from airflow_provider_odf.threads import in_thread

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ListStream, ObjectMeta

    from airflow_provider_odf.source.options import Options

_PIECE = 1 << 20
_PAGE = 1000
_REFUSED = re.compile(r"status code: 4(?!08|29)\d\d")


def prepare(address: Address, context: Context) -> Fetch:
    """Return how to fetch the object at a URI."""
    return Fetch(
        run=lambda context: _fetch(address, context),
        texts=address.url,
        has_savepoint=True,
        comparable_states=frozenset((source_state.ETAG,)),
    )


async def check(address: Address, watched: Watched) -> str | None:
    """Return the ETag of an object that has changed, or None if it has not."""
    bucket, key = object_stores.split(address.url)
    # The first client may look up a connection, which blocks.
    client = await in_thread(object_stores.client, bucket)
    try:
        with _errors(address.label):
            meta = await client.head_async(key)
    except FileNotFoundError:
        raise SourceUnavailable(f"{address.label}: no such object") from None
    stamp = _stamp(meta)
    return None if source_state.is_same(source_state.etag(stamp), watched.state) else stamp


def _fetch(address: Address, context: Context) -> SourceFiles:
    """Fetch the object if its ETag differs from the state."""
    download = _Download(address.url, address.label, context.directory / "download.part", context)
    entry = download.run(source_state.value_of(context.state, source_state.ETAG))
    if entry is None:
        return context.result()
    path = decompress.decode(download.path, download.encoding, address.label, context)
    return address.new_input(context, path, source_state.etag(entry.stamp), f"/{download.key}", entry.modified)


class _Download(Transfer):
    """A download to ``path``. After `run` the file is complete, with the content encoding of the object."""

    def __init__(self, uri: str, label: str, path: Path, context: Context) -> None:
        super().__init__(label, path, context.options, context.tell)
        self.bucket, self.key = object_stores.split(uri)
        self.encoding = ""
        self._begun: ObjectMeta | None = None
        """The object that the next attempt goes on with."""

    def run(self, etag: str | None = None) -> Entry | None:
        """Download the object and return it as it was read, or None if it still has an ETag.

        :raises SourceError: there is no such object, the server refuses, or the object exceeds a limit.
        :raises SourceUnavailable: several attempts failed.
        """
        return self.retry(lambda: self._attempt(etag))

    def _attempt(self, etag: str | None) -> Entry | None:
        from obstore import exceptions

        begun = self._begun if self._begun is not None and 0 < self.received < self._begun["size"] else None
        options: GetOptions = {"if_none_match": etag} if etag else {}
        if begun is not None:
            options = {"range": {"offset": self.received}, "if_match": begun["e_tag"]}
        try:
            with _errors(self.label):
                result = object_stores.client(self.bucket).get(self.key, options=options)
        except FileNotFoundError:
            raise SourceError(
                f"{self.label}: no such object or bucket: correct the URI, or put the object there"
            ) from None
        except exceptions.NotModifiedError:
            return None
        except exceptions.PreconditionError:
            self._begun = None
            raise TryAgain(f"{self.label}: the object changed while it was read: retry later") from None
        if begun is None:
            self.received, begun = 0, result.meta
        self.encoding = result.attributes.get("Content-Encoding", "").strip().lower()
        self._begun = begun if begun["e_tag"] else None
        self.options.check_download(begun["size"], self.label)
        self.receive(self._pieces(result), begun["size"])
        return _entry(self.bucket, begun)

    def _pieces(self, result: GetResult) -> Iterator[bytes]:
        with _errors(self.label, TryAgain):
            yield from result.stream(min_chunk_size=_PIECE)


# --- objects that match a pattern -----------------------------------------------------------------------------------


def entries(pattern: str, base: Path, options: Options) -> list[Entry]:
    """Return the objects that match.

    :raises SourceError: the bucket cannot be read.
    """
    listing = _Listing(pattern)
    with _errors(pattern):
        for page in listing.pages():
            if not listing.add(page):
                break
    return listing.entries


async def entries_async(pattern: str, base: Path, options: Options) -> list[Entry]:
    """Return the same without blocking the event loop."""
    listing = _Listing(pattern)
    await in_thread(object_stores.client, listing.bucket)
    with _errors(pattern):
        async for page in listing.pages():
            if not listing.add(page):
                break
    return listing.entries


def copy_entry(entry: Entry, target: Path, context: Context) -> Entry:
    """Download an object of a listing, and return it as it was read."""
    read = _Download(entry.path, entry.path, target, context).run()
    return read if read is not None and read.stamp != entry.stamp else entry


def stamps(paths: Collection[str], base: Path) -> dict[str, str]:
    """Return the stamps by URI of objects of one bucket, without those that are gone."""
    bucket = object_stores.split(next(iter(paths)))[0]
    folder = os.path.commonpath([object_stores.split(path)[1].rpartition("/")[0] for path in paths])
    with _errors(f"{bucket}/{folder}"):
        pages = object_stores.client(bucket).list(folder or None, chunk_size=_PAGE)
        found = (_entry(bucket, meta) for page in pages for meta in page)
        return {entry.path: entry.stamp for entry in found if entry.path in paths}


class _Listing:
    """The objects that match a pattern, read page by page."""

    def __init__(self, pattern: str) -> None:
        self.bucket, key = object_stores.split(pattern)
        self._parts, self._start = key.split("/"), matching.fixed(key)
        self._matches: list[Entry] = []
        self._folders: set[str] = set()

    @property
    def _is_ordered(self) -> bool:
        """Whether the store lists keys in order: directory buckets of S3 and hierarchical accounts of Azure do not."""
        return self.bucket.startswith(("s3://", "gs://")) and not self.bucket.endswith("--x-s3")

    @property
    def entries(self) -> list[Entry]:
        """The matching objects, without those that only stand for a folder, as consoles and Hadoop create them."""
        return [e for e in self._matches if e.size or object_stores.split(e.path)[1] not in self._folders]

    def pages(self) -> ListStream[Sequence[ObjectMeta]]:
        folder, _, name = self._start.rpartition("/")
        # The client lists whole folders; the offset skips keys before the start, which is a part of a name.
        can_skip = self._is_ordered and name[:-1] not in ("", ".", "..")
        offset = self._start[:-1] if can_skip else None
        return object_stores.client(self.bucket).list(folder or None, offset=offset, chunk_size=_PAGE)

    def add(self, page: Sequence[ObjectMeta]) -> bool:
        """Add the matching objects of a page; return whether later pages can have more."""
        for meta in page:
            names = meta["path"].split("/")
            if meta["path"].rpartition("/")[0] not in self._folders:
                self._folders.update("/".join(names[:depth]) for depth in range(1, len(names)))
            if matching.matches(names, self._parts):
                self._matches.append(_entry(self.bucket, meta))
        return not (self._is_ordered and page and page[-1]["path"][: len(self._start)] > self._start)


def _entry(bucket: str, meta: ObjectMeta) -> Entry:
    return Entry(f"{bucket}/{meta['path']}", meta["size"], Instant.from_datetime(meta["last_modified"]), _stamp(meta))


def _stamp(meta: ObjectMeta) -> str:
    return object_stores.etag(meta) or f"{meta['last_modified']} {meta['size']}"


@contextmanager
def _errors(label: str, kind: type[SourceUnavailable] = SourceUnavailable) -> Iterator[None]:
    """Raise errors of a client as errors of the source, retryable ones as ``kind``. FileNotFoundError and failed
    conditions stay."""
    from obstore import exceptions

    try:
        with object_stores.waiting(label):
            yield
    except (exceptions.NotModifiedError, exceptions.PreconditionError):
        raise
    except exceptions.BaseError as e:
        if refused := object_stores.refusal(label, e):
            raise SourceError(f"{label}: {refused}") from None
        text = f"{label}: {object_stores.reason(e)}"
        is_final = isinstance(e, exceptions.InvalidPathError) or _REFUSED.search(str(e))
        raise (SourceError if is_final else kind)(text) from None
