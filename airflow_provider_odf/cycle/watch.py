"""How far a dataset's source was read, for a trigger that checks the source for new data without a poll."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.binding import beside, bind
from airflow_provider_odf.cycle import candidate_refs, rejected
from airflow_provider_odf.cycle.cycle import limits_of
from airflow_provider_odf.cycle.sources import source_state
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder_settings import settings_files
from airflow_provider_odf.source.fetchers import has_stamps

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
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
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of the files of a glob that the newest rejected candidate was merged from."""
    discarded: Mapping[str, str] = field(default_factory=dict)
    """Stamps by path of the files of a glob that somebody discarded."""


def position(store: Store, manifest: Manifest, contract: str | None = None) -> Position:
    """Return how far the polling source was read, rejected input included, as in `poll`. ``contract`` is the path of a
    contract, in place of the one of the manifest.

    :raises InvalidInput: the dataset has no polling source, or its contract is not valid.
    """
    source = manifest.snapshot.last(model.SetPollingSource)
    if source is None:
        raise InvalidInput(f"{manifest.file}: {manifest.snapshot.name} has no polling source to wait for")
    name, dataset = str(manifest.snapshot.name), store.get(manifest.snapshot.alias)
    new = Position(name, source.fetch, manifest.file.parent, None)
    return new if dataset is None else _position(new, dataset, manifest, contract)


def _position(new: Position, dataset: Dataset, manifest: Manifest, contract: str | None) -> Position:
    state = replay(dataset)
    published = replace(new, state=source_state(state, new.fetch))
    compiled = bind(manifest, contract)
    conditions = (state.head, compiled.digest if compiled else None, limits_of(manifest))
    rejection, discarded = rejected.standing(dataset, *conditions)
    if rejection is None:
        return published
    if not has_stamps(new.fetch):
        return replace(new, state=rejection.source_state)
    return replace(published, rejected=rejection.record.stamps, discarded=discarded)


class Watch:
    """The position of one dataset's source over time. ``load`` reads the manifest in ``file``. It is called again only
    after a change of the file, the contract or the dataset. ``contract`` is the path of a contract, in place of the one
    of the manifest."""

    def __init__(self, store: Store, file: Path, load: Callable[[], Manifest], contract: str | None = None) -> None:
        self._store, self._file, self._load, self._contract = store, file, load, contract
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
            self._position = position(self._store, manifest, self._contract)
        return self._position

    def _fingerprint_of(self, name: str) -> object:
        """Return a value that changes when the position may change: of files, head and rejected candidates."""
        settings = settings_files(self._file)
        contracts = [self._file.parent / self._contract] if self._contract else beside(self._file, name)
        files = [(file, _stamp(file)) for file in (self._file, *contracts, *settings)]
        dataset = self._store.get(name)
        names = dataset.storage.refs() if dataset else ()
        return files, dataset and dataset.head(), [ref for ref in names if ref.startswith(candidate_refs.REJECTED)]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
