"""The types that a contract declares, and those to read JSON documents with, so that each value keeps its type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.texts import BOOLEAN, NUMBER, SCALARS, TYPES, combined, replaced
from airflow_provider_odf.protocol import Check

_VOID = (T.NullType(), T.StructType())
"""Types of what has no content."""

_NO_SCALARS: Mapping[str, T.DataType] = MappingProxyType({})


def types_of(checks: Iterable[Check]) -> dict[str, str]:
    """Return the logical types of fields by path in lower case."""
    return {str(c.field).lower(): str(c.arguments["type"]) for c in checks if c.kind == "field_type" and not c.outcome}


@dataclass(frozen=True)
class Shapes:
    """The structs, arrays and maps that a contract declares.

    ``types`` are the logical types of fields by path in lower case. ``inner`` are the paths of the fields in a field,
    by its path in lower case, and those of columns for the empty path. ``scalars`` are the types of data by logical
    type; others are STRING.
    """

    types: Mapping[str, str]
    inner: Mapping[str, list[str]]
    scalars: Mapping[str, T.DataType]

    @classmethod
    def of_checks(cls, checks: Iterable[Check], scalars: Mapping[str, T.DataType] = _NO_SCALARS) -> Shapes:
        """Return the shapes of the fields of checks."""
        checks = [*checks]
        return cls.of_fields(types_of(checks), (str(c.field) for c in checks if c.kind == "field_present"), scalars)

    @classmethod
    def of_fields(
        cls, types: Mapping[str, str], paths: Iterable[str], scalars: Mapping[str, T.DataType] = _NO_SCALARS
    ) -> Shapes:
        """Return the shapes of fields, each of which follows the field around it."""
        inner: dict[str, list[str]] = {"": []}
        for path in paths:
            around = (path[: end.start()].lower() for end in re.finditer(r"\.|\[\]|\{", path))
            inner[max((outer for outer in around if outer in inner), key=len, default="")].append(path)
            inner[path.lower()] = []
        return cls(types, inner, scalars)

    def filled(self, kind: T.DataType, path: str) -> T.DataType:
        """Return the type of a field with the declared types in place of those that have no value but null."""
        return replaced(kind, lambda inner, at: self.of(at) if isinstance(inner, T.NullType) else None, path)

    @property
    def columns(self) -> T.StructType:
        """The columns."""
        return T.StructType([T.StructField(path, self.of(path)) for path in self.inner[""]])

    def of(self, path: str) -> T.DataType:
        """Return the shape of a field."""
        logical = self.types.get(path.lower())
        if logical == "array":
            return T.ArrayType(self.of(f"{path}[]"))
        if logical == "map":
            return T.MapType(T.StringType(), self.of(f"{path}{{value}}"))
        fields = [one for one in self.inner.get(path.lower(), ()) if one[len(path)] == "."]
        if not fields and logical not in ("object", "record", "struct"):
            return self.scalars.get(logical or "", T.StringType())
        return T.StructType([T.StructField(one[len(path) + 1 :], self.of(one)) for one in fields])


def in_doubt(inferred: T.StructType, declared: T.StructType) -> list[str]:
    """Return the columns in which Spark does not find a declared struct, array or map: it infers STRING from nulls, and
    nothing from empty objects."""
    return [name for name, kind in _pairs(inferred, declared) if not _has_shape(*kind)]


def _pairs(inferred: T.StructType, declared: T.StructType) -> list[tuple[str, tuple[T.DataType | None, T.DataType]]]:
    known = {f.name.lower(): f for f in inferred}
    return [
        (known[f.name.lower()].name, (known[f.name.lower()].dataType, f.dataType))
        if f.name.lower() in known
        else (f.name, (None, f.dataType))
        for f in declared
    ]


def _has_shape(inferred: T.DataType | None, declared: T.DataType) -> bool:
    match declared:
        case T.StructType():
            return isinstance(inferred, T.StructType) and not in_doubt(inferred, declared)
        case T.ArrayType():
            return isinstance(inferred, T.ArrayType) and _has_shape(inferred.elementType, declared.elementType)
        case T.MapType():
            values = inferred.fields if isinstance(inferred, T.StructType) else None
            return values is not None and all(_has_shape(f.dataType, declared.valueType) for f in values)
        case _:
            return True


def to_read(inferred: T.StructType, shapes: Shapes) -> Fitting:
    """Return the schema to read documents with.

    Declared fields are text if all their values are numbers, or all are booleans. Otherwise they are VARIANT, which
    keeps the type of each. Spark infers STRING for strings as well as for values of several types. Nulls and empty
    objects have the declared shape.
    """
    fitting = Fitting(shapes)
    fitting.schema = fitting.struct(inferred, "")
    return fitting


@dataclass
class Fitting:
    """A schema to read documents with. By path in lower case, ``kinds`` are the types of JSON of the fields that are
    read as text, and ``broken`` says why the schema lacks fields."""

    shapes: Shapes
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
        logical = self.shapes.types.get(path.lower())
        if logical == "variant":
            return T.VariantType()
        if logical == "map" and isinstance(kind, T.StructType):
            kind = T.MapType(T.StringType(), cast(T.DataType, combined((f.dataType for f in kind), _common)))
        if kind in _VOID:
            shape = self.shapes.of(path)
            kind = shape if isinstance(kind, T.NullType | type(shape)) else T.StringType()
        if isinstance(kind, T.MapType):
            return T.MapType(T.StringType(), self._type(kind.valueType, f"{path}{{value}}"))
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


def _common(kinds: Sequence[T.DataType]) -> T.DataType:
    """Return the type that holds values of several; STRING, as Spark infers it, if only text does."""
    return T.DoubleType() if all(isinstance(kind, T.NumericType) for kind in kinds) else T.StringType()
