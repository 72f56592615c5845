"""Values of CSV and JSON in the logical types of a contract: SQL that converts text, null where it is no such value.

It is as strict as the types: a DATE has no time, a timestamp without a zone has no offset, and a number no spaces. JSON
has types of its own: ``"12"`` is no number, and ``12`` no string.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import numbers
from airflow_provider_odf.engine.contract.types import DECIMALS, READ_AS, SCALARS
from airflow_provider_odf.engine.read.scalar import Formats, scalar
from airflow_provider_odf.engine.sql import Sql, matches, when

_FORMATS = Formats(is_base64=True, has_millis=False)
_DATE = r"^\d{4}-\d{2}-\d{2}\z"
_WITHOUT_ZONE = r"^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?\z"
_FORMS: Mapping[type[T.DataType], str] = {T.DateType: _DATE, T.TimestampNTZType: _WITHOUT_ZONE}
_NO_NUMBER = r"^(NaN|[+-]?Infinity)\z"
_BASE64 = r"^[A-Za-z0-9+/]*={0,2}\z"

NUMBER, BOOLEAN, STRING = "number", "boolean", "string"
_KIND_OF_VARIANT = {STRING: "= 'STRING'", BOOLEAN: "= 'BOOLEAN'", NUMBER: "RLIKE '^(BIGINT|DECIMAL|DOUBLE|FLOAT)'"}


@dataclass(frozen=True)
class Declared:
    """The logical types of the fields of a contract, by path in lower case, for data that consist of text.

    ``kinds`` are the types that JSON has for all values of a field: ``number`` or ``boolean``. Fields with several are
    of type VARIANT. For CSV, whose values are all text, it is None.
    """

    types: Mapping[str, str]
    kinds: Mapping[str, str] | None = None

    def of(self, path: str) -> Text | None:
        """Return how values of a field are read, None for fields without a type that text can have."""
        logical = self.types.get(path.lower())
        return Text(logical, (self.kinds or {}).get(path.lower(), "")) if logical in SCALARS else None


@dataclass(frozen=True)
class Text:
    """How the text of a field is read as a logical type; ``kind`` is the type of all values in JSON, if known."""

    logical: str
    kind: str = ""
    type: T.DataType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", READ_AS.get(self.logical, T.StringType()))

    @property
    def is_exact(self) -> bool:
        """Whether values are numbers of any size, which stay text."""
        return self.logical in DECIMALS

    def raw(self, value: Sql, stored: T.DataType) -> Sql:
        """Return SQL for the text of a value."""
        return f"CAST({value} AS STRING)" if isinstance(stored, T.VariantType) else value

    def usable(self, value: Sql, stored: T.DataType) -> Sql:
        """Return SQL for the text of a value that has the type of JSON for the logical type, null for others."""
        raw = self.raw(value, stored)
        if isinstance(stored, T.VariantType):
            text = when(f"schema_of_variant({value}) {_KIND_OF_VARIANT[_kind_of(self.type)]}", raw)
            # A number beyond DOUBLE is an infinite variant, which JSON does not have.
            return f"nullif(nullif({text}, 'Infinity'), '-Infinity')" if _kind_of(self.type) == NUMBER else text
        return raw if self.kind in ("", _kind_of(self.type)) else "CAST(NULL AS STRING)"

    def typed(self, text: Sql) -> Sql:
        """Return SQL for a text as a value of the type, null for other texts."""
        if self.is_exact:
            return numbers.let("k_", numbers.order_key(text), numbers.as_decimal(text, "k_"))
        if isinstance(self.type, T.LongType):
            return numbers.as_bigint(text)
        if isinstance(self.type, T.DoubleType):
            double = scalar(text, self.type, _FORMATS, "")
            return when(f"{numbers.is_number(text)} OR {matches(text, _NO_NUMBER)}", double)
        if isinstance(self.type, T.BooleanType):
            return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false END"
        form = _FORMS.get(type(self.type))
        value = scalar(text, self.type, _FORMATS, "")
        if isinstance(self.type, T.BinaryType):  # Spark decodes texts without their padding, too
            return when(f"length({text}) % 4 = 0 AND {matches(text, _BASE64)}", value)
        return when(matches(text, form), value) if form else value


def of_column(kind: T.DataType) -> Text | None:
    """Return how text is read as a value of a column's type, None if no logical type is read so."""
    names = (name for name, read_as in READ_AS.items() if isinstance(kind, type(read_as)))
    return next((Text(name) for name in names), None)


def _kind_of(kind: T.DataType) -> str:
    if isinstance(kind, T.NumericType):
        return NUMBER
    return BOOLEAN if isinstance(kind, T.BooleanType) else STRING
