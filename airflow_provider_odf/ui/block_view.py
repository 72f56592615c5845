"""``BlockView``: what a block of a dataset changed, where that comes from, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import count_operations
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.manifest import model, public_source
from airflow_provider_odf.manifest.yaml_source import dump_yaml
from airflow_provider_odf.reading.event_hours import Part, day_of, records_by_hour
from airflow_provider_odf.source import source_state
from airflow_provider_odf.ui.row_table import RowTable, records_table

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import Publication
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.cycle.candidates import Record
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import DataSlice, MetadataBlock
    from airflow_provider_odf.ui.subject import Subject

_ROWS = 50
"""Records that are shown."""


def block_text(block: MetadataBlock) -> str:
    """Return a block as YAML, without secrets."""
    return dump_yaml(public_source.dump(block))


def counts_of(subject: Subject, state: ChainState, block: MetadataBlock) -> Mapping[str, int] | None:
    """Return the numbers of records of a block by operation: none without data, None if its slice cannot be read."""
    data_slice = getattr(block.event, "new_data", None)
    if data_slice is None:
        return {}
    return count_operations(subject.dataset, data_slice, state.vocab.operation_type_column)


@dataclass(frozen=True)
class BlockView:
    """A block of a dataset: what it changed, where that comes from, and what became of it."""

    subject: Subject
    block_hash: str
    block: MetadataBlock

    @property
    def is_published(self) -> bool:
        number, hashes = self.block.sequence_number, self.subject.positions.hashes
        return number < len(hashes) and hashes[number] == self.block_hash

    @property
    def published(self) -> Instant | None:
        """The time from which the block could be read."""
        return self.subject.positions.since(self.block.sequence_number) if self.is_published else None

    @cached_property
    def publication(self) -> Publication | None:
        """Who published it and why, None if that is not recorded."""
        return self.subject.publication_of(self.block_hash, self.block)

    @property
    def together(self) -> Together | None:
        """The blocks of its publication, if there are several and one was before."""
        positions = self.subject.positions
        entry = positions.published.entry(self.block.sequence_number) if self.is_published else None
        if entry is None or not 0 < entry.first < entry.last:
            return None
        before, *blocks = positions.hashes[entry.first - 1 : entry.last + 1]
        return Together(before, blocks, positions.offsets[entry.last] - positions.offsets[entry.first - 1])

    @cached_property
    def record(self) -> Record | None:
        """The record of its contract test."""
        return candidates.load_record(self.subject.dataset, self.block_hash)

    @property
    def data(self) -> DataSlice | None:
        return getattr(self.block.event, "new_data", None)

    @property
    def watermark(self) -> Instant | None:
        return getattr(self.block.event, "new_watermark", None)

    @cached_property
    def counts(self) -> Mapping[str, int] | None:
        """Numbers of records by operation; None if the slice cannot be read."""
        return counts_of(self.subject, self.state, self.block)

    @cached_property
    def state(self) -> ChainState:
        return self.subject.history.state if self.is_published else replay(self.subject.dataset, self.block_hash)

    @cached_property
    def records(self) -> RowTable | None:
        """Its first records, None without data."""
        if self.data is None:
            return None
        interval = self.data.offset_interval
        first, total = interval.start, interval.end - interval.start + 1
        return records_table(self.subject.cached, self.state, first, total, _ROWS, self.subject.sensitive)

    @cached_property
    def days(self) -> list[tuple[str, int]]:
        """The days of event time that its records are of, and their numbers."""
        days = Counter[str]()
        parts = [Part(self.data)] if self.data is not None else []
        for records in records_by_hour(self.subject.dataset, parts, self.state):
            days[day_of(records.hour)] += records.number
        return sorted(days.items())

    @property
    def source(self) -> Iterator[tuple[str, str]]:
        """Label and text about how far the source was read."""
        state = getattr(self.block.event, "new_source_state", None)
        if state is not None:
            name = "" if state.source_name == source_state.SOURCE_NAME else f"{state.source_name}: "
            label, text = source_state.words(state, is_glob=_is_glob(self.state))
            yield label, f"{name}{text}"

    @property
    def inputs(self) -> Iterator[InputView]:
        """The parts of inputs that a derivative read for it."""
        if isinstance(self.block.event, model.ExecuteTransform):
            dag_ids = {neighbor.name.lower(): neighbor.dag_id for neighbor in self.subject.publication.inputs}
            for part in self.block.event.query_inputs:
                name = self.subject.store.input_name(part.dataset_id, None)
                first = 0 if part.prev_offset is None else part.prev_offset + 1
                last = part.new_offset
                yield InputView(name, dag_ids.get(name.rpartition("/")[2].lower()), part, first, last)

    @property
    def text(self) -> str:
        return block_text(self.block)


class Together(NamedTuple):
    """Hashes of blocks that were published at once, oldest first, that of the block before them, and the number of
    their records."""

    before: str
    blocks: Sequence[str]
    records: int


class InputView(NamedTuple):
    """Part of an input that was read: its name, the DAG that publishes it, and its offsets; ``last`` is None if it had
    no new records."""

    name: str
    dag_id: str | None
    part: model.ExecuteTransformInput
    first: int
    last: int | None


def _is_glob(state: ChainState) -> bool:
    source = state.polling_source
    return source is not None and isinstance(source.fetch, model.FetchStepFilesGlob)
