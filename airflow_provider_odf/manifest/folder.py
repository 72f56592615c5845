"""The settings of a folder of manifests (``odf.yaml``).

::

    defaults:
      schedule: "*/15 * * * *"
      tags: [trading]
      env:
        API_KEY: {variable: acme_api_key}
    datasets:
      com.acme.orders:
        schedule: "@change"
        retries: 3

A setting comes from the nearest folder upwards whose ``odf.yaml`` has it; there the dataset's own comes before the
default. The entries of ``env`` are such settings each.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.files import SETTINGS_FILE
from airflow_provider_odf.manifest.folder_settings import FolderSettings, SettingsFile
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.manifest.problems import problems_of
from airflow_provider_odf.manifest.yaml_source import parse, read_text
from airflow_provider_odf.wording import nearest


def settings_for(file: Path, dataset: str | DatasetAlias) -> FolderSettings:
    """Return the settings of a dataset whose manifest is ``file``.

    :raises ManifestInvalid: a settings file that applies is not valid for this dataset.
    """
    alias = DatasetAlias.parse(dataset) if isinstance(dataset, str) else dataset
    values: dict[str, Any] = {}
    for path in settings_files(file):
        read = _read(path)
        read.check(alias)
        own = next((s for name, s in read.settings.datasets.items() if name.lower() == str(alias).lower()), None)
        for layer in filter(None, (own, read.settings.defaults)):
            for name in layer.model_fields_set:
                values.setdefault(name, getattr(layer, name))
            values["env"] = {**layer.env, **values.get("env", {})}
    return FolderSettings.model_construct(**values)


def settings_files(file: Path) -> list[Path]:
    """Return the settings files that apply to a manifest, nearest first."""
    return [path for folder in Path(os.path.abspath(file)).parents if (path := folder / SETTINGS_FILE).is_file()]


def read_settings(path: Path) -> SettingsFile:
    """Return a settings file.

    :raises ManifestInvalid: the file is not valid; the error has all problems.
    """
    read = _read(path)
    read.check()
    return read.settings


def unknown_datasets(path: Path, names: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each entry of a valid settings file whose dataset is not in its folder."""
    known = {name.lower() for name in names}
    unknown = [name for name in read_settings(path).datasets if name.lower() not in known]
    for document in parse(read_text(path), str(path)) if unknown else []:
        for name in unknown:
            near = nearest(name, names)
            fix = f"did you mean `{near}`?" if near else ""
            yield Problem(document.place(("datasets", name), of_key=True), f"no dataset {name} in this folder", fix)


def unused_schedules(path: Path, derivatives: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each schedule that a valid settings file has for a derivative."""
    names = {name.lower() for name in derivatives}
    unused = [
        (name, key)
        for name, own in read_settings(path).datasets.items()
        for key in ("schedule", "poke_interval")
        if name.lower() in names and key in own.model_fields_set
    ]
    for document in parse(read_text(path), str(path)) if unused else []:
        for name, key in unused:
            message = f"`{key}` is not used: the inputs of the derivative {name} schedule it"
            yield Problem(document.place(("datasets", name, key), of_key=True), message, "remove it")


@dataclass(frozen=True)
class _Read:
    """Valid part of a settings file, and its problems: those of one dataset under its name in lower case, all others
    under the empty text."""

    settings: SettingsFile = field(default_factory=SettingsFile)
    problems: Mapping[str, Sequence[Problem]] = field(default_factory=dict)

    def check(self, alias: DatasetAlias | None = None) -> None:
        """Check the whole file and the settings of one dataset, or of all without an alias.

        :raises ManifestInvalid: there are problems.
        """
        names = self.problems if alias is None else ("", str(alias).lower())
        if problems := [problem for name in names for problem in self.problems.get(name, ())]:
            raise ManifestInvalid(sorted(problems))


def _read(path: Path) -> _Read:
    try:
        stat = path.stat()
        return _read_version(path, stat.st_mtime_ns, stat.st_size)
    except OSError as e:
        raise ManifestInvalid([Problem(Place(str(path)), f"cannot be read: {e.strerror}")]) from e


@lru_cache(maxsize=256)
def _read_version(path: Path, mtime: int, size: int) -> _Read:
    documents = parse(read_text(path), str(path))
    if not documents or documents[0].value is None:
        return _Read()
    if len(documents) > 1:
        raise ManifestInvalid(
            [Problem(documents[1].place(), "odf.yaml must be a single YAML document", "remove this one")]
        )
    value = documents[0].value
    entries = value.get("datasets") if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        settings, problems = _validated(value, documents[0])
        return _Read(settings, {"": problems})
    settings, problems = _validated({key: value[key] for key in value if key != "datasets"}, documents[0])
    by_name = {"": problems}
    own: dict[str, FolderSettings] = {}
    for name, entry in entries.items():
        one, problems = _validated({"datasets": {name: entry}}, documents[0])
        own |= one.datasets
        by_name.setdefault(str(name).lower(), []).extend(problems)
    return _Read(settings.model_copy(update={"datasets": own}), by_name)


def _validated(value: Any, document: Document) -> tuple[SettingsFile, list[Problem]]:
    try:
        return SettingsFile.model_validate(value), []
    except ValidationError as e:
        return SettingsFile(), problems_of(e, document, (), SettingsFile)
