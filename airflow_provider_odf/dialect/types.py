"""Types of columns and expressions as the translations reason about them.

Names are those of Spark's DDL. A source engine knows more about some types than Spark does (a timestamp's unit decides
what DataFusion's ``CAST(ts AS BIGINT)`` means), and that is kept here. ``UNKNOWN`` is the type of a column whose schema
is only known when Spark has read the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
MAX_PRECISION = 38


@dataclass(frozen=True)
class Type:
    """A type; ``unit`` (s, ms, us, ns; "" is unknown) and ``is_zoned`` belong to TIMESTAMP, ``element`` to ARRAY."""

    name: str
    precision: int = 0
    scale: int = 0
    unit: str = ""
    is_zoned: bool = False
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    @property
    def is_known(self) -> bool:
        return self.name != "UNKNOWN"

    @property
    def is_integer(self) -> bool:
        return self.name in _INTEGERS

    @property
    def is_float(self) -> bool:
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float or self.name == "DECIMAL"

    @property
    def ddl(self) -> str:
        """The type as Spark writes it."""
        if self.name == "DECIMAL":
            return f"DECIMAL({self.precision},{self.scale})"
        if self.name == "ARRAY" and self.element:
            return f"ARRAY<{self.element.ddl}>"
        if self.name == "STRUCT" and self.fields:
            return "STRUCT<" + ",".join(f"`{name}`: {type_.ddl}" for name, type_ in self.fields) + ">"
        return self.name

    def __str__(self) -> str:
        return self.ddl if self.is_known else "a type that is not known"


UNKNOWN = Type("UNKNOWN")
NULL = Type("VOID")
BOOLEAN = Type("BOOLEAN")
INT = Type("INT")
BIGINT = Type("BIGINT")
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BINARY = Type("BINARY")
DATE = Type("DATE")
INTERVAL = Type("INTERVAL")


def timestamp(unit: str = "", *, is_zoned: bool = False) -> Type:
    return Type("TIMESTAMP", unit=unit, is_zoned=is_zoned)


def decimal(precision: int, scale: int) -> Type:
    return Type("DECIMAL", precision, scale)


def array(element: Type) -> Type:
    return Type("ARRAY", element=element)


@lru_cache(maxsize=1024)
def column_type(ddl: str) -> Type:
    """The type of a declared column, UNKNOWN if not understood; readers' TIMESTAMP has milliseconds and is UTC."""
    try:
        return of_data_type(exp.DataType.build(ddl, dialect="spark"), timestamp("ms", is_zoned=True))
    except (ParseError, ValueError):
        return UNKNOWN


_BY_SQLGLOT_NAME = {
    "BOOLEAN": BOOLEAN, "TINYINT": Type("TINYINT"), "SMALLINT": Type("SMALLINT"), "INT": INT, "BIGINT": BIGINT,
    "FLOAT": FLOAT, "DOUBLE": DOUBLE, "TEXT": STRING, "VARCHAR": STRING, "CHAR": STRING, "BINARY": BINARY,
    "VARBINARY": BINARY, "DATE": DATE, "TIMESTAMPNTZ": timestamp("us"), "TIME": Type("TIME"),
}  # fmt: skip


def of_data_type(data_type: exp.DataType, timestamp_type: Type) -> Type:
    """The type of a parsed type name, UNKNOWN if not understood; ``timestamp_type`` is what a bare TIMESTAMP means."""
    kind = data_type.this.value if isinstance(data_type.this, exp.DType) else str(data_type.this)
    parameters = [p.this for p in data_type.expressions if isinstance(p, exp.DataTypeParam)]
    if kind in ("TIMESTAMP", "TIMESTAMPTZ"):
        return timestamp_type
    if kind == "DECIMAL":
        return _decimal_of([p.name for p in parameters] or ["10"])
    if kind in ("ARRAY", "LIST") and len(data_type.expressions) == 1:
        return array(of_data_type(data_type.expressions[0], timestamp_type))
    if kind == "STRUCT":
        members = [(d.name, d.args.get("kind")) for d in data_type.expressions if isinstance(d, exp.ColumnDef)]
        fields = tuple((name, of_data_type(type_, timestamp_type)) for name, type_ in members if type_)
        return Type("STRUCT", fields=fields)
    return _BY_SQLGLOT_NAME.get(kind, UNKNOWN)


def _decimal_of(parameters: list[str]) -> Type:
    """UNKNOWN if no engine has such a DECIMAL."""
    precision, scale = (*parameters, "0")[:2]
    if not all(number.isdigit() and len(number) <= len(str(MAX_PRECISION)) for number in (precision, scale)):
        return UNKNOWN
    is_valid = 0 < int(precision) <= MAX_PRECISION and int(scale) <= int(precision)
    return decimal(int(precision), int(scale)) if is_valid else UNKNOWN


def as_decimal(type_: Type) -> Type:
    """The decimal that holds every value of an integer type; a decimal is itself."""
    return decimal(_DIGITS[type_.name], 0) if type_.is_integer else type_


def common(left: Type, right: Type) -> Type | None:
    """The type in which DataFusion, Flink and Spark all put two values side by side; None where they do not agree.

    One unknown side makes the result unknown."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if not (left.is_known and right.is_known):
        return UNKNOWN
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    times = {left.name, right.name}
    if "TIMESTAMP" in times and times <= {"TIMESTAMP", "DATE"}:
        unit = left.unit if left.unit == right.unit else ""
        return timestamp(unit, is_zoned=left.is_zoned or right.is_zoned)
    return None


def _common_number(left: Type, right: Type) -> Type | None:
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda t: _INTEGERS.index(t.name))
    if "DOUBLE" in (left.name, right.name):
        return DOUBLE
    if "FLOAT" in (left.name, right.name):
        return FLOAT if left.is_integer or right.is_integer else None
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    return decimal(precision, scale) if precision <= MAX_PRECISION else None
