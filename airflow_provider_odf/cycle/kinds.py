"""What differs between the cycles of datasets of different kinds: where new input comes from, and which step makes a
candidate of it. Testing and publishing a candidate are the same for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.errors import OdfError

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Candidate, Input, UpToDate


@dataclass(frozen=True)
class Kind:
    """The steps of one kind of dataset."""

    new_input: Callable[[Cycle], Input | UpToDate]
    candidate: Callable[[Cycle, Input], Candidate | UpToDate]


KINDS: Mapping[str, Kind] = {"Root": Kind(poll, merge)}
"""Kinds of datasets that can be run."""


def kind_of(cycle: Cycle) -> Kind:
    """Return the kind of a cycle's dataset. Without a manifest it is a root: only roots take pushed data.

    :raises OdfError: such datasets cannot be run yet.
    """
    name = cycle.manifest.snapshot.kind if cycle.manifest is not None else "Root"
    if name not in KINDS:
        raise OdfError(f"{name.lower()} datasets are not supported yet")
    return KINDS[name]
