"""Facts about a dataset for its health: what its chain, its reports and its candidates tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from airflow_provider_odf.chain import publications
from airflow_provider_odf.chain.dataset import HEAD
from airflow_provider_odf.chain.publications import PublishedHistory, published_history
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.service_levels import FRESHNESS
from airflow_provider_odf.cycle import candidates, tested
from airflow_provider_odf.errors import DatasetNotFound, OdfError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import Check

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.candidates import Record, Rejection
    from airflow_provider_odf.manifest.model import MetadataBlock

MOST_UPDATES = 20
_MOST_BLOCKS = 200
"""Newest blocks in which updates are looked for."""


@dataclass(frozen=True)
class Update:
    """A publication that moved the watermark, or one of data without a watermark."""

    published: Instant
    data: Instant | None


@dataclass(frozen=True)
class ChainFacts:
    """What the chain of a dataset tells at its head, and what is kept about its newest data: the promises of the
    contract, the newest time that its clause about freshness measured, and who published it. Merges that found nothing
    new do not change what is kept."""

    published: Instant | None = None
    watermark: Instant | None = None
    updates: tuple[Update, ...] = ()
    """The newest ones, oldest first."""
    promises: tuple[Check, ...] = ()
    newest_time: Instant | None = None
    decision: str | None = None
    who: str | None = None
    reason: str | None = None
    run_id: str | None = None
    """Id of the run of Airflow that published last."""
    changed: Instant | None = None
    """The last publication that changed the data."""


class NewerInput(NamedTuple):
    """An input of a derivative with data that it has not read, and when the newest of it was published."""

    name: str
    published: Instant | None


class Inputs(NamedTuple):
    """Inputs of a derivative: those with newer data, and the names of those without data, and of those with rejected
    data that waits for a decision."""

    behind: tuple[NewerInput, ...] = ()
    missing: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


_NO_INPUTS = Inputs()


class Newest(NamedTuple):
    """Where the history of a dataset ends: its last offset, and when its newest data was published."""

    dataset_id: str
    last_offset: int | None
    published: Instant | None = None


@dataclass(frozen=True)
class Facts:
    """Facts about a dataset. ``chain`` is None if it does not exist yet.

    ``unpublished`` is the time of the oldest
    candidate on the head that was neither rejected nor published, ``decided`` that of the newest decision on a rejected
    one.
    """

    chain: ChainFacts | None = None
    has_data: bool = False
    undecided: int = 0
    is_discarded: bool = False
    unpublished: Instant | None = None
    decided: Instant | None = None
    inputs: Inputs = _NO_INPUTS


class Candidates(NamedTuple):
    """The candidates on the head of a dataset."""

    undecided: Sequence[candidates.Rejection] = ()
    is_discarded: bool = False
    unpublished: Instant | None = None
    decided: Instant | None = None


def read_facts(store: Store, dataset: Dataset) -> Facts:
    """Return the facts about a dataset of a store.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    state = replay(dataset)
    inputs = state.transform.inputs if state.transform is not None else ()
    found_inputs = read_inputs(
        store,
        [(declared.dataset_ref, declared.alias) for declared in inputs],
        lambda dataset_id: state.query_inputs[dataset_id].offset if dataset_id in state.query_inputs else None,
        _newest,
    )
    chain = read_chain(dataset, published_history(dataset, state.head))
    found, has_data = read_candidates(dataset, state.head), state.last_offset is not None
    return facts_of(chain, has_data, found, found_inputs)


def facts_of(chain: ChainFacts, has_data: bool, found: Candidates, inputs: Inputs) -> Facts:
    """Return the facts about a dataset from its parts."""
    undecided, is_discarded, unpublished, decided = found
    return Facts(chain, has_data, len(undecided), is_discarded, unpublished, decided, inputs)


def read_chain(dataset: Dataset, history: PublishedHistory) -> ChainFacts:
    """Return what the newest blocks of a history tell.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    blocks = list(dataset.data_blocks(history.hashes[-1], _MOST_BLOCKS))
    if not blocks:
        return ChainFacts()
    newest = publications.published_data(history, *blocks[0])
    block_hash, block, record = candidates.newest_record(dataset, blocks) or (*blocks[0], None)
    changed = publications.published_data(history, block_hash, block)
    done = changed.publication
    return ChainFacts(
        newest.published,
        getattr(blocks[0][1].event, "new_watermark", None),
        tuple(_updates(history, [block for _, block in reversed(blocks)]))[-MOST_UPDATES:],
        record.promises if record is not None else (),
        _newest_time(record),
        done.decision if done is not None else None,
        done.author.who if done is not None else None,
        done.author.reason if done is not None else None,
        newest.publication.author.run.get("runId") if newest.publication is not None else None,
        changed.published,
    )


def _updates(history: PublishedHistory, blocks: Iterable[MetadataBlock]) -> Iterator[Update]:
    """Yield the updates among blocks with data, oldest first. Blocks that were published together are one update."""
    before: Update | None = None
    for block in blocks:
        data = getattr(block.event, "new_watermark", None)
        has_moved = getattr(block.event, "new_data", None) is not None if data is None else True
        if not has_moved or (before is not None and data is not None and data == before.data):
            continue
        update = Update(history.since(block.sequence_number, block.system_time), data)
        if before is not None and before.published != update.published:
            yield before
        before = update
    if before is not None:
        yield before


def _newest_time(record: Record | None) -> Instant | None:
    """Return the newest time in the data that a clause about freshness measured at the merge."""
    results = record.report.results if record is not None and record.report is not None else ()
    for result in results:
        if result.kind == FRESHNESS and result.observed:
            with suppress(ValueError):
                return Instant.parse(result.observed)
    return None


def read_candidates(dataset: Dataset, head: str) -> Candidates:
    """Return the candidates on a head, the rejected ones oldest first.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    every = [(rejection, tested.status(dataset, rejection, head)) for rejection in candidates.rejections(dataset)]
    on_head = [(rejection, status) for rejection, status in every if rejection.base == head]
    waiting = dataset.storage.refs(candidates.CANDIDATE)
    return Candidates(
        [rejection for rejection, status in every if status == tested.WAITING],
        bool(on_head) and on_head[-1][1] == tested.DISCARDED,
        min(filter(None, (_unpublished(dataset, ref, head) for ref in waiting)), default=None),
        max((Instant.parse(at) for rejection, _ in on_head if (at := _decided(rejection))), default=None),
    )


def _decided(rejection: Rejection) -> str | None:
    author = rejection.record.decided_by
    return author.time if author is not None else None


def _unpublished(dataset: Dataset, ref: str, head: str) -> Instant | None:
    """Return the time of a candidate that builds on the head, None if it does not or cannot be read."""
    with suppress(OdfError):
        block_hash = dataset.head(ref)
        if block_hash is not None and not candidates.is_settled(dataset, ref, block_hash, head):
            return dataset.block(block_hash).system_time
    return None


def read_inputs(
    store: Store,
    inputs: Iterable[tuple[str, str | None]],
    position: Callable[[str], int | None],
    newest: Callable[[Dataset], Newest],
) -> Inputs:
    """Return what is to be said of the inputs of a derivative. Those that cannot be read are left out: the next run
    reports them.

    :param inputs: refs and aliases.
    :param position: returns the offset up to which the dataset of an id was read.
    :param newest: returns where the history of a dataset ends.
    """
    behind, missing, undecided = list[NewerInput](), list[str](), list[str]()
    for ref, alias in inputs:
        try:
            dataset = store.find(ref)
            at = newest(dataset) if dataset is not None else Newest("", None)
            if dataset is not None and read_candidates(dataset, dataset.resolve(HEAD)).undecided:
                undecided.append(str(dataset.alias))
        except DatasetNotFound:
            at = Newest("", None)
        except (OdfError, OSError, ValueError):
            continue
        if at.last_offset is None:
            missing.append(store.input_name(ref, alias))
        elif at.last_offset != position(at.dataset_id):
            behind.append(NewerInput(store.input_name(ref, alias), at.published))
    return Inputs(tuple(behind), tuple(missing), tuple(undecided))


def _newest(dataset: Dataset) -> Newest:
    state, newest = replay(dataset), publications.newest_data(dataset)
    return Newest(state.dataset_id, state.last_offset, newest.published if newest is not None else None)
