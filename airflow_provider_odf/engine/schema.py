"""The columns of a slice: their order, Arrow types and nullability, and the checks of new data against the schema.

See "Columns" of the on-disk format. The order is offset int64, operation int32, system time and event time
timestamp(ms, UTC), then the data columns in query order. The event time may be a date. Timestamps in data columns
become timestamp(ms, UTC) too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import DatasetVocabulary
from airflow_provider_odf.records.schema import MILLISECONDS, READ_AS, with_types

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


def quoted(name: str) -> str:
    """Return a column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def type_name(kind: pa.DataType) -> str:
    """Return the name of a column's type as in a manifest: ``BIGINT``, ``DECIMAL(12,2)``.

    For a type that Spark lacks, it is Arrow's name.
    """
    if pt.is_timestamp(kind):
        return "TIMESTAMP"
    if pt.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pt.is_list(kind) or pt.is_large_list(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if pt.is_struct(kind):
        return f"STRUCT<{', '.join(f'{f.name}: {type_name(f.type)}' for f in kind.fields)}>"
    plain_kind = READ_AS.get(kind, kind)
    return next((spark().simpleString().upper() for spark, arrow in _ARROW.items() if arrow == plain_kind), str(kind))


def slice_schema(
    vocab: DatasetVocabulary, event_time: pa.DataType, data: Sequence[T.StructField], required: frozenset[str]
) -> pa.Schema:
    """Return the schema of a new dataset's slices. Data columns are nullable except those ``required``.

    :raises InvalidQuery: slices do not support a column's type. The message has SQL that converts it.
    """
    system = zip(vocab.columns, (pa.int64(), pa.int32(), MILLISECONDS, event_time), strict=True)
    return pa.schema(
        [pa.field(name, kind, nullable=False) for name, kind in system]
        + [pa.field(f.name, top_type(f.dataType, f.name), nullable=f.name not in required) for f in data]
    )


def top_type(kind: T.DataType, name: str) -> pa.DataType:
    """Return the Arrow type in a slice for a column of a Spark type.

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
        f"column {path} is {what}, which datasets do not support (it has no logical hash); "
        f"select in preprocess, in Spark SQL: {instead}"
    )


def evolve(stored: pa.Schema, new: pa.Schema) -> pa.Schema:
    """Return the dataset's schema with the new data: the stored columns, then the new nullable ones.

    Columns are matched by name, in any order.

    :raises InvalidQuery: the new data does not match the stored schema. The message lists the differences and the next
        step.
    """
    if differences := list(_differences(stored, new)):
        raise InvalidQuery(
            "the new data does not match the dataset's schema:\n"
            + "\n".join(f"  {d}" for d in differences)
            + "\nNothing was written. A dataset can only gain nullable columns: in preprocess, select its columns with "
            "its types (`cast(... AS ...)`), rename columns that changed, or start a new dataset"
        )
    present = set(stored.names)
    return pa.schema([*stored, *(field for field in new if field.name not in present)])


def _differences(stored: pa.Schema, new: pa.Schema) -> Iterator[str]:
    before, after = set(stored.names), set(new.names)
    for name in stored.names:
        if name not in after:
            yield f"column {name} ({type_name(stored.field(name).type)}) is missing"
    for field in new:
        if field.name not in before:
            if not field.nullable:
                yield f"column {field.name} ({type_name(field.type)}) is new and NOT NULL, but null in earlier records"
            continue
        old = stored.field(field.name)
        if with_types(old.type, READ_AS) != with_types(field.type, {}):
            was, becomes = type_name(old.type), type_name(field.type)
            if was == becomes:  # units of time, which a manifest cannot express
                was, becomes = str(old.type), str(field.type)
            yield f"column {field.name} is {was} in the dataset and {becomes} in the new data"
        elif old.nullable and not field.nullable:
            yield f"column {field.name} is nullable in the dataset and NOT NULL in the new data"
