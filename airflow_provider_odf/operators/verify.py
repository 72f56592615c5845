"""``VerifyOperator``: check a dataset against its hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import subject_at
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.lineage.events import TaskLineage


class VerifyOperator(OdfOperator):
    """Checks every block and every slice of a dataset against its hashes. The first fault fails the task, which is not
    retried: the message names the file.

    The XCom has the block that was the head, and numbers: ``{"dataset", "head", "blocks", "slices", "records"}``.

    :param dataset: alias of the dataset. (templated)
    :param replay: compute a derivative again, too.
    """

    template_fields: Sequence[str] = OdfOperator.template_fields

    def __init__(self, *, replay: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.replay = replay
        self._head: str | None = None

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.chain.verify import verify

        if self.replay:
            raise InvalidInput("replay=True is not supported yet")
        dataset = self.odf.dataset(self.cycle.dataset)
        head = dataset.resolve("head")
        verified = verify(dataset, head, self.log.info)
        self._head = head
        numbers = (
            counted(verified.blocks, "block"),
            counted(verified.slices, "slice"),
            counted(verified.records, "record"),
        )
        self.log.info("%s: ok: %s", dataset.alias, ", ".join(numbers))
        return {"dataset": str(dataset.alias), "head": head, **asdict(verified)}

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        if self._head is None:
            return None
        return events.verify(subject_at(self.odf, self.cycle.dataset, self._head), self._head)
