"""Rows of a dataset: current, as of a time, their history, and the difference of two blocks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Depends, Query
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from pydantic import BaseModel

from airflow_provider_odf.chain.publications import data_as_of
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.slices import OffsetRange
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.contract.sensitivity import MASKED
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.read_steps import READ_STEPS
from airflow_provider_odf.reading.export import stream
from airflow_provider_odf.reading.row_page import Answer, Question, row_page, scan_of
from airflow_provider_odf.ui.chain_cache import moment_of
from airflow_provider_odf.ui.pages import HEADERS
from airflow_provider_odf.ui.row_table import row_table
from airflow_provider_odf.ui.subject import Subject, SubjectOf

_HISTORY, _DIFFERENCE = "history", "difference"
_SHOWN = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?: UTC)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class DataQuery(BaseModel):
    """Parameters of the page. ``page`` counts from 1. ``as_of``, ``since`` and ``until`` are a date, a time in RFC 3339
    or as pages show it, or a block. The last two limit the history and the difference. ``event_since`` and
    ``event_until`` limit the event times of any rows: a date or a time, the second one being the first time after them,
    or a date that they include."""

    view: str = ""
    since: str = ""
    until: str = ""
    as_of: str = ""
    column: str = ""
    contains: str = ""
    operation: str = ""
    event_since: str = ""
    event_until: str = ""
    sort: str = ""
    order: str = ""
    page: int = 1

    @property
    def kind(self) -> str:
        """Kind of the rows in a word."""
        return self.view if self.view in (_HISTORY, _DIFFERENCE) else "current"

    @property
    def has_range(self) -> bool:
        """Whether the rows are those of a range of the history."""
        return self.kind != "current" and bool(self.since or self.until)

    def link(self, path: str, **changes: str | int) -> str:
        """Return the address of the page with other parameters. It begins at the first page."""
        parameters = {**self.model_dump(exclude={"page"}), **changes}
        return f"{path}?{urlencode({name: text for name, text in parameters.items() if text})}"


QueryOf = Annotated[DataQuery, Query()]


def _question(subject: SubjectOf, query: QueryOf) -> Question:
    """Return the question about the rows.

    :raises InvalidInput: its answer would tell values of a sensitive column.
    """
    for name in (query.column if query.contains else "", query.sort):
        if name.lower() in subject.sensitive:
            raise InvalidInput(f"column {name!r} is sensitive: pages neither show nor search nor sort its values")
    return Question(
        query.view == _HISTORY,
        query.view == _DIFFERENCE,
        query.column,
        query.contains,
        query.operation,
        query.sort,
        query.order == "descending",
        query.page - 1,
        (_event_time(query.event_since, "event_since"), _event_time(query.event_until, "event_until", is_end=True)),
    )


def _event_time(text: str, argument: str, *, is_end: bool = False) -> datetime | None:
    """Return a limit of event times.

    :raises InvalidInput: the text is neither a date nor a time.
    """
    if not text.strip():
        return None
    time = moment_of(_point(text.strip()), argument)
    is_whole_day = is_end and _DATE.fullmatch(text.strip())
    return time.to_datetime() + timedelta(days=1 if is_whole_day else 0)


def _rows(subject: SubjectOf, query: QueryOf) -> tuple[ChainState, OffsetRange | None]:
    """Return the state of the chain whose rows are asked for, and their range of offsets if there is one.

    :raises InvalidInput: the range or the time is not valid.
    :raises DatasetNotFound: there is no such block.
    """
    if query.has_range:
        return subject.history.state, _offsets(subject, query)
    if query.as_of and query.view != _DIFFERENCE:
        return replay(subject.dataset, data_as_of(subject.dataset, _point(query.as_of.strip()))), None
    return subject.history.state, None


QuestionOf = Annotated[Question, Depends(_question)]
RowsOf = Annotated[tuple[ChainState, OffsetRange | None], Depends(_rows)]


def data(subject: SubjectOf, query: QueryOf, question: QuestionOf, rows: RowsOf) -> HTMLResponse:
    """Return current rows, the history or a difference, a page at a time."""
    state, offsets = rows
    page = row_page(subject.cached, state, question, offsets)
    return subject.render(
        "data.html",
        "/data",
        question=question,
        query=query,
        page=page,
        table=row_table(state, page.columns, page.rows, len(page.rows), subject.sensitive),
        state=state,
        link=partial(query.link, subject.path("/data")),
        ranges=_ranges(datetime.now(UTC)),
        forms=[(form, label) for form, (label, _) in _FORMS.items()],
        download=partial(query.link, subject.path("/data/download")),
    )


_FORMS = {
    "csv": ("CSV", f"{READ_STEPS['Csv'].media_type}; charset=utf-8"),
    "parquet": ("Parquet", READ_STEPS["Parquet"].media_type),
    "ndjson": ("NdJson", READ_STEPS["NdJson"].media_type),
}
"""Form of a file -> its name for readers and its content type."""


class DownloadQuery(DataQuery):
    """Parameters of a file with all rows of the page."""

    form: Literal["csv", "parquet", "ndjson"] = "csv"


def download(
    subject: SubjectOf, query: Annotated[DownloadQuery, Query()], question: QuestionOf, rows: RowsOf
) -> Response:
    """Return all rows that the page shows some of, in the order of offsets or of the key, as a file.

    Slices are checked before the answer begins, so that damage is a page that explains it."""
    state, offsets = rows
    scan = scan_of(subject.cached, state, question, offsets)
    parts = stream(Answer(scan, question, subject.sensitive, MASKED), query.form)
    first = next(parts)
    name = file_name(subject.publication.alias, query.kind, state.head, query.form)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chain([first], parts), headers=headers, media_type=_FORMS[query.form][1])


def file_name(alias: str, view: str, head: str, form: str) -> str:
    """Return the name of a file with rows of a dataset, in characters that are safe in headers and file systems.

    >>> file_name("acme/orders", "history", "f1620abcdef0123", "csv")
    'acme.orders-history-f1620abcdef01.csv'
    """
    words = f"{alias.replace('/', '.')}-{view}-{head[:13]}"
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', words).lstrip('.')}.{form}"


def _offsets(subject: Subject, query: DataQuery) -> OffsetRange:
    state, positions = subject.history.state, subject.positions
    first = positions.after(_point(query.since), "since") + 1 if query.since else 0
    last = positions.until(_point(query.until), "until") if query.until else state.next_offset - 1
    if last < first - 1:
        if query.since[:1] == query.until[:1] == "f":  # two blocks, which readers choose in any order
            return OffsetRange(state.vocab.offset_column, last + 1, first - 1)
        raise InvalidInput(f"until {query.until} is before since {query.since}: swap the two")
    return OffsetRange(state.vocab.offset_column, first, last)


def _point(text: str) -> str:
    """Return a time as pages show it in RFC 3339, as the end of its second. Other texts stay as they are."""
    shown = _SHOWN.fullmatch(text.strip())
    return f"{shown[1]}T{shown[2]}.999999999Z" if shown else text


def _ranges(now: datetime) -> list[tuple[str, str, str]]:
    """Return names, beginnings and ends of ranges that readers often ask for."""
    today, yesterday, week = ((now - timedelta(days=n)).date().isoformat() for n in (0, 1, 6))
    return [("today", today, today), ("yesterday", yesterday, yesterday), ("the last seven days", week, today)]
