"""``MergeOperator``: merge new data into a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.operators.lineage import alias_of, names_of, pushed_names, read_by, sources_of, written_by
from airflow_provider_odf.operators.links import BlockLink, ReportLink
from airflow_provider_odf.operators.push_source import DataOperator, push_id

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.cycle.messages import Candidate, Input
    from airflow_provider_odf.errors import CommitConflict
    from airflow_provider_odf.lineage.dataset import Counts
    from airflow_provider_odf.lineage.events import TaskLineage


class MergeOperator(DataOperator):
    """Merges new data into a dataset, as blocks and Parquet slices that readers do not see until they are published.

    One Spark application reads, preprocesses, merges and, with a contract beside the manifest, tests it. A rerun
    reuses the candidate of an earlier run. Without new records the task and its downstream tasks are skipped. An
    input that looks wrong is held back and fails the task: a Snapshot without rows, one that retracts more than
    ``max_retracted_share`` of ``odf.yaml``, or a new header where columns are matched by position.

    The XCom is for `ContractTestOperator` and `PublishOperator`: ``{"dataset", "base", "candidate", "ref", "records",
    "offsets": {"start", "end"}, "watermark", "size", "notices", "changes": {"added", "removed", "corrected"}}``.

    :param data: XCom of a `PollingSourceOperator` or `PushSourceOperator`, or the path or URI of a file or folder that
        an upstream task wrote, or a list of them. (templated)
    :param dataset: alias of the dataset; not needed for an XCom. (templated)
    :param manifest: path of the file with the dataset's manifest. With files as ``data``, the manifest is applied
        first. Spark then tests the contract beside it in the same application; without a manifest
        `ContractTestOperator` starts Spark once more. (templated)
    :param source_name: the push source whose read, preprocess and merge steps apply to files; by default the only
        source, or the push source that is called ``default``. (templated)
    :param push_paths: folders and URIs that an XCom or a template in ``data`` may name, in addition to
        ``[odf] push_paths``. Paths and URIs written in the DAG's own text are always allowed.
    """

    operator_extra_links: Sequence[BaseOperatorLink] = (*DataOperator.operator_extra_links, BlockLink(), ReportLink())

    def __init__(self, *, data: Any, **kwargs: Any) -> None:
        super().__init__(data=data, **kwargs)
        self._read: Counts | None = None

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.operators.decision import take_candidate

        def merged() -> Candidate | UpToDate:
            cycle, new_input = self._new_input(context)
            return new_input if isinstance(new_input, UpToDate) else self._merge(cycle, new_input)

        return take_candidate(self, context, merged)

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        shown = self.shown
        if shown is None:
            return None
        pushed = self._input.pushed if self._input is not None else None
        name = self._input.source_name if self._input is not None else self.source_name
        return events.merge(
            sources_of(self.dataset_manifest) if pushed is None else names_of(pushed.origins),
            self.datasets.at(shown.dataset, shown.candidate),
            shown.candidate,
            written_by(shown),
            reading=self.datasets.reading(shown, name, has_manifest_source=pushed is None),
            read=self._read,
        )

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        alias = self.dataset_name or alias_of(self.data)
        if alias is None:
            return None
        subject, head = self.datasets.now(alias)
        is_xcom = isinstance(self.data, dict)
        sources = sources_of(self.dataset_manifest) if is_xcom else pushed_names(self.data)
        return events.merge(sources, subject, head if self.is_skipped else None)

    def _merge(self, cycle: Cycle, new_input: Input) -> Candidate | UpToDate:
        """Return the candidate, merged again onto the new head where another writer published since the poll."""
        from airflow_provider_odf.cycle.lost_race import retry_after_conflict
        from airflow_provider_odf.cycle.merge import merge
        from airflow_provider_odf.cycle.poll import poll
        from airflow_provider_odf.cycle.push import again

        def take(conflict: CommitConflict | None) -> Input | UpToDate:
            if conflict is None:
                return new_input
            self.log.info("%s", conflict)
            if new_input.pushed is not None:
                return again(cycle, new_input)
            if cycle.manifest is not None:
                return poll(cycle)
            raise conflict  # Only an upstream task knows the source.

        self._input, self._read = new_input, read_by(new_input)  # the merge removes its files
        self.runner.open()  # `merge` discards its input after an error: find a wrong connection before.
        return retry_after_conflict(cycle, take, lambda current: merge(cycle, current))

    def _new_input(self, context: Context) -> tuple[Cycle, Input | UpToDate]:
        """Return the input of another task, or of files to push, and the configuration for its merge."""
        from airflow_provider_odf.cycle.push import Push, push
        from airflow_provider_odf.cycle.xcom import receive_input

        data = self.from_upstream("data")
        if isinstance(data, dict):
            new_input = receive_input(self.odf, data, self.dataset_name)
            return self.cycle_of(new_input.dataset), new_input
        uris = [data] if isinstance(data, str) else data
        if not isinstance(uris, Sequence) or not all(isinstance(uri, str) for uri in uris):
            raise InvalidInput(
                f"data must be the XCom of a poll or push, a path or URI, or a list of them: {uris!r:.80}"
            )
        pushed = Push(tuple(uris), source_name=self.source_name, push_id=push_id(context))
        return self.cycle, push(self.cycle, self.allowed(pushed, context))
