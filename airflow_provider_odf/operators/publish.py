"""``PublishOperator``: the candidate becomes the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle.messages import Candidate
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.ui.links import BlockLink, ReportLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context


class PublishOperator(OdfOperator):
    """Moves a dataset's head to a candidate, by compare-and-set. Publishing twice is publishing once.

    Each asset among the task's outlets gets an event with ``{"blockHash", "offsets", "records", "watermark"}``, which
    is the XCom too.

    :param candidate: what a `MergeOperator` made (its XCom). (templated)
    """

    template_fields: Sequence[str] = (*OdfOperator.template_fields, "candidate")
    operator_extra_links: Sequence[BaseOperatorLink] = (BlockLink(), ReportLink())

    def __init__(self, *, candidate: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.candidate = candidate

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.cycle.publish import publish

        candidate = protocol.from_json(Candidate, self.candidate)
        head = publish(self.odf, candidate)
        self.show(candidate)
        self.log.info("%s: published %d records, head is %s", candidate.dataset, candidate.records, head)
        event = {
            "blockHash": candidate.candidate,
            "offsets": protocol.to_json(candidate.offsets),
            "records": candidate.records,
            "watermark": candidate.watermark,
        }
        for asset in self.outlets:
            context["outlet_events"][asset].extra.update(event)
        return event
