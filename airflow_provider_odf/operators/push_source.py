"""``PushSourceOperator``: push data into a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param

from airflow_provider_odf import settings
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import names_of, pushed_names, read_by
from airflow_provider_odf.settings import push_paths
from airflow_provider_odf.settings.push_paths import author_prefixes

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.cycle.messages import Input
    from airflow_provider_odf.cycle.push import Push
    from airflow_provider_odf.lineage.events import TaskLineage

CONF = {"file": "a path that workers can read", "uri": "a URI", "records": "a list of objects"}
"""Keys of a run's conf and descriptions of their values. A conf has one of them, and optionally ``source``,
``media_type`` and ``event_time``."""


class DataOperator(OdfOperator):
    """Base of the operators with ``data``. Checks where it may point to: ``written`` are its paths and URIs as the
    author wrote them, before templates, see `push_paths.author_prefixes`."""

    template_fields: Sequence[str] = (*OdfOperator.template_fields, "data", "source_name")

    def __init__(
        self, *, data: Any = None, source_name: str | None = None, push_paths: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.data = data
        self.source_name = source_name
        self.push_paths = push_paths
        self.written = author_prefixes(data)
        self._input: Input | None = None

    def allowed(self, data: Push, context: Context) -> Push:
        """Return a push that may redirect to allowed URLs only, after a check of its paths and URIs: those of the DAG's
        author and those under ``push_paths`` are allowed.

        :raises InvalidInput: a path or URI is not allowed, or a setting is not valid.
        """
        task, setting = context.get("ti"), settings.read().push_paths
        is_mapped = task is not None and task.map_index is not None and task.map_index >= 0
        if setting is None or (self.written is None and not is_mapped):
            return data
        prefixes = (*setting, *self.push_paths, *(self.written or ()))
        push_paths.check(data.uris, prefixes)
        return replace(data, allows=partial(push_paths.allows, prefixes=prefixes))


def push_id(context: Context) -> str | None:
    """Return the push id of a task in a DAG run, the same for each try; None outside of a run."""
    task = context.get("ti")
    if task is None:
        return None
    index = f"[{task.map_index}]" if task.map_index is not None and task.map_index >= 0 else ""
    return f"{task.dag_id}/{task.run_id}/{task.task_id}{index}"


class PushSourceOperator(DataOperator):
    """Copies a file, the content of a URI, or records to the work area, for a push source of a dataset to read.

    A run merges its input once: a task that runs again after its data was published is skipped. A conf that does not
    name the data to push fails the task without a retry.

    The XCom is for a `MergeOperator`, like that of a `PollingSourceOperator`. It never contains records: they are
    written to the work area as NdJson, and read with the schema and the time formats of the source.

    :param data: a path or URI (file, http, https, ftp, ftps, s3, gs, az, abfss), a list of them that are read
        together, or a list of records as dicts. By default the conf of the DAG run names the data, as ``{"file":
        PATH}``, ``{"uri": URI}`` or ``{"records": [...]}``, each with optional ``"source": NAME``, ``"media_type":
        TYPE`` and ``"event_time": RFC3339``. A conf may name only paths and URIs that ``[odf] push_paths`` allows:
        none by default. (templated)
    :param dataset: alias of the dataset. (templated)
    :param manifest: path of the file with the dataset's manifest, which is applied first. (templated)
    :param source_name: the push source; by default the only one, or the one that is called ``default``. A ``source`` in
        the conf overrides it. (templated)
    :param push_paths: folders and URIs that a conf, an XCom or a template in ``data`` may name, in addition to
        ``[odf] push_paths``. Paths and URIs written in the DAG's own text are always allowed.
    """

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.cycle.push import push
        from airflow_provider_odf.cycle.xcom import pass_candidate, pass_input
        from airflow_provider_odf.operators.decision import decided

        if (candidate := decided(self, context)) is not None:
            return {**pass_candidate(candidate), "sourceName": None}
        data = self.allowed(push_of(self._conf(context), self.source_name, push_id(context)), context)
        new_input = push(self.cycle, data, copies=True)
        if isinstance(new_input, UpToDate):
            self.skip(new_input)
        self._input = new_input
        self.log.info("%s: new input for %s: %s", new_input.dataset, new_input.source_name or "its source", data.name)
        return pass_input(self.odf, new_input)

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        if self._input is None or self._input.pushed is None:
            return None
        return events.poll(names_of(self._input.pushed.origins), read_by(self._input))

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        return events.poll(pushed_names(self.data))

    def _conf(self, context: Context) -> Mapping[str, Any]:
        match self.data:
            case None:
                return context["dag_run"].conf or {}
            case str():
                return {"uri": self.data}
            case Mapping():
                return self.data
            case [str(), *_]:
                return {"uri": list(self.data)}
            case _:
                return {"records": self.data}


def conf_params(source_names: Sequence[str]) -> dict[str, Param]:
    """Return the keys of a run's conf as ``params`` of a DAG, which Airflow's trigger form and API check. A run must
    name its source if there are several and none is called ``default``."""
    from airflow_provider_odf.cycle.sources import DEFAULT_SOURCE

    preselected = source_names[0] if len(source_names) == 1 else DEFAULT_SOURCE
    default: dict[str, Any] = {"default": preselected} if preselected in source_names else {}
    about = "Name of the push source. Its read and merge steps process the data."
    source = Param(**default, type="string", enum=list(source_names), title="Push source", description=about)
    return {"source": source, **{name: Param(None, **schema) for name, schema in _PARAMS.items()}}


def _schema(kind: str, title: str, description: str, **more: Any) -> dict[str, Any]:
    return {"type": ["null", kind], "title": title, "description": description, **more}


_PARAMS: Mapping[str, dict[str, Any]] = {
    "file": _schema("string", "File", "Path of a file or folder that workers can read."),
    "uri": _schema("string", "URI", "URI to fetch instead of a file, such as https:// or s3://."),
    "records": _schema("array", "Records", "List of JSON objects to push instead of a file.", items={"type": "object"}),
    "media_type": _schema(
        "string",
        "Media type",
        "Media type of the files, such as text/csv. Default: by suffix, else the source's format.",
    ),
    "event_time": _schema(
        "string", "Event time", "Event time of records that have none. Default: now.", format="date-time"
    ),
}
"""Keys of a run's conf beside ``source``, as JSON Schemas."""


def push_of(conf: Mapping[str, Any], source_name: str | None = None, push_id: str | None = None) -> Push:
    """Return the data that a run's conf pushes.

    :raises InvalidInput: the conf names no data or several, or has unknown keys.
    """
    from airflow_provider_odf.cycle.push import Push

    values = {key: value for key, value in conf.items() if value not in (None, "")}
    keys = (*CONF, "source", "media_type", "event_time")
    if unknown := [key for key in values if key not in keys]:
        raise InvalidInput(f"conf: unknown key {', '.join(unknown)}: use {', '.join(keys)}")
    if values.get("records") == [] and ("file" in values or "uri" in values):
        del values["records"]  # The trigger form sends an empty list after a visit to the field.
    kinds = [key for key in CONF if key in values]
    if len(kinds) != 1:
        what = f"has {' and '.join(kinds)}" if kinds else "has nothing to push"
        raise InvalidInput(f'conf {what}: set one of {", ".join(CONF)}, as in {{"file": "/data/new.csv"}}')
    (kind,) = kinds
    return Push(
        uris=() if kind == "records" else _uris(kind, values[kind]),
        records=_records(values[kind]) if kind == "records" else None,
        source_name=values.get("source", source_name),
        event_time=_instant(values.get("event_time")),
        push_id=push_id,
        media_type=_text(values.get("media_type")),
    )


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"conf: media_type must be a string such as text/csv, not {value!r}")
    return value


def _uris(key: str, value: Any) -> tuple[str, ...]:
    uris = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not uris or not all(isinstance(uri, str) and uri for uri in uris):
        raise InvalidInput(f"conf: {key} is not {CONF[key]}: {value!r}")
    return uris


def _records(value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"conf: records is not {CONF['records']}, but of type {type(value).__name__}")
    return value


def _instant(value: Any) -> Instant | None:
    try:
        return None if value is None else Instant.parse(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"conf: event_time is not a time like 2026-05-01T00:00:00Z: {value!r}") from None
