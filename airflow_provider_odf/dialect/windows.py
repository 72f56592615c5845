"""Windows of time, and the watermark of a transform's inputs, which says when they are closed.

As tables in FROM they are written ``TABLE(TUMBLE(TABLE t, DESCRIPTOR(time), INTERVAL '1' DAY))`` in Flink and
``tumble(t, time, interval '1 day')`` in RisingWave, and are aligned to 1970. In Flink they contain only rows of windows
that the watermark has closed, in RisingWave with EMIT ON WINDOW CLOSE. In GROUP BY, Flink has TUMBLE, HOP and SESSION,
and functions such as TUMBLE_START; the result has the groups of closed windows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule, Translator
from airflow_provider_odf.dialect.expressions import INTERVAL_UNITS, interval_parts
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, call, cast, sql
from airflow_provider_odf.dialect.types import Columns, Scope, Type, timestamp

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Tables

WATERMARK = "odf_watermark"
"""Parameter with the earliest watermark of the inputs; null decides nothing."""

_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def has_passed(time: Value, delay: int = 0) -> exp.Expr:
    """Return the condition that the watermark is at least ``delay`` microseconds past a time."""
    moment = in_microseconds(time)
    late = sql(f"timestamp_micros(a {'-' if delay < 0 else '+'} {abs(delay)})", moment) if delay else as_timestamp(time)
    return exp.LTE(this=late, expression=exp.Placeholder(this=WATERMARK))


def as_timestamp(time: Value) -> exp.Expr:
    return time.sql if time.type.is_timestamp else cast(time.sql, timestamp())


def in_microseconds(time: Value) -> exp.Expr:
    """Return a DATE or TIMESTAMP in microseconds since 1970."""
    return sql("unix_micros(a)", as_timestamp(time))


def microseconds(node: exp.Expr) -> int:
    """Return the length of a literal interval.

    :raises Refusal: it is not a literal, or contains months or years, whose length varies."""
    parts = dict(zip(INTERVAL_UNITS, interval_parts(node), strict=True))
    if parts.pop("year") or parts.pop("month"):
        raise Refusal(node, "months and years have no fixed length", "write the interval in days")
    return 1_000_000 * sum(count * _SECONDS[unit] for unit, count in parts.items())


EMIT_ON_CLOSE = "emit_on_window_close"
"""Key in the metadata of a query that waits until its windows are closed."""
START, END, TIME = "window_start", "window_end", "window_time"

_INTERVALS = {"tumble": ("size",), "hop": ("step", "size"), "cumulate": ("step", "size")}
"""Window functions with the intervals of their arguments. A last one, the offset, may follow."""
_LAST = "(a - pmod(a - {offset}, {step}))"
_FIRST = "(a - {size} - pmod(a - {size} - {offset}, {step}) + {step})"
_WINDOW = "named_struct('window_start', timestamp_micros({}), 'window_end', timestamp_micros({}))"
_FORMS = {
    "tumble": f"inline(array({_WINDOW.format(_LAST, _LAST + ' + {size}')}))",
    "hop": f"inline(transform(sequence({_FIRST}, {_LAST}, {{step}}), s -> {_WINDOW.format('s', 's + {size}')}))",
    "cumulate": f"inline(transform(sequence({_LAST} + {{step}}, {_LAST.replace('step', 'size')} + {{size}}, {{step}}), "
    f"e -> {_WINDOW.format(_LAST.replace('step', 'size'), 'e')}))",
}
"""The windows of a time in microseconds, in Spark SQL."""


def table(queries: Tables, node: exp.Expr, *, is_decided: bool) -> tuple[exp.Query, Columns]:
    """Return the rows of a table with the windows that contain them. With ``is_decided``, only closed windows.

    :raises Refusal: the function, the table or an interval is not supported."""
    name = node.name.lower()
    if name not in queries.engine.time_windows:
        raise Refusal(node, f"function {name} in FROM is not supported by the {queries.engine.name} translation")
    source, column, *intervals = node.expressions if len(node.expressions) > 1 else (node, node)
    if not isinstance(column, exp.Column) or not isinstance(source, exp.Column | exp.Table):
        raise Refusal(node, f"{name} needs a table, a time column and intervals")
    table_name, columns = queries.table(source)
    time = queries.translator(Scope({table_name: columns})).expression(column)
    if not time.type.is_time:
        raise Refusal(column, f"{name} needs a DATE or TIMESTAMP, not {time.type}")
    rows = exp.Select(
        expressions=[exp.Star(), sql(_form(node, name, intervals), in_microseconds(time))],
        from_=exp.From(this=exp.Table(this=exp.to_identifier(table_name, quoted=True))),
    )
    return _decided(rows, columns, time, queries.engine.has_event_times, is_decided)


def _form(node: exp.Expr, name: str, intervals: list[exp.Expr]) -> str:
    """Return the windows of a time ``a`` in microseconds as SQL."""
    names = _INTERVALS[name]
    if not len(names) <= len(intervals) <= len(names) + 1:
        raise Refusal(node, f"{name} takes {len(names)} or {len(names) + 1} intervals, not {len(intervals)}")
    lengths = dict(zip((*names, "offset"), map(microseconds, intervals), strict=False))
    size = lengths["size"]
    step, offset = lengths.get("step", size), lengths.get("offset", 0)
    if not 0 < step <= size or (name == "cumulate" and size % step):
        raise Refusal(node, f"the intervals of {name} do not fit", "use a step up to the size, both above 0")
    return _FORMS[name].format(step=step, size=size, offset=offset).replace("(a - 0, ", "(a, ").replace(" - 0, ", ", ")


def _decided(
    rows: exp.Select, columns: Columns, time: Value, is_flink: bool, is_decided: bool
) -> tuple[exp.Query, Columns]:
    end = Value(exp.column(END, quoted=True), timestamp(3))
    items = [*columns.items, (START, timestamp(3)), (END, timestamp(3))]
    expressions: list[exp.Expr] = [exp.Star()]
    if is_flink:
        moment = sql("timestamp_micros(a - 1000)", in_microseconds(end))
        expressions.append(exp.alias_(moment, TIME, quoted=True))
        items.append((TIME, replace(timestamp(3), delay=time.type.delay)))
    query = exp.Select(expressions=expressions, from_=exp.From(this=exp.Subquery(this=rows)))
    if is_flink or is_decided:
        query.set("where", exp.Where(this=has_passed(end, time.type.delay or 0)))
    return query, replace(columns, items=tuple(items))


def is_decided(node: exp.Select) -> bool:
    """Return whether a SELECT of RisingWave waits until its windows are closed.

    :raises Refusal: it has no groups by window."""
    if not node.meta.get(EMIT_ON_CLOSE):
        return False
    from_, group = node.args.get("from_"), node.args.get("group")
    is_of_windows = from_ is not None and isinstance(from_.this.this, exp.Anonymous) and not node.args.get("joins")
    if not is_of_windows or group is None or not any(_is_window(item, node) for item in group.expressions):
        advice = "group the rows of tumble or hop in FROM by window_start or window_end"
        raise Refusal(node, "EMIT ON WINDOW CLOSE needs windows", advice)
    return True


def _is_window(item: exp.Expr, node: exp.Select) -> bool:
    """Return whether an item of GROUP BY has another value for each window."""
    item = output(item, node)
    if isinstance(item, exp.Add | exp.Sub) and isinstance(item.expression, exp.Interval):
        item = item.this
    return isinstance(item, exp.Column) and item.name in (START, END)


def output(item: exp.Expr, node: exp.Select) -> exp.Expr:
    """Return the expression of SELECT that an item of GROUP BY names by its position or alias, else the item."""
    if isinstance(item, exp.Literal) and item.is_int and 0 < int(item.name) <= len(node.expressions):
        item = node.expressions[int(item.name) - 1]
    elif isinstance(item, exp.Column) and not item.table:
        aliases = (e for e in node.expressions if isinstance(e, exp.Alias) and e.alias.lower() == item.name.lower())
        item = next(aliases, item)
    return item.unalias()


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
        part = sql(_PARTS[name], _bound_of(whole, "start"), _bound_of(whole, "end"))
        return Value(part, replace(timestamp(3), delay=c.arguments[0].type.delay or 0))

    return rule


def _bound_of(window: exp.Expr, name: str) -> exp.Expr:
    return exp.Dot(this=window.copy(), expression=exp.to_identifier(name, quoted=True))


SCALARS: dict[str, FunctionRule] = {
    **dict.fromkeys(_WINDOWS, window),
    **{f"{kind}_{part}": _part(part) for kind in _WINDOWS for part in _PARTS},
}


def of_groups(node: exp.Select) -> exp.Expr | None:
    """Return the window in GROUP BY, or None if there is none.

    :raises Refusal: there are several, or a function in SELECT or HAVING is of another window."""
    group = node.args.get("group")
    items = group.expressions if group is not None else []
    windows = [item for item in items if _function_name(item) in _WINDOWS]
    if len(windows) > 1:
        raise Refusal(windows[1], "GROUP BY can have only one window")
    having = [node.args["having"]] if node.args.get("having") else []
    for part in (part for tree in (*node.expressions, *having) for part in tree.find_all(exp.Anonymous)):
        kind, _, end = _function_name(part).rpartition("_")
        if kind not in _WINDOWS or end not in _PARTS:
            continue
        if not windows or kind != _function_name(windows[0]) or part.expressions != windows[0].expressions:
            raise Refusal(part, f"{part.name} needs {kind.upper()} with the same arguments in GROUP BY")
    return windows[0] if windows else None


def column_type(node: exp.Expr, type_: Type) -> Type:
    """Return the type of a column of SELECT. It is an event time only if it is one in FROM or the end of a window."""
    is_same = isinstance(node, exp.Column) or _function_name(node).endswith("_rowtime")
    return type_ if is_same else replace(type_, delay=None, is_system=False)


def without_event_times(node: exp.Select, columns: Columns) -> Columns:
    """Return the columns of a SELECT with GROUP BY or DISTINCT, in which only the ends of windows are event times."""

    def is_end(item: exp.Expr) -> bool:
        is_time = isinstance(item, exp.Column) and item.name.lower() == TIME
        return is_time or _function_name(item).endswith("_rowtime")

    ends = {item.alias_or_name for item in node.expressions if is_end(item.unalias())}
    others = dict(columns.delayed(None).items)
    return replace(columns, items=tuple((n, t if n in ends else others[n]) for n, t in columns.items))


def _function_name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def closed(t: Translator, node: exp.Expr, select: exp.Select, columns: Columns) -> exp.Select:
    """Return the rows of a SELECT with groups whose window the watermark has closed.

    :raises Refusal: the SELECT has unnamed columns, DISTINCT, ORDER BY or LIMIT."""
    if other := next((key for key in ("distinct", "order", "limit", "offset") if select.args.get(key)), None):
        raise Refusal(node, f"{other.upper()} beside a window in GROUP BY is not supported", "use the next query")
    if not all(name for name, _ in columns.items):
        raise Refusal(node, "all columns beside windows in GROUP BY need names", "name them: … AS name")
    time = t.expression(node.expressions[0])
    select.append("expressions", exp.alias_(_bound_of(t.expression(node).sql, "end"), _CLOSED, quoted=True))
    end = Value(exp.column(_CLOSED, quoted=True), timestamp(3))
    return exp.Select(
        expressions=[exp.column(name, quoted=True) for name, _ in columns.items],
        from_=exp.From(this=exp.Subquery(this=select)),
        where=exp.Where(this=has_passed(end, time.type.delay or 0)),
    )
