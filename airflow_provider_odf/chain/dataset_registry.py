"""``Registry``: all datasets that a store ever had, so that a lost one is not silently replaced by one with another id.

``STORE/.datasets/NAME`` holds the dataset's id, or `FORGOTTEN` if a new dataset may take the name, and the time of that
entry. Names are in lower case, with ``+`` for ``/``. Tools that read datasets ignore this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Registry:
    """Entries of a store."""

    storage: Storage
    _read: dict[DatasetAlias, Entry | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def get(self, alias: DatasetAlias) -> Entry | None:
        """Return the entry of a name, or None if the store had no such dataset."""
        self._read[alias] = entry = self._entry(self.storage.get(_name(alias)))
        return entry

    @staticmethod
    def _entry(data: bytes | None) -> Entry | None:
        if data is None:
            return None
        dataset_id, _, since = data.decode("ascii", "replace").strip().partition(" ")
        try:
            return Entry(dataset_id, Instant.parse(since))
        except ValueError:
            return Entry(DAMAGED, Instant(0))

    def remember(self, alias: DatasetAlias, dataset_id: str) -> None:
        """Record that the store has a dataset, unless its entry says so, as it was last read."""
        entry = self._read[alias] if alias in self._read else self.get(alias)
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
        self._read.pop(alias, None)
        self.storage.put(_name(alias), f"{text} {Instant.now()}\n".encode())


def _name(alias: DatasetAlias) -> str:
    return str(alias).lower().replace("/", "+")
