"""The export of a dataset as tables of another format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.tables import ExportedTable, Source, Tables


def export_tables(
    source: Source,
    form: str,
    folder: str | None = None,
    table: str | None = None,
    catalog: str | None = None,
    properties: Mapping[str, str] | None = None,
    current: bool = False,
) -> Sequence[ExportedTable]:
    """Make or update the table of a dataset's history, and that of its current rows if asked for. See
    `PublishedDataset.export_tables`."""
    name = _name(source, table)
    if form not in FORMATS:
        raise InvalidInput(f"unknown format {form!r} of tables: use {' or '.join(FORMATS)}")
    if form != "iceberg" and (catalog or properties):
        raise InvalidInput(f"only Iceberg has catalogs: leave the catalog out for {form}")
    with FORMATS[form](source, folder, catalog, properties or {}) as tables:
        exported = [tables.history(name, source)]
        if current:
            exported.append(tables.current((name[0], f"{name[1]}_current"), source))
    return exported


def _name(source: Source, table: str | None) -> tuple[str, str]:
    """Return namespace and name of a table. By default, they are those of the dataset in letters that SQL needs no
    quotes for: ``acme/river-levels`` is ``acme.river_levels``; without an account the namespace is ``odf``."""
    account, _, name = source.name.lower().rpartition("/")
    text = table if table is not None else ".".join(re.sub(r"[-.]", "_", part) for part in (account or "odf", name))
    if not re.fullmatch(r"\w+\.\w+", text):
        raise InvalidInput(f"table {text!r}: name it NAMESPACE.TABLE, of letters, digits and underscores")
    namespace, _, short = text.partition(".")
    return namespace, short


def _iceberg(*arguments: object) -> AbstractContextManager[Tables]:
    from airflow_provider_odf.reading import iceberg

    return iceberg.tables(*arguments)  # type: ignore[arg-type]


def _delta(*arguments: object) -> AbstractContextManager[Tables]:
    from airflow_provider_odf.reading import delta

    return delta.tables(*arguments)  # type: ignore[arg-type]


FORMATS = {"iceberg": _iceberg, "delta": _delta}
"""Name of a format -> the place for its tables, by dataset, folder, catalog and properties of the catalog."""
