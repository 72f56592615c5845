"""Windows as tables in FROM, such as ``TABLE(TUMBLE(TABLE t, DESCRIPTOR(time), INTERVAL '1' DAY))`` in Flink and
``tumble(t, time, interval '1 day')`` in RisingWave. They are aligned to 1970 in both engines.

In Flink they contain only rows of windows that the watermark has closed, in RisingWave with EMIT ON WINDOW CLOSE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, sql
from airflow_provider_odf.dialect.types import Columns, Scope, timestamp
from airflow_provider_odf.dialect.watermark import has_passed, in_microseconds, microseconds

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.tables import Tables

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
