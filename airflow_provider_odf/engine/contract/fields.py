"""Find the column or nested field of a check, and the SQL for its values.

Names are compared ignoring case, as everywhere in the engine. ``address.city`` is a field of a struct unless a column
has that name. ``lines[]`` are the elements of an array, ``names{key}`` and ``names{value}`` those of a map.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.types import READ_AS
from airflow_provider_odf.engine.read.scalar import Formats, scalar
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import matches, when

_ENDS = re.compile(r"(.*?)((?:\[\]|\{key\}|\{value\})*)")
_END = re.compile(r"\[\]|\{key\}|\{value\}")
_WHOLE = r"^-?[0-9]+\.0+$"
_FORMATS = Formats(is_base64=True, has_millis=False)


@dataclass(frozen=True)
class Found:
    """The field of a check; ``sql`` is SQL for its value.

    Inside an array or a map the value is that of one element: ``levels`` has the SQL of each array, and the variable
    for its elements. ``parent`` is SQL for the struct around the field. ``raw`` is SQL for the text that ``sql``
    converts, empty if the data have types. ``column`` is the name of the top column.
    """

    sql: str
    type: T.DataType
    column: str = ""
    levels: tuple[tuple[str, str], ...] = ()
    parent: str = ""
    raw: str = ""

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
        return f"{self.raw or self.sql} IS NULL"

    @property
    def in_key(self) -> str:
        """SQL for the value as a part of a key. A text that cannot be converted is not null: it stands for itself."""
        return f"coalesce(CAST({self.sql} AS STRING), {self.raw})" if self.raw else self.sql

    def in_row(self, condition: str) -> str:
        """Return SQL for a row from SQL for a value: whether the condition is true for one element at least."""
        for array, variable in reversed(self.levels):
            condition = f"exists({array}, {variable} -> {condition})"
        return condition

    def child(self, name: str) -> Found | None:
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

    def element(self, end: str) -> Found | None:
        """Return the elements of this array, or the keys or values of this map, or None."""
        if end == "[]" and isinstance(self.type, T.ArrayType):
            return self._inside(self.sql, self.type.elementType)
        if end == "{key}" and isinstance(self.type, T.MapType):
            return self._inside(f"map_keys({self.sql})", self.type.keyType)
        if end == "{value}" and isinstance(self.type, T.MapType):
            return self._inside(f"map_values({self.sql})", self.type.valueType)
        return None

    def _inside(self, array: str, kind: T.DataType) -> Found:
        variable = f"x{len(self.levels)}"
        return replace(self, sql=variable, type=kind, levels=(*self.levels, (array, variable)), parent="")

    def read_as(self, logical: str | None) -> Found:
        """Return the field with its text converted to a logical type."""
        kind = READ_AS.get(logical or "")
        if kind is None or not isinstance(self.type, T.StringType):
            return self
        value = scalar(self.sql, kind, _FORMATS, self.column)
        if isinstance(kind, T.LongType):  # 1.0 is a whole number in JSON
            whole = when(matches(self.sql, _WHOLE), f"try_cast(split_part({self.sql}, '.', 1) AS BIGINT)")
            value = f"coalesce({value}, {whole})"
        return replace(self, sql=value, type=kind, raw=self.sql)

    def at(self, value: str) -> str:
        """Return SQL that converts another text as this field's."""
        return scalar(value, self.type, _FORMATS, self.column) if self.raw else value


def key_text(columns: Iterable[Found]) -> str:
    """Return SQL for the text of a key."""
    texts = ", ".join(f"coalesce({column.text}, 'null')" for column in columns)
    return f"concat_ws(', ', {texts})"


def find(schema: T.StructType, path: str, types: Mapping[str, str] | None = None) -> Found | None:
    """Return the column or nested field at a path, None if there is none.

    ``types`` are the logical types of fields by path, for data that consist of text.
    """
    root = Found("", schema)
    for steps in ([path], path.split(".")):
        found: Found | None = root
        for step in steps:
            found = _step(found, step) if found else None
        if found is not None:
            return found.read_as(types.get(path)) if types is not None else found
    return None


def _step(found: Found, step: str) -> Found | None:
    if (whole := found.child(step)) is not None:
        return whole
    match = _ENDS.fullmatch(step)
    inner = found.child(match[1]) if match else None
    for end in _END.findall(match[2]) if match else ():
        inner = inner.element(end) if inner else None
    return inner


def _named(parent: T.DataType, name: str) -> str | None:
    names = parent.fieldNames() if isinstance(parent, T.StructType) else []
    return name if name in names else next((n for n in names if n.lower() == name.lower()), None)
