"""Schema of a dataset as an event, as ODF types, and as Arrow.

``SetDataSchema`` holds an ODF ``DataSchema`` (since specification 0.37: logical types, no encodings) or Arrow's
flatbuffers table ``Schema`` (before). Engines get the Arrow IPC message in base64.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import arrow_schema as raw
from airflow_provider_odf.chain import arrow_types
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    import pyarrow as pa

ODF_SCHEMA_SINCE = 3
"""Readers of older manifest versions know the Arrow form only."""

_SINCE = "manifest version 3: set `[odf] manifest_version = 3`"


def set_data_schema(schema: pa.Schema | str, *, manifest_version: int = 3) -> model.SetDataSchema:
    """Return the event that declares a schema, given as Arrow or as base64 of its IPC message.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    arrow = _from_base64(schema) if isinstance(schema, str) else schema
    odf = arrow_types.from_arrow(arrow)
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(arrow))


def add_columns(
    current: model.SetDataSchema | None, schema: str, *, manifest_version: int = 3
) -> model.SetDataSchema | None:
    """Return the event that adds the new columns of ``schema`` (base64 of its IPC message), or None if it has none.

    Existing columns keep their declaration and attributes.

    :raises TypeUnsupported: a column's type has no ODF form; the message names the column.
    """
    if current is None:
        return set_data_schema(schema, manifest_version=manifest_version)
    old, new = data_schema(current), arrow_types.from_arrow(_from_base64(schema))
    names = {f.name for f in old.fields}
    added = tuple(f for f in new.fields if f.name not in names)
    if not added:
        return None
    odf = old.model_copy(update={"fields": (*old.fields, *added)})
    if manifest_version >= ODF_SCHEMA_SINCE:
        return model.SetDataSchema(schema_=odf)
    return model.SetDataSchema(raw_arrow_schema=raw.encode(arrow_types.to_arrow(odf)))


def in_version(event: model.MetadataEvent, manifest_version: int) -> model.MetadataEvent:
    """Return the event in the form of a manifest version. Before version 3 a schema is an Arrow schema, and the columns
    of a read step are DDL.

    :raises InvalidInput: the event has ODF types, for which that version has no form.
    """
    if manifest_version >= ODF_SCHEMA_SINCE:
        return event
    read = getattr(event, "read", None)
    if read is not None and read.schema_ is not None:
        message = f"{event.kind}: ODF types in `read.schema` need {_SINCE}, or write the columns as `name TYPE`"
        raise InvalidInput(message)
    if not isinstance(event, model.SetDataSchema) or event.schema_ is None:
        return event
    schema = event.schema_
    if any(_not_empty(extra) for extra in (schema.extra, *(f.extra for f in schema.fields))):
        raise InvalidInput(f"SetDataSchema: column attributes need {_SINCE}, or remove `extra`")
    return model.SetDataSchema(raw_arrow_schema=raw.encode(arrow_types.to_arrow(schema)))


def with_defaults(schema: model.DataSchema) -> model.DataSchema:
    """Return the schema with explicit defaults, so that schemas with the same meaning are equal."""
    fields = tuple(
        f.model_copy(update={"type": _explicit(f.type), "extra": _not_empty(f.extra)}) for f in schema.fields
    )
    return schema.model_copy(update={"fields": fields, "extra": _not_empty(schema.extra)})


def _not_empty(extra: model.ExtraAttributes | None) -> model.ExtraAttributes | None:
    return extra if extra is not None and extra.to_mapping() else None


def _explicit(odf: Any) -> Any:
    inner = {
        name: _explicit(value)
        for name in ("inner", "item_type", "key_type", "value_type")
        if (value := getattr(odf, name, None)) is not None
    }
    if isinstance(odf, model.DataTypeStruct):
        inner["fields"] = with_defaults(model.DataSchema(fields=odf.fields)).fields
    if isinstance(odf, model.DataTypeTime | model.DataTypeDuration | model.DataTypeTimestamp):
        inner["unit"] = odf.unit or "Millisecond"
    if isinstance(odf, model.DataTypeTimestamp):
        inner["timezone"] = odf.timezone or "UTC"
    if isinstance(odf, model.DataTypeMap):
        inner["keys_sorted"] = bool(odf.keys_sorted)
    return odf.model_copy(update=inner)


def arrow_schema(event: model.SetDataSchema) -> pa.Schema:
    """Return the schema as Arrow.

    :raises ChainCorrupted: the stored Arrow schema cannot be read.
    """
    if event.schema_ is not None:
        return arrow_types.to_arrow(event.schema_)
    return raw.decode(event.raw_arrow_schema or b"")


def plain(arrow: pa.Schema) -> pa.Schema:
    """Return the schema with plain types in place of views, which pyarrow can neither sort nor filter."""
    import pyarrow as pa

    return pa.schema([field.with_type(_plain_type(field.type)) for field in arrow])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pt.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def data_schema(event: model.SetDataSchema) -> model.DataSchema:
    """Return the schema as ODF types, whichever form it is stored in, with its attributes."""
    return event.schema_ if event.schema_ is not None else arrow_types.from_arrow(arrow_schema(event))


def ipc_base64(event: model.SetDataSchema) -> str:
    """Return the Arrow IPC message of the schema in base64, for engines."""
    return base64.b64encode(arrow_schema(event).serialize()).decode("ascii")


def _from_base64(text: str) -> pa.Schema:
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
