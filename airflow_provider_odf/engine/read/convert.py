"""Convert texts to typed columns strictly: a value of the wrong type is an error with its place, never a null.

The check names every column, so that no plan can omit one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from airflow_provider_odf.engine import spark_errors
from airflow_provider_odf.engine.read import raw
from airflow_provider_odf.engine.read.raw import PLACE, PROBLEM, Parser
from airflow_provider_odf.engine.read.scalar import MILLIS, NESTED, Formats, cast, has_times, is_in_range, scalar
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import Sql, ddl, matches, text, when
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, PositionalHeader, ReadStep
from airflow_provider_odf.read_steps import Types

_ZERO: dict[type[st.DataType], Sql] = {
    st.StringType: "''",
    st.VarcharType: "''",
    st.CharType: "''",
    st.BooleanType: "false",
    st.BinaryType: "X''",
    st.DateType: "DATE '1970-01-01'",
    st.TimestampType: "TIMESTAMP '1970-01-01 00:00:00'",
}

_MILLIS_RANGE = ": a number must be whole milliseconds since 1970, in the years 1 to 9999"
_MISSING = ": null, but the schema declares NOT NULL"


def raw_name(index: int) -> str:
    """Return the name of a raw column. The column's own name may contain any character."""
    return f"r{index}"


def spark_types(columns: Sequence[Column]) -> st.StructType:
    """Return the Spark types of columns.

    :raises InvalidQuery: a type that Spark does not know.
    :raises PySparkException: the Spark Connect server was lost.
    """
    fields = []
    for column in columns:
        try:
            kind = st.DataType.fromDDL(column.type)
        except Exception as e:
            if spark_errors.unfit(e):
                raise
            raise InvalidQuery(f"column {column.name}: {column.type!r} is not a Spark type") from None
        fields.append(st.StructField(column.name, kind, column.is_nullable))
    return st.StructType(fields)


def rows(raw: DataFrame, columns: Sequence[Column], step: ReadStep, label: Sql, unit: str) -> DataFrame:
    """Return the typed rows of a raw frame.

    ``label`` is SQL for the name of the input in messages. ``unit`` is the unit of row places: line, record or row.

    :raises InvalidQuery: a type that this kind of file cannot contain.
    """
    schema = spark_types(columns)
    if step.format.types is Types.TEXT and (nested := [f for f in schema if isinstance(f.dataType, NESTED)]):
        raise InvalidQuery(
            f"column {nested[0].name}: {nested[0].dataType.simpleString().upper()} cannot be read from {step.kind}: "
            "declare STRING, and use from_json in preprocess"
        )
    has_types = step.format.types is Types.FILE
    types = [raw.schema[raw_name(i)].dataType if has_types else None for i, _ in enumerate(schema)]
    values = [Value(f.name, f.dataType, raw_name(i), Formats.of(step), types[i]) for i, f in enumerate(schema)]
    typed = raw.selectExpr(
        "*",
        *(f"{value.typed()} AS {_typed_name(i)}" for i, value in enumerate(values)),
        # Spark pushes nothing through a nondeterministic expression, so that each value is converted once.
        "monotonically_increasing_id() AS __once",
    )
    checked = typed.where(_is_valid(values, schema, label, unit))
    return checked.selectExpr(*(f"{_result(i, f)} AS {quoted(f.name)}" for i, f in enumerate(schema)))


def _is_valid(values: Sequence[Value], schema: st.StructType, label: Sql, unit: str) -> Sql:
    """Return SQL that is true if all values of a row match their types. The first mismatch raises an error."""
    required = [i for i, f in enumerate(schema) if not f.nullable]
    wrong = [value.problem(_typed_name(i)) for i, value in enumerate(values)]
    wrong += [when(f"{_typed_name(i)} IS NULL", text(schema[i].name + _MISSING)) for i in required]
    is_wrong = [value.is_wrong(_typed_name(i)) for i, value in enumerate(values)]
    is_wrong += [f"{_typed_name(i)} IS NULL" for i in required]
    place = f"concat({text(unit + ' ')}, {PLACE}, ', column ', coalesce({', '.join([*wrong, text('')])}))"
    error = f"raise_error(concat({label}, ': ', coalesce({PROBLEM}, {place})))"
    # Messages are computed only for wrong values.
    return f"CASE WHEN {' OR '.join([f'{PROBLEM} IS NOT NULL', *is_wrong])} THEN {error} IS NOT NULL ELSE true END"


@dataclass(frozen=True)
class Value:
    """A raw value and its type. ``path`` is its name in messages: ``a``, ``a.b``, ``a[]``.

    ``origin`` is the type that it already has. It is None for texts, and for lists, structs and maps of texts, whose
    fields are named by numbers.
    """

    path: str
    type: st.DataType
    raw: Sql
    formats: Formats
    origin: st.DataType | None = None

    def typed(self) -> Sql:
        """Return SQL for the value in its type, null if it does not match."""
        if self.origin == self.type:
            return self.raw
        if isinstance(self.type, st.ArrayType):
            return f"transform({self.raw}, {self._variable} -> {self._element().typed()})"
        if isinstance(self.type, st.MapType):
            return f"transform_values({self.raw}, (k, {self._variable}) -> {self._entry().typed()})"
        if isinstance(self.type, st.StructType):
            fields = (f"{text(f.name)}, {self._field(i).typed()}" for i, f in enumerate(self.type))
            return when(f"{self.raw} IS NOT NULL", f"named_struct({', '.join(fields)})")
        if self.origin is None or isinstance(self.origin, st.StringType):
            return scalar(self.raw, self.type, self.formats, self.path)
        return cast(self.raw, self.origin, self.type)

    def is_wrong(self, typed: Sql) -> Sql:
        """Return SQL that tests whether the value does not match its type; ``typed`` is the converted value."""
        if isinstance(self.type, NESTED):
            return f"{self.problem(typed)} IS NOT NULL"
        return f"({self.raw} IS NOT NULL AND {self._is_unfit(typed)})"

    def problem(self, typed: Sql) -> Sql:
        """Return SQL for the problem of the value, or null; ``typed`` is the converted value."""
        if self.origin == self.type and not has_times(self.type):
            return "NULL"
        if isinstance(self.type, st.ArrayType):
            return self._first(self.raw, self._element())
        if isinstance(self.type, st.MapType):
            return self._first(f"map_values({self.raw})", self._entry())
        if isinstance(self.type, st.StructType):
            return f"coalesce({', '.join([*self._problems_of_fields(typed, self.type), 'NULL'])})"
        return self._unfit(self.raw if self.origin is None else f"CAST({self.raw} AS STRING)", typed)

    def _problems_of_fields(self, typed: Sql, kind: st.StructType) -> Iterator[Sql]:
        for i, field in enumerate(kind):
            inner, value = self._field(i), f"{typed}.{quoted(field.name)}"
            yield inner.problem(value)
            if not field.nullable:
                yield when(f"{self.raw} IS NOT NULL AND {inner.raw} IS NULL", text(inner.path + _MISSING))

    def _unfit(self, written: Sql, typed: Sql) -> Sql:
        cut = f"CASE WHEN length({written}) > 200 THEN concat(substring({written}, 1, 200), '…') ELSE {written} END"
        name = _named(self.type, self.formats)
        before, after = text(f"{self.path}: '"), text(f"' is not {name}")
        if has_times(self.type) and self.formats.has_millis:
            number = f"startswith({written}, {text(MILLIS)})" if self.origin is None else _is_number(self.origin)
            after = f"concat({after}, CASE WHEN {number} THEN {text(_MILLIS_RANGE)} ELSE '' END)"
            cut = f"ltrim({text(MILLIS)}, {cut})" if self.origin is None else cut
        message = f"concat({before}, {cut}, {after})"
        return when(f"{self.raw} IS NOT NULL AND {self._is_unfit(typed)}", message)

    def _is_unfit(self, typed: Sql) -> Sql:
        """Return SQL that tests whether a converted value is null, or a time that slices cannot hold."""
        if not has_times(self.type):
            return f"{typed} IS NULL"
        return f"({typed} IS NULL OR NOT {is_in_range(typed, self.type)})"

    def _first(self, values: Sql, inner: Value) -> Sql:
        problems = f"transform({values}, {self._variable} -> {inner.problem(inner.typed())})"
        return f"get(filter({problems}, p -> p IS NOT NULL), 0)"

    @property
    def _variable(self) -> str:
        """Return the name of a lambda variable, different at each depth."""
        return f"x{len(self.path)}"

    def _inner(self, suffix: str, attribute: str) -> Value:
        """Return the element of an array or the value of a map."""
        kind, origin = getattr(self.type, attribute), getattr(self.origin, attribute, None)
        return replace(self, path=self.path + suffix, type=kind, raw=self._variable, origin=origin)

    def _element(self) -> Value:
        return self._inner("[]", "elementType")

    def _entry(self) -> Value:
        return self._inner("{}", "valueType")

    def _field(self, index: int) -> Value:
        field: st.StructField = self.type[index]  # type: ignore[index]
        name, origin = raw_name(index), None
        if isinstance(self.origin, st.StructType):
            field_of_origin = next(f for f in self.origin if f.name.lower() == field.name.lower())
            name, origin = quoted(field_of_origin.name), field_of_origin.dataType
        return replace(
            self,
            path=f"{self.path}.{field.name}",
            type=field.dataType,
            raw=f"{self.raw}.{name}",
            origin=origin,
        )


def _result(index: int, field: st.StructField) -> Sql:
    """Return SQL for a column. If it is NOT NULL, the SQL shows that to Spark: the check has removed all nulls."""
    typed = _typed_name(index)
    zero = "0" if isinstance(field.dataType, st.NumericType) else _ZERO.get(type(field.dataType))
    if field.nullable or zero is None:
        return typed
    return f"coalesce({typed}, CAST({zero} AS {ddl(field.dataType)}))"


def _typed_name(index: int) -> str:
    return f"t{index}"


def _is_number(kind: st.DataType) -> Sql:
    return "true" if isinstance(kind, st.NumericType) else "false"


def _named(kind: st.DataType, formats: Formats) -> str:
    name = kind.simpleString().upper()
    name = f"an {name}" if name[0] in "AEIOU" else f"a {name}"
    return name + formats.suffix(kind)


_LONG = r"^\s*[+-]?\d{19,}\s*$"
_DATE_LENGTH = len("yyyy-mm-dd")

CANDIDATES: tuple[st.DataType, ...] = (
    st.LongType(),
    st.DoubleType(),
    st.BooleanType(),
    st.DateType(),
    st.TimestampType(),
)


def inferred_columns(raw: DataFrame, untyped: Sequence[Column], step: ReadStep) -> tuple[Column, ...]:
    """Return the columns with types, STRING if no other type fits or there are no values. It reads all rows once."""
    if not untyped:
        return ()
    tests = [f"{_fits(i, column, step)} AS {raw_name(i)}" for i, column in enumerate(untyped)]
    row = raw.selectExpr(*tests, f"first({PROBLEM}, true) AS {PROBLEM}").first()
    if row is None or row[PROBLEM] is not None:
        # The check of the rows reports it with the label.
        return tuple(untyped)
    known = {column.name.lower(): column for column in step.known_columns}
    return tuple(with_known_type(replace(c, type=_narrowest(row[raw_name(i)])), known) for i, c in enumerate(untyped))


def with_known_type(inferred: Column, known: Mapping[str, Column]) -> Column:
    """Return an inferred column with the type of the known column of the same name, if that has a type.

    The names in ``known`` are in lower case.
    """
    column = known.get(inferred.name.lower())
    return replace(column, name=inferred.name) if column is not None and column.type else inferred


def _fits(index: int, column: Column, step: ReadStep) -> Sql:
    """Return SQL that tests for each candidate type whether all values fit, null without values."""
    raw = raw_name(index)
    fits = (when(f"{raw} IS NOT NULL", _is(raw, kind, column, step)) for kind in CANDIDATES)
    return f"array({', '.join(f'bool_and({one})' for one in fits)})"


def _is(raw: Sql, kind: st.DataType, column: Column, step: ReadStep) -> Sql:
    formats = Formats.of(step)
    value = scalar(raw, kind, formats, column.name)
    if kind == st.DoubleType():
        return f"{value} IS NOT NULL AND (NOT {matches(raw, _LONG)} OR {_keeps_digits(raw, value)})"
    # A declared DATE accepts a timestamp and keeps its date. An inferred one would lose the time.
    is_date = kind == st.DateType() and formats.date is None
    return f"{value} IS NOT NULL AND length({raw}) = {_DATE_LENGTH}" if is_date else f"{value} IS NOT NULL"


def _keeps_digits(raw: Sql, double: Sql) -> Sql:
    """Return SQL that tests whether an integer keeps its digits as DOUBLE. An id of 20 digits does not."""
    return f"coalesce(try_cast({raw} AS DECIMAL(38,0)) = try_cast({double} AS DECIMAL(38,0)), false)"


def _narrowest(fits: Sequence[bool | None]) -> str:
    return next((t.simpleString().upper() for t, does in zip(CANDIDATES, fits, strict=True) if does), "STRING")


@dataclass(frozen=True)
class OpenFile:
    """An open file. ``unit`` is the unit of row places: line or record."""

    step: ReadStep
    parser: Parser
    chunks: Sequence[Chunk]
    columns: tuple[Column, ...]
    label: str
    unit: str
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
    infers_types: bool = False
    """Whether the types of the columns are inferred from the rows."""

    def read(self, spark: SparkSession) -> Read:
        """Return the rows in order."""
        frame = raw.frame(spark, self.parser, self.chunks)
        columns = inferred_columns(frame, self.columns, self.step) if self.infers_types else self.columns
        typed = rows(frame, columns, self.step, text(self.label), self.unit)
        return Read(typed, self.notices, self.headers)


@dataclass(frozen=True)
class Read:
    """Rows in input order, with notices for the user.

    ``headers`` has the headers of files whose columns were matched by position.
    """

    frame: DataFrame
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
