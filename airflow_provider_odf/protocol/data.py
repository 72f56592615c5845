"""Fragments of requests that describe data, as in the specification, with their defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, Traits
from airflow_provider_odf.read_steps import READ_STEPS, Format


@dataclass(frozen=True)
class OffsetInterval:
    """Closed interval of record offsets."""

    start: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True)
class Changes:
    """Numbers of rows that records add (+A), remove (-R) and correct (-C with its +C)."""

    added: int = 0
    removed: int = 0
    corrected: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(self.added + other.added, self.removed + other.removed, self.corrected + other.corrected)

    def __str__(self) -> str:
        return ", ".join(f"{number:,} {name}" for name, number in vars(self).items() if number)


@dataclass(frozen=True)
class Watermark:
    system_time: str
    event_time: str


@dataclass(frozen=True)
class DatasetVocabulary:
    """Names of the system columns (DatasetVocabulary in the specification)."""

    offset_column: str = "offset"
    operation_type_column: str = "op"
    system_time_column: str = "system_time"
    event_time_column: str = "event_time"

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """The system columns, in the order of every slice."""
        return (self.offset_column, self.operation_type_column, self.system_time_column, self.event_time_column)


@dataclass(frozen=True)
class SqlQueryStep:
    query: str
    alias: str | None = None


@dataclass(frozen=True)
class TemporalTable:
    name: str
    primary_key: tuple[str, ...]


@dataclass(frozen=True)
class Transform:
    """Transform::Sql of the specification.

    In requests, ``queries`` are in DataFusion's SQL if ``engine`` is ``datafusion``, else in Spark SQL, translated from
    the dialect of ``engine``. The last query has no alias and is the output. ``version`` is the version of ``engine``
    that the queries were written for. ``query`` comes only from manifests and is never sent.
    """

    engine: str
    queries: tuple[SqlQueryStep, ...] = ()
    version: str | None = None
    query: str | None = None
    temporal_tables: tuple[TemporalTable, ...] = ()


@dataclass(frozen=True)
class Column:
    """One declared column. ``type`` is a Spark DDL type: ``BIGINT``, ``DECIMAL(12,2)``, ``ARRAY<STRING>``."""

    name: str
    type: str
    is_nullable: bool = True


@dataclass(frozen=True)
class ReadStep:
    """How to read raw files into rows: ReadStep of the specification with its defaults filled in.

    ``kind`` is a name in `read_steps.READ_STEPS`. ``columns`` is the declared schema or None. Formats of dates and
    times are Java patterns, in which ``%y`` is a two-digit year from 1969 to 2068, or the word ``rfc3339``. A shapefile
    arrives as lines of GeoJSON Features, one line per record, with null for null shapes.

    ``known_columns`` are the columns of the dataset, for steps without a schema and without queries. They replace types
    inferred from values. A column with an empty type is still inferred.
    """

    kind: str
    columns: tuple[Column, ...] | None = None
    separator: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str = "\\"
    header: bool = False
    infer_schema: bool = False
    null_value: str = ""
    date_format: str = "rfc3339"
    timestamp_format: str = "rfc3339"
    sub_path: str | None = None
    known_columns: tuple[Column, ...] = ()

    @property
    def format(self) -> Format:
        return READ_STEPS[self.kind]


@dataclass(frozen=True)
class MergeStrategy:
    """Merge strategy of the dataset. ``kind`` is a name in `merge_strategies.MERGE_STRATEGIES`."""

    kind: str
    primary_key: tuple[str, ...] = ()
    compare_columns: tuple[str, ...] | None = None

    @property
    def traits(self) -> Traits:
        return MERGE_STRATEGIES[self.kind]


@dataclass(frozen=True)
class HistorySlice:
    """A slice of the dataset's history, its offsets, and its size in bytes, as its block has it."""

    path: str
    offset_interval: OffsetInterval
    size: int | None = None


@dataclass(frozen=True)
class StoredFile:
    """A slice or checkpoint of a dataset, as its block has it. A checkpoint has no records."""

    path: str
    physical_hash: str
    size: int
    logical_hash: str | None = None
    offset_interval: OffsetInterval | None = None


STATE_FILE = "state.json"
"""File of a state cache that says what it is, with the names, sizes, rows and SHA-256 of its other files."""


@dataclass(frozen=True)
class StateCache:
    """The state cache: a directory with the current rows or the keys, and the last offset that they include.

    It may be missing or broken. The engine then rebuilds it from the history.
    """

    path: str
    last_offset: int
