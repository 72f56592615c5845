"""The export of a dataset as tables of another format: their names, and the place for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.tables import Source, Tables


def name_of(source: Source, table: str | None) -> tuple[str, str]:
    """Return namespace and name of a table. By default, they are those of the dataset in letters that SQL needs no
    quotes for: ``acme/river-levels`` is ``acme.river_levels``; without an account the namespace is ``odf``.

    :raises InvalidInput: the name is not valid.
    """
    account, _, name = source.name.lower().rpartition("/")
    text = table if table is not None else ".".join(re.sub(r"[-.]", "_", part) for part in (account or "odf", name))
    if not re.fullmatch(r"\w+\.\w+", text):
        raise InvalidInput(f"table {text!r}: name it NAMESPACE.TABLE, of letters, digits and underscores")
    namespace, _, short = text.partition(".")
    return namespace, short


def opened(
    source: Source, form: str, folder: str | None, catalog: str | None, properties: Mapping[str, str]
) -> AbstractContextManager[Tables]:
    """Return the place for the tables of a format.

    :raises InvalidInput: there is no such format, or it has no catalogs.
    """
    if form == "iceberg":
        from airflow_provider_odf.reading import iceberg

        return iceberg.tables(source, folder, catalog, properties)
    if form != "delta":
        raise InvalidInput(f"unknown format {form!r} of tables: use iceberg or delta")
    if catalog or properties:
        raise InvalidInput(f"only Iceberg has catalogs: leave the catalog out for {form}")
    from airflow_provider_odf.reading import delta

    return delta.tables(source, folder)
