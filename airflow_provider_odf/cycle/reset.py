"""Reset of a derivative: a new history with the same id and metadata and without data, which the next run computes anew
from the inputs.

The new history is a chain of new blocks, to which ``head`` moves by compare-and-set like to a candidate. Its blocks are
later than all earlier ones, so the two histories share none, and nothing that was based on the earlier history can be
published any more.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import HEAD
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle import candidates, lost_race
from airflow_provider_odf.errors import CommitConflict, InvalidInput, OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store


@dataclass(frozen=True)
class Reset:
    """A reset, done or planned. Without data before it, it changes nothing."""

    before: ChainState
    """The state that the dataset had."""
    candidates: tuple[str, ...]
    """Refs of candidates, rejected and accepted ones, which are based on the earlier history."""
    head: str
    """The head after the reset; of a planned reset the present one."""

    @property
    def changes_nothing(self) -> bool:
        return self.before.schema is None and not self.before.query_inputs

    @property
    def metadata(self) -> tuple[model.MetadataEvent, ...]:
        """The events that stay, in the order of the new history."""
        state = self.before
        events = (state.set_vocab, state.transform, state.info, state.license, state.attachments)
        return tuple(event for event in events if event is not None)

    @property
    def replaced_ref(self) -> str:
        """The ref of the earlier history."""
        return candidates.REPLACED + self.before.head.removeprefix("f1620")[:16]


def plan(dataset: Dataset) -> Reset:
    """Return what a reset of a dataset would do.

    :raises InvalidInput: the dataset is a root.
    """
    state = replay(dataset)
    if state.kind == "Root":
        forget = dataset.command("forget", "{}")
        raise InvalidInput(
            f"dataset {dataset.alias} is a root: its history comes from its source, and no run can compute it again. "
            f"Only derivatives can be reset. To start a new history anyway, delete the folder {dataset.location}, then "
            f"run `{forget}`"
        )
    refs = tuple(dataset.storage.refs(candidates.OF_CANDIDATES))
    return Reset(state, refs, state.head)


def reset(store: Store, dataset: Dataset, now: Callable[[], Instant] = Instant.now) -> Reset:
    """Reset a derivative, and return what was done.

    If another writer publishes at the same time, the reset follows on it. A writer that comes second computes the whole
    dataset.

    :raises InvalidInput: the dataset is a root.
    :raises DatasetGone: the dataset is not the one that the store had under its name.
    :raises CommitConflict: other writers came first, each time.
    """

    def attempt(_: CommitConflict | None) -> Reset:
        planned = plan(dataset)
        store.check_own(dataset, planned.before.dataset_id)
        dataset.storage.sync("refs")  # the head may be that of a reset which was killed before it did so
        return planned if planned.changes_nothing else _move_head(dataset, planned, now())

    done = lost_race.settle(store, str(dataset.alias), attempt)
    if not done.changes_nothing:
        candidates.drop_settled(dataset, done.head)
        shutil.rmtree(store.cache(dataset.alias), ignore_errors=True)
    return done


def _move_head(dataset: Dataset, planned: Reset, now: Instant) -> Reset:
    """Write the new history and move ``head`` to it. A ref keeps the files of the earlier one, since readers and
    writers may be using them, for the grace period of ``odf gc``."""
    before, refs = planned.before, dataset.storage
    draft = _new_history(dataset, planned, max(now, before.system_time.plus_ns(1)))
    refs.compare_and_set_ref(planned.replaced_ref, refs.get_ref(planned.replaced_ref), before.head)
    try:
        refs.compare_and_set_ref(HEAD, before.head, draft.state.head)
    except CommitConflict:
        with suppress(CommitConflict):
            refs.compare_and_set_ref(planned.replaced_ref, before.head, None)
        raise
    return Reset(before, planned.candidates, draft.state.head)


def _new_history(dataset: Dataset, planned: Reset, time: Instant) -> Draft:
    newest = dataset.storage.get(f"blocks/{planned.before.head}") or b""
    draft = Draft(dataset, manifest_version=codec.decode_frame(newest)[0])
    draft.append(model.Seed(dataset_id=planned.before.dataset_id, dataset_kind="Derivative"), time)
    for event in planned.metadata:
        draft.append(event, time)
    return draft


def readers(store: Store, dataset_id: str) -> Iterator[Dataset]:
    """Yield the datasets of a store that were computed from a dataset. Damaged ones are left out."""
    for dataset in store.datasets():
        with suppress(OdfError):
            if dataset_id in replay(dataset).query_inputs:
                yield dataset
