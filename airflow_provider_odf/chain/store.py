"""``Store``: a folder of datasets, each at ``STORE/NAME`` or ``STORE/ACCOUNT/NAME``; lookup ignores case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from airflow_provider_odf.chain import dataset_registry
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.dataset_registry import Registry
from airflow_provider_odf.chain.local_storage import LocalStorage
from airflow_provider_odf.chain.storage import Storage
from airflow_provider_odf.chain.storages import open_storage
from airflow_provider_odf.errors import DatasetGone, DatasetNotFound, InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, parse_ref
from airflow_provider_odf.wording import nearest, suggestion

_LAYOUT = ("blocks", "checkpoints", "data", "info", "refs")


class Store:
    """Datasets in a storage.

    :param work_area: folder of work in progress and disposable caches, shared by all users of the store.
    """

    def __init__(self, storage: Storage, work_area: Path) -> None:
        self.storage = storage
        self.work_area = work_area
        self.registry = Registry(storage.folder(dataset_registry.FOLDER))

    @classmethod
    def open(cls, uri_or_path: str | Path, work_area: Path | None = None) -> Store:
        """Return the store at a path or URI, which may not exist yet.

        :param work_area: by default ``.work`` in the store, if that is a folder of this machine.
        :raises InvalidInput: the URI has an unknown scheme, or a remote store has no work area.
        """
        text = str(uri_or_path)
        storage = open_storage(text)
        if work_area is None:
            if not isinstance(storage, LocalStorage):
                raise InvalidInput(
                    f"store {text}: a remote store needs a local work area: set `[odf] work_area` to a folder"
                )
            work_area = storage.root / ".work"
        return cls(storage, work_area)

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

    def work(self, alias: DatasetAlias | str) -> Path:
        """Return a dataset's own directory in the work area, which may not exist.

        :raises InvalidInput: ``name`` is not a dataset name.
        """
        name = parse_alias(alias)
        return self.work_area / str(name).lower()

    def get(self, alias: DatasetAlias | str) -> Dataset | None:
        """Return the dataset of a name, or None if there is none.

        :raises InvalidInput: not a dataset name.
        """
        parsed = parse_alias(alias)
        folder, names = self.storage, []
        for part in filter(None, (parsed.account, parsed.name)):
            name = _same_name(folder, part)
            if name is None:
                return None
            names.append(name)
            folder = folder.folder(name)
        return _existing(folder, DatasetAlias.parse("/".join(names)))

    def dataset(self, alias: DatasetAlias | str) -> Dataset:
        """Return the dataset of a name.

        :raises DatasetGone: the store had the dataset, but it is missing or has lost its head.
        :raises DatasetNotFound: the store never had the dataset.
        """
        dataset = self.get(alias)
        if dataset is None:
            self.check_new(parse_alias(alias))
            raise self._unknown(alias)
        return dataset

    def _unknown(self, alias: DatasetAlias | str) -> DatasetNotFound:
        return DatasetNotFound(f"no dataset {alias} in {self.location} ({suggestion(alias, self._known())})")

    def _known(self) -> list[str]:
        """Return the names of the datasets that the store has, and of those that it had and that are not forgotten."""
        known = {str(d.alias).lower(): str(d.alias) for d in self.datasets()}
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
        if alias.account and alias.name.lower() in _LAYOUT:
            raise InvalidInput(f"{alias}: the name {alias.name} is reserved in accounts: choose another name")
        dataset = Dataset(alias, self.folder(alias))
        dataset.storage.put_if_absent("info/alias", str(alias).encode())
        return dataset

    def folder(self, alias: DatasetAlias) -> Storage:
        """Return the folder of a dataset, which may not exist."""
        folder = self.storage
        for part in filter(None, (alias.account, alias.name)):
            folder = folder.folder(_same_name(folder, part) or part)
        return folder

    def datasets(self) -> Iterator[Dataset]:
        """Yield all datasets, by name."""
        for name in _names(self.storage):
            folder = self.storage.folder(name)
            if (dataset := _existing(folder, DatasetAlias.parse(name))) is not None:
                yield dataset
            for inner in _names(folder):
                if (dataset := _existing(folder.folder(inner), DatasetAlias.parse(f"{name}/{inner}"))) is not None:
                    yield dataset

    def find_id(self, dataset_id: DatasetId) -> Dataset | None:
        """Return the dataset of an id, or None if the store has none."""
        text = str(dataset_id)
        for alias in self.registry.aliases():
            entry = self.registry.get(alias)
            if entry is not None and entry.dataset_id == text and (dataset := self.get(alias)) is not None:
                return dataset
        # Other tools do not write the registry.
        return next((dataset for dataset in self.datasets() if _id(dataset) == text), None)

    def id_of(self, dataset: Dataset) -> str:
        """Return the id of a dataset, from the registry if it has the dataset, else from the chain."""
        entry = self.registry.get(dataset.alias)
        known = entry.dataset_id if entry is not None else ""
        return known if known.startswith("did:") else str(_id(dataset))

    def find(self, ref: str) -> Dataset | None:
        """Return the dataset of an id or alias, or None if the store has none.

        :raises ValueError: the text is neither an id nor an alias.
        """
        parsed = parse_ref(ref)
        return self.find_id(parsed) if isinstance(parsed, DatasetId) else self.get(parsed)

    def check_new(self, alias: DatasetAlias) -> None:
        """Check that the store never had a dataset.

        :raises DatasetGone: it had.
        """
        entry, folder = self.registry.get(alias), self.folder(alias)
        has_data = bool(folder.names("data"))
        if self.get(alias) is not None:
            return  # another writer has just created it; setting the head will fail
        if has_data:
            advice = f"restore refs/head from a backup, or {self.restart_advice(alias, 'move the folder away and ')}"
            raise DatasetGone(f"{folder.location()}: the dataset has data, but refs/head is missing: {advice}")
        if entry is not None and entry.dataset_id != dataset_registry.FORGOTTEN:
            which = "a dataset" if entry.dataset_id == dataset_registry.DAMAGED else f"the dataset {entry.dataset_id}"
            message = f"{folder.location()}: {which} is missing"
            raise DatasetGone(f"{message}: restore its folder, or {self.restart_advice(alias)}")

    def check_identity(self, dataset: Dataset, dataset_id: str) -> None:
        """Check that a dataset is the one that the store had under its name, before anything is written to it.

        :raises DatasetGone: it is another one, such as that of a wrong mount.
        """
        entry = self.registry.get(dataset.alias)
        if entry is not None and entry.dataset_id not in (
            dataset_id,
            dataset_registry.FORGOTTEN,
            dataset_registry.DAMAGED,
        ):
            command = dataset.command("forget", "{}")
            raise DatasetGone(
                f"{dataset.storage.location()}: the folder contains the dataset {dataset_id} instead of "
                f"{entry.dataset_id}: restore the folder, or run `{command}` to continue with {dataset_id}"
            )

    def forget(self, alias: DatasetAlias) -> None:
        """Let the next run start a new history under a name, or continue the other dataset that now has the name.

        :raises InvalidInput: the dataset exists, or a part of it.
        :raises DatasetNotFound: the store never had such a dataset, but one with a similar name.
        """
        folder = self.folder(alias)
        location = folder.location()
        entry, dataset = self.registry.get(alias), self.get(alias)
        if dataset is not None and (entry is None or entry.dataset_id == _id(dataset)):
            raise InvalidInput(f"{location}: the dataset still exists: to start a new history, delete its folder first")
        if dataset is None and folder.names("data"):
            raise InvalidInput(f"{location}: the folder has data but no refs/head: delete or move it first")
        # Of a store that is gone as a whole, only Airflow knows the datasets.
        if dataset is None and entry is None and nearest(str(alias), self._known()):
            raise self._unknown(alias)
        self.registry.forget(alias)

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


def _existing(folder: Storage, alias: DatasetAlias) -> Dataset | None:
    return Dataset(alias, folder) if folder.stat(f"refs/{HEAD}") is not None else None


def _same_name(folder: Storage, name: str) -> str | None:
    """Return the subfolder with this name, ignoring case."""
    if folder.folder(name).exists():
        return name
    return next((entry for entry in _names(folder) if entry.lower() == name.lower()), None)


def _names(folder: Storage) -> list[str]:
    """Return the names of the subfolders that can be datasets or accounts, sorted."""
    names = (name for name in folder.folders() if name not in _LAYOUT and _is_name(name))
    return sorted(names, key=str.lower)


def _is_name(text: str) -> bool:
    try:
        return DatasetAlias.parse(text).account is None
    except ValueError:
        return False


def _id(dataset: Dataset) -> str | None:
    """Return the id in the seed of a chain."""
    *_, (_, seed) = dataset.walk()
    return seed.event.dataset_id if isinstance(seed.event, model.Seed) else None
