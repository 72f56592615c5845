"""The types to read JSON documents with, so that each value keeps its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.texts import BOOLEAN, NUMBER
from airflow_provider_odf.engine.contract.types import SCALARS, TYPES


def to_read(inferred: T.StructType, types: Mapping[str, str]) -> Fitting:
    """Return the schema to read documents with.

    ``types`` are the logical types of fields by path in lower case. Declared fields are text if all their values are
    numbers, or all are booleans. Otherwise they are VARIANT, which keeps the type of each. Spark infers STRING for
    strings as well as for values of several types.
    """
    fitting = Fitting(types)
    fitting.schema = fitting.struct(inferred, "")
    return fitting


@dataclass
class Fitting:
    """A schema to read documents with. By path in lower case, ``kinds`` are the types of JSON of the fields that are
    read as text, and ``broken`` says why the schema lacks fields."""

    types: Mapping[str, str]
    schema: T.StructType = field(default_factory=T.StructType)
    kinds: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def struct(self, inferred: T.StructType, path: str) -> T.StructType:
        """Return the type of a struct, without fields whose names differ only in case."""
        names = dict[str, list[str]]()
        for name in inferred.fieldNames():
            names.setdefault(name.lower(), []).append(name)
        for several in (several for several in names.values() if len(several) > 1):
            reason = f"records have the keys {' and '.join(several)}: use one of them"
            self.broken[f"{path}{several[0]}".lower()] = reason
        fields = [f for f in inferred if len(names[f.name.lower()]) == 1]
        return T.StructType([T.StructField(f.name, self._type(f.dataType, f"{path}{f.name}")) for f in fields])

    def _type(self, kind: T.DataType, path: str) -> T.DataType:
        logical = self.types.get(path.lower())
        if logical == "variant":
            return T.VariantType()
        if logical == "map" and isinstance(kind, T.StructType):
            return T.MapType(T.StringType(), self._type(_merged(kind), f"{path}{{value}}"))
        if isinstance(kind, T.StructType):
            return self.struct(kind, f"{path}.")
        if isinstance(kind, T.ArrayType):
            return T.ArrayType(self._type(kind.elementType, f"{path}[]"))
        if logical not in SCALARS:
            return T.StringType() if logical in TYPES else kind
        if isinstance(kind, T.NumericType | T.BooleanType):
            self.kinds[path.lower()] = NUMBER if isinstance(kind, T.NumericType) else BOOLEAN
            return T.StringType()
        return T.VariantType()


def _merged(values: T.StructType) -> T.DataType:
    """Return the type of the values of a map, each of which is a field of the inferred type."""
    merged: T.DataType = T.NullType()
    for value in values:
        merged = _both(merged, value.dataType)
    return T.StringType() if isinstance(merged, T.NullType) else merged


def _both(one: T.DataType, other: T.DataType) -> T.DataType:
    """Return the type that holds values of both; STRING, as Spark infers it, if only text does."""
    if isinstance(one, T.NullType) or one == other:
        return other
    if isinstance(one, T.NumericType) and isinstance(other, T.NumericType):
        return T.DoubleType()
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        return T.ArrayType(_both(one.elementType, other.elementType))
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        fields = {f.name: f.dataType for f in one}
        for f in other:
            fields[f.name] = _both(fields.get(f.name, T.NullType()), f.dataType)
        return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])
    return T.StringType()
