"""Orders of transforms without ties. Engines order ties by arrival; here all other columns of the rows decide, so that
the result depends on the rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_provider_odf.dialect import windows
from airflow_provider_odf.dialect.engine import Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.types import Columns, Scope, Type

_NUMBERED = ("row_number", "lag", "lead")
"""Window functions whose value depends on the order of ties."""
_OF_FRAME = ("first_value", "last_value")
"""Window functions whose value depends on the order of the rows in the frame."""


def of_rows(t: Translator, node: exp.Select) -> tuple[exp.Expr, ...]:
    """Return the columns that order the rows that window functions of a SELECT see."""
    group = node.args.get("group")
    if group is None:
        return tuple(_columns(t.scope))
    return tuple(t.expression(_of_group(t, item, node)).sql for item in group.expressions)


def _of_group(t: Translator, item: exp.Expr, node: exp.Select) -> exp.Expr:
    """Return the expression of an item of GROUP BY. Columns of tables hide those of SELECT."""
    is_in_table = isinstance(item, exp.Column) and t.scope.type_of(item.name) is not None
    return item if is_in_table else windows.output(item, node)


def _columns(scope: Scope) -> list[exp.Expr]:
    is_single = len(scope.tables) == 1
    return [
        exp.column(name, None if is_single else table or None, quoted=True)
        for table, columns in scope.tables.items()
        for name in names(columns)
    ]


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
        raise Refusal(node, f"{function} needs ORDER BY here", "the order of arrival does not count in a transform")
    if function in _OF_FRAME and not is_by_row:
        raise Refusal(node, f"{function} needs a frame of ROWS here", "write ROWS BETWEEN … AND … in OVER")
    names = {key for item in (*partition, *(item.this for item in order.expressions)) for key in _keys(t, item)}
    for tie in t.ties:
        if not names.intersection(_keys(t, tie)):
            order.append("expressions", exp.Ordered(this=tie.copy(), nulls_first=True))


def order_outputs(node: exp.Expr, query: exp.Query, columns: Columns) -> None:
    """Add all columns of a result to its ORDER BY, if it has LIMIT or OFFSET.

    :raises Refusal: it has no ORDER BY."""
    if not (query.args.get("limit") or query.args.get("offset")):
        return
    order = query.args.get("order")
    if order is None:
        raise Refusal(node, "LIMIT and OFFSET need ORDER BY", "the order of arrival does not count in a transform")
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
