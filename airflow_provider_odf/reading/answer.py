"""``Answer``: all rows that a question asks for, as `export` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.reading import row_page
from airflow_provider_odf.reading.row_page import Question
from airflow_provider_odf.reading.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState


@dataclass(frozen=True)
class Answer:
    """The rows of a scan that a question asks for, in the order of the scan. Values of columns of ``sensitive``, names
    in lower case, are replaced by ``mask``; nulls stay."""

    scan: Scan
    question: Question
    sensitive: frozenset[str] = frozenset()
    mask: str = ""

    @property
    def dataset(self) -> Dataset:
        return self.scan.dataset

    @property
    def state(self) -> ChainState:
        return self.scan.state

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows. Those that are masked are texts."""
        import pyarrow as pa

        return pa.schema(
            [
                field.with_type(pa.string()) if field.name.lower() in self.sensitive else field
                for field in self.scan.schema
            ]
        )

    def to_arrow(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches.

        :raises InvalidInput: there is no such column or operation, or values of the column have no text.
        :raises ChainCorrupted: a slice is missing, or differs from its hash.
        """
        import pyarrow as pa

        if self.scan.state.schema is not None:
            row_page.check(self.question, self.scan)
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in row_page.matching(self.scan, self.question):
            columns = [
                self._masked(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _masked(self, name: str, column: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if name.lower() not in self.sensitive:
            return column
        return pc.if_else(column.is_null(), pa.scalar(None, pa.string()), self.mask)
