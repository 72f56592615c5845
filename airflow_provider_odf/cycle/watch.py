"""How far a dataset's source was read, for a trigger that checks the source for new data without a poll."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.binding import SUFFIXES, bind
from airflow_provider_odf.cycle import refs, rejected
from airflow_provider_odf.cycle.cycle import limits_of
from airflow_provider_odf.cycle.sources import source_state
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder import settings_files

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.manifest.manifest import Manifest


@dataclass(frozen=True)
class Position:
    """A dataset's source and how far it was read; ``state`` None means not at all."""

    dataset: str
    fetch: model.FetchStep
    base: Path
    """Folder to which paths are relative."""
    state: model.SourceState | None


def position(store: Store, manifest: Manifest) -> Position:
    """Return how far the polling source was read, rejected input included, as in `poll`.

    :raises InvalidInput: the dataset has no polling source, or its contract is not valid.
    """
    source = manifest.snapshot.last(model.SetPollingSource)
    if source is None:
        raise InvalidInput(f"{manifest.file}: {manifest.snapshot.name} has no polling source to wait for")
    name = str(manifest.snapshot.name)
    return Position(name, source.fetch, manifest.file.parent, _source_state(store, manifest, source))


def _source_state(store: Store, manifest: Manifest, source: model.SetPollingSource) -> model.SourceState | None:
    dataset = store.get(manifest.snapshot.alias)
    if dataset is None:
        return None
    state = replay(dataset)
    rejection = rejected.newest(dataset)
    if rejection and rejection.stands(state.head, _contract_digest(manifest), limits_of(manifest)):
        return rejection.source_state
    return source_state(state, source.fetch)


def _contract_digest(manifest: Manifest) -> str | None:
    contract = bind(manifest)
    return contract.digest if contract else None


class Watch:
    """The position of one dataset's source over time. ``load`` reads the manifest in ``file``. It is called again only
    after a change of the file, the contract or the dataset."""

    def __init__(self, store: Store, file: Path, load: Callable[[], Manifest]) -> None:
        self._store, self._file, self._load = store, file, load
        self._position: Position | None = None
        self._fingerprint: object = None

    def position(self) -> Position:
        """Return the current position.

        :raises InvalidInput: manifest or contract is not valid, or there is no polling source.
        """
        if self._position is None or self._fingerprint != self._fingerprint_of(self._position.dataset):
            self._position = None
            manifest = self._load()
            self._fingerprint = self._fingerprint_of(str(manifest.snapshot.name))
            self._position = position(self._store, manifest)
        return self._position

    def _fingerprint_of(self, name: str) -> object:
        """Return a value that changes when the position may change: of files, head and rejected candidates."""
        settings = settings_files(self._file)
        beside = [self._file.parent / (name.rpartition("/")[2] + suffix) for suffix in SUFFIXES]
        files = [(file, _stamp(file)) for file in (self._file, *beside, *settings)]
        dataset = self._store.get(name)
        names = dataset.storage.refs() if dataset else ()
        return files, dataset and dataset.head(), [ref for ref in names if ref.startswith(refs.REJECTED)]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
