"""Whole cycles: poll, merge, test and publish one dataset, or many with one engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain.store import parse_alias
from airflow_provider_odf.cycle import lost_race
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, NewInput, Outcome, UpToDate
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import contract_test, judge, publish
from airflow_provider_odf.cycle.transform import make_candidate, new_input
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import CandidateRejected, OdfError
from airflow_provider_odf.manifest.graph import Graph
from airflow_provider_odf.manifest.names import DatasetAlias, DatasetRef
from airflow_provider_odf.source.program import kill_all

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.messages import Candidate
    from airflow_provider_odf.cycle.push import Push
    from airflow_provider_odf.protocol import ContractReport

KINDS: Mapping[str, tuple[Callable[[Cycle], Any], Callable[[Cycle, Any], Any]]] = {
    "Root": (poll, merge),
    "Derivative": (new_input, make_candidate),
}
"""Kind of dataset -> where new input comes from, and which step makes a candidate of it. Testing and publishing a
candidate are the same for all kinds."""

POLLS_AT_ONCE = 8
"""Polling waits for networks and disks, not for processors."""


def run_all(cycles: Sequence[Cycle]) -> Iterator[Outcome]:
    """Run cycles, several at once, each after those of its inputs, and yield their outcomes in that order, each as soon
    as it is ready."""
    done: dict[DatasetAlias, Future[Outcome]] = {}

    def run_after(cycle: Cycle, inputs: Iterable[Future[Outcome]]) -> Outcome:
        wait(inputs)  # They were submitted before, so threads that wait never block them.
        return run(cycle)

    with ThreadPoolExecutor(POLLS_AT_ONCE, thread_name_prefix="cycle") as pool:
        try:
            for cycle, inputs in inputs_first(cycles):
                needed = [done[alias] for alias in inputs]
                done[parse_alias(cycle.dataset)] = pool.submit(run_after, cycle, needed)
            for future in done.values():
                yield future.result()
        except BaseException:  # An interrupt, or the caller closed the iterator.
            pool.shutdown(wait=False, cancel_futures=True)
            kill_all()
            raise


def inputs_first(cycles: Sequence[Cycle]) -> Iterator[tuple[Cycle, list[DatasetAlias]]]:
    """Yield each cycle after those of its inputs, with the names of these inputs. All cycles have one store."""
    by_alias = {parse_alias(cycle.dataset): cycle for cycle in cycles}
    manifests = [cycle.manifest for cycle in cycles if cycle.manifest is not None]

    def alias_of(ref: DatasetRef) -> DatasetAlias | None:
        try:
            return cycles[0].store.alias_of(ref)
        except (OdfError, OSError):  # The run of the dataset with this input says so.
            return None

    graph = Graph.of(manifests, alias_of)
    edges = {alias: graph.edges(alias) if alias in graph.manifests else set() for alias in by_alias}
    for alias in TopologicalSorter(edges).static_order():
        yield by_alias[alias], sorted(edges[alias], key=str)


def run(cycle: Cycle) -> Outcome:
    """Run one cycle of a dataset and return its outcome; errors are in it."""
    return _outcome(cycle, lambda cycle: KINDS[_kind(cycle)][0](cycle))


def run_push(cycle: Cycle, data: Push) -> Outcome:
    """Merge, test and publish pushed data, and return the outcome; errors are in it."""
    from airflow_provider_odf.cycle.push import push

    return _outcome(cycle, lambda cycle: push(cycle, data))


def _outcome(cycle: Cycle, new_input: Callable[[Cycle], NewInput | UpToDate]) -> Outcome:
    dataset, progress = cycle.dataset, cycle.progress
    cycle = replace(cycle, progress=lambda message: progress(f"{dataset}: {message}"))

    try:
        result = lost_race.retry_after_conflict(cycle, lambda _: new_input(cycle), lambda new: finish(cycle, new))
    except CandidateRejected as e:
        return Outcome(dataset, error=e, notices=e.notices)
    except Exception as e:  # An error of one dataset must not stop the others.
        return Outcome(dataset, error=as_odf_error(e))
    if isinstance(result, UpToDate):
        return Outcome(dataset, up_to_date=result.reason, notices=result.notices)
    return result


def _kind(cycle: Cycle) -> str:
    """Return the kind of a cycle's dataset: the manifest's, else the chain's."""
    if cycle.manifest is not None:
        return cycle.manifest.snapshot.kind
    dataset = cycle.store.get(cycle.dataset)
    return cycle.states(dataset).kind if dataset is not None else "Root"


def finish(cycle: Cycle, new_input: NewInput) -> Outcome:
    """Merge, test and publish an input, and remove its files. A retry keeps files of its own, see `source.savepoint`.

    :raises OdfError: it was not published.
    """
    try:
        return _publish(cycle, new_input)
    finally:
        if new_input.directory is not None:
            shutil.rmtree(cycle.store.scratch(new_input.dataset) / new_input.directory, ignore_errors=True)


def _publish(cycle: Cycle, new_input: NewInput) -> Outcome:
    dataset = new_input.dataset
    candidate: Candidate | UpToDate = KINDS[_kind(cycle)][1](cycle, new_input)
    if isinstance(candidate, UpToDate):
        return Outcome(dataset, up_to_date=candidate.reason, notices=(*new_input.warnings, *candidate.notices))
    report = notice = None
    if cycle.contract is not None and candidate.records:
        report = contract_test(cycle, candidate, cycle.contract)
        notice = judge(cycle.store, candidate, report)
    publish(cycle.store, candidate, cycle.author)
    notices = (*new_input.warnings, *candidate.notices, *filter(None, [notice]), *_unsupported(report))
    return Outcome(dataset, candidate, report, notices=notices)


def _unsupported(report: ContractReport | None) -> Iterator[str]:
    """Name the clauses of a contract that were not tested."""
    unsupported = [r for r in report.results if r.outcome == "unsupported"] if report else []
    if report and unsupported:
        clauses = "; ".join(f"{result.description} ({result.reason})" for result in unsupported)
        yield f"contract {report.contract}: not enforced: {clauses}"
