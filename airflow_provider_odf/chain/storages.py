"""The table of storages, by the scheme of a store's URI. To add one, add a module and a row."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.errors import InvalidInput

STORAGES: dict[str, Callable[[str], Storage]] = {
    "file": LocalStorage.at,
    **dict.fromkeys(object_stores.SCHEMES, ObjectStorage.at),
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
            f"store {uri_or_path}: unsupported location: use a local path, or a URI with one of file, s3, gs, az, abfss"
        )
    return STORAGES[scheme](uri_or_path)
