"""Settings in ``odf.yaml``, for all datasets of a folder and for each of them."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.base import Time, refuse
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
        croniter(text, datetime(2024, 1, 1, tzinfo=timezone.utc)).get_next()
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

    model_config = ConfigDict(frozen=True, extra="forbid")

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

    model_config = ConfigDict(frozen=True, extra="forbid")

    schedule: Annotated[str, AfterValidator(_schedule)] | None = "@hourly"
    poke_interval: Annotated[float, Field(strict=True, ge=1, le=_LONGEST_WAIT)] | None = None
    """Seconds between two checks of the source, with ``schedule: "@change"``."""
    env: dict[Annotated[str, AfterValidator(_variable)], EnvironmentValue] = {}
    store: Annotated[str, AfterValidator(_store)] | None = None
    spark_conn_id: Annotated[str, AfterValidator(_identifier)] | None = None
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

    model_config = ConfigDict(frozen=True, extra="forbid")

    defaults: FolderSettings = FolderSettings()
    datasets: dict[str, FolderSettings] = {}
