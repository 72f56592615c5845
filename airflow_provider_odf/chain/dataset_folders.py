"""Folders of datasets: which of them are datasets, and which alias and id these have."""

from __future__ import annotations

from urllib.parse import unquote

from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetUri

LAYOUT = ("blocks", "checkpoints", "data", "info", "refs")
"""Folders of a dataset."""


def dataset_at(uri: DatasetUri) -> Dataset | None:
    """Return the dataset in a folder, or None if the folder has none. Its alias is the name of the folder, with that of
    the account if the folder is in one; a name that is no alias is replaced by the alias in the dataset."""
    storage = open_storage(uri.text)
    path = unquote(uri.text).split("/")
    stored = (storage.get("info/alias") or b"").decode("utf-8", "replace").strip()
    is_in_account = stored.lower() == "/".join(path[-2:]).lower()
    name = next(filter(_is_alias, ("/".join(path[-2:]) if is_in_account else path[-1], stored)), None)
    return existing(storage, DatasetAlias.parse(name)) if name is not None else None


def existing(folder: Storage, alias: DatasetAlias) -> Dataset | None:
    """Return the dataset in a folder, or None if the folder has no head."""
    return Dataset(alias, folder) if folder.stat(f"refs/{HEAD}") is not None else None


def same_name(folder: Storage, name: str) -> str | None:
    """Return the subfolder with this name, ignoring case."""
    if folder.folder(name).exists():
        return name
    return next((entry for entry in dataset_names(folder) if entry.lower() == name.lower()), None)


def dataset_names(folder: Storage) -> list[str]:
    """Return the names of the subfolders that can be datasets or accounts, sorted."""
    names = (name for name in folder.folders() if name not in LAYOUT and _is_name(name))
    return sorted(names, key=str.lower)


def _is_name(text: str) -> bool:
    return "/" not in text and _is_alias(text)


def _is_alias(text: str) -> bool:
    try:
        DatasetAlias.parse(text)
    except ValueError:
        return False
    return True


def id_in_chain(dataset: Dataset) -> str | None:
    """Return the id in the seed of a chain."""
    *_, (_, seed) = dataset.walk()
    return seed.event.dataset_id if isinstance(seed.event, model.Seed) else None
