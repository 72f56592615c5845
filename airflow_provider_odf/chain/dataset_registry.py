"""``Registry``: all datasets that a store ever had, so that a lost one is not silently replaced by one with another id.

``STORE/.datasets/NAME`` holds the dataset's id, or `FORGOTTEN` if a new dataset may take the name, the time of that
entry, and `OWN` if the dataset is known to be no read-only copy. Names are in lower case, with ``+`` for ``/``. Tools
that read datasets ignore this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.names import DatasetAlias

FOLDER = ".datasets"
FORGOTTEN = "forgotten"
DAMAGED = "damaged"
OWN = "own"


@dataclass(frozen=True)
class Entry:
    """Entry of a dataset since a time: its id, `FORGOTTEN`, or `DAMAGED` if the file cannot be read."""

    dataset_id: str
    since: Instant
    is_own: bool = False
    """Whether it is surely no read-only copy; entries of earlier versions do not say so."""

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
        dataset_id, _, rest = data.decode("ascii", "replace").strip().partition(" ")
        since, _, own = rest.partition(" ")
        try:
            return Entry(dataset_id, Instant.parse(since), {"": False, OWN: True}[own])
        except (ValueError, KeyError):
            return Entry(DAMAGED, Instant(0))

    def remember(self, alias: DatasetAlias, dataset_id: str, *, is_own: bool = False) -> None:
        """Record that the store has a dataset, and that it is no read-only copy."""
        entry = self.get(alias)
        if entry is None or entry.dataset_id != dataset_id:
            self._write(alias, Entry(dataset_id, Instant.now(), is_own))
        elif is_own and not entry.is_own:
            self._write(alias, replace(entry, is_own=True))

    def begin_copy(self, alias: DatasetAlias) -> None:
        """Record that the dataset of a name may be a read-only copy from now on."""
        if (entry := self.get(alias)) is not None and entry.is_own:
            self._write(alias, replace(entry, is_own=False))

    def forget(self, alias: DatasetAlias) -> None:
        """Record that a new dataset may take the name."""
        self._write(alias, Entry(FORGOTTEN, Instant.now()))

    def aliases(self) -> Iterator[DatasetAlias]:
        """Yield the names of all datasets that the store has or had, in lower case."""
        for name in self.storage.names(""):
            yield DatasetAlias.parse(name.replace("+", "/"))

    def _write(self, alias: DatasetAlias, entry: Entry) -> None:
        words = (entry.dataset_id, str(entry.since), *([OWN] if entry.is_own else ()))
        self.storage.put(_name(alias), f"{' '.join(words)}\n".encode())


def _name(alias: DatasetAlias) -> str:
    return str(alias).lower().replace("/", "+")
