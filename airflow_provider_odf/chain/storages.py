"""The table of storages, by the scheme of a store's URI. To add one, add a module and a row."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.names import HTTP_SCHEMES


def _http_storage(url: str) -> Storage:
    # The import of its client takes a tenth of a second.
    from airflow_provider_odf.chain.http_storage import HttpStorage

    return HttpStorage.at(url)


STORAGES: dict[str, Callable[[str], Storage]] = {
    "file": LocalStorage.at,
    **dict.fromkeys(object_stores.SCHEMES, ObjectStorage.at),
    **dict.fromkeys(HTTP_SCHEMES, _http_storage),
}
"""Scheme of a store's URI -> its storage. A path has the scheme ``file``."""

_HDFS = (
    "HDFS cannot move a ref on the condition that no other writer has moved it, so two writers could lose each other's "
    "blocks: use an object store, or a folder of a mounted file system that has locks"
)
_REASONS = {
    **dict.fromkeys(("hdfs", "webhdfs", "swebhdfs"), _HDFS),
    **dict.fromkeys(("s3a", "s3n"), "use s3://BUCKET/PREFIX"),
    **dict.fromkeys(("wasb", "wasbs", "abfs"), "use abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"),
}
"""Why a store cannot be at a URI of other schemes, and where it can."""


def open_storage(uri_or_path: str) -> Storage:
    """Return the storage at a URI or path.

    :raises InvalidInput: no storage has the scheme.
    """
    is_uri = "://" in uri_or_path or uri_or_path.startswith("file:")
    scheme = urlsplit(uri_or_path).scheme if is_uri else "file"
    if scheme not in STORAGES:
        others = f"use a local path, or a URI with one of {', '.join(STORAGES)}"
        raise InvalidInput(f"store {uri_or_path}: unsupported location: {_REASONS.get(scheme, others)}")
    return STORAGES[scheme](uri_or_path)
