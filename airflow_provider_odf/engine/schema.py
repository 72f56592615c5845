"""The columns of a slice: their order, Arrow types and nullability, and how a dataset's stored schema binds new data.

"Columns" of the on-disk format: offset int64, operation int32, system time and event time timestamp(ms, UTC) (event
time may be a date), then the data columns in query order; timestamps among them become timestamp(ms, UTC) too.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import DatasetVocabulary

MILLISECONDS = pa.timestamp("ms", "UTC")

_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.TimeType: pa.time64("us"),
}

_INSTEAD = {
    T.MapType: "`element_at({name}, 'key') AS {name}_key` for each key, or `to_json({name}) AS {name}`",
    T.NullType: "`cast({name} AS STRING) AS {name}`",
    T.VariantType: "`to_json({name}) AS {name}`",
    T.DayTimeIntervalType: "`extract(SECOND FROM {name}) AS {name}`",
    T.YearMonthIntervalType: "`extract(MONTH FROM {name}) AS {name}`",
}

_READ_AS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.time32("ms"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
    pa.string_view(): pa.string(),
    pa.large_string(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(),
}
"""Types that other writers of a dataset may have stored, and what Spark makes of them."""


def quoted(name: str) -> str:
    """A column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def type_name(kind: pa.DataType) -> str:
    """Return the name of a column's type as a manifest declares it: ``BIGINT``, ``DECIMAL(12,2)``; Arrow's own name for
    a type that Spark does not have."""
    if pt.is_timestamp(kind):
        return "TIMESTAMP"
    if pt.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pt.is_list(kind) or pt.is_large_list(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if pt.is_struct(kind):
        return f"STRUCT<{', '.join(f'{f.name}: {type_name(f.type)}' for f in kind.fields)}>"
    plain_kind = _READ_AS.get(kind, kind)
    return next((spark().simpleString().upper() for spark, arrow in _ARROW.items() if arrow == plain_kind), str(kind))


def encode(schema: pa.Schema) -> str:
    """The schema as an Arrow IPC message in base64, as requests and responses carry it."""
    return base64.b64encode(schema.serialize()).decode()


def decode(text: str) -> pa.Schema:
    """The inverse of ``encode``."""
    return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text))).remove_metadata()


def slice_schema(
    vocab: DatasetVocabulary, event_time: pa.DataType, data: Sequence[T.StructField], required: frozenset[str]
) -> pa.Schema:
    """The schema of a new dataset's slices. Data columns are nullable but for those ``required``.

    :raises InvalidQuery: a column's type has no form in a slice; the message has SQL that gives it one.
    """
    system = zip(vocab.columns, (pa.int64(), pa.int32(), MILLISECONDS, event_time), strict=True)
    return pa.schema(
        [pa.field(name, kind, nullable=False) for name, kind in system]
        + [pa.field(f.name, top_type(f.dataType, f.name), nullable=f.name not in required) for f in data]
    )


def top_type(kind: T.DataType, name: str) -> pa.DataType:
    """The Arrow type that a column of a Spark type has in a slice.

    :raises InvalidQuery: see ``slice_schema``.
    """
    return MILLISECONDS if isinstance(kind, T.TimestampType | T.TimestampNTZType) else _arrow_type(kind, name)


def _arrow_type(kind: T.DataType, path: str, *, in_list: bool = False) -> pa.DataType:
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        return pa.list_(pa.field("element", _arrow_type(kind.elementType, path, in_list=True)))
    if isinstance(kind, T.StructType) and in_list:
        instead = f"`to_json({path}) AS {path}`, or one row for each: `inline({path})`"
        raise InvalidQuery(_refusal(path, "a list of structs", instead))
    if isinstance(kind, T.StructType):
        return pa.struct([(f.name, _arrow_type(f.dataType, f"{path}.{f.name}")) for f in kind.fields])
    for known, arrow in _ARROW.items():
        if isinstance(kind, known):
            return arrow
    instead = next((sql for known, sql in _INSTEAD.items() if isinstance(kind, known)), "`cast({name} AS STRING)`")
    raise InvalidQuery(_refusal(path, f"of type {kind.simpleString()}", instead.replace("{name}", path)))


def _refusal(path: str, what: str, instead: str) -> str:
    return (
        f"column {path} is {what}, which the dataset format cannot hold (it has no logical hash); "
        f"in preprocess select instead, in Spark SQL: {instead}"
    )


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema as it is written: views and large forms, which hash the same, as the plain ones."""
    views = {k: v for k, v in _READ_AS.items() if pt.is_string(v) or pt.is_binary(v)}
    return pa.schema([f.with_type(with_types(f.type, views)) for f in schema])


def evolve(stored: pa.Schema, new: pa.Schema) -> pa.Schema:
    """The dataset's schema once it has the new data: the stored one, at its end the columns that are new and nullable.

    Columns are matched by name, in whatever order they come.

    :raises InvalidQuery: the new data break the stored schema; with the differences and what to do.
    """
    if differences := list(_differences(stored, new)):
        raise InvalidQuery(
            "the new data do not have the dataset's schema:\n"
            + "\n".join(f"  {d}" for d in differences)
            + "\nNothing was written. A dataset only gains columns, and those are nullable: have preprocess select the "
            "dataset's columns with its types (`cast(... AS ...)`), give what changed a new name, or start a new "
            "dataset for the new form"
        )
    return pa.schema([*stored, *(field for field in new if field.name not in stored.names)])


def _differences(stored: pa.Schema, new: pa.Schema) -> Iterator[str]:
    for name in stored.names:
        if name not in new.names:
            yield f"column {name} ({type_name(stored.field(name).type)}) is missing"
    for field in new:
        if field.name not in stored.names:
            if not field.nullable:
                yield f"column {field.name} ({type_name(field.type)}) is new and NOT NULL; records before have no value"
            continue
        old = stored.field(field.name)
        if with_types(old.type, _READ_AS) != with_types(field.type, {}):
            before, after = type_name(old.type), type_name(field.type)
            if before == after:  # units of time, which a manifest has no words for
                before, after = str(old.type), str(field.type)
            yield f"column {field.name} is {before} in the dataset and {after} in the new data"
        elif old.nullable and not field.nullable:
            yield f"column {field.name} is nullable in the dataset and NOT NULL in the new data"


def with_types(kind: pa.DataType, types: Mapping[pa.DataType, pa.DataType]) -> pa.DataType:
    """Return a type with others in its place, also inside; what is inside of it becomes nullable."""
    if pt.is_struct(kind):
        return pa.struct([(f.name, with_types(f.type, types)) for f in kind.fields])
    if pt.is_list(kind) or pt.is_large_list(kind):
        return pa.list_(pa.field("element", with_types(kind.value_type, types)))
    return types.get(kind, kind)
