"""Which contracts DataFusion tests as Spark does: those whose SQL means the same in both.

What is not in the tables here is tested by Spark, and then the whole contract is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.clauses import KINDS
from airflow_provider_odf.engine.contract.fields import FieldSql, field_at
from airflow_provider_odf.engine.contract.formats import FORMATS
from airflow_provider_odf.protocol import Check, Contract

Types: TypeAlias = tuple[type[T.DataType], ...]

_TEXT: Types = (T.StringType,)
_SHORT: Types = (T.ByteType, T.ShortType, T.IntegerType)
_EXACT: Types = (*_SHORT, T.LongType, T.DecimalType)
_NUMBERS: Types = (*_EXACT, T.FloatType, T.DoubleType)
_TIMES: Types = (T.DateType, T.TimestampType, T.TimestampNTZType)
SCALARS: Types = (*_TEXT, *_NUMBERS, *_TIMES, T.BooleanType, T.BinaryType)
"""Types of columns whose values can be shown."""

_ANY: Types = (T.DataType,)

_MEASURES: Mapping[str, Types] = {
    **dict.fromkeys(("rows", "columns", "column"), _ANY),
    **dict.fromkeys(("type", "null", "key"), SCALARS),
    **dict.fromkeys(("match", "format", "length"), _TEXT),
    "text": (*_TEXT, *_NUMBERS, T.BooleanType),
    "literal": (*_TEXT, *_SHORT, T.LongType),
    "value": (*_NUMBERS, *_TIMES),
}
"""Measure of the table of clauses -> types of columns of which it is the same."""

_METRICS: Mapping[str, Types] = {
    **dict.fromkeys(("row_count", "column_count", "columns_exist"), _ANY),
    **dict.fromkeys(("null_values", "present_values"), SCALARS),
    **dict.fromkeys(("duplicate_values", "repeated_rows", "distinct_values", "distinct_share"), SCALARS),
    **dict.fromkeys(("missing_values", "invalid_values", "violations"), SCALARS),
    **dict.fromkeys(("min", "max"), _EXACT),
    **dict.fromkeys(("sum", "avg"), _SHORT),  # whose sums fit in BIGINT and are exact in DOUBLE
    **dict.fromkeys(("min_length", "max_length", "avg_length"), _TEXT),
}
"""Metric of a quality rule -> types of columns of which it is the same."""

_WITH_SAME_TEXT: Types = (*_TEXT, *_SHORT, T.LongType, T.BooleanType)
"""Types whose values both cast to the same text."""


def why_spark(contract: Contract, schema: T.StructType | None, keys: Iterable[str] = ()) -> str:
    """Return why Spark must test a contract, empty if DataFusion can.

    :param schema: the columns; without it, only the contract counts.
    :param keys: columns that reports show.
    """
    for check in contract.checks:
        if not check.outcome and (why := _reason(check, schema)):
            return f"{check.kind} of {check.field or check.model}: {why}"
    return _unshown(keys, schema) if schema is not None else ""


def _reason(check: Check, schema: T.StructType | None) -> str:
    arguments, measure = check.arguments, KINDS[check.kind].measure if check.kind in KINDS else "column"
    types = _MEASURES.get(measure) if measure != "metric" else _METRICS.get(str(arguments.get("metric")))
    if types is None:
        return "it needs Spark"
    if (why := _of_arguments(measure, arguments)) or schema is None or types is _ANY:
        return why
    fields = (field_at(schema, path) for path in (check.field, *check.columns) if path)
    return next(filter(None, (_of_field(check, types, field) for field in fields if field is not None)), "")


def _of_arguments(measure: str, arguments: Mapping[str, Any]) -> str:
    if measure in ("match", "format") and not _is_re2(arguments):
        return "its pattern could mean something else without Java"
    if measure == "literal" and not all(isinstance(v, str) or _is_int(v) for v in arguments["values"]):
        return _MIXED
    if arguments.get("ignore_row_if", "any_value_is_missing") != "any_value_is_missing":
        return "keys with nulls need Spark"
    whys = (_of_arguments(KINDS[r["kind"]].measure, r["arguments"]) for r in _rules(arguments))
    return next(filter(None, whys), "")


_MIXED = "values of several types are compared as Spark does"


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _rules(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("missing_rules", "rules", "forbidden"):
        yield from arguments.get(name, ())


def _of_field(check: Check, types: Types, field: FieldSql) -> str:
    if _is_nested(field):
        return "it is about a nested field"
    if not isinstance(field.type, types):
        return f"it is about a column of type {field.type_name}"
    arguments = check.arguments
    if KINDS[check.kind].measure == "literal" and not _are_of(field.type, arguments["values"]):
        return _MIXED
    has_text = "missing" in arguments or any(rule["arguments"].get("as_text") for rule in _rules(arguments))
    if has_text and not isinstance(field.type, _WITH_SAME_TEXT):
        return f"values of type {field.type_name} are compared as text"
    for rule in _rules(arguments):
        kind = T.StringType() if rule["arguments"].get("as_text") else field.type
        measure = KINDS[rule["kind"]].measure
        if not isinstance(kind, _MEASURES.get(measure, ())):
            return f"{rule['kind']} of a column of type {kind.simpleString()} needs Spark"
        if measure == "literal" and not _are_of(kind, rule["arguments"]["values"]):
            return _MIXED
    return ""


def _are_of(kind: T.DataType, values: Iterable[object]) -> bool:
    return all(isinstance(value, str) == isinstance(kind, T.StringType) for value in values)


def _unshown(keys: Iterable[str], schema: T.StructType) -> str:
    fields = {key: field for key in keys if (field := field_at(schema, key)) is not None}
    return next((f"the key {key} is of type {f.type_name}" for key, f in fields.items() if not _is_scalar(f)), "")


def _is_scalar(field: FieldSql) -> bool:
    return isinstance(field.type, SCALARS) and not _is_nested(field)


def _is_nested(field: FieldSql) -> bool:
    return bool(field.levels or field.parent)


_ESCAPE = r"\\(?:[dwDWsS]|x\{[0-9a-f]+\}|[!-/:-@\[-`{-~ ])"
_IN_CLASS = r"(?:[^\\\[\]&^-]|\\x\{[0-9a-f]+\}|\\[!-/:-@\[-`{-~ ])"
_CLASS = rf"\[\^?(?:\\[dws]|{_IN_CLASS}(?:-{_IN_CLASS})?)*-?\]"
_REPEAT = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{])"
_SAME = re.compile(rf"(?:{_CLASS}|{_ESCAPE}|\\[Az]|\(\?:|\((?!\?)|[)|^$.]|[^\\\[\](){{}}.*+?^$|]|{_REPEAT})*")


def _is_re2(arguments: Mapping[str, Any]) -> bool:
    """Whether RE2 finds a pattern of Java in the same texts (`contains`)."""
    if "re2" in arguments:
        return True
    form = arguments.get("format")
    pattern = FORMATS[str(form)] if form else str(arguments.get("java", arguments.get("pattern")))
    if not _SAME.fullmatch(pattern):
        return False
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid:
        return False
    return True


_JAVA_ONLY = r"[\n\x0b\r\x{85}\x{2028}\x{2029}]"
"""Characters with which ``.``, ``$`` and ``\\s`` of Java and RE2 differ."""


def contains(values: pa.Array, patterns: pa.Array) -> pa.Array:
    """Return whether texts match a pattern.

    :raises ValueError: Java and RE2 could differ.
    """
    if not len(values):
        return values.cast(pa.bool_())
    pattern = patterns[0].as_py()
    if re.search(r"[.$]|\\[sS]", pattern) and pc.any(pc.match_substring_regex(values, _JAVA_ONLY)).as_py():
        raise ValueError("a text has the end of a line")
    return pc.match_substring_regex(values, pattern)
