"""The health of a dataset in one word, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from airflow_provider_odf.wording import counted, listed

if TYPE_CHECKING:
    from airflow_provider_odf.ui.airflow_api import Publication

NEVER_RUN, REJECTED, FAILING, STALE, FRESH = "never run", "rejected", "failing", "stale", "fresh"
WORDS = (REJECTED, FAILING, NEVER_RUN, STALE, FRESH)
"""All words, worst first."""

_LATE = timedelta(minutes=10)
"""How long a due run may wait for the scheduler."""


@dataclass(frozen=True)
class Health:
    """A word of the module, and the reason as a sentence."""

    word: str
    reason: str

    @property
    def style(self) -> str:
        return self.word.replace(" ", "-")


def health(publication: Publication, *, has_data: bool, rejected: int, behind: Sequence[str], now: datetime) -> Health:
    """Return the health of a dataset; the worst that holds.

    :param rejected: number of candidates on the current head that nobody has decided on.
    :param behind: inputs that have data which the dataset was not computed from.
    """
    if rejected:
        return Health(REJECTED, f"New data was not published: {counted(rejected, 'candidate')} waiting for a decision.")
    if publication.run_state == "failed":
        return Health(FAILING, "The newest run of the DAG failed.")
    if not has_data:
        return Health(NEVER_RUN, "No data was published yet.")
    if publication.is_paused:
        return Health(STALE, "The DAG is paused: no run looks for new data.")
    if behind:
        return Health(STALE, f"Inputs have newer data: {listed(list(behind))}.")
    if publication.next_run is not None and datetime.fromisoformat(publication.next_run) + _LATE < now:
        return Health(STALE, "A run is overdue: the scheduler has not started it.")
    return Health(FRESH, "The newest run found nothing wrong, and no newer data is known.")


def now() -> datetime:
    return datetime.now(timezone.utc)
