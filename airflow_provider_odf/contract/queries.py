"""SQL of quality rules: placeholders, and idioms of other databases that have an exact form in Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.contract.tokens import at, closing, following, is_space, tokens
from airflow_provider_odf.wording import nearest

_OF_MODELS = ("model", "table", "object", "schema")
_OF_FIELDS = ("field", "column", "property")
_PLACEHOLDER = re.compile(rf"\$?\{{\s*({'|'.join((*_OF_MODELS, *_OF_FIELDS))})\s*\}}", re.IGNORECASE)
_WORD = re.compile(r"\{\s*(\w+)\s*\}")
_NAME = re.compile(r"[A-Za-z_]\w*")

_EPOCH = (
    "(CASE WHEN typeof({x}) LIKE 'timestamp%' OR typeof({x}) = 'date'"
    " THEN unix_micros(CAST(CAST({x} AS STRING) AS TIMESTAMP))"
    " ELSE unix_micros(timestamp_micros(0) + CAST(CAST({x} AS STRING) AS INTERVAL DAY TO SECOND)) END / 1000000D)"
)
"""Seconds of a timestamp or of an interval. Types are unknown here; Spark computes only the branch of the type."""

_CLAUSES = ("where", "group", "having", "order", "limit", "offset", "union", "intersect", "except", "window", "qualify")


def of_rule(query: str, model: str, field: str | None) -> str:
    """Return the query of a rule of a model or a field, for Spark.

    :raises RuleError: it has a placeholder without a meaning.
    """
    return to_spark(filled(query, model, field))


def filled(query: str, model: str, field: str | None) -> str:
    """Return a query with the names of the model and the field in its placeholders.

    :raises RuleError: it has a placeholder without a meaning.
    """

    def name(match: re.Match[str]) -> str:
        if match[1].lower() not in _OF_FIELDS:
            return quoted(model)
        if field is None:
            raise RuleError(f"{match[0]} cannot be used in a rule of a model: write the column name instead")
        if set(field) & set("[{"):
            raise RuleError(
                f"{field} is inside an array or a map and is not a column: write the name of a top-level column in the "
                "query"
            )
        return ".".join(map(quoted, field.split(".")))

    for word in _WORD.findall(query):
        known = [*_OF_MODELS, *_OF_FIELDS]
        if word.lower() not in known and (close := nearest(word, known, cutoff=0.8)):
            raise RuleError(f"unknown placeholder {{{word}}}: did you mean {{{close}}}?")
    return _PLACEHOLDER.sub(name, query)


def quoted(name: str) -> str:
    """Return a name in SQL, with backquotes if it needs them."""
    return name if _NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def to_spark(query: str) -> str:
    """Return a query with its idioms of other databases in the form of Spark. All else stays as it is.

    ``quantile_cont(x, p)`` of DuckDB, ``EXTRACT(EPOCH FROM x)`` of PostgreSQL and DuckDB, and window functions inside
    an aggregate have an exact form.
    """
    return "".join(_calls(_windows(tokens(query))))


def _calls(sql: Sequence[str]) -> list[str]:
    """Rewrite calls, the inner ones of arguments too."""
    done: list[str] = []
    index = 0
    while index < len(sql):
        start = following(sql, index)
        end = closing(sql, start) if at(sql, start) == "(" and at(sql, index) in _REWRITES else None
        text = _REWRITES[at(sql, index)](_calls(sql[start + 1 : end])) if end is not None else None
        if end is None or text is None:
            done.append(sql[index])
            index += 1
        else:
            done += tokens(text)
            index = end + 1
    return done


def _extract(inner: Sequence[str]) -> str | None:
    words = [i for i in range(len(inner)) if not is_space(inner[i])]
    if len(words) < 3 or at(inner, words[0]) != "epoch" or at(inner, words[1]) != "from":
        return None
    return _EPOCH.format(x="".join(inner[words[1] + 1 :]).strip())


def _quantile(inner: Sequence[str]) -> str | None:
    parts = _split(inner)
    if len(parts) != 2:
        return None
    value, fraction = parts
    return f"percentile_cont({fraction}) WITHIN GROUP (ORDER BY {value})"


_REWRITES = {"extract": _extract, "quantile_cont": _quantile}


def _split(sql: Sequence[str]) -> list[str]:
    """Return the arguments of a call."""
    parts, depth = [""], 0
    for part in sql:
        depth += {"(": 1, ")": -1}.get(part, 0)
        if part == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += part
    return [part.strip() for part in parts]


def _windows(sql: list[str]) -> list[str]:
    """Move window functions out of aggregates, in each SELECT from one table, inner ones first."""
    done: list[str] = []
    index = 0
    while index < len(sql):
        end = (
            closing(sql, index) if sql[index] == "(" and at(sql, following(sql, index)) in ("select", "with") else None
        )
        if end is None:
            done.append(sql[index])
            index += 1
        else:
            done += ["(", *_windows(sql[index + 1 : end]), ")"]
            index = end + 1
    return _of_select(done)


def _of_select(sql: list[str]) -> list[str]:
    """Rewrite one SELECT without a join whose aggregates have windows inside."""
    places = _top_level(sql)
    calls = [call for call in _window_calls(sql) if _is_in_aggregate(sql, call)]
    start = places.get("from")
    if not calls or start is None or "union" in places:
        return sql
    end = min((i for word, i in places.items() if word in (*_CLAUSES, ";") and i > start), default=len(sql))
    source = sql[start + 1 : end]
    table = [token for token in source if not is_space(token)]
    if not table or any(t == "," or t.lower() in ("join", "lateral") for t in table):
        return sql
    rest = min((i for word, i in places.items() if word in _CLAUSES[1:] and i > start), default=len(sql))
    names = [f"__window_{number}" for number in range(len(calls))]
    columns = ", ".join(f"{''.join(sql[a:b])} AS {n}" for (a, b), n in zip(calls, names, strict=True))
    inner = f"FROM (SELECT *, {columns} FROM {''.join(sql[start + 1 : rest]).strip()}) AS {_alias(table)} "  # noqa: S608
    return [*_replaced(sql[:start], calls, names), *tokens(inner), *sql[rest:]]


def _top_level(sql: Sequence[str]) -> dict[str, int]:
    """Return the first places of words outside of parentheses."""
    places: dict[str, int] = {}
    depth = 0
    for index, word in enumerate(sql):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and (word.isalpha() or word == ";"):
            places.setdefault(word.lower(), index)
    return places


def _window_calls(sql: Sequence[str]) -> list[tuple[int, int]]:
    """Return the ranges of ``f(…) OVER (…)``, outermost ones only."""
    calls: list[tuple[int, int]] = []
    for index, token in enumerate(sql):
        start = following(sql, index)
        if not _NAME.fullmatch(token) or at(sql, start) != "(" or (calls and index < calls[-1][1]):
            continue
        end = closing(sql, start)
        over = following(sql, end) if end is not None else len(sql)
        window = following(sql, over)
        last = closing(sql, window) if at(sql, over) == "over" and at(sql, window) == "(" else None
        if last is not None:
            calls.append((index, last + 1))
    return calls


_AGGREGATES = frozenset({"min", "max", "sum", "avg", "mean", "count", "stddev", "variance", "median", "any_value"})


def _is_in_aggregate(sql: Sequence[str], call: tuple[int, int]) -> bool:
    """Whether a range of tokens is inside an aggregate without OVER."""
    for index in range(call[0]):
        start = following(sql, index)
        if at(sql, index) in _AGGREGATES and at(sql, start) == "(":
            end = closing(sql, start)
            if end is not None and start < call[0] and call[1] <= end and at(sql, following(sql, end)) != "over":
                return True
    return False


def _replaced(sql: Sequence[str], calls: Sequence[tuple[int, int]], names: Sequence[str]) -> list[str]:
    done: list[str] = []
    index = 0
    for (start, end), name in zip(calls, names, strict=True):
        done += [*sql[index:start], name]
        index = end
    return [*done, *sql[index:]]


def _alias(table: Sequence[str]) -> str:
    """Return the name by which a query knows its one table: its alias, or the last part of its name."""
    return table[-1] if table[-1] not in (")", "`") else "__rows"
