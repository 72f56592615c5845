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
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.base import Time, refuse
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.files import SETTINGS_FILE
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.manifest.problems import problems_of
from airflow_provider_odf.manifest.yaml_source import parse, read_text
from airflow_provider_odf.wording import nearest

LONGEST_TAG = 100
LONGEST_NAME = 250
"""Maximum length of names of DAGs, pools and connections. File systems allow five characters more for a dataset's
folder."""

CHANGE = "@change"
"""Schedule of a DAG that starts when its dataset's source changes."""

_PRESETS = (CHANGE, "@once", "@continuous", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
_CRON = re.compile(r"[0-9A-Za-z*/,#?-]+(?: +[0-9A-Za-z*/,#?-]+){4,5}")
_CRON_FIELDS = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day": "1 to 31",
    "month": "1 to 12 or jan to dec",
    "weekday": "0 to 7 or sun to sat",
}
_MOST_RETRIES = 1_000
_LONGEST_WAIT = 366 * 24 * 3600


def tag(text: str) -> str:
    """Return a keyword as Airflow can store it."""
    return "".join(filter(str.isprintable, text))[:LONGEST_TAG].strip()


def _schedule(text: str) -> str:
    if text in _PRESETS:
        return text
    if _CRON.fullmatch(text):
        _check_cron(text)
        return text
    near = nearest(text, _PRESETS)
    advice = f'write a cron expression such as "*/15 * * * *", or one of {", ".join(_PRESETS)}'
    fix = f"did you mean {near}?" if near else advice
    raise refuse(f"schedule {text!r} is neither a preset nor a cron expression", fix)


def _check_cron(text: str) -> None:
    """Check that Airflow can parse a cron expression and that it has a next time."""
    from croniter import CroniterError, croniter

    try:
        croniter(text, datetime(2024, 1, 1, tzinfo=UTC)).get_next()
    except (CroniterError, ValueError) as e:
        message = f"schedule {text!r} is not a cron expression: {_wrong_fields(text) or e}"
        raise refuse(message, "write minute, hour, day, month and weekday") from None


def _wrong_fields(text: str) -> str:
    """Return the fields of a cron expression that are invalid by themselves, each with its range; empty if none is."""
    from croniter import CroniterError, croniter

    def is_valid(index: int, field: str) -> bool:
        try:
            croniter.expand(" ".join(field if i == index else "*" for i in range(len(_CRON_FIELDS))))
        except (CroniterError, ValueError):
            return False
        return True

    fields = zip(_CRON_FIELDS.items(), text.split(), strict=False)
    wrong = [(name, span, field) for i, ((name, span), field) in enumerate(fields) if not is_valid(i, field)]
    return ", ".join(f"the {name} {field!r} is not in {span}" for name, span, field in wrong)


def _start_date(time: Instant) -> Instant:
    if 1970 <= time.to_datetime().year < 9999:
        return time
    raise refuse(f"{time} is not a valid start date", "use a time in the years 1970 to 9998")


def _tag(text: str) -> str:
    if text.isprintable() and 0 < len(text) <= LONGEST_TAG:
        return text
    raise refuse(f"a tag must have 1 to {LONGEST_TAG} printable characters, this one has {len(text)}")


def _identifier(text: str) -> str:
    if text.isprintable() and text == text.strip() and 0 < len(text) <= LONGEST_NAME:
        return text
    raise refuse(f"a name must have 1 to {LONGEST_NAME} printable characters without spaces around it")


def _store(text: str) -> str:
    try:
        urlsplit(text)
    except ValueError as e:
        raise refuse(f"{text!r} is not a URI: {e}") from None
    if text.isprintable() and text.strip():
        return text
    raise refuse("a store must be a path or URI of printable characters")


_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_FIELDS = ("password", "login", "host", "port", "schema")
_FIELD = re.compile(rf"(?:{'|'.join(_FIELDS)}|extra\..+)")


def _field(text: str) -> str:
    if _FIELD.fullmatch(text):
        return text
    near = nearest(text, _FIELDS)
    fix = f"did you mean {near}?" if near else f"the fields are {', '.join(_FIELDS)} and extra.KEY"
    raise refuse(f"a connection has no field {text!r}", fix)


def _variable(text: str) -> str:
    if _VARIABLE.fullmatch(text):
        return text
    raise refuse(f"env.{text} is not the name of a variable", "use only letters, digits and _")


class EnvironmentValue(BaseModel):
    """Place of a value for ``${{ env.NAME }}`` in Airflow: a variable, or a field of a connection."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    variable: Annotated[str, Field(min_length=1)] | None = None
    connection: Annotated[str, Field(min_length=1)] | None = None
    field: Annotated[str, AfterValidator(_field)] = "password"

    @model_validator(mode="after")
    def _is_one(self) -> EnvironmentValue:
        if (self.variable is None) is (self.connection is None):
            raise refuse(
                "exactly one of variable and connection is needed",
                "write {variable: NAME}, or {connection: ID, field: password}",
            )
        if self.variable is not None and "field" in self.model_fields_set:
            raise refuse("a variable cannot have a field", "use `field` only with `connection`", at=("field",))
        return self

    def __str__(self) -> str:
        return f"variable {self.variable}" if self.connection is None else f"{self.field} of {self.connection}"


class FolderSettings(BaseModel):
    """Airflow's settings of a dataset. With ``schedule`` None the DAG runs only by hand."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    schedule: Annotated[str, AfterValidator(_schedule)] | None = "@hourly"
    poke_interval: Annotated[float, Field(strict=True, ge=1, le=_LONGEST_WAIT)] | None = None
    """Seconds between two checks of the source, with ``schedule: "@change"``, or of inputs in other stores."""
    env: dict[Annotated[str, AfterValidator(_variable)], EnvironmentValue] = {}
    store: Annotated[str, AfterValidator(_store)] | None = None
    spark_conn_id: Annotated[str, AfterValidator(_identifier)] | None = None
    spark: Literal["needed", "always"] | None = None
    """When a merge or a derivative uses Spark; None: as the installation says."""
    slice_records: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Maximum number of records in a slice of a merge; None: as the installation says."""
    pool: Annotated[str, AfterValidator(_identifier)] | None = None
    retries: Annotated[int, Field(strict=True, ge=0, le=_MOST_RETRIES)] | None = None
    start_date: Annotated[Time, AfterValidator(_start_date)] | None = None
    tags: tuple[Annotated[str, AfterValidator(_tag)], ...] = ()
    allow_empty_input: bool = False
    """Whether an input without rows may retract all rows of a Snapshot dataset."""
    max_retracted_share: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    """Maximum share of its rows that one input of a Snapshot dataset may retract; None: no limit."""


class SettingsFile(BaseModel):
    """``odf.yaml``: settings of all datasets in the folder and below, and of single datasets."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    defaults: FolderSettings = FolderSettings()
    datasets: dict[str, FolderSettings] = {}


# --- files ----------------------------------------------------------------------------------------------------------


def settings_for(file: Path, dataset: str | DatasetAlias) -> FolderSettings:
    """Return the settings of a dataset whose manifest is ``file``.

    :raises ManifestInvalid: a settings file that applies is not valid for this dataset.
    """
    alias = DatasetAlias.parse(dataset) if isinstance(dataset, str) else dataset
    values: dict[str, Any] = {}
    for path in settings_files(file):
        read = _read(path)
        read.check(alias)
        for layer in filter(None, (read.own.get(str(alias).lower()), read.settings.defaults)):
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
    for name in read_settings(path).datasets:
        if name.lower() not in known:
            near = nearest(name, names)
            fix = f"did you mean `{near}`?" if near else ""
            yield Problem(_place(path, name), f"no dataset {name} in this folder", fix)


def unused_schedules(path: Path, derivatives: Collection[str]) -> Iterator[Problem]:
    """Yield a warning for each schedule that a valid settings file has for a derivative."""
    names = {name.lower() for name in derivatives}
    for name, own in read_settings(path).datasets.items():
        if name.lower() in names and "schedule" in own.model_fields_set:
            message = f"`schedule` is not used: the inputs of the derivative {name} schedule it"
            yield Problem(_place(path, name, "schedule"), message, "remove it")


def _place(path: Path, *keys: str) -> Place:
    return parse(read_text(path), str(path))[0].place(("datasets", *keys), of_key=True)


@dataclass(frozen=True)
class _Read:
    """Valid part of a settings file, and its problems: those of one dataset under its name in lower case, all others
    under the empty text."""

    settings: SettingsFile = field(default_factory=SettingsFile)
    problems: Mapping[str, Sequence[Problem]] = field(default_factory=dict)

    @cached_property
    def own(self) -> Mapping[str, FolderSettings]:
        """Settings of single datasets by their names in lower case; of two with one name the first counts."""
        return {name.lower(): one for name, one in reversed(self.settings.datasets.items())}

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
