"""Datasets of a store as tables of DataFusion, which are opened when a query names them, and read by `Scan`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from airflow_provider_odf.errors import DatasetNotFound, OdfError
from airflow_provider_odf.manifest.names import is_alias
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from datafusion import Table

    from airflow_provider_odf.reading.dataset import PublishedDataset
    from airflow_provider_odf.reading.scan import Scan

CURRENT, HISTORY = "current", "history"
"""Schemas of a catalog: the kinds of tables of its datasets."""

CALL = re.compile("as_[0-9a-f]{2,}")
"""Names of the function ``as_of``, which returns rows as of a time or block: one for each call in a query."""


class Datasets(Protocol):
    """Datasets by name, as a store has them."""

    def __getitem__(self, name: str) -> PublishedDataset: ...

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object) -> bool: ...


class StoreCatalog:
    """A catalog provider of DataFusion for a store. Its schemas are the kinds of tables, and the beginnings of names,
    as in ``acme.orders``.

    :param errors: errors of scans are added to it, because DataFusion keeps only their texts.
    """

    def __init__(self, store: Datasets, errors: list[OdfError]) -> None:
        self.store, self.errors = store, errors

    def schema(self, name: str) -> Any:
        if name in (CURRENT, HISTORY):
            return _Kind(self, name)
        return _Prefix(self, name) if name != "information_schema" else None


class _Kind:
    """A schema provider: all datasets, as tables of one kind."""

    def __init__(self, catalog: StoreCatalog, kind: str) -> None:
        self.store, self.errors, self.kind = catalog.store, catalog.errors, kind

    def table(self, name: str) -> Table | None:
        # DataFusion looks for a table before it looks for a function. No dataset has such a name.
        if CALL.fullmatch(name):
            return None
        dataset = self._dataset(name)
        return table(dataset.current() if self.kind == CURRENT else dataset.history(), self.errors)

    def _dataset(self, name: str) -> PublishedDataset:
        if not is_alias(name):
            raise DatasetNotFound(f"no dataset or function {name} (datasets: {listed(list(self.store))})")
        kind, _, rest = name.partition(".")
        if kind in (CURRENT, HISTORY) and name not in self.store and rest in self.store:
            raise DatasetNotFound(f'no dataset {name}: write {kind}."{rest}"')
        return self.store[name]


class _Prefix:
    """A schema provider: the datasets whose names begin with a word and a dot or slash, by the rest of their names."""

    def __init__(self, catalog: StoreCatalog, prefix: str) -> None:
        self.store, self.errors, self.prefix = catalog.store, catalog.errors, prefix

    def table(self, name: str) -> Table:
        if (whole := self._names().get(name.lower())) is None:
            raise DatasetNotFound(f"no dataset {self.prefix}.{name} (known: {', '.join(self.store)})")
        return table(self.store[whole].current(), self.errors)

    def _names(self) -> dict[str, str]:
        starts = (f"{self.prefix}.".lower(), f"{self.prefix}/".lower())
        return {name[len(self.prefix) + 1 :].lower(): name for name in self.store if name.lower().startswith(starts)}


def table(scan: Scan, errors: list[OdfError]) -> Table:
    """Return the rows of a scan as a table, which adds its errors to a list."""
    from datafusion import Table

    return Table(_ScanDataset(scan, errors))


class _ScanDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A scan as the dataset of pyarrow that DataFusion asks for columns, and for the rows of a condition."""

    def __init__(self, scan: Scan, errors: list[OdfError]) -> None:  # pyarrow forbids the constructor of its own class.
        self._fragment = _Fragment(scan, errors)

    @property
    def schema(self) -> pa.Schema:
        return self._fragment.scan.schema

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[_Fragment]:
        yield self._fragment

    def scanner(self, **options: Any) -> _Scanner:
        return self._fragment.scanner(**options)


@dataclass(frozen=True)
class _Fragment:
    """The only part of a scan."""

    scan: Scan
    errors: list[OdfError]

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_: Any,
    ) -> _Scanner:
        names = self.scan.schema.names if columns is None else list(columns)
        return _Scanner(self.scan, self.errors, filter, pa.schema([self.scan.schema.field(name) for name in names]))


@dataclass(frozen=True)
class _Scanner:
    """Columns of the rows of a scan that meet a condition."""

    scan: Scan
    errors: list[OdfError]
    condition: pc.Expression | None
    projected_schema: pa.Schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except OdfError as e:
            self.errors.append(e)
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        names = self.projected_schema.names
        # A query that only counts rows needs no column, but a scan has at least one.
        rows = self.scan.select(*(names or self.scan.schema.names[:1]))
        if self.condition is not None:
            rows = rows.where(self.condition)
        for batch in rows.to_arrow():
            yield batch.select(names)
