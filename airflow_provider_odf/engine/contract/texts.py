"""Logical types of a contract: the types of Spark that can hold them, and how text becomes values of them.

Types are compared as objects, never as text. A wider column is tested value by value.

Text of CSV and JSON is converted as strictly as the types are: null for what is no such value. A DATE has no time, a
timestamp without a zone has no offset, and a number no spaces. JSON has types of its own: ``"12"`` is no number, and
``12`` no string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import numbers
from airflow_provider_odf.engine.read.scalar import Formats, scalar
from airflow_provider_odf.engine.sql import Sql, matches, when

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

_MAX_FLOAT, _INFINITY = "CAST('3.4028235e38' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"


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


def replaced(kind: T.DataType, others: Callable[[T.DataType, str], T.DataType | None], path: str = "") -> T.DataType:
    """Return a type with other types in place of it, or of those inside it; ``others`` returns them by type and path,
    None for what stays."""
    if (other := others(kind, path)) is not None:
        return other
    match kind:
        case T.StructType():
            paths = {f.name: f"{path}.{f.name}" if path else f.name for f in kind}
            return T.StructType([T.StructField(f.name, replaced(f.dataType, others, paths[f.name])) for f in kind])
        case T.ArrayType():
            return T.ArrayType(replaced(kind.elementType, others, f"{path}[]"))
        case T.MapType():
            return T.MapType(kind.keyType, replaced(kind.valueType, others, f"{path}{{value}}"))
        case _:
            return kind


def combined(
    kinds: Iterable[T.DataType], leaf: Callable[[Sequence[T.DataType]], T.DataType | None]
) -> T.DataType | None:
    """Return the type that holds values of all types, None if there is none. ``leaf`` returns it for types that differ
    and are not all structs, arrays, or maps of the same keys. Every type holds nulls."""
    some = [kind for kind in kinds if not isinstance(kind, T.NullType)]
    if not some:
        return T.NullType()
    structs = [kind for kind in some if isinstance(kind, T.StructType)]
    arrays = [kind.elementType for kind in some if isinstance(kind, T.ArrayType)]
    maps = [kind for kind in some if isinstance(kind, T.MapType)]
    if len(structs) == len(some):
        names: dict[str, list[T.DataType]] = {}
        for f in chain.from_iterable(structs):
            names.setdefault(f.name, []).append(f.dataType)
        types = {name: combined(of, leaf) for name, of in names.items()}
        fields = [T.StructField(name, kind) for name, kind in types.items() if kind is not None]
        return T.StructType(fields) if len(fields) == len(types) else None
    if len(arrays) == len(some):
        element = combined(arrays, leaf)
        return None if element is None else T.ArrayType(element)
    if len(maps) == len(some) and all(kind.keyType == maps[0].keyType for kind in maps):
        value = combined((kind.valueType for kind in maps), leaf)
        return None if value is None else T.MapType(maps[0].keyType, value)
    return some[0] if all(kind == some[0] for kind in some) else leaf(some)


def with_variants_as_text(kind: T.DataType) -> T.DataType:
    """Return a type with strings in place of variants, and of structs without fields, which Parquet lacks."""
    is_text = (T.VariantType(), T.StructType())
    return replaced(kind, lambda inner, _: T.StringType() if inner in is_text else None)


def with_decimals_as_text(kind: T.DataType) -> T.DataType:
    """Return a type with strings in place of decimals."""
    return replaced(kind, lambda inner, _: T.StringType() if isinstance(inner, T.DecimalType) else None)


def misfit(logical: str, value: str, kind: T.DataType) -> str | None:
    """Return SQL that is true for values that the logical type lacks, None if all values fit."""
    if logical == "null" and not isinstance(kind, T.NullType):
        return f"{value} IS NOT NULL"
    if logical in ("int", "integer") and isinstance(kind, T.LongType):
        return f"{value} NOT BETWEEN -2147483648 AND 2147483647"
    if logical == "float" and isinstance(kind, T.DoubleType):
        return f"NOT isnan({value}) AND abs({value}) != {_INFINITY} AND abs({value}) > {_MAX_FLOAT}"
    return None


_FORMATS = Formats(is_base64=True, has_millis=False)
_DATE = r"^\d{4}-\d{2}-\d{2}\z"
_WITHOUT_ZONE = r"^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?\z"
_FORMS: Mapping[type[T.DataType], str] = {T.DateType: _DATE, T.TimestampNTZType: _WITHOUT_ZONE}
_NO_NUMBER = r"^(NaN|[+-]?Infinity)\z"
_BASE64 = r"^[A-Za-z0-9+/]*={0,2}\z"

NUMBER, BOOLEAN, STRING = "number", "boolean", "string"
_KIND_OF_VARIANT = {STRING: "= 'STRING'", BOOLEAN: "= 'BOOLEAN'", NUMBER: "RLIKE '^(BIGINT|DECIMAL|DOUBLE|FLOAT)'"}


@dataclass(frozen=True)
class Declared:
    """The logical types of the fields of a contract, by path in lower case, for data that consist of text.

    ``kinds`` are the types that JSON has for all values of a field: ``number`` or ``boolean``. Fields with several are
    of type VARIANT. For CSV, whose values are all text, it is None.
    """

    types: Mapping[str, str]
    kinds: Mapping[str, str] | None = None

    def of(self, path: str) -> Text | None:
        """Return how values of a field are read, None for fields without a type that text can have."""
        logical = self.types.get(path.lower())
        return Text(logical, (self.kinds or {}).get(path.lower(), "")) if logical in SCALARS else None


@dataclass(frozen=True)
class Text:
    """How the text of a field is read as a logical type; ``kind`` is the type of all values in JSON, if known."""

    logical: str
    kind: str = ""
    type: T.DataType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", READ_AS.get(self.logical, T.StringType()))

    @property
    def is_exact(self) -> bool:
        """Whether values are numbers of any size, which stay text."""
        return self.logical in DECIMALS

    def raw(self, value: Sql, stored: T.DataType) -> Sql:
        """Return SQL for the text of a value."""
        return f"CAST({value} AS STRING)" if isinstance(stored, T.VariantType) else value

    def usable(self, value: Sql, stored: T.DataType) -> Sql:
        """Return SQL for the text of a value that has the type of JSON for the logical type, null for others."""
        raw = self.raw(value, stored)
        if isinstance(stored, T.VariantType):
            text = when(f"schema_of_variant({value}) {_KIND_OF_VARIANT[_kind_of(self.type)]}", raw)
            # A number beyond DOUBLE is an infinite variant, which JSON does not have.
            return f"nullif(nullif({text}, 'Infinity'), '-Infinity')" if _kind_of(self.type) == NUMBER else text
        return raw if self.kind in ("", _kind_of(self.type)) else "CAST(NULL AS STRING)"

    def typed(self, text: Sql) -> Sql:
        """Return SQL for a text as a value of the type, null for other texts."""
        if self.is_exact:
            return numbers.let("k_", numbers.order_key(text), numbers.as_decimal(text, "k_"))
        if isinstance(self.type, T.LongType):
            return numbers.as_bigint(text)
        if isinstance(self.type, T.DoubleType):
            double = scalar(text, self.type, _FORMATS, "")
            return when(f"{numbers.is_number(text)} OR {matches(text, _NO_NUMBER)}", double)
        if isinstance(self.type, T.BooleanType):
            return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false END"
        form = _FORMS.get(type(self.type))
        value = scalar(text, self.type, _FORMATS, "")
        if isinstance(self.type, T.BinaryType):  # Spark decodes texts without their padding, too
            return when(f"length({text}) % 4 = 0 AND {matches(text, _BASE64)}", value)
        return when(matches(text, form), value) if form else value


def of_column(kind: T.DataType) -> Text | None:
    """Return how text is read as a value of a column's type, None if no logical type is read so."""
    names = (name for name, read_as in READ_AS.items() if isinstance(kind, type(read_as)))
    return next((Text(name) for name in names), None)


def _kind_of(kind: T.DataType) -> str:
    if isinstance(kind, T.NumericType):
        return NUMBER
    return BOOLEAN if isinstance(kind, T.BooleanType) else STRING
