"""Find the column or nested field of a check, and the SQL for its values.

Names are compared ignoring case, as everywhere in the engine. ``address.city`` is a field of a struct unless a column
has that name. ``lines[]`` are the elements of an array, ``names{key}`` and ``names{value}`` those of a map.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import numbers, texts
from airflow_provider_odf.engine.contract.texts import Declared, Text
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import when

_ENDS = re.compile(r"(.*?)((?:\[\]|\{key\}|\{value\})*)")
_END = re.compile(r"\[\]|\{key\}|\{value\}")


@dataclass(frozen=True)
class FieldSql:
    """The field of a check; ``sql`` is SQL for its value.

    Inside an array or a map the value is that of one element: ``levels`` has the SQL of each array, and the variable
    for its elements. ``parent`` is SQL for the struct around the field. ``column`` is the name of the top column.

    For data that consist of text, ``raw`` is SQL for the text of the value, ``usable`` for the same if JSON has the
    right type for it, and ``written`` for the text with the quotes of JSON. ``reading`` is how ``sql`` converts it, and
    ``stored`` the type in the data. ``key`` is SQL for the `numbers.order_key` of a number of any size.
    """

    sql: str
    type: T.DataType
    column: str = ""
    levels: tuple[tuple[str, str], ...] = ()
    parent: str = ""
    raw: str = ""
    usable: str = ""
    written: str = ""
    key: str = ""
    reading: Text | None = None
    stored: T.DataType | None = None

    @property
    def type_name(self) -> str:
        return self.type.simpleString()

    @property
    def text(self) -> str:
        """SQL that converts the value to text; inside an array or a map, the whole column."""
        if self.levels:
            return f"CAST({quoted(self.column)} AS STRING)"
        if self.raw:
            return self.raw
        return f"hex({self.sql})" if isinstance(self.type, T.BinaryType) else f"CAST({self.sql} AS STRING)"

    @property
    def is_null(self) -> str:
        """SQL that is true for a null; a text that cannot be converted is none."""
        is_null = f"{self.raw or self.sql} IS NULL"
        has_null = isinstance(self.type, T.VariantType)  # null of JSON is a VARIANT, too
        return f"({is_null} OR is_variant_null({self.sql}))" if has_null else is_null

    @property
    def has_value(self) -> str:
        """SQL that is true for a value of the type."""
        return f"{self.key or self.sql} IS NOT NULL"

    @property
    def is_no_value(self) -> str:
        """SQL that is true for a text that is no value of the type; empty if the data have types."""
        return f"{self.raw} IS NOT NULL AND NOT ({self.has_value})" if self.raw else ""

    @property
    def in_key(self) -> str:
        """SQL for the value as a part of a key. A text that cannot be converted is not null: it stands for itself."""
        if not self.raw:
            return f"to_json({self.sql})" if texts.has_variants(self.type) else self.sql
        return f"coalesce({self.key or f'CAST({self.sql} AS STRING)'}, concat('=', {self.written}))"

    def in_row(self, condition: str) -> str:
        """Return SQL for a row from SQL for a value: whether the condition is true for one element at least."""
        for array, variable in reversed(self.levels):
            condition = f"exists({array}, {variable} -> {condition})"
        return condition

    def child(self, name: str) -> FieldSql | None:
        """Return a field of this struct, or None."""
        inner = _named(self.type, name)
        if inner is None or not isinstance(self.type, T.StructType):
            return None
        return replace(
            self,
            sql=f"{self.sql}.{quoted(inner)}".lstrip("."),
            type=self.type[inner].dataType,
            column=self.column or inner,
            parent=self.sql,
        )

    def element(self, end: str) -> FieldSql | None:
        """Return the elements of this array, or the keys or values of this map, or None."""
        if end == "[]" and isinstance(self.type, T.ArrayType):
            return self._inside(self.sql, self.type.elementType)
        if end == "{key}" and isinstance(self.type, T.MapType):
            return self._inside(f"map_keys({self.sql})", self.type.keyType)
        if end == "{value}" and isinstance(self.type, T.MapType):
            return self._inside(f"map_values({self.sql})", self.type.valueType)
        return None

    def _inside(self, array: str, kind: T.DataType) -> FieldSql:
        variable = f"x{len(self.levels)}"
        return replace(self, sql=variable, type=kind, levels=(*self.levels, (array, variable)), parent="")

    def read_as(self, reading: Text | None) -> FieldSql:
        """Return the field with its text, or its variant of JSON, converted to a logical type."""
        if reading is None or not isinstance(self.type, T.StringType | T.VariantType):
            return self
        raw, usable = reading.raw(self.sql, self.type), reading.usable(self.sql, self.type)
        is_variant = isinstance(self.type, T.VariantType)
        written = when(f"{raw} IS NOT NULL", f"to_json({self.sql})") if is_variant else raw
        texts = replace(self, raw=raw, usable=usable, written=written, reading=reading, stored=self.type)
        value = numbers.order_key(usable) if reading.is_exact else reading.typed(usable)
        return replace(texts, type=reading.type)._with(value)

    def _with(self, value: str) -> FieldSql:
        """Return the field with other SQL for its value, or for the key of a number of any size."""
        if self.reading is None or not self.reading.is_exact:
            return replace(self, sql=value)
        return replace(self, sql=numbers.as_decimal(self.usable, value), key=value)

    @property
    def computed(self) -> str:
        """SQL for a column with what is computed of the text, for each element of arrays; empty if there is nothing."""
        value = self.key or self.sql
        if not self.raw or value == self.raw:
            return ""
        if not self.levels:
            return value
        parent = f", 'parent', {when(f'{self.parent} IS NOT NULL', 'true')}" if self.parent else ""
        sql = f"named_struct('raw', {self.raw}, 'usable', {self.usable}, 'value', {value}{parent})"
        for array, variable in reversed(self.levels):
            sql = f"transform({array}, {variable} -> {sql})"
        return sql

    def in_column(self, name: str) -> FieldSql:
        """Return the field with what is `computed` in a column of the rows."""
        if not self.computed:
            return self
        if not self.levels:
            return self._with(quoted(name))
        arrays = (quoted(name), *(variable for _, variable in self.levels))
        levels = tuple((array, variable) for array, (_, variable) in zip(arrays, self.levels, strict=False))
        inner = arrays[-1]
        parts = replace(self, levels=levels, raw=f"{inner}.raw", usable=f"{inner}.usable")
        return replace(parts, parent=self.parent and f"{inner}.parent")._with(f"{inner}.value")

    def at(self, value: str) -> str:
        """Return SQL that converts another text as this field's."""
        if self.reading is None or self.stored is None:
            return value
        return self.reading.typed(self.reading.usable(value, self.stored))


def key_text(columns: Iterable[FieldSql]) -> str:
    """Return SQL for the text of a key."""
    texts = ", ".join(f"coalesce({column.text}, 'null')" for column in columns)
    return f"concat_ws(', ', {texts})"


def field_at(schema: T.StructType, path: str, declared: Declared | None = None) -> FieldSql | None:
    """Return the column or nested field at a path, None if there is none.

    ``declared`` are the logical types of fields, for data that consist of text.
    """
    root = FieldSql("", schema)
    for steps in ([path], path.split(".")):
        field: FieldSql | None = root
        for step in steps:
            field = _step(field, step) if field else None
        if field is not None:
            return field.read_as(declared.of(path)) if declared is not None else field
    return None


def _step(field: FieldSql, step: str) -> FieldSql | None:
    if (whole := field.child(step)) is not None:
        return whole
    match = _ENDS.fullmatch(step)
    inner = field.child(match[1]) if match else None
    for end in _END.findall(match[2]) if match else ():
        inner = inner.element(end) if inner else None
    return inner


def _named(parent: T.DataType, name: str) -> str | None:
    names = parent.fieldNames() if isinstance(parent, T.StructType) else []
    return name if name in names else next((n for n in names if n.lower() == name.lower()), None)
