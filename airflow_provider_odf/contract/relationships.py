"""The relationships of an ODCS document: foreign keys, whose columns are named by name or by id.

``orders.customer_id`` is a property of a table; ``schema/orders_tbl/properties/customer_id_prop`` names both by their
ids. ``FILE.yaml#schema/…`` is a table of another contract.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_odf.contract.document_spot import Spot
from airflow_provider_odf.contract.model import Clause, pointer
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.wording import counted


class Tables:
    """The tables of a document, by name, physical name and id."""

    def __init__(self, document: Document) -> None:
        self._tables = [t for t in document.value.get("schema") or [] if isinstance(t, dict)]

    def column_of(self, element: str) -> str:
        """Return an element as ``model.column``; an element that the document lacks stays as it is."""
        return self._find(element) or element

    def has_table(self, element: str) -> bool:
        """Whether an element is a table of the document, or a property of one."""
        names = element.split("/")[1::2] if "/" in element else element.split(".")
        return bool(names) and _named(self._tables, names[0]) is not None

    def references(self, relationships: Spot) -> Iterator[Clause]:
        """Yield the foreign keys of one property."""
        for spot in relationships.items():
            targets = _texts(spot.get("to"))
            is_one = len(targets) == 1
            problem = (
                "a relationship of a property must refer to exactly one property: move a relationship between several "
                "properties to the table"
            )
            yield _clause(spot, self.column_of(targets[0]) if is_one else {"problem": problem})

    def foreign_keys(self, table: Spot) -> tuple[list[Clause], Mapping[str, tuple[Clause, ...]]]:
        """Return the foreign keys of a table: those of several columns, and those of one by the name of the column, in
        lower case."""
        several: list[Clause] = []
        single: dict[str, tuple[Clause, ...]] = defaultdict(tuple)
        for spot in table.at("relationships").items() if table.get("relationships") else ():
            sources, targets = _texts(spot.get("from")), _texts(spot.get("to"))
            columns = [self._source(table, source) for source in sources]
            if not sources or len(sources) != len(targets):
                counts = f"`from` has {counted(len(sources), 'column')} and `to` has {len(targets)}"
                several.append(_clause(spot, {"problem": f"{counts}: list the same number of columns in both"}))
            elif None in columns:
                unknown = sources[columns.index(None)]
                several.append(_clause(spot, {"problem": f"{table.get('name')} has no property {unknown}"}))
            elif len(columns) == 1:
                single[str(columns[0]).lower()] += (_clause(spot, self.column_of(targets[0])),)
            else:
                several.append(_clause(spot, {"columns": columns, "targets": list(map(self.column_of, targets))}))
        return several, single

    def _find(self, element: str) -> str | None:
        """Return ``model.column`` for an element, or None."""
        names = element.split("/")[1::2] if "/" in element else element.split(".")
        table = _named(self._tables, names[0]) if names else None
        if table is None:
            return None
        path, level = [str(table["name"])], table
        for name in names[1:]:
            inner = _named(level.get("properties") or [], name)
            if inner is None:
                return None
            path.append(str(inner.get("physicalName") or inner.get("name")))
            level = inner
        return ".".join(path)

    def _source(self, table: Spot, source: str) -> str | None:
        """Return the column of a table, or None. The name of the table before it may be omitted."""
        start = f"{table.get('name')}."
        column = self._find(source if "/" in source or source.startswith(start) else start + source)
        return column.removeprefix(start) if column and column.startswith(start) else None


def _clause(spot: Spot, value: Any) -> Clause:
    return Clause("references", value, pointer(*spot.path), spot.place)


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _named(elements: list[Any], name: str) -> dict[str, Any] | None:
    """Return the element of a name, physical name or id."""
    for key in ("name", "id", "physicalName"):
        for element in elements:
            if isinstance(element, dict) and str(element.get(key, "")) == name:
                return element
    return None
