"""What is asked of an engine and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow_provider_odf.protocol.contract import Contract, ContractReport
from airflow_provider_odf.protocol.data import (
    Changes,
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
    OffsetInterval,
    ReadStep,
    StateCache,
    Transform,
    Watermark,
)


@dataclass(frozen=True)
class RawQueryRequest:
    """Read raw files and preprocess them into typed Parquet. ``read``, ``label`` and ``dataset_alias`` (which
    names the application) are extensions: without ``read`` the inputs are Parquet."""

    input_data_paths: tuple[str, ...]
    output_data_path: str
    transform: Transform | None = None
    read: ReadStep | None = None
    label: str = ""
    dataset_alias: str = ""


@dataclass(frozen=True)
class PositionalHeader:
    """The header of a file whose columns were matched with the schema by position. An extension.

    ``names`` are those of the header, ``columns`` those of the schema, pair by pair. ``label`` names the input. A
    header that was matched by name has the names of the schema in both: those by position after it are compared with
    it."""

    label: str
    names: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def is_by_name(self) -> bool:
        """Whether the names told which column is which, whatever their place."""
        return self.names == self.columns


@dataclass(frozen=True)
class RawQuerySuccess:
    """``headers`` is an extension: see MergeSuccess."""

    num_records: int
    headers: tuple[PositionalHeader, ...] = ()


@dataclass(frozen=True)
class TransformRequestInput:
    dataset_id: str
    dataset_alias: str
    query_alias: str
    vocab: DatasetVocabulary
    data_paths: tuple[str, ...]
    schema_file: str
    explicit_watermarks: tuple[Watermark, ...]
    offset_interval: OffsetInterval | None = None


@dataclass(frozen=True)
class TransformRequest:
    dataset_id: str
    dataset_alias: str
    system_time: str
    vocab: DatasetVocabulary
    transform: Transform
    query_inputs: tuple[TransformRequestInput, ...]
    next_offset: int
    new_checkpoint_path: str
    new_data_path: str
    prev_checkpoint_path: str | None = None


@dataclass(frozen=True)
class TransformSuccess:
    new_offset_interval: OffsetInterval | None = None
    new_watermark: str | None = None


@dataclass(frozen=True)
class MergeInput:
    """Files that are read together as one input and become at most one slice.

    ``event_time`` (RFC 3339) fills event times that the data do not have. ``label`` is what messages call the input:
    the URL or path that the user knows, since ``paths`` lie in the work area."""

    paths: tuple[str, ...]
    event_time: str
    label: str = ""


@dataclass(frozen=True)
class MergeRequest:
    """Merge new raw data into a dataset: one slice for each input that brings records, offsets from ``next_offset`` on.

    ``schema`` is the dataset's data schema as an Arrow IPC schema message in base64, None before the first data.
    Slices are written into the directory ``new_data_path``, each under its physical hash. The state after the merge is
    written to ``new_state_path`` where the engine finds a cache worth its cost. With ``contract`` the merged
    candidate is tested in the same session.

    Without inputs nothing is read or written: the engine only analyses ``preprocess`` over the declared columns of
    ``read``, and answers with the schema that the dataset would have.
    """

    dataset_id: str
    dataset_alias: str
    system_time: str
    vocab: DatasetVocabulary
    read: ReadStep
    merge: MergeStrategy
    inputs: tuple[MergeInput, ...]
    next_offset: int
    new_data_path: str
    preprocess: Transform | None = None
    history: tuple[HistorySlice, ...] = ()
    schema: str | None = None
    prev_state: StateCache | None = None
    new_state_path: str | None = None
    contract: Contract | None = None


@dataclass(frozen=True)
class NewSlice:
    """A slice as written. Hashes are base16 multihash texts; ``size`` is in bytes; ``newest_event_time`` is RFC
    3339. ``schema`` is the dataset's from this slice on, where it is another than before it.

    A Snapshot that retracts rows has ``rows_before``, the number of current rows that its input was compared with;
    ``is_input_empty`` says that the input has no row."""

    path: str
    physical_hash: str
    logical_hash: str
    size: int
    offset_interval: OffsetInterval
    newest_event_time: str | None = None
    schema: str | None = None
    changes: Changes = field(default_factory=Changes)
    rows_before: int | None = None
    is_input_empty: bool = False


@dataclass(frozen=True)
class MergeSuccess:
    """``slices`` has one entry for each input, None where it brought no records. ``schema`` is that of the slices (as
    in the request), also when no record came but the columns are known. ``notices`` are for the user: collapsed
    duplicates, dropped columns, names matched by position. ``headers`` has the header of each file whose columns were
    matched by position, in input order. ``is_analysed`` says that an input had columns, over which the query was
    analysed."""

    slices: tuple[NewSlice | None, ...]
    schema: str | None = None
    new_state: StateCache | None = None
    report: ContractReport | None = None
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
    is_analysed: bool = False


@dataclass(frozen=True)
class ContractTestRequest:
    """Test a contract on a dataset's history up to a candidate. Rows of offset ``new_from`` and later are the new
    ones."""

    dataset_alias: str
    vocab: DatasetVocabulary
    merge: MergeStrategy
    contract: Contract
    history: tuple[HistorySlice, ...]
    new_from: int
    schema: str


@dataclass(frozen=True)
class ContractTestSuccess:
    report: ContractReport


@dataclass(frozen=True)
class Progress:
    """The engine is at work. ``message`` is an extension."""

    message: str = ""


@dataclass(frozen=True)
class InvalidQuery:
    message: str


@dataclass(frozen=True)
class InternalError:
    message: str
    backtrace: str | None = None


Request: TypeAlias = RawQueryRequest | TransformRequest | MergeRequest | ContractTestRequest
Success: TypeAlias = RawQuerySuccess | TransformSuccess | MergeSuccess | ContractTestSuccess
Response: TypeAlias = Progress | InvalidQuery | InternalError | Success

OPERATIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "RawQuery": (RawQueryRequest, RawQuerySuccess),
    "Transform": (TransformRequest, TransformSuccess),
    "Merge": (MergeRequest, MergeSuccess),
    "ContractTest": (ContractTestRequest, ContractTestSuccess),
}
"""Operation name -> its request and its success."""


def operation(request: Request) -> str:
    """The operation that a request asks for: ``Merge`` for a MergeRequest."""
    return type(request).__name__.removesuffix("Request")
