"""Whole cycles: poll, merge, test and publish in one go, of one dataset or of many with one engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Outcome, Polled, Progress, UpToDate, silent
from airflow_provider_odf.cycle.poll import poll
from airflow_provider_odf.cycle.publish import contract_test, judge, publish
from airflow_provider_odf.errors import CommitConflict, OdfError
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.load import Manifest
    from airflow_provider_odf.protocol import Contract
    from airflow_provider_odf.runner import Runner

ATTEMPTS = 16
"""How often a cycle starts over because another writer published first."""

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
            yield from pool.map(lambda pair: self.run_one(*pair), manifests)

    def run_one(self, manifest: Manifest, contract: Contract | None) -> Outcome:
        """The outcome of one cycle; errors are in it. A lost race starts the cycle over from the new head."""
        dataset = str(manifest.snapshot.alias)
        try:
            for _ in range(ATTEMPTS):
                try:
                    return self._once(manifest, contract)
                except CommitConflict as e:
                    conflict = e
            raise conflict
        except OdfError as e:
            return Outcome(dataset, error=e)

    def _once(self, manifest: Manifest, contract: Contract | None) -> Outcome:
        dataset = str(manifest.snapshot.alias)
        polled = poll(
            self.store,
            manifest,
            system_time=self.system_time,
            environment=self.environment,
            contract_digest=contract.digest if contract else None,
            options=self.options,
            progress=self._progress(dataset),
        )
        if isinstance(polled, UpToDate):
            return Outcome(dataset, up_to_date=polled.reason)
        try:
            return self.finish(polled, contract)
        finally:
            # What a retry needs is kept apart, see source.savepoint.
            if polled.directory is not None:
                shutil.rmtree(polled.directory, ignore_errors=True)

    def finish(self, polled: Polled, contract: Contract | None) -> Outcome:
        """Merge, test and publish what was polled or pushed."""
        progress = self._progress(polled.dataset)
        candidate = merge(self.store, polled, self.runner, contract=contract, progress=progress)
        if isinstance(candidate, UpToDate):
            return Outcome(polled.dataset, up_to_date=candidate.reason, notices=polled.warnings)
        report = None
        if contract is not None and candidate.records:
            report = contract_test(
                self.store, candidate, contract, self.runner, source_name=polled.source_name, progress=progress
            )
            judge(self.store, candidate, report)
        publish(self.store, candidate)
        return Outcome(polled.dataset, candidate, report, notices=(*polled.warnings, *candidate.notices))

    def _progress(self, dataset: str) -> Progress:
        return lambda message: self.progress(f"{dataset}: {message}")
