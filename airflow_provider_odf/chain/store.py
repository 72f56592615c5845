"""``Store``: a directory of datasets, each at ``STORE/NAME`` or ``STORE/ACCOUNT/NAME``; lookup ignores case."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.storage import LocalStorage
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput
from airflow_provider_odf.failures import storage_errors
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetId, parse_ref
from airflow_provider_odf.wording import suggestion

_LAYOUT = ("blocks", "checkpoints", "data", "info", "refs")


class Store:
    """Datasets under one local root.

    :param work_area: where work in progress and disposable caches lie; shared by all who share the store.
    """

    def __init__(self, root: Path, work_area: Path | None = None) -> None:
        self.root = root
        self.work_area = work_area or root / ".work"

    @classmethod
    def open(cls, uri_or_path: str | Path, work_area: Path | None = None) -> Store:
        """The store at a path or ``file:`` URI; it need not exist yet.

        :raises InvalidInput: a URI of another scheme.
        """
        text = str(uri_or_path)
        if "://" not in text and not text.startswith("file:"):
            return cls(Path(text).expanduser().absolute(), work_area)
        uri = urlsplit(text)
        if uri.scheme != "file" or uri.netloc not in ("", "localhost"):
            raise InvalidInput(f"store {text}: only paths and file:///… URIs of this machine can be opened")
        return cls(Path(unquote(uri.path)), work_area)

    @property
    def uri(self) -> str:
        return self.root.as_uri()

    def cache(self, alias: DatasetAlias | str) -> Path:
        """Directory of a dataset's disposable caches, which may not exist."""
        return self.work_area / ".cache" / str(alias).lower()

    def work(self, alias: DatasetAlias | str) -> Path:
        """A dataset's own directory in the work area, which may not exist.

        :raises InvalidInput: not a name.
        """
        name = parse_alias(alias)
        return self.work_area / str(name).lower()

    def get(self, alias: DatasetAlias | str) -> Dataset | None:
        """The dataset of a name, None if there is none.

        :raises InvalidInput: not a name.
        """
        wanted = parse_alias(alias)
        directory = self.root
        names = []
        for part in (wanted.account, wanted.name):
            if part is None:
                continue
            name = _same_name(directory, part)
            if name is None:
                return None
            names.append(name)
            directory /= name
        return _existing(directory, DatasetAlias.parse("/".join(names)))

    def dataset(self, alias: DatasetAlias | str) -> Dataset:
        """Return the dataset of a name.

        :raises DatasetGone: it was in the store and is gone, or has lost its head.
        :raises DatasetNotFound: the store never had it.
        """
        from airflow_provider_odf.chain import registry

        found = self.get(alias)
        if found is None:
            registry.check_new(self, parse_alias(alias))
            names = [str(d.alias) for d in self.datasets()]
            raise DatasetNotFound(f"no dataset {alias} in {self.root} ({suggestion(alias, names)})")
        return found

    def create(self, alias: DatasetAlias) -> Dataset:
        """The directory of a new dataset. The dataset exists once its first blocks are there and ``head`` was set with
        ``compare_and_set_ref("head", None, …)``; of several writers that create it at once, one succeeds with that.

        :raises InvalidInput: the name is that of a directory of the layout.
        """
        if alias.account and alias.name.lower() in _LAYOUT:
            raise InvalidInput(f"{alias}: a dataset of an account cannot be named {alias.name}")
        dataset = Dataset(alias, LocalStorage(self.path(alias)))
        dataset.storage.put_if_absent("info/alias", str(alias).encode())
        return dataset

    def path(self, alias: DatasetAlias) -> Path:
        """The directory of a dataset, whether there is one or not."""
        directory = self.root
        for part in filter(None, (alias.account, alias.name)):
            directory /= _same_name(directory, part) or part
        return directory

    def datasets(self) -> Iterator[Dataset]:
        """All datasets, by name."""
        for name in _names(self.root):
            dataset = _existing(self.root / name, DatasetAlias.parse(name))
            if dataset is not None:
                yield dataset
            for nested in _names(self.root / name):
                found = _existing(self.root / name / nested, DatasetAlias.parse(f"{name}/{nested}"))
                if found is not None:
                    yield found

    def find_id(self, dataset_id: DatasetId) -> Dataset | None:
        """The dataset of an id, None if the store has none."""
        return next((dataset for dataset in self.datasets() if _id(dataset) == str(dataset_id)), None)

    def find(self, ref: str) -> Dataset | None:
        """The dataset of an id or alias, None if the store has none.

        :raises ValueError: neither an id nor an alias.
        """
        parsed = parse_ref(ref)
        return self.find_id(parsed) if isinstance(parsed, DatasetId) else self.get(parsed)


def parse_alias(alias: DatasetAlias | str) -> DatasetAlias:
    """Return a dataset's name as its parts.

    :raises InvalidInput: not a name.
    """
    if isinstance(alias, DatasetAlias):
        return alias
    try:
        return DatasetAlias.parse(alias)
    except ValueError as e:
        raise InvalidInput(str(e)) from None


def _existing(directory: Path, alias: DatasetAlias) -> Dataset | None:
    with storage_errors(directory):
        return Dataset(alias, LocalStorage(directory)) if (directory / "refs" / HEAD).is_file() else None


def _same_name(directory: Path, name: str) -> str | None:
    """The entry of a directory that has this name, in whatever case."""
    if os.path.isdir(directory / name):  # a name that is too long for a file system is simply not there
        return name
    return next((entry for entry in _names(directory) if entry.lower() == name.lower()), None)


def _names(directory: Path) -> list[str]:
    """Sorted names of the directories in a directory that can be datasets or accounts."""
    with storage_errors(directory):
        try:
            names = [e.name for e in directory.iterdir() if e.name[0] != "." and e.name not in _LAYOUT and e.is_dir()]
        except FileNotFoundError:
            return []
    return sorted(filter(_is_name, names), key=str.lower)


def _is_name(text: str) -> bool:
    try:
        return DatasetAlias.parse(text).account is None
    except ValueError:
        return False


def _id(dataset: Dataset) -> str | None:
    """The id in the seed of a chain."""
    *_, (_, seed) = dataset.walk()
    return seed.event.dataset_id if isinstance(seed.event, model.Seed) else None
