from __future__ import annotations

import base64

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.errors import ChainCorrupted, TypeUnsupported
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import dump

from .golden_blocks import SCHEMA_OF_MANY_TYPES

PLAIN = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("op", pa.int32(), nullable=False),
        pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("event_time", pa.timestamp("ms", "UTC")),
        pa.field("i8", pa.int8()),
        pa.field("u64", pa.uint64()),
        pa.field("f32", pa.float32()),
        pa.field("flag", pa.bool_()),
        pa.field("day", pa.date32()),
        pa.field("price", pa.decimal128(9, 2)),
        pa.field("huge", pa.decimal256(50, 2)),
        pa.field("text", pa.string()),
        pa.field("blob", pa.binary()),
        pa.field("key", pa.binary(16)),
        pa.field("noon", pa.time64("us")),
        pa.field("second", pa.time32("s")),
        pa.field("span", pa.duration("ns")),
        pa.field("words", pa.list_(pa.field("item", pa.string()))),
        pa.field("pair", pa.list_(pa.field("item", pa.int32(), nullable=False), 2)),
        pa.field("nested", pa.struct([pa.field("x", pa.int16(), nullable=False), pa.field("y", pa.string())])),
        pa.field("map", pa.map_(pa.string(), pa.field("value", pa.int64()))),
    ]
)


def test_types_as_the_specification_spells_them():
    fields = dump(schema.from_arrow(PLAIN))["fields"]
    types = {f["name"]: f["type"] for f in fields}
    assert types["offset"] == {"kind": "Int64"}
    assert types["system_time"] == {"kind": "Timestamp", "unit": "Millisecond", "timezone": "UTC"}
    assert types["price"] == {"kind": "Option", "inner": {"kind": "Decimal", "precision": 9, "scale": 2}}
    assert types["key"]["inner"] == {"kind": "Binary", "fixedLength": 16}
    assert types["noon"]["inner"] == {"kind": "Time", "unit": "Microsecond"}
    assert types["span"]["inner"] == {"kind": "Duration", "unit": "Nanosecond"}
    assert types["words"]["inner"] == {"kind": "List", "itemType": {"kind": "Option", "inner": {"kind": "String"}}}
    assert types["pair"]["inner"] == {"kind": "List", "itemType": {"kind": "Int32"}, "fixedLength": 2}
    assert types["nested"]["inner"]["fields"] == [
        {"name": "x", "type": {"kind": "Int16"}},
        {"name": "y", "type": {"kind": "Option", "inner": {"kind": "String"}}},
    ]
    assert types["map"]["inner"]["keyType"] == {"kind": "String"}


def test_plain_schemas_come_back():
    assert schema.to_arrow(schema.from_arrow(PLAIN)) == PLAIN


def test_encodings_are_dropped():
    encoded = pa.schema(
        [
            pa.field("a", pa.large_string()),
            pa.field("b", pa.string_view()),
            pa.field("c", pa.large_binary()),
            pa.field("d", pa.date64()),
            pa.field("e", pa.large_list(pa.field("element", pa.int64()))),
        ],
        metadata={"writer": "x"},
    )
    assert schema.to_arrow(schema.from_arrow(encoded)) == pa.schema(
        [
            pa.field("a", pa.string()),
            pa.field("b", pa.string()),
            pa.field("c", pa.binary()),
            pa.field("d", pa.date32()),
            pa.field("e", pa.list_(pa.field("item", pa.int64()))),
        ]
    )


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        (pa.dictionary(pa.int32(), pa.string()), "column a: the Arrow type dictionary"),
        (pa.month_day_nano_interval(), "column a"),
        (pa.struct([("b", pa.list_(pa.timestamp("us")))]), r"column a\.b\[\]: a timestamp without time zone"),
        (pa.sparse_union([pa.field("x", pa.int8())]), "column a"),
    ],
)
def test_types_without_a_form_are_named(arrow, message):
    with pytest.raises(TypeUnsupported, match=message):
        schema.set_data_schema(pa.schema([pa.field("a", arrow)]))


def test_defaults_of_time_types():
    odf = model.DataSchema(
        fields=(
            model.DataField(name="a", type=model.DataTypeTimestamp()),
            model.DataField(name="b", type=model.DataTypeTime()),
        )
    )
    assert schema.to_arrow(odf) == pa.schema(
        [pa.field("a", pa.timestamp("ms", "UTC"), nullable=False), pa.field("b", pa.time32("ms"), nullable=False)]
    )


@pytest.mark.parametrize("version", [2, 3])
def test_event_and_engine_form(version):
    event = schema.set_data_schema(base64.b64encode(PLAIN.serialize()).decode(), manifest_version=version)
    assert (event.raw_arrow_schema is not None, event.schema_ is not None) == (version == 2, version == 3)
    assert schema.arrow_schema(event) == PLAIN
    assert schema.data_schema(event) == schema.from_arrow(PLAIN)
    assert pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema.ipc_base64(event)))) == PLAIN


def test_schema_of_another_writer_is_made_the_same():
    event = model.MetadataBlock.model_validate(SCHEMA_OF_MANY_TYPES).event
    assert schema.set_data_schema(schema.arrow_schema(event)) == event


def test_a_damaged_arrow_schema_is_corrupted():
    with pytest.raises(ChainCorrupted, match="cannot be read"):
        schema.arrow_schema(model.SetDataSchema(raw_arrow_schema=b"\x10\x00\x00\x00abc"))


@pytest.mark.parametrize("version", [2, 3])
def test_new_columns_follow_the_known_ones_which_stay_as_declared(version):
    extra = model.ExtraAttributes(entries='{"unit":"m"}')
    known = [
        model.DataField(name="at", type=model.DataTypeTimestamp()),
        model.DataField(name="height", type=model.DataTypeInt64(), extra=extra),
    ]
    event = model.SetDataSchema(schema_=model.DataSchema(fields=tuple(known)))
    columns = [("new", pa.int32()), ("height", pa.int64()), ("at", pa.timestamp("ms", "UTC"))]
    text = base64.b64encode(pa.schema(columns).serialize()).decode()
    grown = schema.add_columns(event, text, manifest_version=version)
    assert (grown.schema_ is None) == (version == 2)
    added = model.DataField(name="new", type=model.DataTypeOption(inner=model.DataTypeInt32()))
    if version == 3:
        assert grown.schema_.fields == (*known, added)
    assert [f.name for f in schema.data_schema(grown).fields] == ["at", "height", "new"]
    assert schema.add_columns(grown, text, manifest_version=version) is None


def test_schemas_that_mean_the_same_are_equal_once_resolved():
    def event(time, inner, extra=None):
        nested = model.DataTypeStruct(fields=(model.DataField(name="t", type=inner),))
        fields = [model.DataField(name="at", type=time), model.DataField(name="n", type=nested, extra=extra)]
        return model.DataSchema(fields=tuple(fields))

    short = event(model.DataTypeTimestamp(), model.DataTypeOption(inner=model.DataTypeTime()))
    long = event(
        model.DataTypeTimestamp(unit="Millisecond", timezone="UTC"),
        model.DataTypeOption(inner=model.DataTypeTime(unit="Millisecond")),
        model.ExtraAttributes(),
    )
    assert short != long
    assert schema.with_defaults(short) == schema.with_defaults(long)
    assert schema.with_defaults(short) != schema.with_defaults(
        event(model.DataTypeTimestamp(unit="Second"), model.DataTypeTime())
    )
