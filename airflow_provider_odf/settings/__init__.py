"""Section ``[odf]`` of airflow.cfg. `get_provider_info` describes each setting and its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from airflow.providers.common.compat.sdk import conf

from airflow_provider_odf import object_stores
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
    object_store_connections: Mapping[str, str]
    """Ids of connections, by scheme or by the URI of a bucket."""
    work_area: str
    spark_conn_id: str
    spark: SparkUse | None
    slice_records: int
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
        object_store_connections=_object_store_connections(text["object_store_connections"]),
        work_area=text["work_area"],
        spark_conn_id=text["spark_conn_id"],
        spark=_spark(text),
        slice_records=_slice_records(text["slice_records"]),
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


def _object_store_connections(text: str) -> Mapping[str, str]:
    """Return ids of connections by scheme or bucket.

    >>> _object_store_connections("s3=aws_default, s3://partner=aws_partner")
    {'s3': 'aws_default', 's3://partner': 'aws_partner'}
    """
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    conn_ids = {stores.strip().rstrip("/"): conn_id.strip() for stores, _, conn_id in pairs}
    place, schemes = _place("object_store_connections"), ", ".join(object_stores.SCHEMES)
    for stores, conn_id in conn_ids.items():
        is_bucket = object_stores.is_object(stores) and object_stores.split(stores) == (stores, "")
        if not (is_bucket or stores in object_stores.SCHEMES):
            raise InvalidInput(
                f"{place}: {stores or conn_id!r} names no bucket: use BUCKET=CONNECTION, as in s3://lake=aws_default, "
                f"or SCHEME=CONNECTION with {schemes}"
            )
        if not conn_id:
            raise InvalidInput(f"{place}: {stores!r} has no connection")
    return conn_ids


def _slice_records(text: str) -> int:
    if text.isdecimal() and int(text):
        return int(text)
    raise InvalidInput(f"{_place('slice_records')} = {text}: must be a positive integer")


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
