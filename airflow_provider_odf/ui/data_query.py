"""The address of the page of data: which rows a reader wants to see."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from pydantic import BaseModel

from airflow_provider_odf.reading.row_page import Question

_HISTORY, _DIFFERENCE, _DESCENDING = "history", "difference", "descending"


_SHOWN = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?: UTC)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def point(text: str) -> str:
    """Return a time as pages show it in RFC 3339, as the end of its second. Other texts stay as they are."""
    shown = _SHOWN.fullmatch(text.strip())
    return f"{shown[1]}T{shown[2]}.999999999Z" if shown else text


def end_of(text: str) -> str:
    """Return a date as the end of its day in UTC, and other texts as `point` does."""
    return point(f"{text.strip()} 23:59:59" if _DATE.fullmatch(text.strip()) else text)


class DataQuery(BaseModel):
    """Parameters of the page. ``page`` counts from 1. ``as_of``, ``since`` and ``until`` are a date, a time in RFC 3339
    or as pages show it, or a block. The last two limit the history and the difference."""

    view: str = ""
    since: str = ""
    until: str = ""
    as_of: str = ""
    column: str = ""
    contains: str = ""
    operation: str = ""
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
        return self.view in (_HISTORY, _DIFFERENCE) and bool(self.since or self.until)

    def question(self) -> Question:
        """Return the question about the rows."""
        return Question(
            self.view == _HISTORY,
            self.view == _DIFFERENCE,
            self.column,
            self.contains,
            self.operation,
            self.sort,
            self.order == _DESCENDING,
            self.page - 1,
        )

    def link(self, path: str, **changes: str | int) -> str:
        """Return the address of the page with other parameters. It begins at the first page."""
        parameters = {**self.model_dump(exclude={"page"}), **changes}
        return f"{path}?{urlencode({name: text for name, text in parameters.items() if text})}"
