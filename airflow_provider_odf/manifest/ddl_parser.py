"""Parser of DDL schemas (``ReadStep.ddlSchema``): ``name TYPE [NOT NULL]`` as a column with a Spark DDL type.

Slices have no unsigned integers, UUIDs or bounded texts. Such a type becomes the nearest one that holds all its values,
with a note about the change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from airflow_provider_odf.protocol import Column
from airflow_provider_odf.read_steps import MAX_DEPTH

_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\s"`<>(),:]+|[<>(),:])')
_MARKS = "<>(),:"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_TYPES = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), "BOOLEAN"),
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    **dict.fromkeys(("INT", "INTEGER", "SIGNED"), "INT"),
    "BIGINT": "BIGINT",
    **dict.fromkeys(("FLOAT", "REAL"), "FLOAT"),
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "DATETIME"), "TIMESTAMP"),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR", "TEXT", "UUID"), "STRING"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES", "BYTEA", "BLOB"), "BINARY"),
}
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")
_UNSIGNED = {"TINYINT": "SMALLINT", "SMALLINT": "INT", "INT": "BIGINT", "BIGINT": "DECIMAL(20,0)"}
_SIZED = ("VARCHAR", "CHAR", "BINARY", "VARBINARY")

KNOWN = (*_TYPES, *_DECIMALS, "TIME", "ARRAY", "MAP", "STRUCT")
"""Every word that a type can start with."""


class DdlError(ValueError):
    """A column definition cannot be parsed; ``offset`` is the place in the text, from 0."""

    def __init__(self, message: str, offset: int, word: str = "") -> None:
        super().__init__(message)
        self.offset, self.word = offset, word


@dataclass(frozen=True)
class Definition:
    """Column with a Spark type, and a note if that differs from the declared type."""

    column: Column
    note: str = ""


@lru_cache(1024)  # rules, documentation and schema ask for the same columns
def parse(text: str) -> tuple[Definition, ...]:
    """Return the columns of one entry of a DDL schema: usually one, or several separated by commas.

    >>> parse("id INT UNSIGNED NOT NULL")[0].column
    Column(name='id', type='BIGINT', is_nullable=False)

    :raises DdlError: the entry is not a column definition.
    """
    return tuple(_Parser(text).definitions())


def single_name(text: str) -> str | None:
    """Return the name of the column that an entry with an invalid type declares, or None if that is ambiguous."""
    try:
        return None if "," in text else _Parser(text).name("a column definition `name TYPE` is expected")
    except DdlError:
        return None


def quoted(name: str) -> str:
    """Return a field's name as Spark DDL writes it."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def unsigned(spark_type: str) -> str:
    """Return the signed Spark type that holds every value of the unsigned one of the same width."""
    return _UNSIGNED[spark_type]


@dataclass
class _Parser:
    text: str
    position: int = 0
    notes: list[str] = field(default_factory=list)
    depth: int = 0

    def definitions(self) -> Iterator[Definition]:
        while True:
            yield self._definition()
            if not self._peek():
                return
            self._expect(",", "only NOT NULL may follow the type")

    def _definition(self) -> Definition:
        name = self.name("a column definition `name TYPE` is expected")
        self._take(":")
        if not self._peek():
            raise DdlError(f"column {name!r} has no type", self.position)
        self.notes = []
        spark_type = self._type()
        return Definition(Column(name, spark_type, self._is_nullable()), "; ".join(self.notes))

    def _is_nullable(self) -> bool:
        if self._take("NOT"):
            self._expect("NULL", "NULL must follow NOT")
            return False
        self._take("NULL")
        return True

    def _type(self) -> str:
        start = self.position
        word = self._next("a type is expected").upper()
        special: dict[str, Callable[[], str]] = {
            "ARRAY": self._array,
            "MAP": self._map,
            "STRUCT": self._struct,
            "TIME": self._time,
            **dict.fromkeys(_DECIMALS, self._decimal),
        }
        if word in special:
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise DdlError(f"types are nested more than {MAX_DEPTH} deep", self._skip_space(start))
            spark_type = special[word]()
            self.depth -= 1
            return spark_type
        if word[0] in _MARKS:
            raise DdlError(f"a type is expected, not {word!r}", self._skip_space(start))
        if word not in _TYPES:
            raise DdlError(f"unknown type {word}", self._skip_space(start), word)
        return self._simple(word)

    def _simple(self, word: str) -> str:
        spark_type = _TYPES[word]
        if word in _SIZED:
            self._parameter(2**31, "length")
        if spark_type == "TIMESTAMP":
            self._timestamp()
        if word == "DOUBLE":
            self._take("PRECISION")
        if spark_type in _UNSIGNED and self._take("UNSIGNED"):
            self.notes.append(f"{word} UNSIGNED is stored as {_UNSIGNED[spark_type]}: Spark has no unsigned integers")
            return _UNSIGNED[spark_type]
        if word == "UUID":
            self.notes.append("UUID is stored as STRING: Spark has no UUID type")
        return spark_type

    def _timestamp(self) -> None:
        """Parse a timestamp with any precision and either kind of time zone; slices store milliseconds in UTC."""
        self._parameter(9, "precision")
        if self._take("WITH") or self._take("WITHOUT"):
            for word in ("TIME", "ZONE"):
                self._expect(word, "TIME ZONE must follow WITH or WITHOUT")

    def _time(self) -> str:
        precision = self._parameter(9, "precision")
        if precision is not None and precision > 6:
            self.notes.append(f"TIME({precision}) is stored as TIME(6): Spark does not support a higher precision")
        return f"TIME({6 if precision is None else min(precision, 6)})"

    def _decimal(self) -> str:
        self._expect("(", "DECIMAL needs precision and scale, as in DECIMAL(12,2)")
        precision = self._number(1, 38)
        scale = self._number(0, precision) if self._take(",") else 0
        self._expect(")", "`)` must follow the scale")
        return f"DECIMAL({precision},{scale})"

    def _array(self) -> str:
        self._expect("<", "the type of the items must follow, as in ARRAY<STRING>")
        item = self._type()
        self._expect(">", "`>` must follow the type of the items")
        return f"ARRAY<{item}>"

    def _map(self) -> str:
        self._expect("<", "the types of keys and values must follow, as in MAP<STRING, BIGINT>")
        key = self._type()
        self._expect(",", "`,` must follow the type of the keys")
        value = self._type()
        self._expect(">", "`>` must follow the type of the values")
        return f"MAP<{key}, {value}>"

    def _struct(self) -> str:
        self._expect("<", "the fields must follow, as in STRUCT<a: INT, b: STRING>")
        fields = list[str]()
        while not fields or self._take(","):
            name = quoted(self.name("a field of the struct is expected"))
            self._take(":")
            spark_type = self._type()
            fields.append(f"{name}: {spark_type}" + ("" if self._is_nullable() else " NOT NULL"))
        self._expect(">", "`>` must follow the fields")
        return f"STRUCT<{', '.join(fields)}>"

    # --- tokens ---

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        if match is None and self.text[self.position :].strip():
            raise DdlError("a quote is not closed", self._skip_space(self.position))
        return match[1] if match else ""

    def _next(self, expected: str) -> str:
        token = self._peek()
        if not token:
            raise DdlError(f"the text ends where {expected}", self.position)
        self.position = self._skip_space(self.position) + len(token)
        return token

    def _take(self, token: str) -> bool:
        if self._peek().upper() != token:
            return False
        self._next("")
        return True

    def _expect(self, token: str, message: str) -> None:
        if not self._take(token):
            next_token = self._peek()
            raise DdlError(f"{message}, not {next_token!r}" if next_token else message, self._skip_space(self.position))

    def name(self, expected: str) -> str:
        start = self.position
        word = self._next(expected)
        if word[0] in '"`':
            return word[1:-1].replace(word[0] * 2, word[0])
        if word in _MARKS:
            raise DdlError(f"{expected}, not {word!r}", self._skip_space(start))
        return word

    def _parameter(self, highest: int, noun: str) -> int | None:
        """Parse a number in parentheses, if there is one."""
        if not self._take("("):
            return None
        number = self._number(0, highest)
        self._expect(")", f"`)` must follow the {noun}")
        return number

    def _number(self, lowest: int, highest: int) -> int:
        start = self._skip_space(self.position)
        token = self._next("a number is expected")
        if not token.isascii() or not token.isdecimal() or len(token) > 9 or not lowest <= int(token) <= highest:
            raise DdlError(f"a number from {lowest} to {highest} is expected, not {token!r}", start)
        return int(token)

    def _skip_space(self, position: int) -> int:
        return len(self.text) - len(self.text[position:].lstrip())
