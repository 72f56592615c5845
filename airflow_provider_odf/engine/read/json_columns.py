"""JSON objects as raw columns: the texts of declared columns, and a schema for objects without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import types as st

from airflow_provider_odf.engine.read.json_text import Number
from airflow_provider_odf.engine.read.json_values import brief, compact
from airflow_provider_odf.engine.read.problem import Malformed
from airflow_provider_odf.engine.read.scalar import MILLIS, NESTED
from airflow_provider_odf.read_steps import MAX_DEPTH

Raw: TypeAlias = str | list[Any] | dict[str, Any] | None


def arrow_type(kind: st.DataType) -> pa.DataType:
    """Return the type of a raw value: text, or lists, structs and maps of text."""
    if isinstance(kind, st.ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, st.MapType):
        return pa.map_(pa.string(), arrow_type(kind.valueType))
    if isinstance(kind, st.StructType):
        return pa.struct([pa.field(f"r{i}", arrow_type(f.dataType)) for i, f in enumerate(kind)])
    return pa.string()


def find(record: dict[str, Any], name: str) -> Any:
    """Return the value of a key, or None. Keys are matched ignoring case, unless two differ only by case.

    :raises Malformed: several keys match, and none exactly.
    """
    if name in record:
        return record[name]
    matching = [key for key in record if key.lower() == name.lower()]
    if len(matching) > 1:
        raise Malformed(f"column {name}: the keys {' and '.join(matching)} differ only by case")
    return record[matching[0]] if matching else None


def raw_value(value: Any, kind: st.DataType, path: str) -> Raw:
    """Return a JSON value as the raw value of a column.

    :raises Malformed: the schema has ARRAY and the value is no array, or STRUCT or MAP and it is no object.
    """
    if value is None:
        return None
    if isinstance(kind, st.ArrayType):
        _expect(value, list, kind, path)
        return [raw_value(v, kind.elementType, f"{path}[]") for v in value]
    if isinstance(kind, st.StructType):
        _expect(value, dict, kind, path)
        return {f"r{i}": raw_value(find(value, f.name), f.dataType, f"{path}.{f.name}") for i, f in enumerate(kind)}
    if isinstance(kind, st.MapType):
        _expect(value, dict, kind, path)
        return [(key, raw_value(v, kind.valueType, f"{path}{{}}")) for key, v in value.items()]
    return _text(value, kind)


def undeclared_keys(value: Any, kind: st.DataType, path: str = "") -> Iterator[str]:
    """Yield the keys of a value, and of nested values, that its type has no field for: ``a``, ``a.b``, ``a[].b``."""
    if isinstance(kind, st.ArrayType) and isinstance(value, list):
        for v in value:
            yield from undeclared_keys(v, kind.elementType, f"{path}[]")
    elif isinstance(kind, st.MapType) and isinstance(value, dict):
        for v in value.values():
            yield from undeclared_keys(v, kind.valueType, f"{path}{{}}")
    elif isinstance(kind, st.StructType) and isinstance(value, dict):
        fields = {f.name.lower(): f for f in kind}
        for key, v in value.items():
            f = fields.get(key.lower())
            name = f"{path}.{key}" if path else key
            if f is None or (f.name != key and f.name in value):
                yield name
            elif isinstance(f.dataType, NESTED):
                yield from undeclared_keys(v, f.dataType, name)


def _expect(value: Any, form: type, kind: st.DataType, path: str) -> None:
    if not isinstance(value, form):
        raise Malformed(f"column {path}: {brief(value)} is not {kind.simpleString().upper()}")


def _text(value: Any, kind: st.DataType) -> str:
    if isinstance(kind, st.VariantType):
        return compact(value)
    if isinstance(value, Number):
        if isinstance(kind, st.TimestampType | st.TimestampNTZType):
            return MILLIS + _whole(value)
        return _whole(value) if isinstance(kind, st.IntegralType) else str(value)
    if isinstance(value, str):
        # A text in the data must not pass as a marked number.
        return f" {value}" if value.startswith(MILLIS) and isinstance(kind, st.TimestampType) else value
    return compact(value)


def _whole(number: str) -> str:
    """Return ``1.0`` and ``1e2`` as ``1`` and ``100``, and other numbers unchanged."""
    if number.lstrip("-").isdigit():
        return str(number)
    try:
        exact = Decimal(number)
        return str(int(exact)) if exact.adjusted() < 40 and exact == exact.to_integral_value() else str(number)
    except (InvalidOperation, ValueError, OverflowError):
        return str(number)


def infer(records: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return column names with DDL types that hold all their values.

    The order of keys in an object has no meaning, so that a source may change it. The names of the first record come
    first, sorted, then those that later records add.

    :raises Malformed: an invalid name, two keys that differ only by case, or values nested too deeply for a type.
    """
    kinds: dict[str, Any] = {}
    for record in records:
        for key in sorted(record):
            kinds[key] = _merge(kinds.get(key), _kind(record[key], key))
    _expect_names(kinds)
    return {key: _ddl(kind) for key, kind in kinds.items()}


def _expect_names(keys: Iterable[str]) -> None:
    spellings: dict[str, str] = {}
    for key in keys:
        if not key:
            raise Malformed("a key is empty and cannot name a column: declare a schema")
        if other := spellings.get(key.lower()):
            raise Malformed(f"the keys {other} and {key} differ only by case: declare a schema with one of them")
        spellings[key.lower()] = key


def _kind(value: Any, column: str, depth: int = 0) -> Any:
    """Return the kind of a value.

    It is None for null, a type name, a dict of field kinds for an object, or a list of one kind for an array.
    """
    if value is None:
        return None
    if isinstance(value, dict | list) and depth == MAX_DEPTH:
        reason = f"column {column}: values are nested more than {MAX_DEPTH} deep"
        raise Malformed(f"{reason}: declare a schema in which it is STRING")
    if isinstance(value, dict):
        return {key: _kind(value[key], column, depth + 1) for key in sorted(value)}
    if isinstance(value, list):
        inner = None
        for v in value:
            inner = _merge(inner, _kind(v, column, depth + 1))
        return [inner]
    if isinstance(value, Number):
        return _kind_of_number(value)
    return "BOOLEAN" if isinstance(value, bool) else "STRING"


def _kind_of_number(number: str) -> str:
    """Return the type of a number; STRING if neither BIGINT nor DOUBLE keeps its digits, as for an id of 20 digits."""
    if not number.lstrip("-").isdigit():
        return "DOUBLE"
    if len(number) < 19 or (len(number) < 21 and -(2**63) <= int(number) < 2**63):
        return "BIGINT"
    return "DOUBLE" if len(number) < 310 and Decimal(repr(float(number))) == Decimal(number) else "STRING"


def _merge(a: Any, b: Any) -> Any:
    if a is None or b is None or a == b:
        return b if a is None else a
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: _merge(a.get(key), b.get(key)) for key in {**a, **b}}
    if isinstance(a, list) and isinstance(b, list):
        return [_merge(a[0], b[0])]
    return "DOUBLE" if a in _NUMERIC and b in _NUMERIC else "STRING"


_NUMERIC = ("BIGINT", "DOUBLE")


def _ddl(kind: Any) -> str:
    if isinstance(kind, dict) and kind:
        _expect_names(kind)
        fields = (f"`{key.replace('`', '``')}`: {_ddl(inner)}" for key, inner in kind.items())
        return f"STRUCT<{', '.join(fields)}>"
    if isinstance(kind, list):
        return f"ARRAY<{_ddl(kind[0])}>"
    return kind if isinstance(kind, str) else "STRING"
