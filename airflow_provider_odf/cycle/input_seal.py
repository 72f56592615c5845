"""Seals of inputs in the work area: one step writes the seal, the next one compares the files with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.messages import Input
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.seal import first_altered, seal

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store


def seal_input(store: Store, new_input: Input, dataset_id: str) -> None:
    """Seal the files of an input in its directory. Other files have no seal."""
    if directory := _directory(store, new_input):
        seal(directory, _paths(new_input, directory), dataset=dataset_id)


def check_input(store: Store, new_input: Input, dataset_id: str) -> None:
    """Compare the files of an input with their seal.

    :raises ChainCorrupted: a file is missing or was changed.
    :raises StorageError: a file cannot be read.
    """
    directory = _directory(store, new_input)
    if directory is None:
        return
    with storage_errors(directory):
        altered = first_altered(directory, _paths(new_input, directory), dataset=dataset_id)
    if altered is not None:
        raise ChainCorrupted(
            f"{altered}: the file is missing or was changed after it was fetched for {new_input.dataset}: "
            "run again to fetch it again (in Airflow, clear the task that fetched it)"
        )


def _directory(store: Store, new_input: Input) -> Path | None:
    """Return the folder of the seal. Files that were read ahead of the merge have a folder of their own."""
    read = [Path(path).parent for file in new_input.files for path in file.paths] if new_input.is_read else []
    return read[0] if read else store.work(new_input.dataset) / new_input.directory if new_input.directory else None


def _paths(new_input: Input, directory: Path) -> list[Path]:
    paths = [Path(path) for file in new_input.files for path in file.paths]
    return [path for path in paths if directory in path.parents]
