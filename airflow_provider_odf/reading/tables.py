"""Tables of other formats over a dataset: metadata of Iceberg or Delta that names the slices where they are.

The table of the history consists of the slices themselves: no row is copied. It is compared with the chain by its list
of files, which are named by their hashes, so an export can be repeated, and never adds a slice twice. The current rows
are a projection that no slice has: their table is a copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.types as pt

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.http_storage import HttpStorage
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.wording import counted, listed

if TYPE_CHECKING:
    from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan, Scan

BLOCK = "odf.block"
"""Property of a commit: the block up to which the table has the dataset."""

_KEPT = {pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()} | {
    *(pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"))
}
_PLAIN = {
    **dict.fromkeys((pa.string_view(), pa.large_string()), pa.string()),
    **dict.fromkeys((pa.binary_view(), pa.large_binary()), pa.binary()),
    **dict.fromkeys((pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us")), pa.timestamp("us", "UTC")),
}


class Source(Protocol):
    """A published dataset, as tables need it."""

    @property
    def name(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def uri(self) -> str: ...

    @property
    def store_location(self) -> str: ...

    def history(self) -> HistoryScan: ...

    def current(self) -> CurrentScan: ...


class ExportedTable(NamedTuple):
    """A table after an export. ``location`` is what readers open: the newest metadata file of Iceberg, the folder of
    Delta. ``slices`` and ``records`` count what the export added; of current rows there are no slices."""

    name: str
    location: str
    block: str
    slices: int
    records: int
    change: str
    """``created``, ``appended``, ``replaced`` or ``unchanged``."""

    def __str__(self) -> str:
        added = [counted(self.slices, "slice")] if self.slices else []
        added += [counted(self.records, "row")] if self.records else []
        what = f"{self.change}: {', '.join(added)}" if added else self.change
        return f"table {self.name} as of block {self.block[:13]} {what}; {self.location}"


class SliceFiles(NamedTuple):
    """How the files of a table differ from those of a history: files that it lacks, and files that it has too much."""

    new: Mapping[str, DataSlice]
    stale: Collection[str]

    @property
    def records(self) -> int:
        return sum(records_in(part) for part in self.new.values())

    def change(self, table: object | None) -> str:
        """Return what a commit of them does to a table; None is one that there is not yet."""
        return "created" if table is None else "replaced" if self.stale else "appended"


class Tables(ABC):
    """The place for tables of a format."""

    format: ClassVar[str]
    types: ClassVar[Collection[pa.DataType]] = ()
    """Types that the format has, beside those of all formats."""

    @abstractmethod
    def history(self, name: tuple[str, str], source: Source) -> ExportedTable:
        """Bring the table of a history up to date, in one commit that readers see whole."""

    @abstractmethod
    def current(self, name: tuple[str, str], source: Source) -> ExportedTable:
        """Replace the table of current rows, unless it already is of the newest block."""

    def columns(self, scan: Scan) -> pa.Schema:
        """Return the columns of a table: all may be null, since slices before a column have none of its values.

        :raises InvalidInput: no columns are known yet, two differ only by case, or the format has no such type.
        """
        if not scan.schema.names:
            raise InvalidInput(f"dataset {scan.dataset.alias} has no columns yet: run it first")
        twins = [name for name, n in Counter(name.lower() for name in scan.schema.names).items() if n > 1]
        if twins:
            raise InvalidInput(
                f"dataset {scan.dataset.alias}: columns {listed([c for c in scan.schema.names if c.lower() in twins])} "
                "differ only by case, and readers of tables take them for one: rename one in the manifest"
            )
        return pa.schema([pa.field(f.name, self._type(f.type, f.name, scan)) for f in scan.schema])

    def _type(self, kind: pa.DataType, path: str, scan: Scan) -> pa.DataType:
        if pt.is_struct(kind):
            return pa.struct([pa.field(f.name, self._type(f.type, f"{path}.{f.name}", scan)) for f in kind])
        if pt.is_list(kind):
            return pa.list_(self._type(kind.value_type, f"{path}[]", scan))
        kind = _PLAIN.get(kind, kind)
        if kind in _KEPT or kind in self.types or pt.is_decimal128(kind):
            return kind
        raise InvalidInput(
            f"dataset {scan.dataset.alias}: column {path}: {self.format} has no type for {kind}, and a history keeps "
            "its types: export Parquet, or derive a dataset that casts the column"
        )


def slice_files(scan: HistoryScan, present: Collection[str], name: Callable[[str], str]) -> SliceFiles:
    """Compare the files of a table with the slices of a history.

    :param present: the files of the table.
    :param name: returns how the table names a path or URI.
    :raises ChainCorrupted: a new slice is missing, or has another size.
    :raises InvalidInput: the store is on a web server.
    """
    if isinstance(scan.dataset.storage, HttpStorage):
        raise InvalidInput(f"{scan.dataset.location}: tables need a store in a folder or bucket: use `odf copy` first")
    files = {name(slices.location(scan.dataset, part)): part for part in scan.slices()}
    new = {file: part for file, part in files.items() if file not in present}
    for file, part in new.items():
        if (size := slices.stat(scan.dataset, part).size) != part.size:
            raise ChainCorrupted(f"{file}: has {size} bytes, but its block records {part.size}: run `odf verify`")
    return SliceFiles(new, [file for file in present if file not in files])


def records_in(part: DataSlice) -> int:
    """Return the number of records of a slice."""
    return part.offset_interval.end - part.offset_interval.start + 1


def check_owner(name: str, has: str | None, source: Source, kind: str) -> None:
    """Refuse a table of another dataset or of other rows.

    :param has: the kind of rows that the table has of the dataset; None if it is of another.
    :raises InvalidInput: it is one.
    """
    if has is None:
        raise InvalidInput(f"table {name} is not of dataset {source.name}: choose another name, or drop the table")
    if has != kind:
        raise InvalidInput(f"table {name} has the {has} of dataset {source.name}: choose another name for the {kind}")


def default_folder(source: Source, folder: str | None) -> str:
    """Return the folder of tables: by default ``.tables`` of the store."""
    return folder if folder is not None else f"{source.store_location}/.tables"


def access_to(uri: str, names: Mapping[str, str]) -> Mapping[str, str]:
    """Return how the bucket of a URI is accessed. Nothing for a folder, and for other stores than S3, of which both
    libraries ask the environment.

    :param names: obstore's settings, and what a library calls them.
    """
    known = object_stores.parameters(object_stores.split(uri)[0]) if uri.lower().startswith("s3://") else {}
    return {names[name]: value for name, value in known.items() if name in names}
