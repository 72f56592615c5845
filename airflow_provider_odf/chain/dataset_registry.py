"""``Registry``: all datasets that a store ever had, so that a lost one is not silently replaced by one with another id.

``STORE/.datasets/NAME`` holds the dataset's id, or `FORGOTTEN` if a new dataset may take the name, and the time of that
entry. Names are in lower case, with ``+`` for ``/``. Tools that read datasets ignore this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.names import DatasetAlias

FOLDER = ".datasets"
FORGOTTEN = "forgotten"
DAMAGED = "damaged"


@dataclass(frozen=True)
class Entry:
    """Entry of a dataset since a time: its id, `FORGOTTEN`, or `DAMAGED` if the file cannot be read."""

    dataset_id: str
    since: Instant

    def is_of_another(self, dataset_id: str) -> bool:
        """Return whether the name is that of another dataset than the one with an id."""
        return self.dataset_id not in (dataset_id, FORGOTTEN, DAMAGED)


@dataclass(frozen=True)
class Registry:
    """Entries of a store."""

    storage: Storage

    def get(self, alias: DatasetAlias) -> Entry | None:
        """Return the entry of a name, or None if the store had no such dataset."""
        data = self.storage.get(_name(alias))
        if data is None:
            return None
        dataset_id, _, since = data.decode("ascii", "replace").strip().partition(" ")
        try:
            return Entry(dataset_id, Instant.parse(since))
        except ValueError:
            return Entry(DAMAGED, Instant(0))

    def remember(self, alias: DatasetAlias, dataset_id: str) -> None:
        """Record that the store has a dataset."""
        entry = self.get(alias)
        if entry is None or entry.dataset_id != dataset_id:
            self._write(alias, dataset_id)

    def forget(self, alias: DatasetAlias) -> None:
        """Record that a new dataset may take the name."""
        self._write(alias, FORGOTTEN)

    def aliases(self) -> Iterator[DatasetAlias]:
        """Yield the names of all datasets that the store has or had, in lower case."""
        for name in self.storage.names(""):
            yield DatasetAlias.parse(name.replace("+", "/"))

    def _write(self, alias: DatasetAlias, text: str) -> None:
        self.storage.put(_name(alias), f"{text} {Instant.now()}\n".encode())


def _name(alias: DatasetAlias) -> str:
    return str(alias).lower().replace("/", "+")
