"""The data source ``odf`` of Spark: the current rows, the history or the changes of a published dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from airflow_provider_odf.chain import record_rows, slices
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.dataset import PublishedDataset
from airflow_provider_odf.reading.scan import CurrentScan, HistoryScan, Scan
from airflow_provider_odf.reading.store import open_store
from airflow_provider_odf.spark.slices import (
    SlicePartition,
    read_slice,
    schema_of,
    selected,
    with_filters,
    without_slices,
)
from airflow_provider_odf.wording import suggestion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_odf.spark.stream import OdfStreamReader

_OPTIONS = ("store", "dataset", "mode", "asOf", "since", "until", "workArea", "maxFilesPerTrigger")
_MODES = {"current": ("asOf",), "history": ("asOf",), "changes": ("since", "until")}
"""Mode -> the options that it knows besides ``store``, ``dataset`` and ``workArea``."""


def register(spark: SparkSession) -> None:
    """Make ``odf`` a format of a Spark session, and turn on the pushdown of filters to Python data sources, which the
    format needs. Workers need the package of this provider, but neither Airflow nor Java libraries of it."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(OdfDataSource)


class OdfDataSource(DataSource):
    """Published rows of a dataset::

        register(spark)
        spark.read.format("odf").option("store", "/data/odf").option("dataset", "acme.scooters").load()
        spark.readStream.format("odf").option("store", "/data/odf").option("dataset", "acme.scooters").option(
            "mode", "changes"
        ).load()

    Options: ``store`` and ``dataset``; ``mode``, which is ``current`` (default), ``history`` or ``changes``; ``asOf``,
    a time or block, with ``current`` and ``history``; ``since`` and ``until``, a time, block or offset, with
    ``changes``; ``workArea``. A stream needs the mode ``changes``; it knows ``since``, and ``maxFilesPerTrigger`` for
    the most slices of a micro-batch.

    A schema with some of the columns, by ``.schema(…)``, limits what is read to these.
    """

    @classmethod
    def name(cls) -> str:
        return "odf"

    def schema(self) -> StructType:
        is_current = self.options.get("mode", "current") == "current"
        return schema_of(self.dataset().current() if is_current else self.dataset().history())

    def reader(self, schema: StructType) -> DataSourceReader:
        return OdfReader(selected(self.scan(), schema), schema)

    def streamReader(self, schema: StructType) -> OdfStreamReader:  # noqa: N802 - Spark's name
        try:
            from airflow_provider_odf.spark.stream import OdfStreamReader
        except ImportError:
            raise InvalidInput("a stream of a dataset needs Spark 4.2: read its changes with spark.read") from None

        return OdfStreamReader(self.dataset(), self.options, schema)

    def dataset(self) -> PublishedDataset:
        """Return the dataset that the options name.

        :raises InvalidInput: an option is missing or unknown, or there is no such store.
        :raises DatasetNotFound: the store has no such dataset.
        """
        known = {name.lower() for name in _OPTIONS}
        if "path" in self.options:
            raise InvalidInput(
                "format odf has no path: name the store and the dataset by "
                '.option("store", STORE).option("dataset", NAME).load()'
            )
        if unknown := sorted(name for name in self.options if name.lower() not in known):
            raise InvalidInput(f"format odf has no option {unknown[0]!r} ({suggestion(unknown[0], _OPTIONS)})")
        for name in ("store", "dataset"):
            if not self.options.get(name):
                raise InvalidInput(f"format odf needs the option {name!r}: add .option({name!r}, …)")
        return open_store(self.options["store"], work_area=self.options.get("workArea"))[self.options["dataset"]]

    def scan(self) -> Scan:
        """Return the rows that the options name.

        :raises InvalidInput: an option has another value, or does not belong to the mode.
        """
        dataset, mode = self.dataset(), self.options.get("mode", "current")
        if mode not in _MODES:
            raise InvalidInput(f"format odf has no mode {mode!r} ({suggestion(mode, list(_MODES))})")
        for name in ("asOf", "since", "until", "maxFilesPerTrigger"):
            if name in self.options and name not in _MODES[mode]:
                modes = [m for m, options in _MODES.items() if name in options] or ["readStream"]
                raise InvalidInput(f"mode {mode!r} has no option {name!r}: it belongs to {' and '.join(modes)}")
        as_of = self.options.get("asOf")
        if mode == "current":
            return dataset.current() if as_of is None else dataset.as_of(as_of)
        if mode == "history":
            return dataset.history() if as_of is None else dataset.changes(until=as_of)
        return dataset.changes(self.options.get("since"), self.options.get("until"))


class OdfReader(DataSourceReader):
    """Reads a scan, with one partition per slice."""

    def __init__(self, scan: Scan, schema: StructType) -> None:
        self._scan, self._schema = scan, schema

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        self._scan = with_filters(self._scan, filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        scan = self._scan
        slices.check_unrecorded(scan.dataset, scan.state.dataset_id, scan.slices())
        current: Mapping[str, pa.Array | None] = {}
        if isinstance(scan, CurrentScan):
            current = record_rows.current_offsets(scan.dataset, scan.state)
        offsets = scan.offsets if isinstance(scan, HistoryScan) else None
        return [SlicePartition(s, current.get(s.physical_hash), offsets) for s in scan.slices()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without slices, Spark passes a partition of its own.
        rows = read_slice(self._scan, self._schema, partition) if isinstance(partition, SlicePartition) else ()
        return iter(rows)

    def __getstate__(self) -> dict[str, object]:
        return {"_scan": without_slices(self._scan), "_schema": self._schema}
