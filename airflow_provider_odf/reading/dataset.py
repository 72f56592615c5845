"""``PublishedDataset``: a dataset of a store for Python programs, with its current rows, history and changes."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias

import pyarrow as pa

from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.publications import (
    block_as_of,
    data_as_of,
    is_before_history,
    last_offset_at,
    newest_data,
    of_blocks,
    published_history,
    time_of,
)
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan
from airflow_provider_odf.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_provider_odf.chain.verify import Verified
    from airflow_provider_odf.contract.terms import ColumnTerms
    from airflow_provider_odf.protocol import ContractReport
    from airflow_provider_odf.reading.difference import DifferenceScan
    from airflow_provider_odf.reading.tables import ExportedTable

Position: TypeAlias = "str | date | int"
"""A place in a history: a block by its hash or the start of it, a system time as datetime or in RFC 3339, a date (of
``since`` its beginning, else its end in UTC), or an offset."""


class PublishedContract(NamedTuple):
    """What the newest test tells of the contract of a dataset: owner and terms by label, what it says of columns by
    name in lower case, and the report."""

    terms: Mapping[str, str]
    columns: Mapping[str, ColumnTerms]
    report: ContractReport

    def __repr__(self) -> str:
        outcomes = Counter(check.outcome for check in self.report.results)
        clauses = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
        return f"<contract {self.report.contract}: {self.report.result} ({clauses})>"


@dataclass(frozen=True, repr=False)
class PublishedDataset:
    """A dataset of a store. Each method reads the chain anew; what it returns does not change afterwards."""

    _store: Store
    _dataset: Dataset

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type}" for column in self.schema)
        return f"<dataset {self.name} of {self._store.location}: {columns or 'no columns yet'}>"

    def _repr_html_(self) -> str:
        """Return its description and current rows for notebooks."""
        about = f"<p><b>{escape(self.name)}</b> {escape(self.description or '')}</p>"
        return about + self.current()._repr_html_()

    def __getattr__(self, name: str) -> NoReturn:
        """Say where rows are: what is asked for is often a method of their scans."""
        raise AttributeError(
            f"a dataset has no {name}: its rows are in current(), history(), as_of(…) and changes(…)",
            name=name,
            obj=self,
        )

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return str(self._dataset.alias)

    @property
    def uri(self) -> str:
        """URI of the dataset's folder, which is its Airflow asset."""
        return self._dataset.uri

    @property
    def id(self) -> str:
        """Id of the dataset, which stays the same in all copies."""
        return replay(self._dataset).dataset_id

    @property
    def store_location(self) -> str:
        """Path of the store on this machine, or its URI."""
        return self._store.location

    @property
    def head(self) -> str:
        """Hash of the newest published block."""
        return self._dataset.resolve(HEAD)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the history, empty before they are known."""
        return self.history().schema

    @property
    def description(self) -> str | None:
        """Description of the dataset, None without one."""
        info = replay(self._dataset).info
        return info.description if info is not None else None

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The chain, newest block last, as ``odf log --format json`` shows it."""
        from airflow_provider_odf.chain.dataset_facts import log_entries

        return log_entries(self._dataset)

    @property
    def contract(self) -> PublishedContract | None:
        """The contract by its test on the newest data, None if none was tested."""
        from airflow_provider_odf.cycle.tested import newest_record

        found = newest_record(self._dataset, self.head)
        if found is None or (report := found[1].report) is None:
            return None
        return PublishedContract(found[1].terms, found[1].columns, report)

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Rejected candidates, oldest first: ``ref``, ``hash``, ``records``, ``since``, ``source`` (how far it was
        read, such as the name of a file), ``why`` and ``status``, which is ``waiting`` until somebody decides."""
        from airflow_provider_odf.cycle import candidates, tested

        return [
            {
                "ref": rejection.ref,
                "hash": rejection.block_hash,
                "records": rejection.records,
                "since": str(rejection.system_time),
                "source": rejection.source_state.value if rejection.source_state is not None else None,
                "why": list(rejection.reasons),
                "status": tested.status(self._dataset, rejection, self.head),
            }
            for rejection in candidates.rejections(self._dataset)
        ]

    @property
    def lineage(self) -> list[dict[str, Any]]:
        """The upstream graph, as ``odf lineage show --format json`` shows it: the dataset, its inputs and sources, each
        with its inputs and its name in OpenLineage."""
        from airflow_provider_odf.lineage.upstream import document, upstream

        return document(upstream(self._store, self._dataset))

    def verify(self) -> Verified:
        """Verify every block, link, size and hash, and the records against the logical hashes, as ``odf verify`` does.
        Return the numbers of blocks, slices and records.

        :raises ChainCorrupted: the first fault; the message names the file.
        """
        from airflow_provider_odf.chain.verify import verify

        return verify(self._dataset)

    def current(self) -> CurrentScan:
        """Return the current rows, as ``odf state`` shows them: without the columns of offset and operation, sorted
        by key.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        return CurrentScan(self._dataset, replay(self._dataset))

    def as_of(self, point: str | date) -> CurrentScan:
        """Return the rows that were current at a block or a system time.

        :param point: a system time, as datetime with time zone or in RFC 3339, for the newest block that is not after
            it; a date, also as text, for the end of that day in UTC; or the hash of a block, or the start of it.
        :raises InvalidInput: ``point`` is none of these, or the dataset had no data yet.
        :raises DatasetNotFound: the dataset has no such block.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        return CurrentScan(self._dataset, replay(self._dataset, data_as_of(self._dataset, point)))

    def history(self) -> HistoryScan:
        """Return all records, in the order of offsets. The operation is a number: 0 is ``+A``, 1 ``-R``, 2 ``-C`` and
        3 ``+C``.

        :raises ChainCorrupted: a block is missing or damaged.
        """
        return HistoryScan(self._dataset, replay(self._dataset))

    def changes(self, since: Position | None = None, until: Position | None = None) -> HistoryScan:
        """Return the records after ``since`` up to and including ``until``, in the order of offsets.

        Keep ``Scan.block`` of the result, and pass it as ``since`` the next time, to read each record once.

        :param since: a block by its hash or the start of it, a system time as datetime or in RFC 3339, a date for its
            beginning in UTC (as ``until`` it stands for its end), or an offset. By default the records begin with the
            first one.
        :param until: likewise, by default the newest block.
        :raises InvalidInput: not such a position, not in the history, or ``until`` is before ``since``.
        :raises DatasetNotFound: the dataset has no such block.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        self._check_order(since, until)
        after = self._since(since)
        block = HEAD if until is None or _offset(until) is not None else self._block(until, "until")
        state = replay(self._dataset, block)
        newest = -1 if state.last_offset is None else state.last_offset
        if after > newest and until is None:
            raise self._beyond("since", after, newest)
        last = newest if until is None else _offset(until)
        if last is not None and last > newest:
            raise self._beyond("until", last, newest)
        last = newest if last is None else last
        if last < after:
            raise self._swapped(since, until)
        offsets = OffsetRange(state.vocab.offset_column, after + 1, last)
        return HistoryScan(self._dataset, state, offsets=offsets)

    def difference(self, since: Position | None = None, until: Position | None = None) -> DifferenceScan:
        """Return what the records after ``since`` up to and including ``until`` changed in the end: rows that they
        added, retracted and corrected, by key. Records that undo each other are left out. It raises as `changes`, and
        `InvalidInput` for more than two million records when the rows are read.

        :param since: as in `changes`; by default what is before the newest publication of data.
        """
        from airflow_provider_odf.reading.difference import DifferenceScan

        if since is None and until is None:
            since = self.before_newest_data()
        changes = self.changes(since, until)
        return DifferenceScan(changes.dataset, changes.state, offsets=changes.offsets)

    def completeness(
        self,
        by: Literal["hour", "day", "month"] | None = None,
        *,
        of: Literal["event", "publication"] = "event",
        n: int | None = None,
    ) -> pa.Table:
        """Return how many rows came of each of the newest periods, oldest first, as the page **Completeness** has them:
        ``start`` of the period, ``rows`` added or corrected, how many are ``usual`` (null if not known), ``answer``
        (``gap``, ``few``, ``many``, ``complete``, ``as usual``, ``open`` or ``unknown``) and ``late`` rows.

        :param by: length of the periods, by default the one that fits.
        :param of: the time that counts: that of the event, or that of the publication.
        :param n: number of periods, by default 72 hours, 56 days or 24 months.
        :raises InvalidInput: an argument is none of these.
        :raises ChainCorrupted: a block or a slice is missing or damaged.
        """
        from airflow_provider_odf.reading.completeness import SCHEMA, UNITS, Totals

        if by not in (None, *UNITS):
            raise InvalidInput(f"by is {listed(list(UNITS))}, not {by!r}")
        if of not in ("event", "publication"):
            raise InvalidInput(f"of is event or publication, not {of!r}")
        if n is not None and n < 1:
            raise InvalidInput(f"n is 1 or more, not {n}")
        state, totals = replay(self._dataset), Totals()
        blocks = [*self._dataset.walk(state.head)][::-1]
        history = of_blocks(self._dataset, [block_hash for block_hash, _ in blocks])
        totals.extend(self._dataset, state, blocks, lambda b: history.since(b.sequence_number, b.system_time))
        periods = totals.periods(by or "", is_publication=of == "publication", most=n)
        return pa.Table.from_pylist([period.row for period in periods], SCHEMA)

    def export_tables(
        self,
        form: str,
        *,
        folder: str | None = None,
        table: str | None = None,
        catalog: str | None = None,
        properties: Mapping[str, str] | None = None,
        current: bool = False,
    ) -> Sequence[ExportedTable]:
        """Make an Iceberg or Delta table over the slices of the history, or bring it up to date in one commit: it gets
        the slices that it lacks. If the history was rewritten, the table is replaced.

        :param form: ``iceberg`` or ``delta``, which need the extra of that name.
        :param folder: folder of tables on this machine, for Delta also a URI; by default ``.tables`` in the store.
        :param table: ``NAMESPACE.TABLE``; by default ``odf.NAME``, or ``ACCOUNT.NAME``, with ``_`` for ``-`` and ``.``.
        :param catalog: name of an Iceberg catalog in pyiceberg's configuration, in place of one in ``folder``.
        :param properties: properties of the Iceberg catalog, in place of those or beside them.
        :param current: also replace the table of the current rows, ``NAMESPACE.TABLE_current``. It is a copy.
        :raises InvalidInput: the format has no type for a column, the table is of another dataset, or an argument or
            the catalog's configuration is not valid.
        :raises CommitConflict: another writer changed the table first.
        :raises StorageError: the catalog cannot be reached, or a file cannot be written.
        :raises ChainCorrupted: a block or slice is missing or damaged.
        """
        from airflow_provider_odf.reading import table_export

        name = table_export.name_of(self, table)
        with table_export.opened(self, form, folder, catalog, properties or {}) as tables:
            exported = [tables.history(name, self)]
            if current:
                exported.append(tables.current((name[0], f"{name[1]}_current"), self))
        return exported

    def before_newest_data(self) -> str | None:
        """Return the hash of the block before the newest publication of data; None if there is no earlier data."""
        found = newest_data(self._dataset)
        if found is None:
            return None
        history = published_history(self._dataset, HEAD)
        entry = history.entry(found.number)
        return history.hashes[(entry.first if entry is not None else found.number) - 1]

    def column_changes(self, since: Position, until: Position | None = None) -> list[str]:
        """Return how the columns changed between two positions, such as ``added price DOUBLE``; nothing after an
        offset, which names no block. It raises as `changes`."""
        from airflow_provider_odf.chain.dataset_facts import column_changes

        after = self.changes(since, until).state
        if isinstance(since, int) or _offset(since) is not None or is_before_history(self._dataset, since, "since"):
            return []
        before = replay(self._dataset, self._block(since, "since")).schema
        return list(column_changes(before, after.schema)) if before is not None else []

    def _check_order(self, since: Position | None, until: Position | None) -> None:
        """Compare two times, which may be those of the same block."""
        if since is None or until is None or _offset(since) is not None or _offset(until) is not None:
            return
        assert not isinstance(since, int)  # noqa: S101 - offsets are returned above
        assert not isinstance(until, int)  # noqa: S101
        start, end = time_of(since, "since"), time_of(until, "until")
        if start is not None and end is not None and end < start:
            raise self._swapped(since, until)

    def _swapped(self, since: Position | None, until: Position | None) -> InvalidInput:
        return InvalidInput(f"dataset {self.name}: until {until} is before since {since}: swap the two")

    def _since(self, since: Position | None) -> int:
        """Return the offset before the first one to read."""
        if since is None:
            return -1
        offset = _offset(since)
        if offset is not None:
            return offset
        assert not isinstance(since, int)  # noqa: S101 - an offset is returned above
        if is_before_history(self._dataset, since, "since"):
            return -1
        last = last_offset_at(self._dataset, self._block(since, "since"))
        return -1 if last is None else last

    def _block(self, point: Position, argument: str) -> str:
        assert not isinstance(point, int)  # noqa: S101 - offsets are no blocks
        return block_as_of(self._dataset, point, argument)

    def _beyond(self, argument: str, offset: int, newest: int) -> InvalidInput:
        has = f"its newest offset is {newest}" if newest >= 0 else "it has no data yet"
        advice = "if the dataset was reset, read it from the beginning"
        with suppress(ValueError):
            advice = f"for the date write {datetime.strptime(str(offset), '%Y%m%d').date()}"  # noqa: DTZ007
        return InvalidInput(f"dataset {self.name}: {argument} is offset {offset}, but {has}: {advice}")


def _offset(position: Position) -> int | None:
    """Return a position that is an offset, also as text, as a number."""
    if isinstance(position, bool) or (isinstance(position, int) and position < -1):
        raise InvalidInput(f"{position!r} is not an offset: offsets are 0 or more, -1 is before the first one")
    if isinstance(position, str) and position.isascii() and position.removeprefix("-").isdigit():
        return _offset(int(position))
    return position if isinstance(position, int) else None
