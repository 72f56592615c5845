"""The datasets that a store had: one that is gone must not begin again with another id, as if nothing had been.

``STORE/.datasets/NAME`` holds the dataset's id, or `FORGOTTEN` once somebody said that it may begin anew, and the time
since when. Names are in lower case, with ``+`` for ``/``. Tools that read datasets do not look there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.storage import LocalStorage
from airflow_provider_odf.errors import DatasetGone, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.names import DatasetAlias

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store

FORGOTTEN = "forgotten"
DAMAGED = "damaged"


@dataclass(frozen=True)
class Entry:
    """What a store knows of a name: a dataset's id, `FORGOTTEN`, or `DAMAGED` where its file cannot be read; since a
    time."""

    dataset_id: str
    since: Instant


def entry(store: Store, alias: DatasetAlias) -> Entry | None:
    """What the store knows of a name; None if it had no such dataset."""
    data = _entries(store).get(_name(alias))
    if data is None:
        return None
    dataset_id, _, since = data.decode("ascii", "replace").strip().partition(" ")
    try:
        return Entry(dataset_id, Instant.parse(since))
    except ValueError:
        return Entry(DAMAGED, Instant(0))


def remember(store: Store, alias: DatasetAlias, dataset_id: str) -> None:
    """Note that the store has a dataset."""
    known = entry(store, alias)
    if known is None or known.dataset_id != dataset_id:
        _write(store, alias, dataset_id)


def forget(store: Store, alias: DatasetAlias) -> None:
    """Let the next run begin a new history under a name.

    :raises InvalidInput: the dataset is there, or a part of it.
    """
    if store.get(alias) is not None:
        raise InvalidInput(f"{store.path(alias)}: the dataset is there: delete its folder first")
    if _has_data(store, alias):
        raise InvalidInput(f"{store.path(alias)}: there are data without refs/head: delete or move the folder first")
    _write(store, alias, FORGOTTEN)


def check_new(store: Store, alias: DatasetAlias) -> None:
    """Check that a dataset which is not in the store never was.

    :raises DatasetGone: it was.
    """
    known, has_data = entry(store, alias), _has_data(store, alias)
    if store.get(alias) is not None:
        return  # created by another writer just now, which is noticed when head is set
    if has_data:
        advice = f"restore refs/head from a backup, or {way_on(store, alias, 'move the folder away and ')}"
        raise DatasetGone(f"{store.path(alias)}: the dataset has data, but refs/head is missing: {advice}")
    if known is not None and known.dataset_id != FORGOTTEN:
        which = "a dataset" if known.dataset_id == DAMAGED else f"the dataset {known.dataset_id}"
        message = f"{store.path(alias)}: {which} was here and is gone"
        raise DatasetGone(f"{message}: restore its folder, or {way_on(store, alias)}")


def gone(store: Store) -> Iterator[DatasetGone]:
    """Yield an error for each dataset that was in the store and is gone, or has lost its head."""
    for alias in aliases(store):
        try:
            check_new(store, alias)
        except DatasetGone as e:
            yield e


def aliases(store: Store) -> Iterator[DatasetAlias]:
    """Yield the names of all datasets that the store has or had, in lower case."""
    folder = _entries(store).root
    for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        if not name.startswith("."):  # a write that was killed
            yield DatasetAlias.parse(name.replace("+", "/"))


def way_on(store: Store, alias: DatasetAlias, first: str = "") -> str:
    """The advice for who wants a new history."""
    dataset = Dataset(alias, LocalStorage(store.path(alias)))
    return f"to begin a new history {first}run `{dataset.command('forget', '{}')}`"


def _has_data(store: Store, alias: DatasetAlias) -> bool:
    """Whether slices lie where the dataset would: a creation that was killed has written none."""
    folder = store.path(alias) / "data"
    return folder.is_dir() and any(folder.iterdir())


def _write(store: Store, alias: DatasetAlias, text: str) -> None:
    _entries(store).put(_name(alias), f"{text} {Instant.now()}\n".encode())


def _entries(store: Store) -> LocalStorage:
    return LocalStorage(store.root / ".datasets")


def _name(alias: DatasetAlias) -> str:
    return str(alias).lower().replace("/", "+")
