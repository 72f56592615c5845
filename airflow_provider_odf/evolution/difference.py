"""Events of a manifest that the chain does not have yet, and how they differ from those in force.

Events are compared with their defaults filled in, so that only what changes a dataset counts: neither the spelling of a
schema nor the order of attachments.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from pydantic.alias_generators import to_camel

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.manifest import ddl, fetch_kinds, model, time_format

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.errors import Place
    from airflow_provider_odf.manifest.manifest import Manifest


@dataclass(frozen=True)
class Change:
    """A block to append: its event, the event that it replaces, and the place in the manifest."""

    event: model.MetadataEvent
    before: model.MetadataEvent | None = None
    place: Place | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the block is appended with the first data of its source, see `evolution.apply`."""
        return isinstance(self.event, columns.Source) and columns.needs_data(self.event)

    @property
    def differences(self) -> list[Difference]:
        """Differences to the replaced event, property by property; none where it replaces no event."""
        if self.before is None or self.before.kind != self.event.kind:
            return []
        return differences(self.before, self.event)


def all_changes(state: ChainState | None, manifest: Manifest) -> tuple[Change, ...]:
    """Return every block to append, in order: sources in force are disabled before others take their place. All
    events of the manifest are new where the dataset does not exist yet."""
    if state is None:
        return tuple(Change(event, None, place) for event, place in _events(manifest))
    return (*_disabled(state, manifest), *edits(state, manifest))


def edits(state: ChainState, manifest: Manifest) -> Iterator[Change]:
    """Yield the events of a manifest that differ from those in force, in their order."""
    last = {_role(event): event for event in manifest.snapshot.metadata}
    for event, place in _events(manifest):
        before = current(state, event)
        if last[_role(event)] is event and not is_same(before, event):
            yield Change(event, before, place)


def _role(event: model.MetadataEvent) -> tuple[str, str | None]:
    """Return what an event is for: events of one role replace each other, the last one counts."""
    return event.kind, getattr(event, "source_name", None)


def current(state: ChainState, event: model.MetadataEvent) -> model.MetadataEvent | None:
    """Return the event of the same role that is in force, or None."""
    if isinstance(event, model.AddPushSource):
        return state.push_sources.get(event.source_name)
    in_force = (state.polling_source, state.transform, state.schema, *persistent(state))
    return next((own for own in in_force if type(own) is type(event)), None)


def persistent(state: ChainState) -> tuple[model.MetadataEvent | None, ...]:
    """Return the events that stay in force when a manifest no longer has them."""
    return state.info, state.license, state.attachments, state.set_vocab


def _disabled(state: ChainState, manifest: Manifest) -> Iterator[Change]:
    if state.polling_source and manifest.snapshot.last(model.SetPollingSource) is None:
        yield Change(model.DisablePollingSource(), state.polling_source)
    named = {e.source_name for e in manifest.snapshot.events(model.AddPushSource)}
    for name, source in state.push_sources.items():
        if name not in named:
            yield Change(model.DisablePushSource(source_name=name), source)


def _events(manifest: Manifest) -> Iterator[tuple[model.MetadataEvent, Place]]:
    for index, event in enumerate(manifest.snapshot.metadata):
        yield event, manifest.place("metadata", index)


_SAME_AS_ABSENT = ("headers", "env", "prepare", "temporalTables", "keywords")
"""Lists that mean the same as no list if they are empty."""


@dataclass(frozen=True)
class Difference:
    """A property with another value: ``path`` is dotted; None means absent."""

    path: str
    before: Any
    after: Any


def canonical(event: model.MetadataEvent) -> dict[str, Any]:
    """Return an event as a mapping that is equal for events of one kind with the same meaning. Names are those of the
    specification; schemas are lists of column texts."""
    content = _without_empty(model.dump(event))
    match event:
        case model.SetPollingSource():
            return content | {"fetch": _fetch(event.fetch, content["fetch"]), "read": _read(event.read)}
        case model.AddPushSource():
            return content | {"read": _read(event.read)}
        case model.SetVocab():
            names = dataclasses.asdict(ddl.vocabulary(event))
            return content | {to_camel(key): value for key, value in names.items()}
        case model.SetAttachments():
            items = sorted(event.attachments.items, key=lambda item: item.path)
            return content | {"attachments": {item.path: item.content for item in items}}
        case model.SetDataSchema():
            schema = chain_schema.with_defaults(chain_schema.data_schema(event))
            extra = {"extra": model.dump(schema)["extra"]} if schema.extra else {}
            return {"kind": event.kind, "schema": list(map(_field, schema.fields)), **extra}
    return content


def is_same(before: model.MetadataEvent | None, after: model.MetadataEvent) -> bool:
    """Return whether two events mean the same; None means the same as an empty event."""
    if before is not None:
        return before == after or canonical(before) == canonical(after)
    return canonical(after) in ({"kind": after.kind}, canonical(model.SetVocab()))


def differences(before: model.MetadataEvent, after: model.MetadataEvent) -> list[Difference]:
    """Return the differences of two events, property by property, in the order of the specification."""
    return list(_compare("", canonical(before), canonical(after)))


def _without_empty(content: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_empty(value) if isinstance(value, dict) else value
        for key, value in content.items()
        if not (key in _SAME_AS_ABSENT and value == [])
    }


def _fetch(step: model.FetchStep, content: dict[str, Any]) -> dict[str, Any]:
    filled, order = dict(content), fetch_kinds.kind_of(step).order
    if "event_time" in type(step).model_fields:
        filled["eventTime"] = time = model.dump(fetch_kinds.event_time(step))
        if time["kind"] == "FromPath":
            filled["eventTime"] = {"timestampFormat": time_format.DEFAULT_PATTERN} | time
    return filled if order is None else filled | {"order": order(step)}


def _read(read: model.ReadStep) -> dict[str, Any]:
    try:
        step = ddl.read_step(read)
    except InvalidInput:  # Another writer's schema has a type that this package does not know.
        return _without_empty(model.dump(read))
    options = {to_camel(k): v for k, v in vars(step).items() if k != "columns" and v is not None}
    options["encoding"] = _encoding(step.encoding)
    if step.columns is not None:
        options["schema"] = [columns.column_text(column) for column in step.columns]
    if read.schema_ is not None and (extra := _attributes(read.schema_)):
        options["attributes"] = extra
    return options


def _encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return name


def _attributes(schema: model.DataSchema) -> dict[str, Any]:
    """Return the free attributes of a schema, and those of its columns under their names."""
    attributes = {f.name: f.extra.to_mapping() for f in schema.fields if f.extra is not None}
    whole = schema.extra.to_mapping() if schema.extra is not None else {}
    return {name: extra for name, extra in {**attributes, "": whole}.items() if extra}


def _field(field: model.DataField) -> str:
    extra = f" {json.dumps(field.extra.to_mapping(), ensure_ascii=False)}" if field.extra else ""
    return f"{field.name} {_type(model.dump(field)['type'])}{extra}"


def _type(odf: dict[str, Any]) -> str:
    """``Option(Int32)``, ``Timestamp(Millisecond, UTC)``."""
    inside = [_part(value) for key, value in odf.items() if key != "kind" and value is not None]
    return f"{odf['kind']}({', '.join(inside)})" if inside else str(odf["kind"])


def _part(value: Any) -> str:
    if isinstance(value, dict):
        return _type(value)
    if isinstance(value, list):
        return ", ".join(f"{field['name']} {_type(field['type'])}" for field in value)
    return str(value)


# --- comparison -----------------------------------------------------------------------------------------------------


def _compare(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if before is None or after is None:
        empty = type(before if after is None else after)()
        before, after = (empty if side is None and isinstance(empty, dict | list) else side for side in (before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _compare(f"{path}.{key}" if path else key, before.get(key), after.get(key))
    elif _is_list_of(dict, before, after):
        for index in range(max(len(before), len(after))):
            yield from _compare(
                f"{path}[{index}]", *(side[index] if index < len(side) else None for side in (before, after))
            )
    elif _is_list_of(str, before, after):
        yield from _entries(path, before, after)
    else:
        yield Difference(path, before, after)


def _is_list_of(kind: type, *sides: Any) -> bool:
    return all(isinstance(side, list) and all(isinstance(x, kind) for x in side) for side in sides)


def _entries(path: str, before: Sequence[str], after: Sequence[str]) -> Iterator[Difference]:
    """Return the entries of two lists of texts that were added, removed or replaced."""
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old, new = before[i:j], after[k:m]
        for n in range(max(len(old), len(new))):
            yield Difference(path, *(side[n] if n < len(side) else None for side in (old, new)))
