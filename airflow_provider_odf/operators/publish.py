"""``PublishOperator``: publish a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_odf import protocol
from airflow_provider_odf.errors import CommitConflict
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import alias_of, written_by
from airflow_provider_odf.operators.links import BlockLink, ReportLink, block_url
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.lineage.events import TaskLineage


class PublishOperator(OdfOperator):
    """Moves a dataset's head to a candidate, by compare-and-set. Publishing is idempotent: the log of a task that is
    cleared later says when and by whom its candidate was published.

    Each asset among the task's outlets gets an event with ``{"blockHash", "offsets", "records", "watermark", "changes",
    "link"}``: ``changes`` says in words what changed, ``link`` leads to the page of the block. The XCom has the first
    four.

    The candidate must descend from the current head. It is read from the chain again, since users may write XComs. With
    a contract, a candidate whose contract test did not pass, or never ran, is refused.

    :param candidate: XCom of a `MergeOperator`. (templated)
    """

    template_fields: Sequence[str] = (*OdfOperator.template_fields, "candidate")
    operator_extra_links: Sequence[BaseOperatorLink] = (*OdfOperator.operator_extra_links, BlockLink(), ReportLink())

    def __init__(self, *, candidate: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.candidate = candidate

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.chain.publications import ANYWAY, PUBLISHED
        from airflow_provider_odf.cycle.decisions import PUBLISH
        from airflow_provider_odf.cycle.publish import change_words, earlier_publication, publish, require_passed
        from airflow_provider_odf.cycle.xcom import receive_candidate
        from airflow_provider_odf.operators.decision import author_of, decision_about

        try:
            decision = decision_about(context, self.dataset_name or alias_of(self.candidate), self._block_hash)
            candidate = receive_candidate(
                self.odf, self.from_upstream("candidate"), self.dataset_name, allows_rejected=decision is not None
            )
            earlier = earlier_publication(self.odf.dataset(candidate.dataset), candidate.candidate)
            is_anyway = decision is not None and decision.action == PUBLISH
            contract = self.cycle_of(candidate.dataset).contract_location
            if contract is not None and not is_anyway and earlier is None:
                require_passed(self.odf, candidate, contract)
            author = author_of(context, decision.reason if decision is not None else None)
            head = publish(self.odf, candidate, author, ANYWAY if is_anyway else PUBLISHED)
        except CommitConflict as e:
            raise AirflowFailException(str(e)) from None
        self.show(candidate)
        records = counted(candidate.records, "record")
        self.log.info("%s: %s", candidate.dataset, earlier or f"published {records}, head is {head}")
        event = {
            "blockHash": candidate.candidate,
            "offsets": protocol.to_json(candidate.offsets),
            "records": candidate.records,
            "watermark": candidate.watermark,
        }
        if self.outlets:
            changes = change_words(self.odf.dataset(candidate.dataset), candidate)
            link = block_url(self.dag_id, candidate.candidate)
        for asset in self.outlets:
            context["outlet_events"][asset].extra.update(event, changes=changes, link=link)
        return event

    @property
    def _block_hash(self) -> Any:
        """The newest block of the candidate in the XCom."""
        return self.candidate.get("candidate") if isinstance(self.candidate, dict) else None

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        if self.shown is None:
            return None
        before = self.states(self.odf.dataset(self.shown.dataset), self.shown.base)
        subject = self.datasets.at(self.shown.dataset, self.shown.candidate)
        return events.publish(subject, self.shown.candidate, written_by(self.shown), is_first=not before.has_data)

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        alias = self.dataset_name or alias_of(self.candidate)
        return events.publish(self.datasets.now(alias)[0], None) if alias is not None else None
