"""``PollingSourceOperator``: poll the source of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.operators.base import OdfOperator
from airflow_provider_odf.operators.lineage import read_by, sources_of
from airflow_provider_odf.operators.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.lineage.dataset import Counts
    from airflow_provider_odf.lineage.events import TaskLineage


class PollingSourceOperator(OdfOperator):
    """Applies the manifest of a dataset, then fetches and prepares new data of its polling source.

    Without new data the task and its downstream tasks are skipped, and no JVM is started. The dataset's chain records
    how far the source was read, not Airflow. If the newest input is still rejected, the task fails and links to the
    report; with ``[odf] still_rejected = skip`` it is skipped. This ends when the source, the manifest, the contract or
    ``odf.yaml`` changes, or when a user publishes or discards the candidate.

    The XCom is for a `MergeOperator`: ``{"dataset", "input", "base", "systemTime", "sourceName", "files": [{"label",
    "eventTime", "state"}], "fileCount", "hasMore"}``. ``input`` names the files in the work area; ``files`` shows the
    first 10.

    :param manifest: path of the file with the dataset's manifest. (templated)
    :param dataset: name of the dataset in the file, if it has several. (templated)
    :param read_on_spark: read and preprocess in this task, in a separate Spark application, and pass typed Parquet on.
        This pays off where reading is slow or another task needs the typed data. By default the merge reads.
    """

    operator_extra_links: Sequence[BaseOperatorLink] = (*OdfOperator.operator_extra_links, ReportLink())

    def __init__(self, *, manifest: str, read_on_spark: bool = False, **kwargs: Any) -> None:
        super().__init__(manifest=manifest, **kwargs)
        self.read_on_spark = read_on_spark
        self._read: Counts | None = None

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.cycle.poll import poll
        from airflow_provider_odf.cycle.read import read
        from airflow_provider_odf.cycle.xcom import MOST_SHOWN, pass_candidate, pass_input
        from airflow_provider_odf.operators.decision import decided

        if (candidate := decided(self, context)) is not None:
            self.show(candidate)
            return pass_candidate(candidate)
        new_input = poll(self.cycle)
        if isinstance(new_input, UpToDate):
            self.skip(new_input)
        self._read = read_by(new_input)
        if self.read_on_spark:
            new_input = read(self.cycle, new_input)
        self.warn(new_input.warnings)
        labels = [file.label for file in new_input.files]
        more = f" and {len(labels) - MOST_SHOWN} more" if len(labels) > MOST_SHOWN else ""
        self.log.info("%s: new input: %s%s", new_input.dataset, ", ".join(labels[:MOST_SHOWN]), more)
        return pass_input(self.odf, new_input)

    def planned_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        return events.poll(sources_of(self.dataset_manifest), self._read)
