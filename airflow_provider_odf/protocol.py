"""The engine protocol: what the coordinator (Airflow, the CLI) and an engine (a Spark application) tell each other.

Messages are frozen dataclasses that travel as JSON, under the field names of the ODF engine protocol
(``RawQueryRequest``, ``TransformRequest`` and their responses) and in the same form for what ODF leaves to the
coordinator: merging (``MergeRequest``) and testing a data contract (``ContractTestRequest``). Fields that the
specification does not have are marked *extension*. Standard library only: this module is shipped to the cluster.

An engine answers each request with any number of ``Progress`` and then exactly one ``…Success``, ``InvalidQuery`` (the
same request will fail again) or ``InternalError`` (trying again may help).
"""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from airflow_provider_odf.wire import from_json as from_json
from airflow_provider_odf.wire import to_json as to_json

VERSION = 1
"""Raised when a message changes so that an older engine would misread it."""

JsonObject: TypeAlias = dict[str, Any]


# --- what a request says about data ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class OffsetInterval:
    """Closed interval of record offsets."""

    start: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True)
class Watermark:
    system_time: str
    event_time: str


@dataclass(frozen=True)
class DatasetVocabulary:
    """Names of the system columns (DatasetVocabulary in the specification)."""

    offset_column: str = "offset"
    operation_type_column: str = "op"
    system_time_column: str = "system_time"
    event_time_column: str = "event_time"

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """The system columns in the order in which every slice has them."""
        return (self.offset_column, self.operation_type_column, self.system_time_column, self.event_time_column)


@dataclass(frozen=True)
class SqlQueryStep:
    query: str
    alias: str | None = None


@dataclass(frozen=True)
class TemporalTable:
    name: str
    primary_key: tuple[str, ...]


@dataclass(frozen=True)
class Transform:
    """Transform::Sql. To an engine ``queries`` are Spark SQL, already translated from the dialect of ``engine``; the
    last one has no alias and is the output. ``query`` is only ever set by hand and never sent."""

    engine: str
    queries: tuple[SqlQueryStep, ...] = ()
    version: str | None = None
    query: str | None = None
    temporal_tables: tuple[TemporalTable, ...] = ()


@dataclass(frozen=True)
class Column:
    """One declared column. ``type`` is a Spark DDL type: ``BIGINT``, ``DECIMAL(12,2)``, ``ARRAY<STRING>``."""

    name: str
    type: str
    is_nullable: bool = True


@dataclass(frozen=True)
class ReadStep:
    """How raw files become rows: ReadStep of the specification with its defaults filled in.

    ``columns`` is the declared schema or None. Formats of dates and times are Java patterns or the word ``rfc3339``.
    ``kind`` is one of Csv, Json, NdJson, GeoJson, NdGeoJson, EsriShapefile, Parquet. Files of an EsriShapefile have
    been made lines of GeoJSON Features, a record a line, with null for null shapes.
    """

    kind: str
    columns: tuple[Column, ...] | None = None
    separator: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str = "\\"
    header: bool = False
    infer_schema: bool = False
    null_value: str = ""
    date_format: str = "rfc3339"
    timestamp_format: str = "rfc3339"
    sub_path: str | None = None


@dataclass(frozen=True)
class MergeStrategy:
    """``kind`` is one of Append, Ledger, Snapshot, ChangelogStream, UpsertStream."""

    kind: str
    primary_key: tuple[str, ...] = ()
    compare_columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class HistorySlice:
    """A data file of the dataset's history and the offsets in it."""

    path: str
    offset_interval: OffsetInterval


@dataclass(frozen=True)
class StateCache:
    """A disposable projection of the history (current rows or known keys): a directory, and the last offset it stands
    for.

    It may be missing or broken; the engine then rebuilds it from the history."""

    path: str
    last_offset: int


# --- data contracts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One clause of a contract, compiled. ``key`` is unique in the contract and stable between runs.

    ``kind``: field_present, field_type, required, unique, primary_key, enum, pattern, min_length, max_length, minimum,
    maximum, exclusive_minimum, exclusive_maximum; or ``unsupported`` and ``informational``, which are reported as they
    are. ``arguments`` depend on the kind: ``{"type": "BIGINT"}``, ``{"values": [...]}``, ``{"pattern": "..."}``,
    ``{"limit": 5}``.
    """

    key: str
    kind: str
    description: str
    column: str | None = None
    columns: tuple[str, ...] = ()
    arguments: JsonObject = field(default_factory=dict)
    severity: str = "error"


@dataclass(frozen=True)
class Contract:
    """A compiled data contract. ``digest`` is the SHA-256 of the contract file: it tells whether a report is of this
    text."""

    id: str
    model: str
    digest: str
    checks: tuple[Check, ...]
    version: str = ""
    title: str = ""


@dataclass(frozen=True)
class CheckResult:
    """``outcome`` is pass, fail, error, unsupported or informational; ``failed_rows`` counts rows where that has a
    meaning."""

    key: str
    outcome: str
    description: str
    column: str | None = None
    severity: str = "error"
    expected: str = ""
    actual: str = ""
    failed_rows: int | None = None


@dataclass(frozen=True)
class ContractReport:
    """What came of a contract on a candidate. ``result`` is the worst of error > failed > warning > passed."""

    contract: str
    digest: str
    model: str
    results: tuple[CheckResult, ...]
    tested_rows: int = 0

    @property
    def result(self) -> str:
        outcomes = {(r.outcome, r.severity) for r in self.results}
        if any(outcome == "error" for outcome, _ in outcomes):
            return "error"
        if ("fail", "error") in outcomes:
            return "failed"
        return "warning" if any(outcome == "fail" for outcome, _ in outcomes) else "passed"


# --- requests -------------------------------------------------------------------------------------------------------


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
class RawQuerySuccess:
    num_records: int


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
    3339. ``schema`` is the dataset's from this slice on, where it is another than before it."""

    path: str
    physical_hash: str
    logical_hash: str
    size: int
    offset_interval: OffsetInterval
    newest_event_time: str | None = None
    schema: str | None = None


@dataclass(frozen=True)
class MergeSuccess:
    """``slices`` has one entry for each input, None where it brought no records. ``schema`` is that of the slices (as
    in the request), also when no record came but the columns are known. ``notices`` are for the user: collapsed
    duplicates, dropped columns, names matched by position."""

    slices: tuple[NewSlice | None, ...]
    schema: str | None = None
    new_state: StateCache | None = None
    report: ContractReport | None = None
    notices: tuple[str, ...] = ()


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


# --- answers that every operation has -------------------------------------------------------------------------------


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


# --- JSON -----------------------------------------------------------------------------------------------------------


def dumps_request(request: Request) -> str:
    """One line of JSON: ``{"protocolVersion": 1, "message": "MergeRequest", "content": {...}}``."""
    return _envelope(type(request).__name__, request)


def loads_request(text: str) -> Request:
    """:raises ValueError: not a request of this protocol version."""
    message, content = _open(text)
    requests = {request.__name__: request for request, _ in OPERATIONS.values()}
    if message not in requests:
        raise ValueError(f"unknown request {message!r}")
    return typing.cast(Request, from_json(requests[message], content))


def dumps_response(operation: str, response: Response) -> str:
    """One line of JSON; the message is named as in the specification: ``RawQueryResponse::Success``."""
    outcome = "Success" if isinstance(response, OPERATIONS[operation][1]) else type(response).__name__
    return _envelope(f"{operation}Response::{outcome}", response)


def loads_response(text: str) -> Response:
    """:raises ValueError: not a response of this protocol version."""
    message, content = _open(text)
    of, _, outcome = message.partition("Response::")
    if of not in OPERATIONS:
        raise ValueError(f"unknown response {message!r}")
    outcomes: dict[str, type[Any]] = {c.__name__: c for c in (Progress, InvalidQuery, InternalError)}
    outcomes["Success"] = OPERATIONS[of][1]
    return typing.cast(Response, from_json(outcomes[outcome], content))


def _envelope(message: str, content: object) -> str:
    return json.dumps({"protocolVersion": VERSION, "message": message, "content": to_json(content)}, ensure_ascii=False)


def _open(text: str) -> tuple[str, JsonObject]:
    envelope = json.loads(text)
    if envelope.get("protocolVersion") != VERSION:
        raise ValueError(
            f"protocol version {envelope.get('protocolVersion')}, this side speaks {VERSION}: install one release"
        )
    return envelope["message"], envelope["content"]
