"""A folder of manifests: which files it has, and its settings (``odf.yaml``).

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
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest.base import Time, refuse
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.manifest.problems import problems_of
from airflow_provider_odf.manifest.yaml_source import parse, read_text
from airflow_provider_odf.wording import nearest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SETTINGS_FILE = "odf.yaml"
IGNORE_FILE = ".airflowignore"

_YAML = (".yaml", ".yml")
_CONTRACT = re.compile(r"(?:.*[.-])?datacontract\.ya?ml", re.IGNORECASE)
_OF_DATASET = re.compile(r"(.+)\.datacontract\.ya?ml")
CHANGE = "@change"
"""The schedule of a DAG that starts when its dataset's source changes."""

_PRESETS = (CHANGE, "@once", "@continuous", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_CRON = re.compile(r"[0-9A-Za-z*/,#?-]+(?: +[0-9A-Za-z*/,#?-]+){4,5}")


def _schedule(text: str) -> str:
    if text in _PRESETS or _CRON.fullmatch(text.strip()):
        return text
    near = nearest(text, _PRESETS)
    fix = f"did you mean {near}?" if near else f'a cron expression such as "*/15 * * * *", or {", ".join(_PRESETS)}'
    raise refuse(f"{text!r} is not a schedule", fix)


_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_FIELDS = ("password", "login", "host", "port", "schema")
_FIELD = re.compile(rf"(?:{'|'.join(_FIELDS)}|extra\..+)")


def _field(text: str) -> str:
    if _FIELD.fullmatch(text):
        return text
    near = nearest(text, _FIELDS)
    fix = f"did you mean {near}?" if near else f"there are {', '.join(_FIELDS)} and extra.KEY"
    raise refuse(f"a connection has no field {text!r}", fix)


def _variable(text: str) -> str:
    if _VARIABLE.fullmatch(text):
        return text
    raise refuse(f"env.{text} is no name of a template", "letters, digits and _ are allowed")


class EnvironmentValue(BaseModel):
    """Where Airflow keeps a value for ``${{ env.NAME }}``: in a variable, or in a field of a connection."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    variable: Annotated[str, Field(min_length=1)] | None = None
    connection: Annotated[str, Field(min_length=1)] | None = None
    field: Annotated[str, AfterValidator(_field)] = "password"

    @model_validator(mode="after")
    def _is_one(self) -> EnvironmentValue:
        if (self.variable is None) is (self.connection is None):
            raise refuse("one place is expected", "{variable: NAME}, or {connection: ID, field: password}")
        if self.variable is not None and "field" in self.model_fields_set:
            raise refuse("a variable has no fields", "`field` goes with `connection`", at=("field",))
        return self

    def __str__(self) -> str:
        return f"variable {self.variable}" if self.connection is None else f"{self.field} of {self.connection}"


class FolderSettings(BaseModel):
    """What Airflow needs to know of a dataset beyond its manifest. ``schedule`` None: only by hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schedule: Annotated[str, AfterValidator(_schedule)] | None = "@hourly"
    poke_interval: Annotated[float, Field(strict=True, ge=1)] | None = None
    """Seconds between two looks at the source, with ``schedule: "@change"``."""
    env: dict[Annotated[str, AfterValidator(_variable)], EnvironmentValue] = {}
    store: str | None = None
    spark_conn_id: str | None = None
    pool: str | None = None
    retries: Annotated[int, Field(strict=True, ge=0)] | None = None
    start_date: Time | None = None
    tags: tuple[str, ...] = ()


class SettingsFile(BaseModel):
    """``odf.yaml``: settings of all datasets in the folder and below, and of single ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    defaults: FolderSettings = FolderSettings()
    datasets: dict[str, FolderSettings] = {}


# --- files ----------------------------------------------------------------------------------------------------------


def is_manifest_name(name: str) -> bool:
    """Whether a file of this name may hold manifests: YAML, no data contract, no settings."""
    return name.endswith(_YAML) and not is_beside_manifests(name)


def is_beside_manifests(name: str) -> bool:
    """Whether a file of this name belongs to manifests without being one: settings, a data contract."""
    return name == SETTINGS_FILE or _CONTRACT.fullmatch(name) is not None


def discover(folder: Path) -> list[Path]:
    """The YAML files in a folder and below that may hold manifests, sorted; what ``.airflowignore`` names is left out.

    Patterns are globs as in ``.gitignore``, Airflow's default; hidden folders are left out, links are followed once."""
    return sorted(path for path in _walk(folder, (), {folder.resolve()}) if is_manifest_name(path.name))


def unknown_contracts(folder: Path, manifests: Collection[tuple[Path, str]]) -> Iterator[Problem]:
    """Data contracts in a folder and below that no dataset beside them is tested against. ``manifests`` are files, as
    absolute paths, and the names of their datasets."""
    for path in sorted(_walk(folder, (), {folder.resolve()})):
        if (match := _OF_DATASET.fullmatch(path.name)) is None:
            continue
        names = [name.rpartition("/")[2] for file, name in manifests if file.parent == path.parent]
        if match[1] not in names:
            near = nearest(match[1], names)
            fix = f"did you mean `{near}{path.name.removeprefix(match[1])}`?" if near else ""
            yield Problem(Place(str(path)), f"no dataset {match[1]} in this folder: the contract is not used", fix)


def _walk(folder: Path, ignores: Sequence[tuple[Path, GitIgnoreSpec]], visited: set[Path]) -> Iterator[Path]:
    """The YAML files that are not left out."""
    ignores = (*ignores, *_ignores(folder))
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        path = Path(entry.path)
        if entry.is_dir():
            if entry.name.startswith(".") or entry.name == "__pycache__" or _is_ignored(path, "/", ignores):
                continue
            if (real := path.resolve()) not in visited:
                visited.add(real)
                yield from _walk(path, ignores, visited)
        elif entry.name.endswith(_YAML) and entry.is_file() and not _is_ignored(path, "", ignores):
            yield path


def _ignores(folder: Path) -> Iterator[tuple[Path, GitIgnoreSpec]]:
    file = folder / IGNORE_FILE
    if file.is_file():
        from pathspec import GitIgnoreSpec

        lines = (re.sub(r"\s*#.*", "", line) for line in file.read_text(errors="replace").splitlines())
        yield folder, GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_ignored(path: Path, suffix: str, ignores: Sequence[tuple[Path, GitIgnoreSpec]]) -> bool:
    """The last pattern that matches counts, those of deeper folders being later."""
    verdict = False
    for folder, spec in ignores:
        result = spec.check_file(path.relative_to(folder).as_posix() + suffix).include
        verdict = verdict if result is None else result
    return verdict


# --- settings -------------------------------------------------------------------------------------------------------


def settings_for(file: Path, dataset: str | DatasetAlias) -> FolderSettings:
    """The settings of a dataset whose manifest is ``file``.

    :raises ManifestInvalid: a settings file that applies is not valid.
    """
    alias = DatasetAlias.parse(dataset) if isinstance(dataset, str) else dataset
    found: dict[str, Any] = {}
    for path in settings_files(file):
        settings = read_settings(path)
        own = next((s for name, s in settings.datasets.items() if name.lower() == str(alias).lower()), None)
        for layer in filter(None, (own, settings.defaults)):
            for name in layer.model_fields_set:
                found.setdefault(name, getattr(layer, name))
            found["env"] = {**layer.env, **found.get("env", {})}
    return FolderSettings.model_construct(**found)


def settings_files(file: Path) -> list[Path]:
    """The settings files that apply to a manifest, nearest first."""
    return [path for folder in Path(os.path.abspath(file)).parents if (path := folder / SETTINGS_FILE).is_file()]


def read_settings(path: Path) -> SettingsFile:
    """:raises ManifestInvalid: all that is wrong with the file."""
    try:
        stat = path.stat()
        return _read_settings(path, stat.st_mtime_ns, stat.st_size)
    except OSError as e:
        raise ManifestInvalid([Problem(Place(str(path)), f"cannot be read: {e.strerror}")]) from e


def unknown_datasets(path: Path, names: Collection[str]) -> Iterator[Problem]:
    """Entries of a valid settings file for datasets that have none of the names of its folder."""
    known = {name.lower() for name in names}
    unknown = [name for name in read_settings(path).datasets if name.lower() not in known]
    for document in parse(read_text(path), str(path)) if unknown else []:
        for name in unknown:
            near = nearest(name, names)
            fix = f"did you mean `{near}`?" if near else ""
            yield Problem(document.place(("datasets", name), of_key=True), f"no dataset {name} in this folder", fix)


@lru_cache(maxsize=256)
def _read_settings(path: Path, mtime: int, size: int) -> SettingsFile:
    documents = parse(read_text(path), str(path))
    if not documents or documents[0].value is None:
        return SettingsFile()
    if len(documents) > 1:
        raise ManifestInvalid([Problem(documents[1].place(), "a second YAML document: settings are one")])
    try:
        return SettingsFile.model_validate(documents[0].value)
    except ValidationError as e:
        raise ManifestInvalid(problems_of(e, documents[0], (), SettingsFile)) from e
