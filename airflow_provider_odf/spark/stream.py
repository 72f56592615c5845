"""The changes of a dataset as a stream of Spark. Its offsets are positions in the history: the last record that was
read, and the block that brought it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import HEAD
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import AddData, DataSlice, ExecuteTransform
from airflow_provider_odf.reading.scan import HistoryScan
from airflow_provider_odf.spark.slices import SlicePartition, read_slice, selected, without_slices

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.reading.dataset import PublishedDataset


class OdfStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of a dataset, with one partition per slice."""

    def __init__(self, dataset: PublishedDataset, options: Mapping[str, str], schema: StructType) -> None:
        mode = options.get("mode", "current")
        if mode != "changes" or "until" in options:
            problem = 'a stream has no option "until"' if mode == "changes" else f"mode {mode!r} cannot be a stream"
            raise InvalidInput(f'{problem}: use .option("mode", "changes"), and "since" for its beginning')
        scan = selected(dataset.changes(options.get("since")), schema)
        assert isinstance(scan, HistoryScan) and scan.offsets is not None  # noqa: S101, PT018 - changes are such a scan
        self._scan, self._schema = without_slices(scan), schema
        self._dataset, self._offsets = scan.dataset, scan.offsets
        self._limit = _limit(options.get("maxFilesPerTrigger"))
        self._target: str | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"offset": self._offsets.first - 1, "block": ""}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadAllAvailable() if self._limit is None else ReadMaxFiles(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._dataset.resolve(HEAD)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        head = self._target or self._dataset.resolve(HEAD)
        self._check(start, head)
        new = self._slices_between(start, head)
        if isinstance(limit, ReadMaxFiles):
            new = new[: limit.max_files]
        return {"offset": new[-1][1].offset_interval.end, "block": new[-1][0]} if new else start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start["offset"] >= end["offset"]:
            return []
        self._check(end, self._dataset.resolve(HEAD))
        parts = [data_slice for _, data_slice in self._slices_between(start, end["block"])]
        slices.check_unrecorded(self._dataset, self._scan.state.dataset_id, parts)
        offsets = OffsetRange(self._offsets.column, start["offset"] + 1, end["offset"])
        return [SlicePartition(part, offsets=offsets) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SlicePartition)  # noqa: S101 - Spark passes what `partitions` returned
        return read_slice(self._scan, self._schema, partition)

    def _slices_between(self, start: dict[str, Any], head: str) -> list[tuple[str, DataSlice]]:
        """Return the slices after a position up to a block, with the blocks that brought them, oldest first."""
        new = []
        for block_hash, block in self._dataset.walk(head):
            if isinstance(block.event, AddData | ExecuteTransform) and block.event.new_data is not None:
                if block.event.new_data.offset_interval.end <= start["offset"]:
                    break
                new.append((block_hash, block.event.new_data))
        return new[::-1]

    def _check(self, position: dict[str, Any], head: str) -> None:
        """Check that a position of an earlier micro-batch is still in the history.

        :raises InvalidInput: it is not.
        """
        block = position["block"]
        if not block:
            return
        stored = self._dataset.storage.stat(f"blocks/{block}")
        if stored is None or not self._dataset.contains(head, block):
            raise InvalidInput(
                f"the history of dataset {self._dataset.alias} was rewritten: it no longer contains the block {block}, "
                "up to which the stream was read: start the stream anew, with an empty checkpoint location"
            )


def _limit(option: str | None) -> int | None:
    if option is not None and not (option.isascii() and option.isdigit() and int(option)):
        raise InvalidInput(f"option 'maxFilesPerTrigger' is {option!r}: set it to a number of slices, 1 or more")
    return None if option is None else int(option)
