"""Types of columns and expressions, with the names of Spark's DDL, and the columns that a query sees.

Names of columns ignore case, as in Spark by default.

``UNKNOWN`` is the type of a column without a declared type; Spark finds its type in the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError

from airflow_provider_odf import protocol

_INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""Types of whole numbers, narrowest first, with their maximum number of digits."""
MAX_PRECISION = 38
EXACT_DOUBLE_DIGITS = 15
"""Maximum digits of a DECIMAL that a DOUBLE holds exactly."""
ANY_DIGITS = -1
"""Precision of a TIMESTAMP with an unknown number of fractional digits."""


@dataclass(frozen=True)
class Type:
    """A type. ``precision`` is that of a DECIMAL, or the fractional digits of a TIMESTAMP.

    The last fields are properties of columns in transforms, and not compared. ``delay`` marks an event time: rows with
    it are complete once the watermark is ``delay`` microseconds past it. ``is_system`` marks a system column."""

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()
    delay: int | None = field(default=None, compare=False)
    is_system: bool = field(default=False, compare=False)

    @property
    def is_known(self) -> bool:
        return self.name != "UNKNOWN"

    @property
    def is_integer(self) -> bool:
        return self.name in _INTEGER_DIGITS

    @property
    def is_float(self) -> bool:
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_decimal(self) -> bool:
        return self.name == "DECIMAL"

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float or self.is_decimal

    @property
    def is_timestamp(self) -> bool:
        return self.name == "TIMESTAMP"

    @property
    def is_time(self) -> bool:
        return self.name in ("DATE", "TIMESTAMP")

    @property
    def family(self) -> str:
        """The name of the type; all whole numbers are ``INTEGER``."""
        return "INTEGER" if self.is_integer else self.name

    @property
    def ddl(self) -> str:
        """The type in Spark's DDL."""
        if self.is_decimal:
            return f"DECIMAL({self.precision},{self.scale})"
        if self.element:
            return f"ARRAY<{self.element.ddl}>"
        if self.fields:
            return "STRUCT<" + ",".join(f"`{name}`: {type_.ddl}" for name, type_ in self.fields) + ">"
        return self.name

    def __str__(self) -> str:
        return self.ddl if self.is_known else "an unknown type"


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


def timestamp(digits: int = ANY_DIGITS) -> Type:
    return Type("TIMESTAMP", digits)


def decimal(precision: int, scale: int) -> Type:
    return Type("DECIMAL", precision, scale)


def advice(types: Iterable[Type], otherwise: str) -> str:
    """Return the next step after an error about types."""
    return otherwise if all(type_.is_known for type_ in types) else "declare read.schema, or use engine: spark"


@lru_cache(maxsize=1024)
def column_type(ddl: str) -> Type:
    """Return the type of a declared column, or UNKNOWN if it is not valid. Readers return times in milliseconds."""
    try:
        return of_data_type(exp.DataType.build(ddl, dialect="spark"), timestamp(3))
    except (ParseError, ValueError):
        return UNKNOWN


_BY_SQLGLOT_NAME = {
    "BOOLEAN": BOOLEAN, "TINYINT": Type("TINYINT"), "SMALLINT": Type("SMALLINT"), "INT": INT, "BIGINT": BIGINT,
    "FLOAT": FLOAT, "DOUBLE": DOUBLE, "TEXT": STRING, "VARCHAR": STRING, "CHAR": STRING, "BINARY": BINARY,
    "VARBINARY": BINARY, "DATE": DATE, "TIMESTAMPNTZ": timestamp(6), "TIME": Type("TIME"),
}  # fmt: skip


def of_data_type(data_type: exp.DataType, timestamp_type: Type) -> Type:
    """Return a parsed type, or UNKNOWN if it is not supported. ``timestamp_type`` is the type of TIMESTAMP."""
    kind = data_type.this.value if isinstance(data_type.this, exp.DType) else str(data_type.this)
    parameters = [p.this.name for p in data_type.expressions if isinstance(p, exp.DataTypeParam)]
    if kind in ("TIMESTAMP", "TIMESTAMPTZ"):
        return timestamp_type
    if kind == "DECIMAL":
        return _decimal_of(*(parameters or ["10"]))
    if kind in ("ARRAY", "LIST") and len(data_type.expressions) == 1:
        return Type("ARRAY", element=of_data_type(data_type.expressions[0], timestamp_type))
    if kind == "STRUCT":
        members = [(d.name, d.args.get("kind")) for d in data_type.expressions if isinstance(d, exp.ColumnDef)]
        fields = tuple((name, of_data_type(type_, timestamp_type)) for name, type_ in members if type_)
        return Type("STRUCT", fields=fields)
    return _BY_SQLGLOT_NAME.get(kind, UNKNOWN)


def _decimal_of(precision: str, scale: str = "0") -> Type:
    """Return a DECIMAL, or UNKNOWN if no engine has it."""
    if not all(number.isdigit() and len(number) <= len(str(MAX_PRECISION)) for number in (precision, scale)):
        return UNKNOWN
    is_valid = 0 < int(precision) <= MAX_PRECISION and int(scale) <= int(precision)
    return decimal(int(precision), int(scale)) if is_valid else UNKNOWN


def as_decimal(type_: Type) -> Type:
    """Return the DECIMAL that holds every value of a type of whole numbers; a DECIMAL is returned unchanged."""
    return decimal(_INTEGER_DIGITS[type_.name], 0) if type_.is_integer else type_


def is_exact_double(type_: Type) -> bool:
    """Return whether the engines convert the numbers of a type to the same DOUBLE."""
    return type_.is_integer or type_.is_float or (type_.is_decimal and type_.precision <= EXACT_DOUBLE_DIGITS)


def common(left: Type, right: Type) -> Type | None:
    """Return the common type of two values, or None if there is none or the engines differ. With an unknown type it is
    unknown."""
    if right == NULL or left == right:
        return left
    if left == NULL:
        return right
    if not (left.is_known and right.is_known):
        return UNKNOWN
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    return timestamp() if left.is_time and right.is_time else None


def _common_number(left: Type, right: Type) -> Type | None:
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda type_: _INTEGER_DIGITS[type_.name])
    if DOUBLE in (left, right):
        return DOUBLE if is_exact_double(left) and is_exact_double(right) else None
    if FLOAT in (left, right):
        return FLOAT if left.is_integer or right.is_integer else None
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


EVERY_COLUMN = "*"
"""Name that stands for all undeclared columns, such as the strings of a CSV without schema."""


@dataclass(frozen=True)
class Columns:
    """Columns of a table with names and types, and the type of all others (None: there are no others)."""

    items: tuple[tuple[str, Type], ...] = ()
    others: Type | None = None

    @classmethod
    def declared(cls, columns: Iterable[protocol.Column] | None) -> Columns:
        if columns is None:
            return cls(others=UNKNOWN)
        types = [(c.name, column_type(c.type)) for c in columns]
        others = [type_ for name, type_ in types if name == EVERY_COLUMN]
        return cls(tuple(item for item in types if item[0] != EVERY_COLUMN), others[0] if others else None)

    def delayed(self, delay: int | None) -> Columns:
        """Return the columns with another delay of their event times. With None these are ordinary times."""
        items = [(n, t if t.delay is None else replace(t, delay=delay)) for n, t in self.items]
        return replace(self, items=tuple(items))

    def type_of(self, name: str) -> Type | None:
        """Return the type of a column, or None if the table cannot have it."""
        return next((type_ for item, type_ in self.items if item.lower() == name.lower()), self.others)


@dataclass(frozen=True)
class Scope:
    """The tables of a FROM clause by name, and the scope of the outer query."""

    tables: Mapping[str, Columns] = field(default_factory=dict)
    outer: Scope | None = None

    def table(self, name: str) -> Columns | None:
        """Return the columns of a table of this scope or an outer one."""
        outer = self.outer.table(name) if self.outer else None
        return next((columns for table, columns in self.tables.items() if table.lower() == name.lower()), outer)

    def type_of(self, name: str) -> Type | None:
        """Return the type of a column without table name, or None if no table can have it."""
        certain = [t for columns in self.tables.values() for n, t in columns.items if n.lower() == name.lower()]
        possible = certain or [c.others for c in self.tables.values() if c.others is not None]
        if possible:
            return possible[0] if len(set(possible)) == 1 else UNKNOWN
        return self.outer.type_of(name) if self.outer else None

    def delayed(self, delay: int | None) -> Scope:
        return replace(self, tables={name: columns.delayed(delay) for name, columns in self.tables.items()})

    @property
    def names(self) -> list[str]:
        """Names of the columns, for messages."""
        return [name for columns in self.tables.values() for name, _ in columns.items]
