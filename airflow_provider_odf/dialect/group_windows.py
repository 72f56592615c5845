"""Windows in GROUP BY of Flink: TUMBLE, HOP and SESSION, and functions such as TUMBLE_START.

The result has the groups of windows that the watermark has closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule, Translator
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, call, sql
from airflow_provider_odf.dialect.types import Columns, Type, timestamp
from airflow_provider_odf.dialect.watermark import as_timestamp, has_passed, microseconds

WINDOW = Type("WINDOW")
"""Type of a window in GROUP BY, which cannot be a column."""
_WINDOWS = {"tumble": 1, "hop": 2, "session": 1}
"""Windows with the number of their intervals."""
_PARTS = {"start": "a", "end": "b", "rowtime": "timestamp_micros(unix_micros(b) - 1000)"}
"""Functions of a window by the end of their names, for Spark, of its start and its end."""
_CLOSED = "odf:window_end"


def window(c: Call) -> Value:
    """Translate TUMBLE, HOP or SESSION."""
    kind = c.name.lower().partition("_")[0]
    time, *_ = c.expect(1 + _WINDOWS[kind])
    if not time.type.is_time:
        raise c.refusal(f"needs a DATE or TIMESTAMP, not {time.type}")
    *steps, size = (microseconds(node) for node in c.node.expressions[1:])
    if not all(0 < step <= size for step in (*steps, size)):
        raise c.refusal("intervals must be above 0, and the first at most as long as the second")
    lengths = [f"{length} microseconds" for length in (size, *steps)]
    return Value(call("session_window" if kind == "session" else "window", as_timestamp(time), *lengths), WINDOW)


def _part(name: str) -> FunctionRule:
    def rule(c: Call) -> Value:
        whole = window(c).sql
        part = sql(_PARTS[name], _field(whole, "start"), _field(whole, "end"))
        return Value(part, replace(timestamp(3), delay=_delay(c.arguments[0])))

    return rule


def _field(window: exp.Expr, name: str) -> exp.Expr:
    return exp.Dot(this=window.copy(), expression=exp.to_identifier(name, quoted=True))


def _delay(time: Value) -> int:
    return time.type.delay or 0


SCALARS: dict[str, FunctionRule] = {
    **dict.fromkeys(_WINDOWS, window),
    **{f"{kind}_{part}": _part(part) for kind in _WINDOWS for part in _PARTS},
}


def of_groups(node: exp.Select) -> exp.Expr | None:
    """Return the window in GROUP BY, or None if there is none.

    :raises Refusal: there are several, or a function in SELECT or HAVING is of another window."""
    group = node.args.get("group")
    items = group.expressions if group is not None else []
    found = [item for item in items if _name(item) in _WINDOWS]
    if len(found) > 1:
        raise Refusal(found[1], "GROUP BY can have only one window")
    for part in _parts(node):
        kind = _name(part).rpartition("_")[0]
        if not found or kind != _name(found[0]) or part.expressions != found[0].expressions:
            raise Refusal(part, f"{part.name} needs {kind.upper()} with the same arguments in GROUP BY")
    return found[0] if found else None


def column_type(node: exp.Expr, type_: Type) -> Type:
    """Return the type of a column of SELECT. It is an event time only if it is one in FROM or the end of a window."""
    is_same = isinstance(node, exp.Column) or _name(node).endswith("_rowtime")
    return type_ if is_same else replace(type_, delay=None, is_system=False)


def without_event_times(node: exp.Select, columns: Columns) -> Columns:
    """Return the columns of a SELECT with GROUP BY or DISTINCT, in which only the ends of windows are event times."""
    ends = {item.alias_or_name for item in node.expressions if _is_end(item.unalias())}
    others = dict(columns.delayed(None).items)
    return replace(columns, items=tuple((n, t if n in ends else others[n]) for n, t in columns.items))


def _is_end(node: exp.Expr) -> bool:
    return _name(node).endswith("_rowtime") or (isinstance(node, exp.Column) and node.name.lower() == "window_time")


def _parts(node: exp.Select) -> Iterator[exp.Expr]:
    parts = {f"{kind}_{part}" for kind in _WINDOWS for part in _PARTS}
    having = node.args.get("having")
    for tree in (*node.expressions, *([having] if having else [])):
        yield from (call for call in tree.find_all(exp.Anonymous) if _name(call) in parts)


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def closed(t: Translator, node: exp.Expr, select: exp.Select, columns: Columns) -> exp.Select:
    """Return the rows of a SELECT with groups whose window the watermark has closed.

    :raises Refusal: the SELECT has unnamed columns, DISTINCT, ORDER BY or LIMIT."""
    if other := next((key for key in ("distinct", "order", "limit", "offset") if select.args.get(key)), None):
        raise Refusal(node, f"{other.upper()} beside a window in GROUP BY is not supported", "use the next query")
    if not all(name for name, _ in columns.items):
        raise Refusal(node, "all columns beside windows in GROUP BY need names", "name them: … AS name")
    time = t.expression(node.expressions[0])
    select.append("expressions", exp.alias_(_field(t.expression(node).sql, "end"), _CLOSED, quoted=True))
    end = Value(exp.column(_CLOSED, quoted=True), timestamp(3))
    return exp.Select(
        expressions=[exp.column(name, quoted=True) for name, _ in columns.items],
        from_=exp.From(this=exp.Subquery(this=select)),
        where=exp.Where(this=has_passed(end, _delay(time))),
    )
