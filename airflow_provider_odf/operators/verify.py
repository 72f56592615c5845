"""``VerifyOperator``: check a dataset against its hashes, and a derivative against its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_odf.operators.base import ReadingOperator
from airflow_provider_odf.wording import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_odf.chain.verify import Step
    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.protocol import SparkUse


class VerifyOperator(ReadingOperator):
    """Checks every block and every slice of a dataset against its hashes, and computes the records of a derivative
    again from the recorded positions of its inputs.

    The first fault fails the task, which is not retried. The message names the file, or the block whose records differ
    from those computed again, with rows of the difference.

    The XCom has the block that was the head, and numbers: ``{"dataset", "head", "blocks", "slices", "records",
    "transformations"}``; with ``only_new`` those after ``verifiedBefore``, the head that was verified before.

    :param dataset: alias of the dataset. (templated)
    :param replay: compute the records of a derivative again, on Spark. For a root no JVM is started.
    :param only_new: begin after the newest head that the user of the task has verified on this machine, if there is
        one in the history: what was verified then is not read again, so damage to it is not found.
    :param spark: ``always`` to compare slices in tasks of Spark, on the executors of ``spark_conn_id``; by default they
        are compared in the task.
    """

    def __init__(
        self, *, replay: bool = True, only_new: bool = False, spark: SparkUse = "needed", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.only_new = only_new
        self.replay = replay
        self.spark = spark

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.chain.verify import NOTHING_BEFORE, verify
        from airflow_provider_odf.cycle.replay import replay_transforms

        cycle = self.cycle
        dataset = self.odf.for_readers(cycle.dataset)
        head = dataset.resolve("head")
        ask = cycle.ask if self.spark == "always" else None
        verified = verify(dataset, head, self._log_slice, only_new=self.only_new, ask=ask)
        numbers = verified.numbers
        if self.replay:
            replayed = replay_transforms(
                *(cycle.inputs, dataset, cycle.ask, self.log.info),
                passes_objects=cycle.passes_objects,
                after=verified.base.blocks - 1 if verified.base is not None else -1,
            )
            numbers["transformations"] = replayed.transformations
        self._head = head
        counts = ", ".join(counted(number, noun[:-1]) for noun, number in numbers.items())
        self.log.info("%s: ok: %s", dataset.alias, counts)
        if verified.lost is not None:
            self.warn([verified.notice])
        elif self.only_new:
            self.log.info("%s: %s", dataset.alias, verified.notice or NOTHING_BEFORE)
        before = {"verifiedBefore": verified.base.head} if verified.base is not None else {}
        return {"dataset": str(dataset.alias), "head": head, **before, **numbers}

    def _log_slice(self, step: Step) -> None:
        if step.kind == "slice":
            self.log.info("%s", step)

    def application_lineage(self) -> TaskLineage | None:
        """Return None: the application is that of the transform, which writes what this task reads."""
        return None
