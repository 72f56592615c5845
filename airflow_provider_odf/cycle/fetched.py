"""Input that waits in the work area between two steps: sealed by the one, compared with the seal by the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.messages import Polled
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.seal import first_altered, seal

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store


def seal_input(store: Store, polled: Polled, dataset_id: str) -> None:
    """Seal the files of an input that lie in its directory. Files that are not ours have none."""
    if directory := _directory(store, polled):
        seal(directory, _paths(polled, directory), dataset=dataset_id)


def check_input(store: Store, polled: Polled, dataset_id: str) -> None:
    """Compare the files of an input with their seal.

    :raises ChainCorrupted: a file is missing or has other bytes than were sealed.
    """
    directory = _directory(store, polled)
    if directory is None:
        return
    if altered := first_altered(directory, _paths(polled, directory), dataset=dataset_id):
        raise ChainCorrupted(
            f"{altered}: the file is missing or not what was fetched for {polled.dataset}: "
            "run again to fetch it again (in Airflow, clear the task that fetched it)"
        )


def _directory(store: Store, polled: Polled) -> Path | None:
    """Where the seal lies: what was read ahead of the merge has a directory of its own."""
    read = [Path(path).parent for file in polled.files for path in file.paths] if polled.is_read else []
    return read[0] if read else store.work(polled.dataset) / polled.directory if polled.directory else None


def _paths(polled: Polled, directory: Path) -> list[Path]:
    paths = [Path(path) for file in polled.files for path in file.paths]
    return [path for path in paths if directory in path.parents]
