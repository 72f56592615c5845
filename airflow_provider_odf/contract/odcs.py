"""Read a document of the Open Data Contract Standard into the model of a contract.

Clauses have the names of the Data Contract Specification, and their own pointers into the document. A model has the
logical name of its table. A field has the name of its column, which is ``physicalName`` where there is one, and
references and service levels name these columns, too.

A quality rule is the rule as written, with its ``type``, and ``metric`` for the ``rule`` of version 3.0. A service
level has the keys of the Data Contract Specification beside its own: ``{"property": "freshness", "value": 4, "unit":
"h", "element": "orders.at", "threshold": "4h", "timestampField": "orders.at"}``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_odf.contract.model import Clause, DataContract, Field, Model, Spot, pointer
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.wording import counted

_PHYSICAL_TYPES = {
    **dict.fromkeys(("char", "character", "nchar", "nvarchar", "varchar", "varchar2", "nvarchar2"), "string"),
    **dict.fromkeys(("string", "text", "clob", "character varying", "uuid"), "string"),
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "int2", "int4", "mediumint"), "int"),
    **dict.fromkeys(("bigint", "long", "int8", "int64"), "long"),
    **dict.fromkeys(("decimal", "numeric", "number", "bignumeric", "money"), "decimal"),
    **dict.fromkeys(("float", "real", "double", "double precision", "float4", "float8", "float64"), "double"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("timestamp", "timestamptz", "timestamp_tz", "timestamp_ltz"), "timestamp"),
    **dict.fromkeys(("datetime", "datetime2", "datetimeoffset"), "timestamp"),
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "timestamp"),
    "timestamp_ntz": "timestamp_ntz",
    "date": "date",
    "time": "time",
    **dict.fromkeys(("binary", "varbinary", "bytes", "bytea", "blob"), "bytes"),
    **dict.fromkeys(("array", "list"), "array"),
    **dict.fromkeys(("struct", "record", "object", "row"), "object"),
    "map": "map",
    "variant": "variant",
}


def logical_type(physical: str | None) -> str | None:
    """Return the logical type of a physical type, None if it is unknown.

    >>> logical_type("VARCHAR(18)")
    'string'
    """
    name = re.sub(r"\s*[(<].*", "", physical or "").strip().lower()
    return _PHYSICAL_TYPES.get(name)


_NOT_ONE = (
    "a relationship of a property must refer to exactly one property: move a relationship between several properties "
    "to the table"
)


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
            yield spot.clause("references", self.column_of(targets[0]) if is_one else {"problem": _NOT_ONE})

    def foreign_keys(self, table: Spot) -> tuple[list[Clause], Mapping[str, tuple[Clause, ...]]]:
        """Return the foreign keys of a table: those of several columns, and those of one by the name of the column, in
        lower case."""
        several: list[Clause] = []
        single: dict[str, tuple[Clause, ...]] = defaultdict(tuple)
        for spot in table.items("relationships"):
            sources, targets = _texts(spot.get("from")), _texts(spot.get("to"))
            columns, elsewhere = [self._source(table, source) for source in sources], [*map(self.column_of, targets)]
            key: dict[str, Any] = {"columns": columns, "targets": elsewhere}
            if not sources or len(sources) != len(targets):
                counts = f"`from` has {counted(len(sources), 'column')} and `to` has {len(targets)}"
                key = {"problem": f"{counts}: list the same number of columns in both"}
            elif None in columns:
                key = {"problem": f"{table.get('name')} has no property {sources[columns.index(None)]}"}
            elif len(columns) == 1:
                single[str(columns[0]).lower()] += (spot.clause("references", elsewhere[0]),)
                continue
            several.append(spot.clause("references", key))
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


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _named(elements: list[Any], name: str) -> dict[str, Any] | None:
    """Return the element of a name, physical name or id."""
    for key in ("name", "id", "physicalName"):
        for element in elements:
            if isinstance(element, dict) and str(element.get(key, "")) == name:
                return element
    return None


_TYPES = {"integer": "long", "vector": "array"}
"""Logical types, and those of the model where they differ. An integer may have any width: the default of its format is
an annotation."""

_WIDE_INTEGERS = ("u64", "i128", "u128")
"""Formats of integers that only decimals can hold."""

_FLOAT_FORMATS = {"f32": "float", "f64": "double"}

_STRUCTURE = frozenset({"name", "properties", "items", "map", "quality", "relationships"})
_ANNOTATIONS = frozenset({
    "id", "physicalName", "deprecated", "synonyms", "authoritativeDefinitions", "partitioned", "partitionKeyPosition",
    "encryptedName", "transformSourceObjects", "transformLogic", "transformDescription",
    "criticalDataElement", "customProperties", "dataGranularityDescription", "context",
})  # fmt: skip
"""Keys that say nothing about values. Readers of the contract find them in the document."""

_SERVICE_LEVELS: Mapping[str, tuple[str, str, str]] = {
    "availability": ("availability", "percentage", ""),
    "av": ("availability", "percentage", ""),
    "retention": ("retention", "period", "timestampField"),
    "re": ("retention", "period", "timestampField"),
    "latency": ("latency", "threshold", "sourceTimestampField"),
    "ly": ("latency", "threshold", "sourceTimestampField"),
    "freshness": ("freshness", "threshold", "timestampField"),
    "frequency": ("frequency", "interval", ""),
    "fy": ("frequency", "interval", ""),
}
"""ODCS service level property -> its Data Contract Specification name, and the names of its value and element there."""


def read(document: Document) -> DataContract:
    """Return the contract of a valid document."""
    reader, root, value = _Reader(document), Spot(document), document.value
    return DataContract(
        specification=f"Open Data Contract Standard {value['apiVersion']}",
        id=str(value["id"]),
        title=str(value.get("name") or value.get("dataProduct") or value["id"]),
        version=str(value["version"]),
        status=value.get("status") or "",
        models=tuple(map(reader.model, root.items("schema"))),
        servers=tuple(server.clause(str(server.get("server"))) for server in root.items("servers")),
        service_levels=tuple(map(reader.service_level, root.items("slaProperties"))),
    )


class _Reader:
    def __init__(self, document: Document) -> None:
        self._tables = Tables(document)
        self._default_element = document.value.get("slaDefaultElement")
        self._is_databricks = any(s.get("type") == "databricks" for s in Spot(document).items("servers"))

    def model(self, spot: Spot) -> Model:
        name = str(spot.get("name"))
        several, single = self._tables.foreign_keys(spot)
        return Model(
            name,
            pointer(*spot.path),
            spot.place,
            tuple(self._field(_name(column), column, single) for column in spot.items("properties")),
            (
                *(inner.clause(_TITLES.get(key, key)) for key, inner in spot.entries() if key not in _OF_TABLES),
                *several,
            ),
            tuple(map(_rule, spot.items("quality"))),
        )

    def _field(self, name: str, spot: Spot, keys: Mapping[str, tuple[Clause, ...]] | None = None) -> Field:
        """Return the field of a property. ``keys`` are the foreign keys of columns that the table has."""
        clauses = [c for key, inner in spot.entries() for c in self._clauses(key, inner, spot)]
        maps = spot.at("map") if spot.get("map") else None
        return Field(
            name,
            pointer(*spot.path),
            spot.place,
            type=self._type(spot),
            clauses=(*clauses, *(keys or {}).get(name.lower(), ())),
            quality=tuple(map(_rule, spot.items("quality"))),
            fields=tuple(self._field(_name(inner), inner) for inner in spot.items("properties")),
            items=self._field("items", spot.at("items")) if spot.get("items") else None,
            keys=self._field("keys", maps.at("key")) if maps and maps.get("key") else None,
            values=self._field("values", maps.at("value")) if maps and maps.get("value") else None,
        )

    def _type(self, spot: Spot) -> str | None:
        """Return the type of a property: by its logical type, else its physical type, else what is inside it."""
        logical = spot.get("logicalType")
        if logical == "date" and logical_type(spot.get("physicalType")) in _TIMES:
            return logical_type(spot.get("physicalType"))  # version 3.0 had no logical type for times
        if logical == "integer" and (spot.get("logicalTypeOptions") or {}).get("format") in _WIDE_INTEGERS:
            return "number"
        if logical is not None:
            return _TYPES.get(logical, str(logical))
        if (kind := logical_type(spot.get("physicalType"))) is not None:
            return kind
        inside = {"properties": "object", "items": "array", "map": "map"}
        return next((kind for key, kind in inside.items() if spot.get(key)), None)

    def _clauses(self, key: str, spot: Spot, field: Spot) -> Iterator[Clause]:
        """Yield the clauses of one key of a property."""
        if key in _STRUCTURE - {"relationships"}:
            return
        if key == "customProperties":
            yield from _custom(spot)
        elif key == "logicalType" or (key == "physicalType" and not field.get("logicalType") and self._type(field)):
            yield spot.clause("type", self._type(field))
        elif key == "logicalTypeOptions":
            for option, inner in spot.entries():
                yield from _option(option, inner, spot, str(self._type(field)))
        elif key == "enum":
            yield spot.clause("enum", [v.get("value") if isinstance(v, dict) else v for v in spot.value])
        elif key == "relationships":
            yield from self._tables.references(spot)
        elif key == "physicalType" and self._is_databricks:
            yield spot.clause("databricksType")
        elif key not in _ANNOTATIONS:
            yield spot.clause(_TITLES.get(key, key))

    def service_level(self, spot: Spot) -> Clause:
        """Return a service level with the keys of the Data Contract Specification beside its own.

        The element may be any name. It is a field only if the document has its table.
        """
        value = spot.value
        name, quantity, field = _SERVICE_LEVELS.get(str(value["property"]), (str(value["property"]), "", ""))
        element = value.get("element") or self._default_element
        also: dict[str, Any] = {}
        if quantity:
            also[quantity] = _quantity(name, value)
        if field and element and self._tables.has_table(str(element)):
            also[field] = self._tables.column_of(str(element))
        return Clause(name, {**value, **also}, pointer(*spot.path), spot.place)


_TIMES = ("timestamp", "timestamp_ntz", "time")
_TITLES = {"businessName": "title"}
_OF_TABLES = _STRUCTURE | (_ANNOTATIONS - {"physicalName"}) | {"logicalType", "physicalType"}


def _name(spot: Spot) -> str:
    """Return the name of a column."""
    return str(spot.get("physicalName") or spot.get("name"))


def _rule(spot: Spot) -> Clause:
    """Return a quality rule. Its type is ``library`` by default."""
    return spot.clause("quality", {"type": "library", **spot.value})


def _option(name: str, spot: Spot, options: Spot, kind: str) -> Iterator[Clause]:
    """Yield the clause of an option of a logical type."""
    value = spot.value
    if name == "format" and value in _FLOAT_FORMATS and kind == "number":
        yield spot.clause("type", _FLOAT_FORMATS[value])
    elif name == "format" and kind in ("long", "number"):
        yield spot.clause("integerFormat" if re.fullmatch("[iu](8|16|32|64|128)", value) else "format")
    elif name == "format" and kind != "string":
        yield spot.clause("timeFormat")
    elif name == "required":
        yield spot.clause("requiredFields")
    elif isinstance(value, bool) and name.startswith("exclusive"):  # before version 3.1
        limit = options.get(name.removeprefix("exclusive").lower())
        if value and limit is not None:
            yield spot.clause(name, limit)
    else:
        yield spot.clause(name)


def _custom(properties: Spot) -> Iterator[Clause]:
    """Yield the custom properties that converters write for keys of the other specification."""
    for spot in properties.items():
        name, value = spot.get("property"), spot.get("value")
        if name == "pii":
            yield spot.clause("pii", str(value).lower() == "true")
        elif name == "databricksType":
            yield spot.clause("databricksType", str(value))


def _quantity(name: str, value: Mapping[str, Any]) -> str:
    """Return the quantity of a service level as one text: ``4h``, ``99.9%``, ``P1Y``."""
    amount, unit = str(value["value"]), str(value.get("unit") or "")
    if name == "availability":
        return amount if amount.endswith("%") else f"{amount}%"
    return amount + unit if re.fullmatch(r"[0-9.]+", amount) else amount
