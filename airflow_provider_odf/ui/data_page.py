"""Rows of a dataset: current, as of a time, their history, and the difference of two blocks."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import partial
from itertools import chain
from typing import Annotated

from fastapi import Query
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from airflow_provider_odf.chain.as_of import data_as_of
from airflow_provider_odf.chain.kept_positions import read_positions
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slice_scan import OffsetRange
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.contract.sensitivity import MASKED, masked
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.answer import Answer
from airflow_provider_odf.reading.export import stream
from airflow_provider_odf.reading.row_page import Question, row_page, scan_of
from airflow_provider_odf.ui import pages
from airflow_provider_odf.ui.data_query import DataQuery, end_of, point
from airflow_provider_odf.ui.dataset_pages import SubjectOf
from airflow_provider_odf.ui.subject import Subject

_WEEK = 6


class Form(str, Enum):
    """Form of a file."""

    CSV = "csv"
    PARQUET = "parquet"
    NDJSON = "ndjson"


_LABELS = {Form.CSV.value: "CSV", Form.PARQUET.value: "Parquet", Form.NDJSON.value: "NdJson"}
_TYPES = {
    Form.CSV: "text/csv; charset=utf-8",
    Form.PARQUET: "application/vnd.apache.parquet",
    Form.NDJSON: "application/x-ndjson",
}
"""Form of a file -> its content type."""


def data(subject: SubjectOf, query: Annotated[DataQuery, Query()]) -> HTMLResponse:
    """Return current rows, the history or a difference, a page at a time."""
    sensitive = subject.sensitive
    question = _question(query, sensitive)
    state, offsets = rows_asked_for(subject, query)
    page = row_page(subject.dataset, state, question, subject.pages_folder, offsets)
    page = replace(page, rows=tuple(masked(row, sensitive) for row in page.rows))
    link = partial(query.link, subject.path("/data"))
    return subject.render(
        "data.html",
        "/data",
        question=question,
        query=query,
        page=page,
        state=state,
        link=link,
        ranges=_ranges(datetime.now(timezone.utc)),
        forms=list(_LABELS.items()),
        download=partial(query.link, subject.path("/data/download")),
    )


class DownloadQuery(DataQuery):
    """Parameters of a file with all rows of the page."""

    form: Form = Form.CSV


def download(subject: SubjectOf, query: Annotated[DownloadQuery, Query()]) -> Response:
    """Return all rows that the page shows some of, in the order of offsets or of the key, as a file.

    Slices are checked before the answer begins, so that damage is a page that explains it."""
    state, offsets = rows_asked_for(subject, query)
    sensitive = subject.sensitive
    question = _question(query, sensitive)
    scan = scan_of(subject.dataset, state, question, subject.pages_folder, offsets)
    parts = stream(Answer(scan, question, sensitive, MASKED), query.form.value)
    first = next(parts)
    name = file_name(subject.publication.alias, query.kind, state.head, query.form.value)
    headers = {**pages.HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chain([first], parts), headers=headers, media_type=_TYPES[query.form])


def _question(query: DataQuery, sensitive: Collection[str]) -> Question:
    """Return the question of a page.

    :raises InvalidInput: its answer would tell values of a sensitive column.
    """
    question = query.question()
    for name in (question.column if question.contains else "", question.sort):
        if name.lower() in sensitive:
            raise InvalidInput(f"column {name!r} is sensitive: pages neither show nor search nor sort its values")
    return question


def file_name(alias: str, view: str, head: str, form: str) -> str:
    """Return the name of a file with rows of a dataset, in characters that are safe in headers and file systems.

    >>> file_name("acme/orders", "history", "f1620abcdef0123", "csv")
    'acme.orders-history-f1620abcdef01.csv'
    """
    words = f"{alias.replace('/', '.')}-{view}-{head[:13]}"
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', words).lstrip('.')}.{form}"


def rows_asked_for(subject: Subject, query: DataQuery) -> tuple[ChainState, OffsetRange | None]:
    """Return the state of the chain whose rows are asked for, and their range of offsets if there is one.

    :raises InvalidInput: the range or the time is not valid.
    :raises DatasetNotFound: there is no such block.
    """
    if query.has_range:
        return subject.history.state, _offsets(subject, query)
    if query.as_of and not query.question().is_difference:
        return replay(subject.dataset, data_as_of(subject.dataset, end_of(query.as_of))), None
    return subject.history.state, None


def _offsets(subject: Subject, query: DataQuery) -> OffsetRange:
    state = subject.history.state
    positions = read_positions(subject.dataset, state.head, subject.store.work_area)
    first = positions.after(point(query.since), "since") + 1 if query.since else 0
    last = positions.until(point(query.until), "until") if query.until else state.next_offset - 1
    if last < first - 1:
        raise InvalidInput(f"until {query.until} is before since {query.since}: swap the two")
    return OffsetRange(state.vocab.offset_column, first, last)


def _ranges(now: datetime) -> list[tuple[str, str, str]]:
    """Return names, beginnings and ends of ranges that readers often ask for."""
    today, yesterday, week = ((now - timedelta(days=n)).date().isoformat() for n in (0, 1, _WEEK))
    return [("today", today, today), ("yesterday", yesterday, yesterday), ("the last seven days", week, today)]
