"""The rows that a model of a contract is tested on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract.conditions import Decided, Scan
from airflow_provider_odf.engine.contract.fields import FieldSql, field_at
from airflow_provider_odf.engine.contract.texts import Declared
from airflow_provider_odf.engine.schema import quoted


class Unreadable(Exception):
    """Spark cannot read a source; the message says why."""


@dataclass(frozen=True)
class Data:
    """The rows of a source.

    ``types`` are the logical types of fields if values are text, else None. ``malformed`` is the column with
    records that are no rows, empty if there is none. ``broken`` are columns and nested fields by path that Spark cannot
    read, with the reason; the frame lacks them. ``problem`` says which of the files cannot be read.
    """

    frame: DataFrame
    is_small: bool = False
    types: Declared | None = None
    malformed: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    @property
    def system(self) -> tuple[str, ...]:
        """Columns outside of the contract."""
        return (self.malformed,) if self.malformed else ()


def with_malformed(frame: DataFrame, beside: str, malformed: str) -> DataFrame:
    """Return the rows of a text file of which ``malformed`` can be queried alone, which Spark refuses: it is computed
    from a column ``beside`` it, too."""
    both = "CASE WHEN {0} IS NULL THEN {1} ELSE concat({1}, '') END".format(quoted(beside), quoted(malformed))
    return frame.withColumn(malformed, F.expr(both))


def file_name(uri: str) -> str:
    """Return the name of a file for messages."""
    return unquote(uri).rpartition("/")[2]


def as_path(uri: str) -> str:
    """Return a URI that Spark lists as a path that Spark reads, which it takes as a glob."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", unquote(uri))


ROW = "odf:row"
"""Column with the number of a row of a file."""


def value_column(path: str) -> str:
    """Return the name of the column with what is computed of a field."""
    return f"odf:value {path.lower()}"


def missing_columns(*paths: str) -> Decided:
    """Return the verdict on a clause whose columns the data lack."""
    reason = "column not found" if len(paths) == 1 else f"column {', '.join(paths)} not found"
    return Decided("fail", reason, "a column")


@dataclass(frozen=True)
class Rows:
    """The rows of a model.

    ``system`` are columns outside of the contract. ``key`` are the columns that identify a row to a reader.
    ``unique_by`` are columns, in lower case, whose values are unique already. ``types`` are the logical types of fields
    for data that consist of text, else None: the rows have a column with what is computed of each (`value_column`).
    ``others`` are the rows of the models that references name, by name in lower case.
    ``has_offsets`` says whether the rows are records of a dataset, with offsets.
    ``malformed`` is the column with records of a file that are no rows, empty if there is none. ``as_of`` is the time
    of the test (RFC 3339), empty for now. ``broken`` says of columns and nested fields, by path in lower case, why they
    cannot be read: no schema has them. ``problem`` says which files cannot be read.
    """

    schema: T.StructType
    scan: Scan
    system: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    unique_by: frozenset[str] = frozenset()
    types: Declared | None = None
    others: Mapping[str, Other] = field(default_factory=dict)
    has_offsets: bool = False
    malformed: str = ""
    as_of: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def why_broken(self, path: str) -> str | None:
        """Return why a column or nested field cannot be read, or None."""
        lower = path.lower()
        ends = (i for i in range(len(lower) + 1) if lower[i : i + 1] in ("", ".", "[", "{"))
        return next((self.broken[lower[:i]] for i in ends if lower[:i] in self.broken), None)

    def field_at(self, path: str) -> FieldSql | None:
        """Return the column or nested field at a path, None if there is none."""
        column = field_at(self.schema, path, self.types)
        return column.in_column(value_column(path)) if column is not None else None

    def require(self, *paths: str) -> list[FieldSql]:
        """Return the columns and nested fields at paths.

        :raises Decided: there is none at some of them.
        """
        columns, missing = self.fields_at(paths)
        if missing:
            raise missing_columns(*missing)
        return columns

    def fields_at(self, paths: Iterable[str]) -> tuple[list[FieldSql], list[str]]:
        """Return the columns and nested fields at paths, and the paths without one."""
        columns = {path: self.field_at(path) for path in paths}
        return [c for c in columns.values() if c is not None], [path for path, c in columns.items() if c is None]

    @property
    def visible(self) -> list[str]:
        """The names of the columns that are not the system's. Those that cannot be read are the last."""
        system = {name.lower() for name in self.system}
        names = [name for name in self.schema.fieldNames() if name.lower() not in system]
        known = {name.lower() for name in self.schema.fieldNames()}
        return [*names, *(name for name in self.broken if "." not in name and name not in known)]


@dataclass(frozen=True)
class Other:
    """The rows of a model that references or queries name. ``hidden`` are columns that queries do not see."""

    frame: DataFrame
    types: Declared | None = None
    hidden: tuple[str, ...] = ()

    def field_at(self, path: str) -> FieldSql | None:
        """Return the column or nested field at a path, None if there is none."""
        return field_at(self.frame.schema, path, self.types)
