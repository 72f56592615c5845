"""Texts become typed columns, strictly: what is not of its type is an error with its place, never a null.

The check names every column, so that no plan can leave one out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TypeAlias

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from airflow_provider_odf.engine.read.raw import PLACE, PROBLEM
from airflow_provider_odf.engine.read.scalar import Formats, cast, scalar
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep

Problem: TypeAlias = Expression
"""Null, or what is wrong with a value."""

_ZERO: dict[type[st.DataType], object] = {
    st.StringType: "",
    st.VarcharType: "",
    st.CharType: "",
    st.BooleanType: False,
    st.BinaryType: b"",
    st.DateType: "1970-01-01",
    st.TimestampType: "1970-01-01 00:00:00",
}


NESTED = (st.ArrayType, st.MapType, st.StructType)


def raw_name(index: int) -> str:
    """Name of a raw column: its own name could be anything."""
    return f"r{index}"


def declared(columns: Sequence[Column]) -> st.StructType:
    """The Spark types of columns.

    :raises InvalidQuery: a type that Spark does not know.
    """
    fields = []
    for column in columns:
        try:
            kind = st.DataType.fromDDL(column.type)
        except Exception:
            raise InvalidQuery(f"column {column.name}: {column.type!r} is not a type of Spark") from None
        fields.append(st.StructField(column.name, kind, column.is_nullable))
    return st.StructType(fields)


def frame(raw: DataFrame, columns: Sequence[Column], step: ReadStep, label: Expression, unit: str) -> DataFrame:
    """The typed rows of a raw frame. ``label`` is what messages call the input, ``unit`` what its places count: line,
    record or row.

    :raises InvalidQuery: a type that this kind of file cannot hold.
    """
    schema = declared(columns)
    if step.kind == "Csv" and (nested := [f for f in schema if isinstance(f.dataType, NESTED)]):
        raise InvalidQuery(
            f"column {nested[0].name}: {nested[0].dataType.simpleString().upper()} cannot be read from CSV: "
            "declare STRING, and use from_json in preprocess"
        )
    given = [raw.schema[raw_name(i)].dataType if step.kind == "Parquet" else None for i, _ in enumerate(schema)]
    values = [Value(f.name, f.dataType, sf.col(raw_name(i)), Formats.of(step), given[i]) for i, f in enumerate(schema)]
    typed = raw.select(
        "*",
        *(value.typed().alias(_typed_name(i)) for i, value in enumerate(values)),
        # Nothing is pushed through an expression that is not deterministic: each value is converted once.
        sf.monotonically_increasing_id().alias("__once"),
    )
    results = [sf.col(_typed_name(i)) for i, _ in enumerate(schema)]
    wrong = [value.problem(result) for value, result in zip(values, results, strict=True)]
    wrong += [_missing(result, f) for result, f in zip(results, schema, strict=True) if not f.nullable]
    is_wrong = [value.is_wrong(result) for value, result in zip(values, results, strict=True)]
    is_wrong += [result.isNull() for result, f in zip(results, schema, strict=True) if not f.nullable]
    place = sf.format_string(f"{unit} %s, column %s", sf.col(PLACE), sf.coalesce(*wrong, sf.lit("")))
    error = sf.raise_error(sf.concat(label, sf.lit(": "), sf.coalesce(sf.col(PROBLEM), place)))
    # Messages are only made where something is wrong.
    is_right = sf.col(PROBLEM).isNull() & ~reduce(or_, is_wrong, sf.lit(False))
    checked = typed.filter(sf.when(is_right, sf.lit(True)).otherwise(error.isNotNull()))
    return checked.select(*(_result(result, f).alias(f.name) for result, f in zip(results, schema, strict=True)))


@dataclass(frozen=True)
class Value:
    """A raw value, to be given a type. ``path`` is what messages call it: ``a``, ``a.b``, ``a[]``.

    ``given`` is the type that it has already, None for texts and for lists, structs and maps of texts.
    """

    path: str
    type: st.DataType
    raw: Expression
    formats: Formats
    given: st.DataType | None = None

    def typed(self) -> Expression:
        """The value in its type; null where it is not of it."""
        if self.given is not None and not isinstance(self.given, st.StringType):
            return cast(self.raw, self.given, self.type)
        if isinstance(self.type, st.ArrayType):
            return sf.transform(self.raw, lambda x: self._element(x).typed())
        if isinstance(self.type, st.MapType):
            return sf.transform_values(self.raw, lambda _, x: self._entry(x).typed())
        if isinstance(self.type, st.StructType):
            fields = sf.struct(*(self._field(i).typed().alias(f.name) for i, f in enumerate(self.type)))
            return sf.when(self.raw.isNotNull(), fields)
        return scalar(self.raw, self.type, self.formats, self.path)

    def is_wrong(self, typed: Expression) -> Expression:
        """Whether the value, given what it became, is not of its type."""
        if isinstance(self.type, NESTED):
            return self.problem(typed).isNotNull()
        return self.raw.isNotNull() & typed.isNull()

    def problem(self, typed: Expression) -> Problem:
        """What is wrong with the value, given what it became."""
        if self.given is not None and not isinstance(self.given, st.StringType):
            return self._unfit(self.raw.cast("string"), typed)
        if isinstance(self.type, st.ArrayType):
            return _first(self.raw, lambda x: self._element(x).problem(self._element(x).typed()))
        if isinstance(self.type, st.MapType):
            return _first(sf.map_values(self.raw), lambda x: self._entry(x).problem(self._entry(x).typed()))
        if isinstance(self.type, st.StructType):
            fields = [self._field(i) for i, _ in enumerate(self.type)]
            return sf.coalesce(*(f.problem(typed[name.name]) for f, name in zip(fields, self.type, strict=True)))
        return self._unfit(self.raw, typed)

    def _unfit(self, text: Expression, typed: Expression) -> Problem:
        cut = sf.when(sf.length(text) > 200, sf.concat(sf.substring(text, 1, 200), sf.lit("…"))).otherwise(text)
        name = sf.lit(_named(self.type, self.formats))
        return sf.when(
            self.raw.isNotNull() & typed.isNull(), sf.format_string("%s: '%s' is not %s", sf.lit(self.path), cut, name)
        )

    def _element(self, x: Expression) -> Value:
        kind = self.type.elementType  # type: ignore[attr-defined]
        return replace(self, path=f"{self.path}[]", type=kind, raw=x)

    def _entry(self, x: Expression) -> Value:
        kind = self.type.valueType  # type: ignore[attr-defined]
        return replace(self, path=f"{self.path}{{}}", type=kind, raw=x)

    def _field(self, index: int) -> Value:
        field: st.StructField = self.type[index]  # type: ignore[index]
        return replace(self, path=f"{self.path}.{field.name}", type=field.dataType, raw=self.raw[raw_name(index)])


def _first(values: Expression, problem: Callable[[Expression], Problem]) -> Problem:
    return sf.get(sf.filter(sf.transform(values, problem), lambda x: x.isNotNull()), sf.lit(0))


def _missing(typed: Expression, field: st.StructField) -> Problem:
    return sf.when(typed.isNull(), sf.lit(f"{field.name}: no value, and the schema says NOT NULL"))


def _result(typed: Expression, field: st.StructField) -> Expression:
    """Of a column that is NOT NULL, one that Spark knows to be: the check has left no nulls, only this shows it."""
    zero = 0 if isinstance(field.dataType, st.NumericType) else _ZERO.get(type(field.dataType))
    if field.nullable or zero is None:
        return typed
    return sf.coalesce(typed, sf.lit(zero).cast(field.dataType))


def _typed_name(index: int) -> str:
    return f"t{index}"


def _named(kind: st.DataType, formats: Formats) -> str:
    name = kind.simpleString().upper()
    name = f"an {name}" if name[0] in "AEIOU" else f"a {name}"
    return name + formats.suffix(kind)
