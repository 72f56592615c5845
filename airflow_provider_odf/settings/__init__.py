"""Section ``[odf]`` of airflow.cfg. `get_provider_info` describes each setting and its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow.sdk import conf

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.get_provider_info import get_provider_info
from airflow_provider_odf.protocol import SparkUse
from airflow_provider_odf.settings import push_paths
from airflow_provider_odf.source.options import OPTIONS, Options, from_texts

SECTION = "odf"


@dataclass(frozen=True)
class Settings:
    """Values of the section; an empty text or None is an unset value."""

    store: str
    input_stores: tuple[str, ...]
    work_area: str
    spark_conn_id: str
    spark: SparkUse | None
    local_master: str
    local_memory: str
    push_paths: tuple[str, ...] | None
    options: Options
    manifest_version: int
    naming_spec: Literal["current", "2024"]
    datahub_conn_id: str
    datahub_file: str
    datahub_env: str
    datahub_instance: str
    datahub_incidents: bool


def read() -> Settings:
    """Return the current settings.

    :raises InvalidInput: a setting has an invalid value.
    """
    options = get_provider_info()["config"][SECTION]["options"]
    text = {name: conf.get(SECTION, name, fallback=option["default"]).strip() for name, option in options.items()}
    return Settings(
        store=text["store"],
        input_stores=tuple(part.strip() for part in text["input_stores"].split(",") if part.strip()),
        work_area=text["work_area"],
        spark_conn_id=text["spark_conn_id"],
        spark=_spark(text),
        local_master=text["local_master"],
        local_memory=text["local_memory"],
        push_paths=_push_paths(text["push_paths"]),
        options=from_texts({name: text[name] for name in OPTIONS}, _place),
        manifest_version=int(_one_of("manifest_version", text, ("3", "2"))),
        naming_spec="2024" if _one_of("naming_spec", text, ("current", "2024")) == "2024" else "current",
        datahub_conn_id=text["datahub_conn_id"],
        datahub_file=text["datahub_file"],
        datahub_env=text["datahub_env"],
        datahub_instance=text["datahub_instance"],
        datahub_incidents=_one_of("datahub_incidents", text, ("True", "true", "False", "false")).lower() == "true",
    )


def _spark(text: dict[str, str]) -> SparkUse | None:
    """Return when merges use Spark, None if the runner decides."""
    if not text["spark"]:
        return None
    return "always" if _one_of("spark", text, ("needed", "always")) == "always" else "needed"


def _push_paths(text: str) -> tuple[str, ...] | None:
    try:
        return push_paths.parse(text)
    except ValueError as e:
        raise InvalidInput(f"{_place('push_paths')} = {text}: {e}") from None


def _one_of(name: str, text: dict[str, str], values: tuple[str, ...]) -> str:
    if text[name] in values:
        return text[name]
    raise InvalidInput(f"{_place(name)} = {text[name]}: must be {' or '.join(values)}")


def _place(name: str) -> str:
    return f"airflow.cfg [{SECTION}] {name}"
