"""``Store``: a folder of datasets, each at ``STORE/NAME`` or ``STORE/ACCOUNT/NAME``; lookup ignores case."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from airflow_provider_odf import closed_files
from airflow_provider_odf.chain import cache_file, dataset_registry
from airflow_provider_odf.chain.dataset import (
    HEAD,
    LAYOUT,
    Dataset,
    dataset_at,
    dataset_names,
    existing,
    id_in_chain,
    same_name,
)
from airflow_provider_odf.chain.dataset_registry import Entry, Registry
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.errors import DatasetGone, DatasetNotFound, InvalidInput, OdfError
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, DatasetRef, DatasetUri, parse_ref
from airflow_provider_odf.wording import nearest, suggestion


class Store:
    """Datasets in a storage.

    :param exchange: what tasks pass to each other, on whatever machines they run.
    :param work_area: folder of this machine for work in progress of a process, and for disposable caches.
    :param linked: datasets of other stores that are found by their ids before those of this store.
    :param others: stores in which ids are looked for that this store does not have.
    """

    def __init__(
        self,
        storage: Storage,
        exchange: Storage,
        work_area: Path,
        linked: Sequence[Dataset] = (),
        others: Sequence[Store] = (),
    ) -> None:
        self.storage = storage
        self.exchange = exchange
        self.work_area = work_area
        self.registry = Registry(storage.folder(dataset_registry.FOLDER))
        self.others = tuple(others)
        self._linked = tuple(linked)
        self._found: dict[str, Dataset] = {}
        """Datasets of an object store, which are looked for once: each look is a request."""
        self._ids: dict[tuple[str, str | None], str | None] = {}
        self._own: set[tuple[str, str]] = set()
        """URIs and ids of datasets of an object store that may get new blocks, asked once for the same reason."""

    @classmethod
    def open(cls, uri_or_path: str | Path, work_area: Path | None = None, others: Iterable[str] = ()) -> Store:
        """Return the store at a path or URI, which may not exist yet.

        :param work_area: by default ``.work`` in the store. What tasks exchange through a store in an object store
            always lies there, and the folder is by default one of the user's cache.
        :param others: paths and URIs of stores in which inputs are looked for by their ids.
        :raises InvalidInput: the URI has an unknown scheme, or no bucket.
        """
        storage = open_storage(str(uri_or_path))
        exchange = storage.folder(".work")
        if isinstance(exchange, LocalStorage):
            exchange = LocalStorage(work_area or exchange.root)
            work_area = exchange.root
        elif work_area is None:
            work_area = _own_folder(storage.uri)
        return cls(storage, exchange, work_area, others=[cls(open_storage(o), exchange, work_area) for o in others])

    def linked_to(self, datasets: Iterable[Dataset]) -> Store:
        """Return this store with datasets of other stores, which `find_id` finds first."""
        return Store(self.storage, self.exchange, self.work_area, (*self._linked, *datasets), self.others)

    def require(self, advice: str) -> None:
        """Check that there is a store.

        :param advice: what to do if the folder does not exist.
        :raises InvalidInput: there is no such folder.
        """
        if not self.storage.exists():
            raise InvalidInput(f"no such folder: {self.location} ({advice})")

    def _check_no_dataset(self) -> None:
        """Check, where nothing was found, that this is not the folder of a dataset."""
        if self.storage.get_ref(HEAD) is not None:
            alias = (self.storage.get("info/alias") or b"").decode("utf-8", "replace").strip()
            parts = self.location.rstrip("/").rsplit("/", alias.count("/") + 1)
            raise InvalidInput(
                f"{self.location} is the folder of a dataset: name the store {parts[0]}, and in it the dataset "
                f"{'/'.join(parts[1:])}"
            )

    @property
    def uri(self) -> str:
        return self.storage.uri

    @property
    def location(self) -> str:
        """Path of the store on this machine, or its URI."""
        return self.storage.location()

    def cache(self, alias: DatasetAlias | str) -> Path:
        """Return the directory of a dataset's disposable caches, which may not exist."""
        return self.work_area / ".cache" / str(alias).lower()

    def shared_cache(self, alias: DatasetAlias | str) -> Storage:
        """Return the part of the exchange with those disposable caches of a dataset that all machines use."""
        return self.exchange.folder(".cache").folder(str(alias).lower())

    def cache_of(self, dataset: Dataset) -> Path:
        """Return the directory of disposable caches about a dataset, which may be one of another store."""
        if self.owns(dataset):
            return self.cache(dataset.alias)
        return self.work_area / ".cache" / f"+{sha256(dataset.uri.encode()).hexdigest()[:16]}"

    def shared_copies(self, dataset: Dataset) -> Storage:
        """Return the part of the exchange with copies of slices of a dataset of another store, for engines that read
        only this store's bucket."""
        return self.exchange.folder(".cache").folder(self.cache_of(dataset).name)

    def owns(self, dataset: Dataset) -> bool:
        """Return whether a dataset is in this store."""
        if not dataset.uri.startswith(f"{self.uri.rstrip('/')}/"):
            return False  # without a look at the store, which may be far
        as_named = self._folder_as_named(dataset.alias).uri
        return dataset.uri == as_named or dataset.uri == self.folder(dataset.alias).uri

    def store_of(self, dataset: Dataset) -> Store:
        """Return the store that has a dataset: this one or another one."""
        if self.owns(dataset):
            return self
        return Store(open_storage(dataset.uri.removesuffix(f"/{dataset.alias}")), self.exchange, self.work_area)

    def scratch(self, alias: DatasetAlias | str) -> Path:
        """Return a dataset's own directory in the work area, which may not exist.

        :raises InvalidInput: ``name`` is not a dataset name.
        """
        name = parse_alias(alias)
        return self.work_area / str(name).lower()

    def inputs(self, alias: DatasetAlias | str) -> Storage:
        """Return the part of the exchange with the inputs of a dataset."""
        return self.exchange.folder(str(parse_alias(alias)).lower())

    @property
    def is_remote(self) -> bool:
        """Whether the store lies in an object store, not in a folder of this machine."""
        return not isinstance(self.storage, LocalStorage)

    def get(self, alias: DatasetAlias | str) -> Dataset | None:
        """Return the dataset of a name, or None if there is none.

        :raises InvalidInput: not a dataset name.
        """
        parsed = parse_alias(alias)
        if (dataset := self._found.get(str(parsed).lower())) is not None:
            return dataset
        if (dataset := self._existing(self._folder_as_named(parsed), str(parsed))) is not None:
            return dataset
        folder, names = self.storage, []
        for part in filter(None, (parsed.account, parsed.name)):
            name = same_name(folder, part)
            if name is None:
                return None
            names.append(name)
            folder = folder.folder(name)
        return self._existing(folder, "/".join(names))

    def _existing(self, folder: Storage, name: str) -> Dataset | None:
        dataset = existing(folder, DatasetAlias.parse(name))
        if dataset is None:
            return None
        cache = self.cache(name)
        if self.is_remote:  # what is on this machine is this user's alone
            cache_file.make_folder(self.work_area, cache)
        dataset = replace(dataset, cache=cache)
        if isinstance(folder, ObjectStorage):
            copied = folder.with_copies(cache / "blocks", self.shared_cache(name))
            dataset = self._found[name.lower()] = replace(dataset, storage=copied)
            return replace(dataset, found_head=folder.found_head())
        return replace(dataset, entry=self.registry.get(dataset.alias))

    def for_readers(self, alias: DatasetAlias | str) -> Dataset:
        """Return the dataset of a name, whose id is compared with the registry when the chain is read. Of a store in an
        object store this is a request; steps of a cycle, which check it before they write, do without.

        It raises as `dataset`.
        """
        dataset = self.dataset(alias)
        return replace(dataset, entry=self.registry.get(dataset.alias)) if self.is_remote else dataset

    def dataset(self, alias: DatasetAlias | str) -> Dataset:
        """Return the dataset of a name.

        :raises DatasetGone: the store had the dataset, but it is missing or has lost its head.
        :raises DatasetNotFound: the store never had the dataset.
        :raises InvalidInput: the store is the folder of a dataset.
        """
        dataset = self.get(alias)
        if dataset is None:
            self._check_no_dataset()
            self.check_new(parse_alias(alias))
            raise self._unknown(alias)
        return dataset

    def _unknown(self, alias: DatasetAlias | str) -> DatasetNotFound:
        return DatasetNotFound(f"no dataset {alias} in {self.location} ({suggestion(alias, self._known())})")

    def _known(self) -> list[str]:
        """Return the names of the datasets that the store has, and of those that it had and that are not forgotten."""
        known = {str(d.alias).lower(): str(d.alias) for d in self.datasets()} if self.storage.is_listed else {}
        for alias in self.registry.aliases():
            entry = self.registry.get(alias)
            if entry is not None and entry.dataset_id != dataset_registry.FORGOTTEN:
                known.setdefault(str(alias).lower(), str(alias))
        return list(known.values())

    def create(self, alias: DatasetAlias) -> Dataset:
        """Return a new dataset. It exists once its first blocks are written and ``compare_and_set_ref("head", None,
        …)`` has set its head. If several writers create it at once, that succeeds for one.

        :raises InvalidInput: the name is reserved for a folder of the layout.
        """
        if alias.account and alias.name.lower() in LAYOUT:
            raise InvalidInput(f"{alias}: the name {alias.name} is reserved in accounts: choose another name")
        dataset = Dataset(alias, self.folder(alias))
        dataset.storage.put_if_absent("info/alias", str(alias).encode())
        return dataset

    def folder(self, alias: DatasetAlias) -> Storage:
        """Return the folder of a dataset, which may not exist."""
        folder = self.storage
        for part in filter(None, (alias.account, alias.name)):
            folder = folder.folder(same_name(folder, part) or part)
        return folder

    def _folder_as_named(self, alias: DatasetAlias) -> Storage:
        """Return the folder of a dataset if the case of its name is right."""
        folder = self.storage
        for part in filter(None, (alias.account, alias.name)):
            folder = folder.folder(part)
        return folder

    def datasets(self) -> Iterator[Dataset]:
        """Yield all datasets, by name.

        :raises InvalidInput: the store is on a web server, which does not list them, or the folder of a dataset.
        """
        if not self.storage.is_listed:
            raise InvalidInput(f"{self.location}: a web server does not list its datasets: name one of them")
        found = False
        for name in dataset_names(self.storage):
            folder = self.storage.folder(name)
            inner = [(folder.folder(part), f"{name}/{part}") for part in dataset_names(folder)]
            for place, alias in ((folder, name), *inner):
                if (dataset := self._existing(place, alias)) is not None:
                    found = True
                    yield dataset
        if not found:
            self._check_no_dataset()

    def find_id(self, dataset_id: DatasetId) -> Dataset | None:
        """Return the dataset of an id, or None if neither this store nor a linked or other one has it."""
        text = str(dataset_id)
        if (linked := next((dataset for dataset in self._linked if self.id_of(dataset) == text), None)) is not None:
            return linked
        for alias in self.registry.aliases():
            entry = self.registry.get(alias)
            if entry is not None and entry.dataset_id == text and (dataset := self.get(alias)) is not None:
                return dataset
        # Other tools do not write the registry.
        own = next((dataset for dataset in self.datasets() if self._id_in_chain(dataset) == text), None)
        if own is not None:
            return own
        elsewhere = next(filter(None, (other.find_id(dataset_id) for other in self.others)), None)
        return replace(elsewhere, cache=self.cache_of(elsewhere)) if elsewhere is not None else None

    def id_of(self, dataset: Dataset) -> str:
        """Return the id of a dataset, from the registry if it has the dataset, else from the chain."""
        entry = self.registry.get(dataset.alias) if self.owns(dataset) else None
        known = entry.dataset_id if entry is not None else ""
        return known if known.startswith("did:") else str(self._id_in_chain(dataset))

    def find(self, ref: str) -> Dataset | None:
        """Return the dataset of an id, alias or location, or None if there is none.

        :raises ValueError: the text is none of these.
        """
        parsed = parse_ref(ref)
        if isinstance(parsed, DatasetUri):
            alias = self._alias_at(parsed)
            dataset = self.get(alias) if alias is not None else dataset_at(parsed)
            return replace(dataset, cache=self.cache_of(dataset)) if dataset is not None else None
        return self.find_id(parsed) if isinstance(parsed, DatasetId) else self.get(parsed)

    def input_name(self, ref: str, alias: str | None) -> str:
        """Return the name of an input for people: that of its dataset, or the ref of one that the store does not find,
        and its alias in queries if that differs."""
        dataset = None
        with suppress(OdfError):  # Another dataset may be damaged.
            dataset = self.find(ref)
        name = ref if dataset is None else str(dataset.alias)
        return name if alias in (None, name) else f"{name} as {alias}"

    def alias_of(self, ref: DatasetRef) -> DatasetAlias | None:
        """Return the alias of a dataset of this store, or None if it is in another one or unknown. An alias or a
        location in this store need not have a dataset yet."""
        if isinstance(ref, DatasetAlias):
            return ref
        if isinstance(ref, DatasetUri):
            return self._alias_at(ref)
        dataset = self.find_id(ref)
        return dataset.alias if dataset is not None and self.owns(dataset) else None

    def _alias_at(self, uri: DatasetUri) -> DatasetAlias | None:
        """Return the alias of a location in this store, None for one elsewhere."""
        folder = f"{self.uri}/"
        try:
            return DatasetAlias.parse(unquote(uri.text.removeprefix(folder))) if uri.text.startswith(folder) else None
        except ValueError:
            return None

    def _id_in_chain(self, dataset: Dataset) -> str | None:
        """Return the id in the seed of a chain, which is read once for each head."""
        key = dataset.uri, dataset.head()
        if key not in self._ids:
            self._ids[key] = id_in_chain(dataset)
        return self._ids[key]

    def check_new(self, alias: DatasetAlias) -> None:
        """Check that the store never had a dataset.

        :raises DatasetGone: it had.
        """
        entry, folder = self.registry.get(alias), self.folder(alias)
        has_data, origin = bool(folder.names("data")), Dataset(alias, folder).origin
        if self.get(alias) is not None:
            return  # another writer has just created it; setting the head will fail
        if origin is not None:
            command = shlex.join(("odf", "copy", origin, self.location, "--as", str(alias)))
            raise DatasetGone(f"{folder.location()}: the folder has an unfinished copy: finish it with `{command}`")
        if has_data:
            advice = f"restore refs/head from a backup, or {self.restart_advice(alias, 'move the folder away and ')}"
            raise DatasetGone(f"{folder.location()}: the dataset has data, but refs/head is missing: {advice}")
        if entry is not None and entry.dataset_id != dataset_registry.FORGOTTEN:
            which = "a dataset" if entry.dataset_id == dataset_registry.DAMAGED else f"the dataset {entry.dataset_id}"
            message = f"{folder.location()}: {which} is missing"
            raise DatasetGone(f"{message}: restore its folder, or {self.restart_advice(alias)}")

    def check_identity(self, dataset: Dataset, dataset_id: str) -> Entry | None:
        """Check that a dataset is the one that the store had under its name, before anything is written to it. One of
        another store has no name here. Return the entry of the registry about it.

        :raises DatasetGone: it is another one, such as that of a wrong mount.
        """
        entry = self.registry.get(dataset.alias) if self.owns(dataset) else None
        replace(dataset, entry=entry).check_identity(dataset_id)
        return entry if entry is not None and entry.dataset_id == dataset_id else None

    def check_own(self, dataset: Dataset, dataset_id: str) -> bool:
        """Check that a dataset may get new blocks: it is the one that the store had, and no read-only copy. Return
        whether the registry says so, which saves the look for the mark of a copy.

        :raises DatasetGone: it is another one, such as that of a wrong mount.
        :raises InvalidInput: it is a copy.
        """
        if (dataset.uri, dataset_id) in self._own:
            return True
        entry = self.check_identity(dataset, dataset_id)
        is_recorded = entry is not None and entry.is_own
        if not is_recorded and (origin := dataset.origin) is not None:
            update = shlex.join(("odf", "copy", origin, self.location, "--as", str(dataset.alias)))
            raise InvalidInput(
                f"{dataset.location}: the dataset is a read-only copy of {origin}: bring it up to date with "
                f"`{update}`, or let it go on by itself with `{dataset.command('promote', '{}')}`"
            )
        if self.is_remote:
            self._own.add((dataset.uri, dataset_id))
        return is_recorded

    def forget(self, alias: DatasetAlias) -> None:
        """Let the next run start a new history under a name, or continue the other dataset that now has the name.

        :raises InvalidInput: the dataset exists, or a part of it.
        :raises DatasetNotFound: the store never had such a dataset, but one with a similar name.
        """
        folder = self.folder(alias)
        location = folder.location()
        entry, dataset = self.registry.get(alias), self.get(alias)
        if dataset is not None and (entry is None or entry.dataset_id == id_in_chain(dataset)):
            raise InvalidInput(f"{location}: the dataset still exists: to start a new history, delete its folder first")
        if dataset is None and folder.names("data"):
            raise InvalidInput(f"{location}: the folder has data but no refs/head: delete or move it first")
        # Of a store that is gone as a whole, only Airflow knows the datasets.
        if dataset is None and entry is None and nearest(str(alias), self._known()):
            raise self._unknown(alias)
        self.registry.forget(alias)

    def is_forgotten(self, alias: DatasetAlias) -> bool:
        """Return whether the next run may start a new history under a name that the store had."""
        entry = self.registry.get(alias)
        return entry is not None and entry.dataset_id == dataset_registry.FORGOTTEN

    def gone(self) -> Iterator[DatasetGone]:
        """Yield an error for each dataset that the store had and that is missing or has lost its head."""
        for alias in self.registry.aliases():
            try:
                self.check_new(alias)
            except DatasetGone as e:
                yield e

    def restart_advice(self, alias: DatasetAlias, first: str = "") -> str:
        """Return the instruction to start a new history under a name; ``first`` is a step before the command."""
        command = Dataset(alias, self.folder(alias)).command("forget", "{}")
        return f"{first}run `{command}` to start a new history"


def _own_folder(uri: str) -> Path:
    """Return the user's own folder for work with a store in an object store, which is made: nobody else reads it."""
    folder = closed_files.user_cache() / "stores" / sha256(uri.encode()).hexdigest()[:16]
    with suppress(OSError):  # whoever writes there is told
        closed_files.make_folders(folder)
    return folder


def parse_alias(alias: DatasetAlias | str) -> DatasetAlias:
    """Return a dataset's name as an alias.

    :raises InvalidInput: not a dataset name.
    """
    if isinstance(alias, DatasetAlias):
        return alias
    try:
        return DatasetAlias.parse(alias)
    except ValueError as e:
        raise InvalidInput(str(e)) from None
