"""Rules for the clauses of a contract: a verdict from the schema alone, or Spark SQL that is true for failing rows.

Names are compared ignoring case, as everywhere in the engine. ``address.city`` is a field of a struct unless a column
has that name. Nulls fail only the clause ``required``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import ddl, text
from airflow_provider_odf.protocol import Check

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_TYPES: dict[str, tuple[type[T.DataType], ...]] = {
    **dict.fromkeys(("string", "text", "varchar"), (T.StringType,)),
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
"""Logical type of a contract -> Spark types of columns that can hold it. Wider types are tested value by value."""

_MAX_FLOAT = "3.4028235e38D"


@dataclass(frozen=True)
class Found:
    """The column or nested field of a clause; ``sql`` refers to it."""

    sql: str
    type: T.DataType

    @property
    def type_name(self) -> str:
        return self.type.simpleString()

    @property
    def text(self) -> str:
        """SQL that converts the value to text."""
        return f"hex({self.sql})" if isinstance(self.type, T.BinaryType) else f"CAST({self.sql} AS STRING)"


@dataclass(frozen=True)
class Verdict:
    """Outcome of a clause that follows from the schema."""

    outcome: str
    expected: str = ""
    actual: str = ""


@dataclass(frozen=True)
class Rule:
    """A test of rows: the SQL ``broken`` is true for failing rows, and ``expected`` describes valid values."""

    broken: str
    expected: str


def find(schema: T.StructType, path: str) -> Found | None:
    """Return the column or nested field at a path, None if there is none."""
    if name := _named(schema, path):
        return Found(quoted(name), schema[name].dataType)
    found = Found("", schema)
    for part in path.split("."):
        inner = _named(found.type, part)
        if inner is None or not isinstance(found.type, T.StructType):
            return None
        found = Found(f"{found.sql}.{quoted(inner)}".lstrip("."), found.type[inner].dataType)
    return found


def _named(parent: T.DataType, name: str) -> str | None:
    names = parent.fieldNames() if isinstance(parent, T.StructType) else []
    return name if name in names else next((n for n in names if n.lower() == name.lower()), None)


def judge(check: Check, found: Found) -> Rule | Verdict:
    """Return the verdict or the rule for a clause on an existing column."""
    if check.kind not in _JUDGES:
        return Verdict("error", "", f"this engine knows no clause of kind {check.kind}")
    return _JUDGES[check.kind](check, found)


def _present(check: Check, found: Found) -> Verdict:
    return Verdict("pass", "a column", found.type_name)


def _type(check: Check, found: Found) -> Rule | Verdict:
    expected = str(check.arguments["type"])
    if expected not in _TYPES:
        return Verdict("unsupported", expected, found.type_name)
    if not isinstance(found.type, _TYPES[expected]):
        return Verdict("fail", expected, found.type_name)
    if misfit := _misfit(expected, found):
        return Rule(misfit, expected)
    return Verdict("pass", expected, found.type_name)


def _misfit(expected: str, found: Found) -> str | None:
    """Return SQL that is true for values too large for the logical type, None if all values fit."""
    c = found.sql
    if expected == "null" and not isinstance(found.type, T.NullType):
        return f"{c} IS NOT NULL"
    if expected in ("int", "integer") and isinstance(found.type, T.LongType):
        return f"{c} NOT BETWEEN -2147483648 AND 2147483647"
    if expected == "float" and isinstance(found.type, T.DoubleType):
        return f"NOT isnan({c}) AND abs({c}) != double('Infinity') AND abs({c}) > {_MAX_FLOAT}"
    return None


def _required(check: Check, found: Found) -> Rule:
    return Rule(f"{found.sql} IS NULL", "not null")


def _enum(check: Check, found: Found) -> Rule:
    texts = [str(value) for value in check.arguments["values"]]
    # A text that the column's type cannot represent becomes null and equals no value.
    values = ", ".join(f"try_cast({text(value)} AS {ddl(found.type)})" for value in texts) or "NULL"
    return Rule(
        f"{found.sql} IS NOT NULL AND NOT coalesce({found.sql} IN ({values}), false)", f"one of {', '.join(texts)}"
    )


def _pattern(check: Check, found: Found) -> Rule | Verdict:
    pattern = check.arguments["pattern"]
    java = str(check.arguments.get("java", pattern))
    return _on(T.StringType, check, found) or Rule(f"NOT {found.sql} RLIKE {text(java)}", f"matches {pattern}")


def _length(opposite: str, words: str) -> Callable[[Check, Found], Rule | Verdict]:
    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = int(check.arguments["limit"])
        broken = f"char_length({found.sql}) {opposite} {limit}"
        return _on(T.StringType, check, found) or Rule(broken, f"{words} {limit} characters")

    return judge


def _range(opposite: str, words: str) -> Callable[[Check, Found], Rule | Verdict]:
    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = check.arguments["limit"]
        broken = f"{found.sql} {opposite} {_number(limit, found.type)}"
        if isinstance(found.type, T.FloatType | T.DoubleType):
            # Spark orders NaN above every number. No range includes it.
            broken = f"({broken} OR isnan({found.sql}))"
        return _on(T.NumericType, check, found) or Rule(broken, f"{words} {limit}")

    return judge


def _on(kind: type[T.DataType], check: Check, found: Found) -> Verdict | None:
    """Return the verdict on a clause that does not apply to the column's type, None if it applies.

    The clause fails if the contract declares a type. Otherwise the specification gives it no meaning.
    """
    if isinstance(found.type, kind):
        return None
    outcome = "fail" if "type" in check.arguments else "informational"
    return Verdict(outcome, "", f"does not apply to {found.type_name}")


def _number(limit: int | float, column: T.DataType) -> str:
    """Return a limit as SQL: decimal for exact types, the column's own type for binary ones (0.7 is not 0.7f)."""
    if isinstance(column, T.FloatType | T.DoubleType):
        return f"CAST('{limit!r}' AS {column.simpleString()})"
    return f"{Decimal(repr(limit)):f}BD"


_JUDGES: dict[str, Callable[[Check, Found], Rule | Verdict]] = {
    "field_present": _present,
    "field_type": _type,
    "required": _required,
    "enum": _enum,
    "pattern": _pattern,
    "min_length": _length("<", "at least"),
    "max_length": _length(">", "at most"),
    "minimum": _range("<", ">="),
    "exclusive_minimum": _range("<=", ">"),
    "maximum": _range(">", "<="),
    "exclusive_maximum": _range(">=", "<"),
}
