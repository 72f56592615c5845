"""``MergeRequest``: read, preprocess, merge against the state, write slices, test the contract; all in one session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_odf.engine import schema as schemas
from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.base import Base
from airflow_provider_odf.engine.batches import batches, name_of, read_batch
from airflow_provider_odf.engine.layout import Fitted, fit
from airflow_provider_odf.engine.preprocess import preprocess
from airflow_provider_odf.engine.read import read
from airflow_provider_odf.engine.read.typed import declared
from airflow_provider_odf.engine.refusal import refusal, unreadable_file
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.protocol import (
    ContractReport,
    HistorySlice,
    MergeInput,
    MergeRequest,
    MergeSuccess,
    NewSlice,
    PositionalHeader,
    StateCache,
)
from airflow_provider_odf.wording import counted, listed

Progress: TypeAlias = Callable[[str], None]


def execute(spark: SparkSession, request: MergeRequest, progress: Progress) -> MergeSuccess:
    """The slices of a merge. ``spark`` must be a session of this request alone: its settings are changed.

    :raises InvalidQuery: the data, or the steps of the request, do not make a slice of this dataset.
    :raises InternalError: a slice could not be written.
    """
    try:
        return _Merge(spark, request, progress).run()
    except OdfError:
        raise
    except Exception as e:
        if request.prev_state is None or _is_refused(e, request.prev_state):
            raise
        progress(f"merging again without the cached state, which may be broken ({type(e).__name__})")
        return _Merge(spark, replace(request, prev_state=None), progress).run()


def _is_refused(error: Exception, cache: StateCache) -> bool:
    """Whether the data or the query are at fault, and not a file of the cache."""
    file = unreadable_file(error)
    return refusal(error) is not None and not (file and Path(cache.path) in Path(file).parents)


class _Merge:
    """One request at work: its inputs one after the other, each onto the state that the one before left."""

    def __init__(self, spark: SparkSession, request: MergeRequest, progress: Progress) -> None:
        self._spark, self._request, self._progress = spark, request, progress
        self._stored = self._declared = schemas.decode(request.schema) if request.schema else None
        self._base: Base | None = None
        self._notices: list[str] = []
        self._headers: list[PositionalHeader] = []
        self._is_analysed = False

    def run(self) -> MergeSuccess:
        if not self._request.inputs:
            return MergeSuccess((), self._analysed(), is_analysed=True)
        written = tuple(new for batch in batches(self._request.inputs) for new in self._merge_batch(batch))
        new = [s for s in written if s is not None]
        return MergeSuccess(
            slices=written,
            schema=self._schema(),
            is_analysed=self._is_analysed,
            new_state=self._save_state() if new else None,
            report=self._test(new) if new else None,
            notices=tuple(self._notices),
            headers=tuple(self._headers),
        )

    def _analysed(self) -> str | None:
        """The schema that the dataset would have after data of the declared columns, where they are declared."""
        request = self._request
        if request.read.columns is None:
            return request.schema
        frame = self._spark.createDataFrame([], declared(request.read.columns))
        if request.preprocess is not None:
            frame = preprocess(self._spark, frame, request.preprocess, request.read, ())
        return schemas.encode(fit(frame, request, self._stored).layout.schema)

    def _merge_batch(self, batch: Sequence[MergeInput]) -> Iterator[NewSlice | None]:
        """The slices of inputs that are read at once, if they can be."""
        found = read_batch(self._spark, self._request, batch)
        if found is None:
            yield from map(self._merge, batch)
            return
        self._progress(f"merging {len(batch)} inputs, {name_of(batch[0])} to {name_of(batch[-1])}")
        self._notices += found.notices
        self._headers += found.headers
        self._is_analysed = True
        base, fitted = self._fitted(found.frame)
        tables = found.apart(fitted.frame.toArrow())
        for source, (new, dropped) in zip(batch, base.merge_rows(tables, batch), strict=True):
            yield self._told(new, dropped, fitted.layout.schema, name_of(source))

    def _merge(self, source: MergeInput) -> NewSlice | None:
        name = name_of(source)
        self._progress(f"merging {name}")
        raw = read(self._spark, self._request.read, source.paths, name)
        self._notices += raw.notices
        self._headers += raw.headers
        frame = self._preprocessed(raw.frame, source) if raw.frame.columns else self._no_rows()
        if frame is None:
            return None
        base, fitted = self._fitted(frame)
        return self._told(*base.merge(fitted.frame, source, name), fitted.layout.schema, name)

    def _preprocessed(self, frame: DataFrame, source: MergeInput) -> DataFrame:
        transform = self._request.preprocess
        self._is_analysed = True
        return preprocess(self._spark, frame, transform, self._request.read, source.paths) if transform else frame

    def _no_rows(self) -> DataFrame | None:
        """The rows of an input that has neither rows nor a schema, such as ``[]``: of a Snapshot it retracts every row.
        None where it changes nothing."""
        if self._stored is None or self._request.merge.kind != "Snapshot":
            return None
        from pyspark.sql.pandas.types import from_arrow_schema

        columns = pa.schema([field.with_nullable(True) for field in list(self._stored)[3:]])
        return self._spark.createDataFrame([], from_arrow_schema(columns))

    def _fitted(self, frame: DataFrame) -> tuple[Base, Fitted]:
        """New rows in the form of the dataset, and what they are merged onto, in the same columns."""
        fitted = fit(frame, self._request, self._stored)
        if self._base is None:
            self._base = Base(self._spark, self._request, fitted)
        elif self._base.layout != fitted.layout:
            self._base.evolve(fitted)
        return self._base, fitted

    def _told(self, new: NewSlice | None, dropped: int, schema: pa.Schema, name: str) -> NewSlice | None:
        """The slice, with the schema where it is another than before; tells what was written."""
        if dropped:
            self._notices.append(f"{name}: dropped {counted(dropped, 'row')}, the same as others")
        if new is None:
            return None
        offsets = new.offset_interval
        self._progress(f"wrote {counted(offsets.count, 'record')}, offsets {offsets.start} to {offsets.end}")
        if schema == self._stored:
            return new
        if self._stored is not None:
            added = [f"{f.name} {schemas.type_name(f.type)}" for f in schema if f.name not in self._stored.names]
            self._notices.append(f"{name}: new columns, null in earlier records: {listed(added)}")
        self._stored = schema
        return replace(new, schema=schemas.encode(schema))

    def _schema(self) -> str | None:
        """The dataset's schema; from data without records only where their types do not come from the data."""
        typed = self._request.read.columns is not None or self._request.read.kind == "Parquet"
        schema = self._base.layout.schema if typed and self._base else self._stored
        return self._request.schema if schema is None or schema == self._declared else schemas.encode(schema)

    def _save_state(self) -> StateCache | None:
        base, path = self._base, self._request.new_state_path
        if base is None or path is None or not base.past.is_worth_caching():
            return None
        self._progress("keeping the state")
        return states.save(self._spark, base.past, path, small=base.is_small, rows=base.rows)

    def _test(self, new: list[NewSlice]) -> ContractReport | None:
        request = self._request
        if request.contract is None:
            return None
        from airflow_provider_odf.engine import contract  # most merges have none

        self._progress(f"testing contract {request.contract.id}")
        return contract.test(
            self._spark,
            request.contract,
            vocab=request.vocab,
            merge=request.merge,
            history=(*request.history, *(HistorySlice(s.path, s.offset_interval) for s in new)),
            new_from=request.next_offset,
            schema=self._schema(),
        )
