"""``PollingSourceOperator``: has the source something new?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf import settings
from airflow_provider_odf.cycle.messages import UpToDate
from airflow_provider_odf.operators.base import OdfOperator, poll_source
from airflow_provider_odf.operators.lineage import source_of
from airflow_provider_odf.ui.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_provider_odf.cycle.messages import Polled
    from airflow_provider_odf.lineage.events import TaskLineage


class PollingSourceOperator(OdfOperator):
    """Fetches and prepares what is new in a dataset's polling source, after the dataset was made to say what its
    manifest says.

    Nothing new: the task and what depends on it are skipped, and no JVM is started. The dataset's chain records how far
    the source was read, never Airflow. Where the newest input was rejected before, the task fails with a link to the
    report until the source, the manifest, the contract or ``odf.yaml`` changes, or somebody decides; with
    ``[odf] still_rejected = skip`` it is skipped.

    The XCom is for a `MergeOperator`: ``{"dataset", "input", "base", "systemTime", "sourceName", "files": [{"label",
    "eventTime", "state"}], "fileCount", "hasMore"}``. ``input`` names the files in the work area; ``files`` shows the
    first 10.

    :param manifest: path of the file with the dataset's manifest. (templated)
    :param dataset: which dataset of the file, where it has several. (templated)
    :param read_on_spark: read and preprocess here, in a Spark application of their own, and hand typed Parquet on:
    worth its JVM start where reading is heavy or a later task wants the typed data. By default merging reads.
    """

    template_fields: Sequence[str] = OdfOperator.template_fields
    operator_extra_links: Sequence[BaseOperatorLink] = (ReportLink(),)

    def __init__(self, *, manifest: str, read_on_spark: bool = False, **kwargs: Any) -> None:
        super().__init__(manifest=manifest, **kwargs)
        self.read_on_spark = read_on_spark

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.cycle.handover import MOST_SHOWN, pass_input

        polled = poll_source(self, self.load_manifest(), self.load_contract())
        if isinstance(polled, UpToDate):
            for notice in polled.notices:
                self.log.warning(notice)
            self.skip(f"{self.dataset or self.manifest}: {polled.reason}")
        if self.read_on_spark:
            polled = self._read(polled)
        for warning in polled.warnings:
            self.log.warning(warning)
        labels = [file.label for file in polled.files]
        more = f" and {len(labels) - MOST_SHOWN} more" if len(labels) > MOST_SHOWN else ""
        self.log.info("%s: new input: %s%s", polled.dataset, ", ".join(labels[:MOST_SHOWN]), more)
        return pass_input(self.odf, polled)

    def task_lineage(self) -> TaskLineage | None:
        from airflow_provider_odf.lineage import events

        source = source_of(self.load_manifest())
        return events.poll(source) if source else None

    def _read(self, polled: Polled) -> Polled:
        from airflow_provider_odf.cycle.read import read

        with self.runner() as runner:
            return read(self.odf, polled, runner, options=settings.read().options, progress=self.progress)
