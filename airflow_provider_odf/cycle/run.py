"""Whole cycles: poll, merge, test and publish in one go, of one dataset or of many with one engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle import race
from airflow_provider_odf.cycle.hold import limits_of
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Limits, Outcome, Polled, Progress, UpToDate, silent
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import contract_test, judge, publish
from airflow_provider_odf.cycle.push import Push, push
from airflow_provider_odf.errors import CandidateRejected, OdfError
from airflow_provider_odf.failures import as_odf_error
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.source.program import kill_all

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Contract, ContractReport
    from airflow_provider_odf.runner import Runner

POLLS_AT_ONCE = 8
"""Polling waits for networks and disks, not for processors."""


@dataclass(frozen=True)
class Cycle:
    """What the cycles of one run have in common."""

    store: Store
    runner: Runner
    system_time: Instant
    environment: Mapping[str, str]
    options: Options = Options()  # noqa: RUF009 - frozen
    progress: Progress = silent

    def run(self, manifests: Sequence[tuple[Manifest, Contract | None]]) -> Iterator[Outcome]:
        """One cycle of each root dataset, several at once, each outcome as soon as those before it are known."""
        with ThreadPoolExecutor(POLLS_AT_ONCE, thread_name_prefix="cycle") as pool:
            try:
                yield from pool.map(lambda pair: self.run_one(*pair), manifests)
            except BaseException:  # an interrupt, or nobody wants the rest
                pool.shutdown(wait=False, cancel_futures=True)
                kill_all()
                raise

    def run_one(self, manifest: Manifest, contract: Contract | None) -> Outcome:
        """The outcome of one cycle; errors are in it."""
        name = str(manifest.snapshot.alias)
        try:
            limits = limits_of(manifest)
        except OdfError as e:
            return Outcome(name, error=e)
        return self._settled(name, lambda: self._poll(manifest, contract), contract, limits)

    def push(
        self,
        dataset: str,
        given: Push,
        contract: Contract | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        manifest: Manifest | None = None,
    ) -> Outcome:
        """The outcome of taking in what somebody hands over, as one input of a source; errors are in it. ``manifest``
        was applied before."""
        pushed = partial(
            push,
            self.store,
            dataset,
            given,
            system_time=self.system_time,
            manifest=manifest,
            options=self.options,
            progress=self._progress(dataset),
        )
        return self._settled(dataset, pushed, contract, limits)

    def _settled(
        self, dataset: str, given: Callable[[], Polled | UpToDate], contract: Contract | None, limits: Limits
    ) -> Outcome:
        """What comes of new input. A lost race starts over from the new head."""
        try:
            attempt = partial(self._attempt, dataset, given, contract, limits)
            return race.settle(self.store, dataset, lambda _: attempt(), self._progress(dataset))
        except CandidateRejected as e:
            return Outcome(dataset, error=e, notices=e.notices)
        except Exception as e:  # of whatever kind: it may not stop the other datasets
            return Outcome(dataset, error=as_odf_error(e))

    def _attempt(
        self, dataset: str, given: Callable[[], Polled | UpToDate], contract: Contract | None, limits: Limits
    ) -> Outcome:
        polled = given()
        if isinstance(polled, UpToDate):
            return Outcome(dataset, up_to_date=polled.reason, notices=polled.notices)
        try:
            return self.finish(polled, contract, limits)
        finally:
            # What a retry needs is kept apart, see source.savepoint.
            if polled.directory is not None:
                shutil.rmtree(self.store.work(dataset) / polled.directory, ignore_errors=True)

    def _poll(self, manifest: Manifest, contract: Contract | None) -> Polled | UpToDate:
        return poll(
            self.store,
            manifest,
            system_time=self.system_time,
            environment=self.environment,
            contract_digest=contract.digest if contract else None,
            options=self.options,
            progress=self._progress(str(manifest.snapshot.alias)),
            ask=lambda request: self.runner.submit(request).result(),
        )

    def finish(
        self,
        polled: Polled,
        contract: Contract | None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> Outcome:
        """Merge, test and publish what was polled or pushed."""
        progress = self._progress(polled.dataset)
        candidate = merge(
            self.store,
            polled,
            self.runner,
            contract=contract,
            limits=limits,
            options=self.options,
            progress=progress,
        )
        if isinstance(candidate, UpToDate):
            return Outcome(polled.dataset, up_to_date=candidate.reason, notices=(*polled.warnings, *candidate.notices))
        report = let_through = None
        if contract is not None and candidate.records:
            report = contract_test(
                self.store, candidate, contract, self.runner, source_name=polled.source_name, progress=progress
            )
            let_through = judge(self.store, candidate, report)
        publish(self.store, candidate)
        notices = (*polled.warnings, *candidate.notices, *filter(None, [let_through]), *_untested(report))
        return Outcome(polled.dataset, candidate, report, notices=notices)

    def _progress(self, dataset: str) -> Progress:
        return lambda message: self.progress(f"{dataset}: {message}")


def _untested(report: ContractReport | None) -> Iterator[str]:
    """What a user might believe to have been tested."""
    clauses = [r.description for r in report.results if r.outcome == "unsupported"] if report else []
    if report and clauses:
        yield f"contract {report.contract}: not tested, since not supported yet: {'; '.join(clauses)}"
