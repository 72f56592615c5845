"""The engine protocol: messages between the coordinator (Airflow, the CLI) and an engine (a Spark application).

Messages are frozen dataclasses that travel as JSON with the field names of the ODF engine protocol
(``RawQueryRequest``, ``TransformRequest`` and their responses). Requests that ODF leaves to the coordinator have the
same form: ``MergeRequest``, ``ContractTestRequest``, ``SourceTestRequest`` and ``VerifyRequest``. Fields outside the
specification are marked *extension*. This package uses the standard library only, because it is shipped to the cluster.

An engine answers each request with any number of ``Progress`` messages and then exactly one ``…Success``,
``InvalidQuery`` (not retryable) or ``InternalError`` (retryable).

The parts of the package are imported at the first use of a name: most commands exchange no messages.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.protocol.contract import FAILED_CLAUSES as FAILED_CLAUSES
    from airflow_provider_odf.protocol.contract import SERVICE_LEVEL as SERVICE_LEVEL
    from airflow_provider_odf.protocol.contract import Check as Check
    from airflow_provider_odf.protocol.contract import CheckResult as CheckResult
    from airflow_provider_odf.protocol.contract import Contract as Contract
    from airflow_provider_odf.protocol.contract import ContractReport as ContractReport
    from airflow_provider_odf.protocol.contract import JsonObject as JsonObject
    from airflow_provider_odf.protocol.contract import RelatedDataset as RelatedDataset
    from airflow_provider_odf.protocol.contract import Source as Source
    from airflow_provider_odf.protocol.data import STATE_FILE as STATE_FILE
    from airflow_provider_odf.protocol.data import Changes as Changes
    from airflow_provider_odf.protocol.data import Column as Column
    from airflow_provider_odf.protocol.data import DatasetVocabulary as DatasetVocabulary
    from airflow_provider_odf.protocol.data import HistorySlice as HistorySlice
    from airflow_provider_odf.protocol.data import MergeStrategy as MergeStrategy
    from airflow_provider_odf.protocol.data import OffsetInterval as OffsetInterval
    from airflow_provider_odf.protocol.data import ReadStep as ReadStep
    from airflow_provider_odf.protocol.data import SqlQueryStep as SqlQueryStep
    from airflow_provider_odf.protocol.data import StateCache as StateCache
    from airflow_provider_odf.protocol.data import StoredFile as StoredFile
    from airflow_provider_odf.protocol.data import TemporalTable as TemporalTable
    from airflow_provider_odf.protocol.data import Transform as Transform
    from airflow_provider_odf.protocol.data import Watermark as Watermark
    from airflow_provider_odf.protocol.json_values import from_json as from_json
    from airflow_provider_odf.protocol.json_values import to_json as to_json
    from airflow_provider_odf.protocol.messages import OPERATIONS as OPERATIONS
    from airflow_provider_odf.protocol.messages import SLICE_RECORDS as SLICE_RECORDS
    from airflow_provider_odf.protocol.messages import ContractTestRequest as ContractTestRequest
    from airflow_provider_odf.protocol.messages import ContractTestSuccess as ContractTestSuccess
    from airflow_provider_odf.protocol.messages import Engine as Engine
    from airflow_provider_odf.protocol.messages import Evaluation as Evaluation
    from airflow_provider_odf.protocol.messages import FileFault as FileFault
    from airflow_provider_odf.protocol.messages import InternalError as InternalError
    from airflow_provider_odf.protocol.messages import InvalidQuery as InvalidQuery
    from airflow_provider_odf.protocol.messages import MergeInput as MergeInput
    from airflow_provider_odf.protocol.messages import MergeRequest as MergeRequest
    from airflow_provider_odf.protocol.messages import MergeSuccess as MergeSuccess
    from airflow_provider_odf.protocol.messages import NewSlice as NewSlice
    from airflow_provider_odf.protocol.messages import PositionalHeader as PositionalHeader
    from airflow_provider_odf.protocol.messages import Progress as Progress
    from airflow_provider_odf.protocol.messages import RawQueryRequest as RawQueryRequest
    from airflow_provider_odf.protocol.messages import RawQuerySuccess as RawQuerySuccess
    from airflow_provider_odf.protocol.messages import Request as Request
    from airflow_provider_odf.protocol.messages import Response as Response
    from airflow_provider_odf.protocol.messages import SourceTestRequest as SourceTestRequest
    from airflow_provider_odf.protocol.messages import SourceTestSuccess as SourceTestSuccess
    from airflow_provider_odf.protocol.messages import SparkUse as SparkUse
    from airflow_provider_odf.protocol.messages import Success as Success
    from airflow_provider_odf.protocol.messages import TransformRequest as TransformRequest
    from airflow_provider_odf.protocol.messages import TransformRequestInput as TransformRequestInput
    from airflow_provider_odf.protocol.messages import TransformSuccess as TransformSuccess
    from airflow_provider_odf.protocol.messages import VerifyRequest as VerifyRequest
    from airflow_provider_odf.protocol.messages import VerifySuccess as VerifySuccess
    from airflow_provider_odf.protocol.messages import operation as operation
    from airflow_provider_odf.protocol.wire import VERSION as VERSION
    from airflow_provider_odf.protocol.wire import dumps_request as dumps_request
    from airflow_provider_odf.protocol.wire import dumps_response as dumps_response
    from airflow_provider_odf.protocol.wire import loads_request as loads_request
    from airflow_provider_odf.protocol.wire import loads_response as loads_response

_PARTS = ("data", "json_values", "contract", "messages", "wire")
"""Modules of the package; each imports only those before it."""


def __getattr__(name: str) -> Any:
    for part in _PARTS:
        names = vars(import_module(f"{__name__}.{part}"))
        if name in names:
            return globals().setdefault(name, names[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
