"""Requests to an engine and its responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from airflow_provider_odf.protocol.contract import Contract, ContractReport, Source
from airflow_provider_odf.protocol.data import (
    Changes,
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
    OffsetInterval,
    ReadStep,
    StateCache,
    StoredFile,
    Transform,
    Watermark,
)


@dataclass(frozen=True)
class RawQueryRequest:
    """Read raw files and preprocess them into typed Parquet.

    ``read``, ``label``, ``dataset_alias`` (part of the application's name) and ``sensitive_columns``, as in
    MergeRequest, are extensions. Without ``read``, the inputs are Parquet.
    """

    input_data_paths: tuple[str, ...]
    output_data_path: str
    transform: Transform | None = None
    read: ReadStep | None = None
    label: str = ""
    dataset_alias: str = ""
    sensitive_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class PositionalHeader:
    """Header of a file whose columns were matched with the schema by position. An extension.

    ``names`` are the names in the header, ``columns`` the names in the schema, pair by pair. ``label`` names the input.
    If a header was matched by name, both have the names of the schema. Later headers that are matched by position are
    compared with it.
    """

    label: str
    names: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def is_by_name(self) -> bool:
        """Whether columns were matched by name, in any order."""
        return self.names == self.columns


@dataclass(frozen=True)
class RawQuerySuccess:
    """Result of a RawQueryRequest. ``headers`` is an extension: see MergeSuccess."""

    num_records: int
    headers: tuple[PositionalHeader, ...] = ()


@dataclass(frozen=True)
class TransformRequestInput:
    """An input of a transform: its new records, in ``data_paths`` and ``offset_interval``, and its whole history.

    From ``merge`` on, fields are extensions. ``merge`` is None for inputs without a merge strategy: derivatives. Their
    current rows are those that no later record takes back. ``history`` has all slices up to the new position, with the
    new ones. ``schema`` is the input's schema, encoded as in MergeRequest.
    """

    dataset_id: str
    dataset_alias: str
    query_alias: str
    vocab: DatasetVocabulary
    data_paths: tuple[str, ...]
    schema_file: str
    explicit_watermarks: tuple[Watermark, ...]
    offset_interval: OffsetInterval | None = None
    merge: MergeStrategy | None = None
    history: tuple[HistorySlice, ...] = ()
    schema: str = ""

    @property
    def new_from(self) -> int:
        """First offset of the new records, or the offset after the last record if there are none."""
        if self.offset_interval is not None:
            return self.offset_interval.start
        return self.history[-1].offset_interval.end + 1 if self.history else 0


@dataclass(frozen=True)
class TransformRequest:
    """Compute the next records of a derivative from new records of its inputs.

    From ``history`` on, fields are extensions. ``history`` and ``schema`` are those of the derivative. ``watermark``
    is the earliest watermark of the inputs. ``is_query_new`` says that the records so far come from another query, so
    that the whole result is compared with them. With ``contract``, the engine tests the candidate in the same session.
    ``sensitive_columns`` are as in MergeRequest, of the derivative and of its inputs. ``arrow_query`` is that of the
    last evaluation: the engine may use it instead of Spark while it is of the same query and columns. ``spark`` is as
    in MergeRequest.

    Without ``new_data_path`` the engine only analyzes the queries and returns schema and evaluation.
    """

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
    history: tuple[HistorySlice, ...] = ()
    schema: str | None = None
    watermark: str | None = None
    is_query_new: bool = False
    contract: Contract | None = None
    sensitive_columns: tuple[str, ...] = ()
    arrow_query: str | None = None
    spark: SparkUse | None = None


@dataclass(frozen=True)
class Evaluation:
    """How the engine evaluates a query when its inputs grow. ``kind`` is one of ``row-wise``, ``keyed`` and ``whole``.

    ``reason`` explains the choice in one sentence. ``arrow_query`` is the query in a form of the engine's own, if Arrow
    can evaluate it without Spark.
    """

    kind: str
    reason: str
    arrow_query: str | None = None


@dataclass(frozen=True)
class MergeInput:
    """Files that are read together as one input.

    ``event_time`` (RFC 3339) is the event time of rows without one. ``label`` is the name of the input in messages: the
    URL or path that the user knows, since ``paths`` are in the work area.
    """

    paths: tuple[str, ...]
    event_time: str
    label: str = ""

    @property
    def name(self) -> str:
        """The input in messages."""
        return self.label or ", ".join(self.paths)


SparkUse: TypeAlias = Literal["needed", "always"]
"""When a merge or the test of a contract uses Spark: if it cannot be done without, or always, so that its tasks read
all rows."""


SLICE_RECORDS = 10_000_000
"""Default of the maximum number of records in a slice."""


@dataclass(frozen=True)
class MergeRequest:
    """Merge new raw data into a dataset: slices for each input with records, with offsets from ``next_offset``.

    A slice ends after ``slice_records`` records of its input, or one later if the last one were a -C without its +C.

    ``schema`` is the dataset's schema as an Arrow IPC schema message in base64, None before the first data. Slices are
    written to the directory ``new_data_path``, named by their physical hash. The state after the merge is written to
    ``new_state_path`` if a cache is worth its cost. Each path may be the URI of an object store. With ``contract``, the
    engine tests the merged candidate in the same session.

    Messages of errors show no values of ``sensitive_columns`` of the dataset; ``*`` are all.

    Without ``spark`` the runner decides: an application on a cluster is always used.

    Without inputs, the engine reads and writes nothing. It analyzes ``preprocess`` on the declared columns of ``read``
    and returns the resulting schema of the dataset.
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
    sensitive_columns: tuple[str, ...] = ()
    spark: SparkUse | None = None
    slice_records: int = SLICE_RECORDS


@dataclass(frozen=True)
class NewSlice:
    """A slice that the engine wrote.

    Hashes are base16 multihash texts. ``size`` is in bytes. ``newest_event_time`` is RFC 3339. ``schema`` is the
    dataset's schema from this slice on, if it changed.

    For a Snapshot that retracts rows, ``rows_before`` is the number of current rows before the input of the slice, and
    ``is_input_empty`` says whether that input has no rows.
    """

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
    """Result of a MergeRequest.

    ``slices`` has the slices of each input, in the order of their offsets; an input without records has none.
    ``schema`` is the schema of the slices, encoded as in the request. It is also set without records if the columns are
    known. ``notices`` are for the user: dropped duplicates, dropped columns, columns matched by position. ``headers``
    has the header of each file whose columns were matched by position, in input order. ``is_analysed`` says whether an
    input had columns, so that the query was analyzed on them.
    """

    slices: tuple[tuple[NewSlice, ...], ...]
    schema: str | None = None
    new_state: StateCache | None = None
    report: ContractReport | None = None
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()
    is_analysed: bool = False

    @property
    def new_slices(self) -> tuple[NewSlice, ...]:
        """The slices of all inputs."""
        return tuple(new for slices in self.slices for new in slices)


@dataclass(frozen=True)
class TransformSuccess:
    """Result of a TransformRequest.

    From ``slice`` on, fields are extensions: the slice of the new records, None if nothing changed, the schema of the
    derivative, the contract's report and notices for the user. ``evaluation`` is None if Spark did not analyze the
    query again.
    """

    new_offset_interval: OffsetInterval | None = None
    new_watermark: str | None = None
    slice: NewSlice | None = None
    schema: str | None = None
    evaluation: Evaluation | None = None
    report: ContractReport | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContractTestRequest:
    """Test a contract on a dataset's history up to a candidate. Rows from offset ``new_from`` on are new.

    ``merge`` is None for a derivative. ``as_of`` (RFC 3339) is the time that ages are measured at, empty for now.
    ``spark`` is as in MergeRequest.
    """

    dataset_alias: str
    vocab: DatasetVocabulary
    contract: Contract
    history: tuple[HistorySlice, ...]
    new_from: int
    schema: str
    merge: MergeStrategy | None = None
    as_of: str = ""
    spark: SparkUse | None = None


@dataclass(frozen=True)
class ContractTestSuccess:
    report: ContractReport


@dataclass(frozen=True)
class SourceTestRequest:
    """Test a contract of one or more models on data outside of datasets.

    There is one source for each model, also for models that only references need. ``as_of`` (RFC 3339) is the time
    that ages are measured at. ``dataset_alias`` (the contract's id) is part of the application's name.
    ``failed_rows`` is a directory for Parquet files with failing rows. ``spark`` is as in MergeRequest.
    """

    dataset_alias: str
    contract: Contract
    sources: tuple[Source, ...]
    as_of: str
    failed_rows: str | None = None
    spark: SparkUse | None = None


@dataclass(frozen=True)
class SourceTestSuccess:
    report: ContractReport


@dataclass(frozen=True)
class VerifyRequest:
    """Compare files of a dataset with their blocks, in tasks of Spark: size, physical hash, and if not ``is_quick`` the
    number of their records and their logical hash."""

    dataset_alias: str
    files: tuple[StoredFile, ...]
    is_quick: bool = False


@dataclass(frozen=True)
class FileFault:
    """What is wrong with the file of this number in the request."""

    number: int
    fault: str


@dataclass(frozen=True)
class VerifySuccess:
    """The faults of all files, in the order of the request."""

    faults: tuple[FileFault, ...] = ()


@dataclass(frozen=True)
class Engine:
    """The Spark application that answers a request, and the version of Spark, which is empty while Spark starts.

    ``reported_run`` is the id of its run in lineage if Spark's own OpenLineage listener reports it, else None.
    """

    application: str
    version: str = ""
    reported_run: str | None = None


@dataclass(frozen=True)
class Progress:
    """The engine is still working. Its fields are extensions. ``engine`` comes when Spark starts for a request, and
    again when Spark begins to work on it; a request that is answered without Spark has none."""

    message: str = ""
    engine: Engine | None = None


@dataclass(frozen=True)
class InvalidQuery:
    message: str


@dataclass(frozen=True)
class InternalError:
    """The engine failed. ``is_storage`` (*extension*): the operating system refused it a file, space or memory.
    ``is_corrupted`` (*extension*): a stored file has other bytes than its hash says, or is missing."""

    message: str
    backtrace: str | None = None
    is_storage: bool | None = None
    is_corrupted: bool | None = None


Request: TypeAlias = (
    RawQueryRequest | TransformRequest | MergeRequest | ContractTestRequest | SourceTestRequest | VerifyRequest
)
Success: TypeAlias = (
    RawQuerySuccess | TransformSuccess | MergeSuccess | ContractTestSuccess | SourceTestSuccess | VerifySuccess
)
Response: TypeAlias = Progress | InvalidQuery | InternalError | Success

OPERATIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "RawQuery": (RawQueryRequest, RawQuerySuccess),
    "Transform": (TransformRequest, TransformSuccess),
    "Merge": (MergeRequest, MergeSuccess),
    "ContractTest": (ContractTestRequest, ContractTestSuccess),
    "SourceTest": (SourceTestRequest, SourceTestSuccess),
    "Verify": (VerifyRequest, VerifySuccess),
}
"""Operation name -> its request and its success response."""


def operation(request: Request) -> str:
    """Return the operation of a request: ``Merge`` for a MergeRequest."""
    return type(request).__name__.removesuffix("Request")
