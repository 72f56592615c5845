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


def open_storage(uri_or_path: str) -> Storage:
    """Return the storage at a URI or path.

    :raises InvalidInput: no storage has the scheme.
    """
    is_uri = "://" in uri_or_path or uri_or_path.startswith("file:")
    scheme = urlsplit(uri_or_path).scheme if is_uri else "file"
    if scheme not in STORAGES:
        raise InvalidInput(
            f"store {uri_or_path}: unsupported location: use a local path, or a URI with one of {', '.join(STORAGES)}"
        )
    return STORAGES[scheme](uri_or_path)
