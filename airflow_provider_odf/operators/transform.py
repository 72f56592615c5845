"""``TransformOperator``: compute new records of a derivative into a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import written_by
from airflow_provider_odf.operators.links import BlockLink, ReportLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.cycle.messages import Candidate, TransformInput
    from airflow_provider_odf.errors import CommitConflict
    from airflow_provider_odf.lineage.events import TaskLineage
    from airflow_provider_odf.manifest.model import SetTransform


class TransformOperator(OdfOperator):
    """Applies the manifest of a derivative dataset, then computes what new records of its inputs change in it, as
    blocks and a Parquet slice that readers do not see until they are published.

    One Spark application runs the query and, with a contract, tests the result. The chains record what was read, not
    Airflow: each run takes everything that its inputs published since the newest run, whatever started it. If no input
    has anything new, the task and its downstream tasks are skipped, and no JVM is started. A rerun reuses the candidate
    of an earlier run.

    The XCom is that of a `MergeOperator`, for `ContractTestOperator` and `PublishOperator`.

    :param manifest: path of the file with the dataset's manifest. Without one, the transform in the dataset's chain
        applies. (templated)
    :param dataset: alias of the dataset; with a manifest only needed if the file has several. (templated)
    """

    operator_extra_links: Sequence[BaseOperatorLink] = (*OdfOperator.operator_extra_links, BlockLink(), ReportLink())

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.operators.decision import take_candidate

        return take_candidate(self, context, self._transform)

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        shown, datasets = self.shown, self.datasets
        read = datasets.read_inputs(shown) if shown is not None else None
        if shown is None or read is None:
            return None
        transform, inputs = read
        subject = datasets.at(shown.dataset, shown.candidate)
        return events.transform(inputs, datasets.query(transform), subject, shown.candidate, written_by(shown))

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        datasets, transform = self.datasets, self._declared()
        if self.dataset_name is None or transform is None:
            return None
        subject, head = datasets.now(self.dataset_name)
        inputs = list(datasets.inputs(transform))
        if not self.is_skipped:
            inputs, head = [replace(item, version=None) for item in inputs], None
        return events.transform(inputs, datasets.query(transform), subject, head)

    def _declared(self) -> SetTransform | None:
        from airflow_provider_odf.manifest.model import SetTransform

        if self.dataset_manifest is not None:
            return self.dataset_manifest.snapshot.last(SetTransform)
        dataset = self.odf.get(self.dataset_name) if self.dataset_name is not None else None
        return self.states(dataset).transform if dataset is not None else None

    def _transform(self) -> Candidate | UpToDate:
        """Return the candidate, computed again on the new head where another writer published first."""
        from airflow_provider_odf.cycle.lost_race import retry_after_conflict
        from airflow_provider_odf.cycle.transform import make_candidate, new_input

        cycle = self.cycle

        def take(conflict: CommitConflict | None) -> TransformInput | UpToDate:
            if conflict is not None:
                self.log.info("%s", conflict)
            new = new_input(cycle)
            if not isinstance(new, UpToDate):
                self.warn(new.warnings)
                for source in new.inputs:
                    self.log.info("%s: input %s up to block %s", new.dataset, source.dataset.alias, source.state.head)
            return new

        return retry_after_conflict(cycle, take, lambda new: make_candidate(cycle, new))
