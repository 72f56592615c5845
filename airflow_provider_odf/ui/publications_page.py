"""The page about the publications of a dataset: what was merged when, and who published it when and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query
from fastapi.responses import HTMLResponse

from airflow_provider_odf.chain import publications
from airflow_provider_odf.ui.dataset_pages import SubjectOf

if TYPE_CHECKING:
    from airflow_provider_odf.chain.publications import Entry, Publication
    from airflow_provider_odf.instant import Instant

ROWS_OF_A_PAGE = 50


@dataclass(frozen=True)
class Row:
    """A publication; ``details`` are None if its record is damaged."""

    entry: Entry
    merged: Instant
    details: Publication | None


def publications_page(subject: SubjectOf, before: Annotated[int | None, Query()] = None) -> HTMLResponse:
    """Return the publications of a dataset, newest first.

    :param before: number of a block: only publications of earlier blocks.
    """
    history = subject.positions.published
    rows = [
        Row(entry, subject.dataset.block(entry.block_hash).system_time, details)
        for entry, details in publications.newest(history, ROWS_OF_A_PAGE, before)
    ]
    is_last = not rows or rows[-1].entry.last == history.entries[0].last
    older = None if is_last else rows[-1].entry.last
    return subject.render("publications.html", "/publications", rows=rows, older=older, total=len(history.entries))
