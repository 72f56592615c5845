"""The kinds of datasets, one row each: where new input comes from, and which step makes a candidate of it. Testing and
publishing a candidate are the same for all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Candidate, NewInput, UpToDate


@dataclass(frozen=True)
class Kind:
    """The steps of one kind of dataset."""

    new_input: Callable[[Cycle], NewInput | UpToDate]
    candidate: Callable[[Cycle, Any], Candidate | UpToDate]
    """Takes what ``new_input`` of the same kind returns."""


def _root() -> Kind:
    from airflow_provider_odf.cycle.merge import merge  # Airflow imports this module to parse DAGs.
    from airflow_provider_odf.cycle.poll import poll

    return Kind(poll, merge)


def _derivative() -> Kind:
    from airflow_provider_odf.cycle.transform import make_candidate, new_input

    return Kind(new_input, make_candidate)


KINDS: Mapping[str, Callable[[], Kind]] = {"Root": _root, "Derivative": _derivative}
"""Kind of dataset -> its steps."""


def kind_of(cycle: Cycle) -> Kind:
    """Return the kind of a cycle's dataset: the manifest's, else the chain's."""
    if cycle.manifest is not None:
        return KINDS[cycle.manifest.snapshot.kind]()
    from airflow_provider_odf.chain.replay import replay

    dataset = cycle.store.get(cycle.dataset)
    return KINDS[replay(dataset).kind if dataset is not None else "Root"]()
