"""Logical types of a contract, and the types of Spark that can hold them.

Types are compared as objects, never as text. A wider column is tested value by value.
"""

from __future__ import annotations

from pyspark.sql import types as T  # noqa: N812

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
TYPES: dict[str, tuple[type[T.DataType], ...]] = {
    **dict.fromkeys(("string", "text", "varchar"), (T.StringType, T.VarcharType, T.CharType)),
    **dict.fromkeys(("number", "decimal", "numeric"), (T.NumericType,)),
    **dict.fromkeys(("int", "integer", "long", "bigint"), _INTEGERS),
    **dict.fromkeys(("float", "double"), (T.FloatType, T.DoubleType)),
    **dict.fromkeys(("timestamp", "timestamp_tz"), (T.TimestampType,)),
    **dict.fromkeys(("object", "record", "struct"), (T.StructType,)),
    "boolean": (T.BooleanType,),
    "timestamp_ntz": (T.TimestampNTZType,),
    "date": (T.DateType,),
    "time": (T.TimeType,),
    "bytes": (T.BinaryType,),
    "array": (T.ArrayType,),
    "map": (T.MapType,),
    "variant": (T.VariantType,),
    "null": (T.DataType,),
}
"""Logical type -> types of columns that can hold it."""

READ_AS: dict[str, T.DataType] = {
    **dict.fromkeys(("number", "decimal", "numeric"), T.DecimalType(38, 18)),
    **dict.fromkeys(("int", "integer", "long", "bigint"), T.LongType()),
    **dict.fromkeys(("float", "double"), T.DoubleType()),
    **dict.fromkeys(("timestamp", "timestamp_tz"), T.TimestampType()),
    "timestamp_ntz": T.TimestampNTZType(),
    "date": T.DateType(),
    "time": T.TimeType(),
    "boolean": T.BooleanType(),
    "bytes": T.BinaryType(),
    "variant": T.VariantType(),
}
"""Logical type -> type that text of a file is read as. Narrow types are tested value by value."""

DECIMALS = frozenset({"number", "decimal", "numeric"})
"""Logical types of numbers of any size."""

SCALARS = frozenset({*READ_AS, "string", "text", "varchar", "null"}) - {"variant"}
"""Logical types that the text of one value can have."""

_MAX_FLOAT = "3.4028235e38D"


def can_hold(kind: T.DataType, logical: str) -> bool:
    """Whether a column of a type can hold values of a logical type. A column of nulls can hold any."""
    return isinstance(kind, (*TYPES[logical], T.NullType))


def are_same(one: T.DataType, other: T.DataType) -> bool:
    """Whether two types are the same, whatever they say about nulls."""
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        pairs = zip(one.fields, other.fields, strict=False)
        names = len(one) == len(other) and all(a.name.lower() == b.name.lower() for a, b in pairs)
        return names and all(are_same(a.dataType, b.dataType) for a, b in zip(one, other, strict=True))
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        return are_same(one.elementType, other.elementType)
    if isinstance(one, T.MapType) and isinstance(other, T.MapType):
        return are_same(one.keyType, other.keyType) and are_same(one.valueType, other.valueType)
    return one == other


def has_variants(kind: T.DataType) -> bool:
    """Whether a type is VARIANT or contains it."""
    return with_variants_as_text(kind) != kind


def with_variants_as_text(kind: T.DataType) -> T.DataType:
    """Return a type with strings in place of variants, and of structs without fields, which Parquet lacks."""
    match kind:
        case T.VariantType() | T.StructType(fields=[]):
            return T.StringType()
        case T.StructType():
            return T.StructType([T.StructField(f.name, with_variants_as_text(f.dataType)) for f in kind])
        case T.ArrayType():
            return T.ArrayType(with_variants_as_text(kind.elementType))
        case T.MapType():
            return T.MapType(kind.keyType, with_variants_as_text(kind.valueType))
        case _:
            return kind


def with_decimals_as_text(kind: T.DataType) -> T.DataType:
    """Return a type with strings in place of decimals."""
    match kind:
        case T.DecimalType():
            return T.StringType()
        case T.StructType():
            return T.StructType([T.StructField(f.name, with_decimals_as_text(f.dataType)) for f in kind])
        case T.ArrayType():
            return T.ArrayType(with_decimals_as_text(kind.elementType))
        case T.MapType():
            return T.MapType(kind.keyType, with_decimals_as_text(kind.valueType))
        case _:
            return kind


def misfit(logical: str, value: str, kind: T.DataType) -> str | None:
    """Return SQL that is true for values that the logical type lacks, None if all values fit."""
    if logical == "null" and not isinstance(kind, T.NullType):
        return f"{value} IS NOT NULL"
    if logical in ("int", "integer") and isinstance(kind, T.LongType):
        return f"{value} NOT BETWEEN -2147483648 AND 2147483647"
    if logical == "float" and isinstance(kind, T.DoubleType):
        return f"NOT isnan({value}) AND abs({value}) != double('Infinity') AND abs({value}) > {_MAX_FLOAT}"
    return None
