"""Queries that Arrow can evaluate on new records, so that Spark need not start for them.

Spark analyzes a query when it is new. Its plan has all names and types resolved; if it only filters and computes
columns of one input, or adds up such rows by groups, the query is kept as expressions (`arrow_functions`). The
coordinator hands them back with the next request. They count for that query, over those columns of the input and of the
derivative.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Self

import pyarrow as pa
import pyarrow.types as pt

from airflow_provider_odf import protocol
from airflow_provider_odf.engine.plan_nodes import class_name
from airflow_provider_odf.engine.spark_version import from_arrow_schema, to_arrow_schema
from airflow_provider_odf.engine.transform import arrow_functions
from airflow_provider_odf.engine.transform.analysis import PlanAnalysis, below_projections
from airflow_provider_odf.engine.transform.arrow_functions import CAST, COLUMN, LITERAL, Expression
from airflow_provider_odf.engine.transform.plan_tree import Expression as PlanExpression
from airflow_provider_odf.engine.transform.plan_tree import Node, attribute, computed
from airflow_provider_odf.merge_strategies import OperationColumn
from airflow_provider_odf.records import schema as schemas
from airflow_provider_odf.version import __version__

_MOST_PARTS = 500
"""Maximum number of expressions, since a column is computed again for each use of it in others."""

_COMMON = -1
"""Number of the value that an expression uses several times, beside the ids of columns."""


class NotInArrow(Exception):
    """Arrow cannot evaluate the query."""


@dataclass(frozen=True)
class ArrowQuery:
    """Filter and columns of a query over one input.

    ``of`` is the digest of a request, ``columns`` are those of the derivative. ``functions`` is None for a row-wise
    query. Otherwise the rows are added up: it has the function of each column that is no group.
    """

    of: str
    conditions: tuple[Expression, ...]
    columns: Mapping[str, Expression]
    functions: Mapping[str, str] | None

    @classmethod
    def of_request(cls, request: protocol.TransformRequest) -> Self | None:
        """Return the query that comes with a request, None if there is none for what it asks."""
        if request.arrow_query is None:
            return None
        content = json.loads(request.arrow_query)
        return cls(**content) if content["of"] == _digest(request, request.schema) else None

    def text(self) -> str:
        """Return the query for `TransformRequest.arrow_query`."""
        return json.dumps(asdict(self))

    @property
    def groups(self) -> list[str]:
        """The columns that tell the rows of a query with totals."""
        return [name for name in self.columns if name not in (self.functions or ())]

    def parts(self) -> Iterator[Expression]:
        """Yield all expressions."""
        return chain.from_iterable(map(arrow_functions.parts, (*self.conditions, *self.columns.values())))

    def reads(self) -> set[str]:
        """Return the names of the columns of the input."""
        return {part[1] for part in self.parts() if part[0] == COLUMN}


def arrow_query(analyzed: PlanAnalysis, request: protocol.TransformRequest, schema: str) -> str | None:
    """Return a query for the next request, None if Arrow cannot evaluate it.

    :param schema: that of the derivative, as in requests.
    """
    try:
        return _query(analyzed, request, schema).text()
    except (NotInArrow, pa.ArrowException, LookupError, TypeError, ValueError, RecursionError):
        return None  # also for a plan of an unknown form


def types_of(schema: str) -> pa.Schema:
    """Return the columns of a schema, as in requests, in the types in which Spark reads them."""
    columns = to_arrow_schema(from_arrow_schema(schemas.readable(schemas.decode(schema))))
    return pa.schema([field.with_nullable(True) for field in columns])


def _query(analyzed: PlanAnalysis, request: protocol.TransformRequest, schema: str) -> ArrowQuery:
    if len(request.query_inputs) != 1:
        raise NotInArrow
    (source,) = request.query_inputs
    if source.merge is not None and source.merge.traits.operation_column is OperationColumn.REQUIRED:
        raise NotInArrow  # its records are no changes of rows
    every, rows = types_of(schema), types_of(source.schema)
    columns = pa.schema([every.field(name) for name in every.names[3:]])
    conditions, shown, functions = _row_wise(analyzed) if analyzed.is_row_wise else _totals(analyzed)
    named = {name.lower(): expression for name, expression in shown.items()}
    by_name = {name: named[name.lower()] for name in columns.names}
    adding = {name.lower(): function for name, function in functions.items()}
    spelled = {name: adding[name.lower()] for name in columns.names if name.lower() in adding}
    query = ArrowQuery(_digest(request, schema), tuple(conditions), by_name, None if analyzed.is_row_wise else spelled)
    _check_parts(query, request.transform)
    _check(query, source.vocab, columns, rows)
    return query


def _check_parts(query: ArrowQuery, transform: protocol.Transform) -> None:
    names = [part[0] for part in islice(query.parts(), _MOST_PARTS + 1)]
    if len(names) > _MOST_PARTS or ("Like" in names and not all(_has_no_escape(s.query) for s in transform.queries)):
        raise NotInArrow


def _has_no_escape(query: str) -> bool:
    """Whether all patterns of LIKE surely escape by a backslash, which plans do not tell: it is always followed by its
    pattern, so it is no function with a third argument."""
    text = query.upper().lower()  # Spark takes letters for those of ASCII whose upper or lower case they have
    return "escape" not in text and len(re.findall(r"like\s+'", text)) == text.count("like")


def _check(query: ArrowQuery, vocab: protocol.DatasetVocabulary, columns: pa.Schema, rows: pa.Schema) -> None:
    """Check that a query reads no system columns, and has the types of the result."""
    system = {name.lower() for name in vocab.columns[:3]}
    none = pa.RecordBatch.from_pylist([], rows)
    for name in query.reads():
        if name.lower() in system or not _is_exact(rows.field(name).type):
            raise NotInArrow
    for condition in query.conditions:
        if not pt.is_boolean(arrow_functions.evaluate(condition, none).type):
            raise NotInArrow
    values = {name: arrow_functions.column(e, none) for name, e in query.columns.items()}
    if query.functions is not None:
        if not query.groups or any(pt.is_floating(value.type) for value in values.values()):
            raise NotInArrow
        # Totals are added up again with the present ones, which may have wider types.
        new = arrow_functions.totals(pa.table(values), query.groups, query.functions, columns)
        table = arrow_functions.totals(new, query.groups, query.functions, columns)
        values = {name: table[name] for name in table.column_names}
    if any(values[field.name].type != field.type for field in columns):
        raise NotInArrow


def _is_exact(kind: pa.DataType) -> bool:
    return kind in arrow_functions.TYPES or pt.is_decimal128(kind)


def _row_wise(analyzed: PlanAnalysis) -> tuple[list[Expression], dict[str, Expression], Mapping[str, str]]:
    known, conditions = _rows(analyzed.root)
    return conditions, {a.name: known[a.id] for a in analyzed.root.output if a.id in known}, {}


def _totals(analyzed: PlanAnalysis) -> tuple[list[Expression], dict[str, Expression], Mapping[str, str]]:
    linear = analyzed.linear([0])
    aggregate, shown = below_projections(analyzed.root)
    if linear is None or linear.totals is None or aggregate.kind != "Aggregate":
        raise NotInArrow
    known, conditions = _rows(aggregate.children[0])
    items = zip(aggregate.expressions("aggregateExpressions"), aggregate.output, strict=True)
    values = {output.id: _added(computed(item), known) for item, output in items}
    return conditions, {name: values[id_] for name, id_ in shown.items()}, linear.totals.functions


def _added(value: PlanExpression, known: Mapping[int, Expression]) -> Expression:
    """Return the values that a column of an aggregate adds up, those of a count being 0 and 1, or the values of a
    group."""
    if class_name(value) != "AggregateExpression":
        return _expression(value, known)
    function, *conditions = value["below"]
    if conditions or value["isDistinct"] or class_name(function) not in ("Count", "Sum", "Min", "Max"):
        raise NotInArrow
    (argument,) = (_expression(part, known) for part in function["below"])
    one, none = ([LITERAL, "long", number] for number in "10")
    return ["If", ["IsNull", argument], none, one] if class_name(function) == "Count" else argument


def _rows(node: Node) -> tuple[dict[int, Expression], list[Expression]]:
    """Return the columns of a plan node by their ids, as far as Arrow can compute them, and the filters below it."""
    if node.input is not None:
        return {a.id: [COLUMN, a.name] for a in node.output}, []
    if node.kind not in ("Project", "Filter"):
        raise NotInArrow
    known, conditions = _rows(node.children[0])
    if node.kind == "Filter":
        return known, [*conditions, _expression(node.expressions("condition")[0], known)]
    return dict(_projected(node, known)), conditions


def _projected(node: Node, known: Mapping[int, Expression]) -> Iterator[tuple[int, Expression]]:
    for item in node.expressions("projectList"):
        shown = attribute(item)
        try:
            if shown is not None:
                yield shown.id, _expression(computed(item), known)
        except (NotInArrow, KeyError):  # perhaps nobody reads it
            continue


def _expression(of: PlanExpression, known: Mapping[int, Expression]) -> Expression:
    name = class_name(of)
    if name == COLUMN:
        return known[of["exprId"]["id"]]
    if name == LITERAL:
        return [LITERAL, of["dataType"], of["value"]]
    if name == "TypedNullLiteral":
        return [LITERAL, of["dataType"], None]
    if name == "CommonExpressionRef":
        return known[_COMMON]
    if name == "With":
        value, *definitions = of["below"]
        if len(definitions) > 1:  # plans do not tell which one is meant
            raise NotInArrow(name)
        return _expression(value, {**known, _COMMON: _expression(definitions[0]["below"][0], known)})
    below = [_expression(part, known) for part in of["below"]]
    if name == CAST:
        return [CAST, of["dataType"], *below]
    if name == "Between":
        return below[0]
    if name not in arrow_functions.FUNCTIONS:
        raise NotInArrow(name)
    return [name, *below]


def _digest(request: protocol.TransformRequest, schema: str | None) -> str:
    """Return what a query depends on beside the records, as a digest."""
    inputs = [(i.query_alias, i.vocab, i.merge, i.schema) for i in request.query_inputs]
    content = [__version__, *map(repr, (request.transform, request.vocab, schema, inputs))]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
