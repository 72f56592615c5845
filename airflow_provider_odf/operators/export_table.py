"""``ExportTableOperator``: a dataset as an Iceberg or Delta table over its own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.operators.base import ReadingOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class ExportTableOperator(ReadingOperator):
    """Makes an Iceberg or Delta table over the slices of a dataset, or brings it up to date, as ``odf export`` does. It
    belongs after the `PublishOperator`, or into a DAG that is scheduled on the dataset's asset. Repeated, it adds
    nothing.

    The XCom has the block that the table shows, and of each table what the export did: ``{"dataset", "head", "tables":
    [{"name", "location", "block", "slices", "records", "change"}]}``. Each asset among the task's outlets gets an event
    with the same.

    :param dataset: alias of the dataset. (templated)
    :param form: ``iceberg`` or ``delta``; each needs the extra of that name. (templated)
    :param table: ``NAMESPACE.TABLE``, by default ``odf.NAME`` with ``_`` for ``-`` and ``.``. (templated)
    :param folder: folder of tables, for Delta also a URI; by default ``.tables`` in the store. (templated)
    :param catalog: name of an Iceberg catalog in pyiceberg's configuration, such as
        ``PYICEBERG_CATALOG__NAME__URI``, in place of one in ``folder``. (templated)
    :param catalog_properties: properties of the Iceberg catalog, such as ``{"type": "rest", "uri": "…"}``. (templated)
    :param current: also replace a table of the current rows, ``NAMESPACE.TABLE_current``, which is a copy.
    """

    template_fields: Sequence[str] = (
        *ReadingOperator.template_fields,
        *("form", "table", "folder", "catalog", "catalog_properties"),
    )

    def __init__(
        self,
        *,
        form: str,
        table: str | None = None,
        folder: str | None = None,
        catalog: str | None = None,
        catalog_properties: Mapping[str, str] | None = None,
        current: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.form = form
        self.table = table
        self.folder = folder
        self.catalog = catalog
        self.catalog_properties = catalog_properties
        self.current = current

    def run_step(self, context: Context) -> dict[str, Any]:
        from airflow_provider_odf.reading.store import PublishedStore

        dataset = PublishedStore(self.odf)[self.cycle.dataset]
        tables = dataset.export_tables(
            self.form,
            folder=self.folder or None,  # a template may render nothing
            table=self.table or None,
            catalog=self.catalog or None,
            properties=self.catalog_properties,
            current=self.current,
        )
        for table in tables:
            self.log.info("%s: %s", dataset.name, table)
        self._head = tables[0].block
        result: dict[str, Any] = {
            "dataset": dataset.name,
            "head": self._head,
            "tables": [table._asdict() for table in tables],
        }
        for asset in self.outlets:
            context["outlet_events"][asset].extra.update(result)
        return result
