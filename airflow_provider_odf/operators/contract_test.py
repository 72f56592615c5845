"""``ContractTestOperator``: test a candidate against its contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import subject_of
from airflow_provider_odf.ui.links import BlockLink, ReportLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.protocol import ContractReport


class ContractTestOperator(OdfOperator):
    """Tests a data contract on a candidate, before its data are published.

    It uses the report that the merge made. If there is none, or the contract was edited since, Spark runs the test. A
    failed clause of severity ``error`` fails the task: the dataset stays as it is, and the candidate is kept as
    rejected. A clause that could not be evaluated fails the task too, and can be retried.

    The XCom has the outcome: ``{"contract", "result", "pass", "fail", "error", "unsupported", "informational"}``.

    :param candidate: XCom of a `MergeOperator`. (templated)
    :param manifest: path of the file with the dataset's manifest; the contract lies beside it. (templated)
    """

    template_fields: Sequence[str] = (*OdfOperator.template_fields, "candidate", "source_name")
    operator_extra_links: Sequence[BaseOperatorLink] = (BlockLink(), ReportLink())

    def __init__(self, *, candidate: Any, manifest: str, source_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(manifest=manifest, **kwargs)
        self.candidate = candidate
        self.source_name = source_name
        self._report: ContractReport | None = None

    def run_step(self, context: Context) -> dict[str, Any] | None:
        from airflow_provider_odf.cycle.handover import receive_candidate
        from airflow_provider_odf.cycle.publish import contract_test, judge

        contract = self.cycle.contract
        if contract is None:
            raise InvalidInput(f"{self.manifest}: no data contract lies beside the manifest of {self.dataset_name}")
        candidate = receive_candidate(self.odf, self.candidate, self.dataset_name, allows_rejected=True)
        if not candidate.records:
            self.log.info("%s: no new records to test", candidate.dataset)
            return None
        self._report = report = contract_test(self.cycle, candidate, contract, source_name=self.source_name)
        self.show(candidate)
        for result in report.results:
            if result.outcome != "pass":
                self.log.warning("%s: %s (%s)", result.outcome, result.description, result.reason or result.severity)
        outcomes = Counter(result.outcome for result in report.results)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        self.log.info("%s: contract %s %s: %s", candidate.dataset, report.contract, report.result, counts)
        if (notice := judge(self.odf, candidate, report)) is not None:
            self.log.warning(notice)
        return {"contract": report.contract, "result": report.result, **outcomes}

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        if self.shown is None or self._report is None:
            return None
        return events.contract_test(subject_of(self.odf, self.shown), self.shown.candidate, self._report)
