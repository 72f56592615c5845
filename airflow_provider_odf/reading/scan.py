"""``Scan``: rows of a dataset, read when they are asked for: as Arrow, pandas or a Spark DataFrame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.chain import record_rows, slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.record_rows import current_columns
from airflow_provider_odf.chain.slices import OffsetRange, scan
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import DataSlice
from airflow_provider_odf.reading.rows import Rows
from airflow_provider_odf.wording import suggestion

if TYPE_CHECKING:
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Rows):
    """Rows of a dataset up to one of its blocks."""

    dataset: Dataset
    state: ChainState
    columns: tuple[str, ...] | None = None
    """Columns to read, None for all."""
    condition: pc.Expression | None = None
    kind: ClassVar[str]
    """What the rows are, in a word or two."""

    @property
    def title(self) -> str:
        return f"{self.kind} of {self.dataset.alias} at block {self.block[:13]}."

    @property
    def operation_column(self) -> str | None:
        return self.state.vocab.operation_type_column

    @property
    def block(self) -> str:
        """Hash of the block up to which the rows are read: the position to continue from."""
        return self.state.head

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows, empty before they are known."""
        stored = self.state.row_schema()
        names = self.columns if self.columns is not None else self._all_columns()
        return pa.schema([] if stored is None else [stored.field(name) for name in names])

    def select(self, *columns: str | Iterable[str]) -> Self:
        """Return the scan with these columns only, in this order: names, or lists of names. Other columns are not read.

        :raises InvalidInput: there is no such column, or one is repeated.
        """
        names = tuple(name for each in columns for name in ([each] if isinstance(each, str) else each))
        for name in names:
            self._check_column(name)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated or not names:
            what = f"column {repeated[0]} is selected twice" if repeated else "no columns are selected"
            raise InvalidInput(f"dataset {self.dataset.alias}: {what}: name each column once")
        return replace(self, columns=names)

    def where(self, condition: pc.Expression | str) -> Self:
        """Return the scan with only those rows that also meet a condition: in SQL, such as ``"price > 10"``, or
        ``pyarrow.compute.field("price") > 10``. Parts of files that cannot have such rows are not read.

        :raises InvalidInput: not a condition on these columns, or one that pyarrow cannot compute.
        """
        stored = self._known_schema()
        if isinstance(condition, str):
            from airflow_provider_odf.reading.condition import parse

            condition = parse(condition, pa.schema([stored.field(name) for name in self._all_columns()]))
        if not isinstance(condition, pc.Expression):
            example = f"pyarrow.compute.field({stored.names[-1]!r}) == value"
            raise InvalidInput(f"dataset {self.dataset.alias}: {condition!r} is no condition: write it as {example}")
        try:
            stored.empty_table().select(list(self._all_columns())).filter(condition)
        except (pa.ArrowException, TypeError) as e:
            raise InvalidInput(f"dataset {self.dataset.alias}: cannot filter by {condition}: {e}") from e
        return replace(self, condition=condition if self.condition is None else self.condition & condition)

    def to_arrow(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches.

        :raises ChainCorrupted: a slice is missing, or differs from its hash.
        :raises StorageError: a slice cannot be read.
        """
        slices.check_unrecorded(self.dataset, self.state.dataset_id, self.slices())
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame that Spark reads from the files, with its own pushdown of columns and filters.
        Current rows are in no order.

        :raises InvalidInput: the scan has a condition (filter the DataFrame instead), or no columns are known yet.
        :raises ChainCorrupted: a slice is missing, or differs from its hash.
        """
        from airflow_provider_odf.spark.frame import selected

        if self.condition is not None:
            raise InvalidInput("a scan with a condition cannot become a DataFrame: use `DataFrame.where` instead")
        slices.check_unrecorded(self.dataset, self.state.dataset_id, self.slices())
        return selected(self._frame(spark), self.dataset, self.schema)

    @abstractmethod
    def slices(self) -> Sequence[DataSlice]:
        """Return the slices that have the rows."""

    @abstractmethod
    def _all_columns(self) -> tuple[str, ...]: ...

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]: ...

    @abstractmethod
    def _frame(self, spark: SparkSession) -> DataFrame: ...

    def _known_schema(self) -> pa.Schema:
        schema = self.state.row_schema()
        if schema is None:
            raise InvalidInput(f"dataset {self.dataset.alias} has no columns yet: run it first")
        return schema

    def _check_column(self, name: str) -> None:
        self._known_schema()
        known = self._all_columns()
        if name not in known:
            raise InvalidInput(f"dataset {self.dataset.alias} has no column {name!r} ({suggestion(name, known)})")


@dataclass(frozen=True, eq=False, repr=False)
class CurrentScan(Scan):
    """Current rows of a dataset at a block."""

    kind = "current rows"

    def slices(self) -> Sequence[DataSlice]:
        return self.state.slices

    def _all_columns(self) -> tuple[str, ...]:
        return tuple(current_columns(self.state))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        table = record_rows.current_rows(self.dataset, self.state, self.schema.names, self.condition)
        yield from () if table is None else table.to_batches()

    def _frame(self, spark: SparkSession) -> DataFrame:
        from airflow_provider_odf.spark import frame

        return frame.current(spark, self.dataset, self.state)


@dataclass(frozen=True, eq=False, repr=False)
class HistoryScan(Scan):
    """Records of a range of offsets, in bounded memory."""

    kind = "records"

    offsets: OffsetRange | None = None
    """None for all offsets."""

    def slices(self) -> Sequence[DataSlice]:
        return [s for s in self.state.slices if self.offsets is None or self.offsets.overlaps(s)]

    def _all_columns(self) -> tuple[str, ...]:
        schema = self.state.row_schema()
        return () if schema is None else tuple(schema.names)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        schema, columns = self.state.row_schema(), self.schema.names
        for data_slice in self.slices():
            yield from scan(self.dataset, data_slice, schema, columns, self.condition, self.offsets)

    def _frame(self, spark: SparkSession) -> DataFrame:
        from airflow_provider_odf.spark import frame

        return frame.history(spark, self.dataset, self.state, self.slices(), self.offsets)
