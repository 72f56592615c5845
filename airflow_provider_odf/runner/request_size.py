"""How much data a request reads, which decides on the JVM that answers it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from airflow_provider_odf import protocol
from airflow_provider_odf.source import uris

LARGE = 128 * 1024 * 1024
"""Bytes from which on the JVM's second compiler saves more time than it takes."""


def is_large(request: protocol.Request) -> bool:
    """Whether the new data of a request, or the history that it tests, has at least LARGE bytes in local files."""
    return sum(_sizes(_paths(request))) >= LARGE


def _paths(request: protocol.Request) -> Iterator[str]:
    if isinstance(request, protocol.MergeRequest):
        for source in request.inputs:
            yield from source.paths
    elif isinstance(request, protocol.TransformRequest):
        for query_input in request.query_inputs:
            yield from query_input.data_paths
    elif isinstance(request, protocol.ContractTestRequest):
        for slice_ in request.history:
            yield slice_.path
    elif isinstance(request, protocol.RawQueryRequest):
        yield from request.input_data_paths


def _sizes(paths: Iterable[str]) -> Iterator[int]:
    for local in filter(None, map(uris.path_of, paths)):
        with suppress(OSError):
            yield os.path.getsize(local)
