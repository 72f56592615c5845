"""What tasks pass to each other as XComs: short references to the work area and to the chain.

Airflow lets users with the right role write XComs, so the content of an XCom is checked. It has no paths: the input of
a poll or push is described by a file of the work area, which the XCom names. A candidate is read from the chain again.
An XCom is short whatever the number of input files.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.dataset import is_hash
from airflow_provider_odf.cycle import candidates, exchange
from airflow_provider_odf.cycle.exchange import is_inside
from airflow_provider_odf.cycle.messages import Candidate, Input, InputFile, SourceState
from airflow_provider_odf.errors import CommitConflict, InvalidInput
from airflow_provider_odf.seal import open_json, sealed_json

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store

T = TypeVar("T")

MOST_SHOWN = 10
"""Maximum number of files and notices listed in an XCom. It also has their total number."""

_LONGEST_TEXT = 300
_LONGEST_NAME = 255
"""Characters that file systems allow in the name of a folder."""

_INPUT = re.compile(r"poll-[0-9a-f]{16}")
_REF = re.compile(r"candidate-[0-9a-f]{16}")


@dataclass(frozen=True)
class FileSummary:
    """One input file, for people to read."""

    label: str
    event_time: str
    state: SourceState | None = None


@dataclass(frozen=True)
class InputReference:
    """New input that waits in the work area. ``input`` names it there; the rest is for people and templates."""

    dataset: str
    input: str
    base: str = ""
    system_time: str = ""
    source_name: str | None = None
    files: tuple[FileSummary, ...] = ()
    file_count: int = 0
    has_more: bool = False


def pass_input(store: Store, new_input: Input) -> dict[str, Any]:
    """Pass the input of a poll or push to the exchange, and return the XCom that refers to it. All its files lie in its
    directory of the work area.

    :raises StorageError: a file cannot be written.
    """
    name = str(new_input.directory)
    directory = store.scratch(new_input.dataset) / name
    files = tuple(_moved(file, lambda path: str(Path(path).relative_to(directory))) for file in new_input.files)
    described = dataclasses.replace(new_input, files=files, is_passed=True)
    exchange.put(store, new_input, sealed_json(protocol.to_json(described)))
    reference: dict[str, Any] = protocol.to_json(
        InputReference(
            dataset=new_input.dataset,
            input=name,
            base=new_input.base,
            system_time=new_input.system_time,
            source_name=new_input.source_name,
            files=tuple(map(_summary, new_input.files[:MOST_SHOWN])),
            file_count=len(new_input.files),
            has_more=new_input.has_more,
        )
    )
    return reference


def receive_input(store: Store, xcom: Any, dataset: str | None = None) -> Input:
    """Return the input that an XCom refers to; ``dataset`` is that of the task, if the task names one.

    Its files are brought to this machine.

    :raises InvalidInput: the XCom does not come from `pass_input`, is of another dataset, or its input is missing.
    :raises StorageError: a file cannot be read or written.
    """
    reference = _parse(InputReference, xcom)
    _expect(reference.dataset, dataset)
    if not _INPUT.fullmatch(reference.input):
        raise InvalidInput(
            f"XCom: {reference.input[:80]!r} is not the name of an input: pass the XCom of a poll or push"
        )
    data, location = exchange.description(store, reference.dataset, reference.input)
    if data is None:
        advice = (
            "" if store.is_remote else "; if that task ran on another machine, set a work area that all workers share"
        )
        raise InvalidInput(
            f"{reference.dataset}: input {reference.input} is not in the work area {location.rpartition('/')[0]}: "
            f"clear the task that fetched it{advice}"
        )
    described = open_json(data)
    if described is None:
        raise InvalidInput(f"{location} is damaged: clear the task that fetched it")
    new_input, directory = protocol.from_json(Input, described), store.scratch(reference.dataset) / reference.input
    if new_input.directory != reference.input or not all(map(is_inside, (p for f in new_input.files for p in f.paths))):
        raise InvalidInput(f"{location} names files elsewhere: clear the task that fetched it")
    files = tuple(_moved(file, lambda path: str(directory / path)) for file in new_input.files)
    new_input = dataclasses.replace(new_input, files=files)
    exchange.fetch(store, new_input)
    return new_input


def pass_candidate(candidate: Candidate) -> dict[str, Any]:
    """Return the XCom that refers to a candidate."""
    notices = tuple(pass_notices(candidate.notices))
    reference: dict[str, Any] = protocol.to_json(dataclasses.replace(candidate, notices=notices))
    return reference


NOTICES = "odf_notices"
"""Key of the XCom with the notices of a task, which pages show."""


def pass_notices(notices: Sequence[str]) -> list[str]:
    """Return the XCom of notices: the first ones, in few characters, and how many more there are."""
    shown = [_short(notice) for notice in notices[:MOST_SHOWN]]
    more = len(notices) - MOST_SHOWN
    return [*shown, f"and {more} more"] if more > 0 else shown


def receive_candidate(
    store: Store, xcom: Any, dataset: str | None = None, *, allows_rejected: bool = False
) -> Candidate:
    """Return the candidate that an XCom refers to, its base and its records read from the chain; ``dataset`` is that
    of the task, if the task names one.

    :raises InvalidInput: the XCom does not come from `pass_candidate`, or is of another dataset.
    :raises CommitConflict: the dataset has no such candidate, neither waiting nor published.
    """
    claim = _parse(Candidate, xcom)
    _expect(claim.dataset, dataset)
    target = store.dataset(claim.dataset)
    for name in (claim.base, claim.candidate):
        if not is_hash(name):
            raise InvalidInput(f"XCom: {name[:80]!r} is not a block hash: pass the XCom of a merge")
    if not _REF.fullmatch(claim.ref):
        raise InvalidInput(f"XCom: {claim.ref[:80]!r} is not the ref of a candidate: pass the XCom of a merge")
    base = _base(target, claim, allows_rejected)
    chained = candidates.describe(target, base, claim.candidate, claim.ref)
    return dataclasses.replace(
        claim,
        dataset=str(target.alias),
        base=base,
        records=chained.records,
        offsets=chained.offsets,
        watermark=chained.watermark,
        size=chained.size,
    )


def _base(dataset: Dataset, claim: Candidate, allows_rejected: bool) -> str:
    """Return the block below the candidate: the head while it waits, later the claimed block if it is an ancestor."""
    head = str(dataset.head())
    is_rejected = dataset.head(candidates.rejected_ref(claim.ref)) == claim.candidate
    is_waiting = dataset.head(claim.ref) == claim.candidate or (is_rejected and allows_rejected)
    if is_waiting and claim.candidate != head and dataset.contains(claim.candidate, head):
        return head
    is_known = _is_known(dataset, claim.candidate) and _is_known(dataset, claim.base)
    if is_known and dataset.contains(head, claim.candidate) and dataset.contains(claim.candidate, claim.base):
        return claim.base
    why = "another writer published first, or the candidate was removed: clear the run"
    if is_rejected:
        why = f"it was rejected or held back; to inspect it: {candidates.show_command(dataset)}"
    raise CommitConflict(f"dataset {dataset.alias}: {claim.candidate} is not a candidate: {why}")


def _is_known(dataset: Dataset, block_hash: str) -> bool:
    return dataset.storage.stat(f"blocks/{block_hash}") is not None


def _parse(cls: type[T], xcom: Any) -> T:
    try:
        return protocol.from_json(cls, xcom)
    except ValueError as e:
        raise InvalidInput(f"XCom: {e}: pass the XCom of the upstream task") from None


def _expect(claimed: str, dataset: str | None) -> None:
    if any(len(part) > _LONGEST_NAME for part in claimed.split("/")):
        raise InvalidInput(
            f"XCom: {claimed[:80]!r}… is too long for the name of a dataset: pass the XCom of the upstream task"
        )
    if dataset is not None and claimed.lower() != dataset.lower():
        raise InvalidInput(
            f"the XCom belongs to dataset {claimed[:80]}, but this task is for {dataset}: "
            "pass the XCom of its upstream task"
        )


def _moved(file: InputFile, move: Any) -> InputFile:
    return dataclasses.replace(file, paths=tuple(map(move, file.paths)))


def _summary(file: InputFile) -> FileSummary:
    state = file.state and dataclasses.replace(file.state, value=_short(file.state.value))
    return FileSummary(_short(file.label), file.event_time, state)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
