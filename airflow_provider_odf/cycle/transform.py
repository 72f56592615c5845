"""Transform new records of a derivative's inputs into a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.messages import Candidate, TransformInput, UpToDate
from airflow_provider_odf.errors import OdfError

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.cycle import Cycle


def transform(cycle: Cycle) -> Candidate | UpToDate:
    """Return the candidate with everything that is new in the inputs, or why there is none."""
    new = new_input(cycle)
    return new if isinstance(new, UpToDate) else make_candidate(cycle, new)


def new_input(cycle: Cycle) -> TransformInput | UpToDate:
    raise OdfError("derivative datasets are not supported yet")


def make_candidate(cycle: Cycle, new: TransformInput) -> Candidate | UpToDate:
    raise OdfError("derivative datasets are not supported yet")
