"""The blocks that a manifest appends to a dataset's chain, or the problems that forbid it.

Pure functions from the chain's state and the manifest to a ``Plan``: what `odf plan` shows is what `apply` appends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.evolution.changes import Change, all_changes
from airflow_provider_odf.evolution.compatibility import check
from airflow_provider_odf.evolution.difference import is_same
from airflow_provider_odf.evolution.inputs import in_positions
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.manifest.manifest import Manifest

_PERSISTENT: tuple[type[model.Variant], ...] = (model.SetInfo, model.SetLicense, model.SetAttachments, model.SetVocab)
_CLEARED = {
    "SetInfo": "an empty SetInfo clears it",
    "SetAttachments": "a SetAttachments with `items: []` removes the attachments",
}


@dataclass(frozen=True)
class Plan:
    """Blocks that a run appends before it polls, or with the data if a note says so. With ``problems`` it appends
    nothing."""

    dataset: str
    is_new: bool
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise all problems at once.

        :raises ManifestInvalid: there are problems.
        """
        if self.problems:
            raise ManifestInvalid(self.problems)


def plan(state: ChainState | None, manifest: Manifest) -> Plan:
    """Return the plan for a dataset in a state, None where it does not exist yet."""
    name = manifest.snapshot.name
    if state is not None and state.kind != manifest.snapshot.kind:
        message = (
            f"dataset {name} exists as {state.kind}, not {manifest.snapshot.kind}: a dataset never changes its kind"
        )
        return Plan(name, False, problems=(Problem(manifest.place("kind"), message, "choose another name"),))
    if state is not None:
        manifest = in_positions(manifest, state)
    changes = all_changes(state, manifest)
    compatibility = check(state, manifest, changes)
    notes = (*compatibility.notes, *_pending(changes), *_leftovers(state, manifest))
    return Plan(name, state is None, changes, compatibility.problems, notes)


def _pending(changes: Sequence[Change]) -> Iterator[str]:
    """Yield notes on sources that are appended later."""
    for change in changes:
        if change.is_pending:
            yield f"{change.event.kind} will take effect with its next input; its query is validated only then"


def _leftovers(state: ChainState | None, manifest: Manifest) -> Iterator[str]:
    """Yield notes on events that are no longer in the manifest but still apply."""
    if state is None:
        return
    for event, current in zip(
        _PERSISTENT, (state.info, state.license, state.attachments, state.set_vocab), strict=True
    ):
        if current is not None and manifest.snapshot.last(event) is None and not is_same(None, current):
            clear = _CLEARED.get(current.kind)
            yield f"{current.kind} is no longer in the manifest but still applies" + (f"; {clear}" if clear else "")
