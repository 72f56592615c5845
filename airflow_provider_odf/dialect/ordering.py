"""Translate what depends on the order or number of rows: ORDER BY, LIMIT, OVER, DISTINCT and FILTER.

Engines order ties by arrival. In transforms all other columns of the rows decide, so that the result depends on the
rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_provider_odf.dialect import windows
from airflow_provider_odf.dialect.engine import NodeRule, Translator, refuse_others
from airflow_provider_odf.dialect.expressions import condition
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, cast
from airflow_provider_odf.dialect.types import Columns, Type

_NUMBERED = ("row_number", "lag", "lead")
"""Window functions whose value depends on the order of ties."""
_OF_FRAME = ("first_value", "last_value")
"""Window functions whose value depends on the order of the rows in the frame."""
_BOUNDS = ("UNBOUNDED", "CURRENT ROW")
"""Ends of a frame without a number."""
_BY_ARRIVAL = "the order of arrival does not count in a transform"


def order(t: Translator, node: exp.Order) -> exp.Order:
    """Return ORDER BY with explicit NULLS FIRST or LAST, since the defaults of engines differ."""
    items = []
    for item in node.expressions:
        refuse_others(item, {"this", "desc", "nulls_first"})
        flags = {key: bool(item.args.get(key)) for key in ("desc", "nulls_first")}
        items.append(exp.Ordered(this=place_or_expression(t, item.this), **flags))
    return exp.Order(expressions=items)


def place_or_expression(t: Translator, node: exp.Expr) -> exp.Expr:
    """Return an item of GROUP BY or ORDER BY, which may be the place of a column."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return t.expression(node).sql
    if not (node.name.isdigit() and len(node.name) <= 4):
        raise Refusal(node, "a number in ORDER BY or GROUP BY must be a column position, starting at 1")
    return node.copy()


def add_order(t: Translator, node: exp.Expr, query: exp.Query, outputs: Columns | None) -> None:
    """Add ORDER BY, LIMIT and OFFSET of a node to a query. ``outputs`` are the columns that order its rows further, if
    the order of arrival does not count.

    :raises Refusal: there is no exact translation, or rows that LIMIT takes have no order."""
    if node.args.get("order"):
        query.set("order", order(t, node.args["order"]))
    for key in ("limit", "offset"):
        clause = node.args.get(key)
        if clause is not None:
            value = clause.expression
            if type(clause) not in (exp.Limit, exp.Offset) or not (isinstance(value, exp.Literal) and value.is_int):
                raise Refusal(clause, f"{key.upper()} needs an integer")
            query.set(key, type(clause)(expression=value.copy()))
    if outputs is not None and (query.args.get("limit") or query.args.get("offset")):
        _order_outputs(node, query, outputs)


def of_rows(t: Translator, node: exp.Select) -> tuple[exp.Expr, ...]:
    """Return the columns that order the rows that window functions of a SELECT see."""
    group = node.args.get("group")
    if group is None:
        is_single = len(t.scope.tables) == 1
        return tuple(
            exp.column(name, None if is_single else table or None, quoted=True)
            for table, columns in t.scope.tables.items()
            for name in names(columns)
        )
    items = []
    for item in group.expressions:
        # Columns of tables hide those of SELECT.
        is_in_table = isinstance(item, exp.Column) and t.scope.type_of(item.name) is not None
        items.append(t.expression(item if is_in_table else windows.output(item, node)).sql)
    return tuple(items)


def names(columns: Columns) -> tuple[str, ...]:
    """Return the columns that break ties in the order of rows."""
    return tuple(name for name, type_ in columns.items if _has_order(type_))


def _has_order(type_: Type) -> bool:
    return type_.is_known and not type_.is_system


def break_ties(t: Translator, node: exp.Expr, window: exp.Window, partition: Sequence[exp.Expr]) -> None:
    """Add the columns of the rows to ORDER BY of a window, if ties in it would change the result.

    :raises Refusal: the order of the rows is not determined."""
    function, order = node.this.name.lower(), window.args.get("order")
    is_by_row = window.args.get("spec") is not None and str(window.args["spec"].args.get("kind")).upper() == "ROWS"
    if t.ties is None or not (is_by_row or function in (*_NUMBERED, *_OF_FRAME)):
        return
    if order is None:
        raise Refusal(node, f"{function} needs ORDER BY here", _BY_ARRIVAL)
    if function in _OF_FRAME and not is_by_row:
        raise Refusal(node, f"{function} needs a frame of ROWS here", "write ROWS BETWEEN … AND … in OVER")
    names = {key for item in (*partition, *(item.this for item in order.expressions)) for key in _keys(t, item)}
    for tie in t.ties:
        if not names.intersection(_keys(t, tie)):
            order.append("expressions", exp.Ordered(this=tie.copy(), nulls_first=True))


def _order_outputs(node: exp.Expr, query: exp.Query, columns: Columns) -> None:
    order = query.args.get("order")
    if order is None:
        raise Refusal(node, "LIMIT and OFFSET need ORDER BY", _BY_ARRIVAL)
    positions = [item.this.name for item in order.expressions if isinstance(item.this, exp.Literal)]
    for position, (_, type_) in enumerate(columns.items, 1):
        if _has_order(type_) and str(position) not in positions:
            number = exp.Literal.number(position)
            order.append("expressions", exp.Ordered(this=number, nulls_first=True))


def _keys(t: Translator, node: exp.Expr) -> set[tuple[str, str]]:
    """Return the tables and names of a column. Without a table it can be of any table in FROM."""
    if not isinstance(node, exp.Column):
        return {("", node.sql())}
    tables = [node.table] if node.table and len(t.scope.tables) > 1 else [*t.scope.tables]
    return {(table.lower(), node.name.lower()) for table in tables}


def scalar_or_aggregate(t: Translator, node: exp.Expr) -> Value:
    """Translate the call of a scalar or aggregate function."""
    if node.name.lower() not in t.engine.aggregates:
        return t.call(node, t.engine.scalars, node.expressions)
    distinct = next((item for item in node.expressions if isinstance(item, exp.Distinct)), None)
    if distinct is None:
        return t.call(node, t.engine.aggregates, node.expressions)
    refuse_others(distinct, {"expressions"})
    result = t.call(node, t.engine.aggregates, distinct.expressions)
    function = _function(node, result, "DISTINCT")
    if any(isinstance(argument, exp.Star) for argument in function.expressions):
        raise Refusal(node, f"{node.name} with DISTINCT is not supported")
    function.set("expressions", [exp.Distinct(expressions=function.expressions)])
    return result


def filter_rows(t: Translator, node: exp.Expr) -> Value:
    """Translate an aggregate with FILTER (WHERE …)."""
    inner = t.expression(node.this)
    function = _function(node, inner, "FILTER")
    where = exp.Where(this=condition(t, node.expression.this))
    return _replace(inner, function, exp.Filter(this=function, expression=where))


def over(t: Translator, node: exp.Expr) -> Value:
    """Translate a function OVER (PARTITION BY … ORDER BY … frame)."""
    if node.args.get("alias") or node.args.get("first"):
        raise Refusal(node, "named windows are not supported", "write the window out: OVER (…)")
    inner = node.this
    is_window = isinstance(inner, exp.Anonymous) and inner.name.lower() in t.engine.windows
    value = t.call(inner, t.engine.windows, inner.expressions) if is_window else t.expression(inner)
    function = _function(node, value, "OVER")
    partition = [t.expression(item).sql for item in node.args.get("partition_by") or ()]
    window = exp.Window(
        this=function,
        partition_by=partition,
        order=order(t, node.args["order"]) if node.args.get("order") else None,
        spec=_frame(node.args["spec"]) if node.args.get("spec") else None,
        over="OVER",
    )
    break_ties(t, node, window, partition)
    return _replace(value, function, window)


def _frame(spec: exp.Expr) -> exp.WindowSpec:
    """Return ROWS or RANGE of a window. Numbers are translated with ROWS only: engines differ in ranges of values."""
    refuse_others(spec, {"kind", "start", "start_side", "end", "end_side"})
    kind = str(spec.args.get("kind", "")).upper()
    if kind not in ("ROWS", "RANGE"):
        raise Refusal(spec, f"{kind} frames are not supported")
    for bound in (spec.args.get("start"), spec.args.get("end")):
        is_number = kind == "ROWS" and isinstance(bound, exp.Literal) and bound.is_int
        if bound is not None and not is_number and str(bound).upper() not in _BOUNDS:
            raise Refusal(spec, "a frame supports only ROWS with whole numbers, UNBOUNDED and CURRENT ROW")
    return exp.WindowSpec(**spec.args)


def _function(node: exp.Expr, value: Value, clause: str) -> exp.Expr:
    """Return the call in a translated aggregate or window function, which may be within a CAST.

    :raises Refusal: the translation is another expression."""
    function = value.sql.this if isinstance(value.sql, exp.Cast) else value.sql
    if not isinstance(function, (exp.Anonymous, exp.Filter)):
        raise Refusal(node, f"{clause} is not supported with this function")
    return function


def _replace(value: Value, function: exp.Expr, by: exp.Expr) -> Value:
    return Value(by if value.sql is function else cast(by, value.type), value.type)


NODES: dict[type[exp.Expr], NodeRule] = {
    exp.Anonymous: scalar_or_aggregate, exp.Filter: filter_rows, exp.Window: over
}  # fmt: skip
