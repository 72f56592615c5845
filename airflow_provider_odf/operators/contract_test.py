"""``ContractTestOperator``: test a candidate against its contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.datahub import report_to_datahub
from airflow_provider_odf.operators.lineage import alias_of
from airflow_provider_odf.operators.links import BlockLink, ReportLink, report_url

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.protocol import ContractReport


class ContractTestOperator(OdfOperator):
    """Tests a data contract on a candidate, before its data is published.

    It uses the report that the merge made. If there is none, or the contract was edited since, Spark runs the test. A
    failed clause of severity ``error`` fails the task: the dataset is unchanged, and the candidate is kept as
    rejected. A clause that could not be evaluated fails the task too, and can be retried. A task that is cleared
    after its candidate was published succeeds, and its log says who published it.

    The XCom has the outcome: ``{"contract", "result", "pass", "fail", "error", "unsupported", "informational"}``.

    :param candidate: XCom of a `MergeOperator`. (templated)
    :param manifest: path of the file with the dataset's manifest; the contract is next to it, or one of its
        attachments. (templated)
    :param datahub_conn_id: connection of type ``datahub`` of a server that gets the report, in place of
        ``[odf] datahub_conn_id``.
    """

    template_fields: Sequence[str] = (*OdfOperator.template_fields, "candidate", "source_name")
    operator_extra_links: Sequence[BaseOperatorLink] = (*OdfOperator.operator_extra_links, BlockLink(), ReportLink())

    def __init__(
        self,
        *,
        candidate: Any,
        manifest: str,
        source_name: str | None = None,
        datahub_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(manifest=manifest, **kwargs)
        self.candidate = candidate
        self.source_name = source_name
        self.datahub_conn_id = datahub_conn_id
        self._report: ContractReport | None = None

    def run_step(self, context: Context) -> dict[str, Any] | None:
        from airflow_provider_odf.contract.report import lines
        from airflow_provider_odf.cycle.decisions import PUBLISH, RETEST
        from airflow_provider_odf.cycle.publish import contract_test, earlier_publication, judge
        from airflow_provider_odf.cycle.xcom import receive_candidate
        from airflow_provider_odf.operators.decision import decision_about

        contract = self.cycle.contract
        if contract is None:
            raise InvalidInput(
                f"{self.manifest}: {self.dataset_name} has no data contract: add one next to the manifest, name one "
                "with contract=, or remove this task"
            )
        candidate = receive_candidate(
            self.odf, self.from_upstream("candidate"), self.dataset_name, allows_rejected=True
        )
        if not candidate.records:
            self.log.info("%s: no new records to test", candidate.dataset)
            return None
        decision = decision_about(context, candidate.dataset, candidate.candidate)
        action = decision.action if decision is not None else None
        if action == PUBLISH:
            earlier = earlier_publication(self.odf.dataset(candidate.dataset), candidate.candidate)
            what = f"was {earlier}" if earlier is not None else "will be published whatever its contract says"
            self.log.warning("%s: candidate %s %s", candidate.dataset, candidate.ref, what)
            self.show(candidate)
            return None
        self._report = report = contract_test(self.cycle, candidate, contract, is_fresh=action == RETEST)
        self.show(candidate)
        for line in lines(report, candidate.dataset):
            self.log.info(line)
        report_to_datahub(
            self.odf,
            candidate,
            contract,
            report,
            context,
            conn_id=self.datahub_conn_id,
            source_name=self.source_name,
            url=report_url(self, self.dag_id),
        )
        if (notice := judge(self.odf, candidate, report)) is not None:
            self.log.warning(notice)
        return {"contract": report.contract, "result": report.result, **Counter(r.outcome for r in report.results)}

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        contract = self.cycle.contract if self._report is not None else None
        if self.shown is None or self._report is None or contract is None:
            return None
        subject = self.datasets.at(self.shown.dataset, self.shown.candidate)
        return events.contract_test(subject, self.shown.candidate, contract, self._report)

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        alias = self.dataset_name or alias_of(self.candidate)
        return events.read(self.datasets.now(alias)[0], None) if alias is not None else None
