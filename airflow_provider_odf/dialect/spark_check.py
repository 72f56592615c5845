"""Check a query of ``engine: spark`` without Spark: whether it is one SELECT, its brackets, functions and columns.

A refusal here is certain: Spark refuses the query too. Spark has syntax that the parser does not know, so a query that
cannot be parsed is left to Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf.dialect import parsing
from airflow_provider_odf.dialect.parsing import Refusal, at
from airflow_provider_odf.wording import nearest, suggestion

BUILTIN = frozenset((Path(__file__).parent / "spark_functions.txt").read_text().split())
"""Names of the built-in functions of Spark 4.2, for checks without Spark. A test compares them with Spark's."""

OF_THE_GRAMMAR = frozenset(("date_diff", "identifier", "timediff", "timestampadd", "timestampdiff", "try_cast"))
"""Functions of Spark's grammar that its registries do not have."""


_DIALECT = Dialect.get_or_raise("spark")
_STATEMENTS = (
    "alter", "analyze", "call", "create", "delete", "describe", "drop", "execute", "explain", "grant", "insert", "load",
    "merge", "refresh", "reset", "revoke", "set", "show", "truncate", "update", "use",
)  # fmt: skip
"""First words of statements that are not queries."""
_OPENING = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}
_NAMES_COLUMNS = (
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "range",
    "session_window", "stack", "table", "values", "variant_explode", "variant_explode_outer", "window",
)  # fmt: skip
"""Words whose columns have names that no query writes."""
_UNITS = (
    "century", "day", "dayofweek", "dayofyear", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear",
    "microsecond", "millennium", "millisecond", "minute", "month", "quarter", "second", "week", "year",
)  # fmt: skip
"""Words of functions that the parser may take for columns."""
_NEW_SCOPES = (exp.Pivot, exp.Lateral, exp.Unnest, exp.Values, exp.Tuple, exp.TableFromRows, exp.Explode, exp.Inline)


def tokens(query: str) -> list[Token] | None:
    """Return the tokens of a query, or None if only Spark can read it."""
    try:
        return _DIALECT.tokenize(query)
    except SqlglotError:
        return None


def parsed(query: str) -> exp.Expr | None:
    """Return the statement of a query, or None if only Spark can read it."""
    try:
        with parsing.room():
            return parsing.parse(query, _DIALECT)
    except (SqlglotError, Refusal, RecursionError):
        return None


def check(query: str) -> None:
    """Check what needs no columns.

    :raises Refusal: Spark refuses the query.
    """
    words = tokens(query)
    if words is None:
        return
    _check_statement(words)
    _check_brackets(words)
    tree = parsed(query)
    if tree is not None:
        _check_functions(words, tree)


def check_columns(query: str, tables: Mapping[str, Collection[str]], columns: Collection[str]) -> None:
    """Check that each column is one of the inputs, or has a name in the query.

    :param tables: columns of inputs and earlier queries by name, all in lower case.
    :param columns: names of all columns, in lower case.
    :raises Refusal: a column has neither.
    """
    tree = parsed(query)
    if tree is None or not has_names(query, tables):
        return
    known = {*map(str.lower, columns), *_names_in(tree)}
    aliases = _aliases_in(tree, tables, columns)
    for column in tree.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts if isinstance(part, exp.Identifier)]
        own = aliases.get(parts[0]) if len(parts) > 1 else None
        if own is not None and parts[1] not in own and parts[1].isidentifier():
            raise Refusal(column, f"column {column.sql(_DIALECT)} does not exist", suggestion(parts[1], sorted(own)))
        # What follows a column is a field of it.
        if parts and parts[0] in tables and parts[0] not in known and len(parts) > 1:
            parts = parts[1:]
        is_known = not parts or parts[0] in known | BUILTIN or parts[0] in tables
        if not is_known and parts[0].isidentifier() and parts[0] not in _UNITS:
            raise Refusal(
                column, f"column {column.sql(_DIALECT)} does not exist", suggestion(parts[0], sorted(columns))
            )


def _aliases_in(tree: exp.Expr, tables: Mapping[str, Collection[str]], columns: Collection[str]) -> dict[str, set[str]]:
    """Return the columns of each name that stands only for inputs and earlier queries, wherever the query gives it: not
    for a column, a subquery or a common table expression, too."""
    others = {name.lower() for name in columns} | {*_names_in(tree, of_tables=False)}
    columns_of = dict[str, set[str]]()
    for table in tree.find_all(exp.Table):
        name, source = table.alias_or_name.lower(), table.name.lower()
        is_plain = isinstance(table.this, exp.Identifier) and not table.db and not table.alias_column_names
        if is_plain and source in tables and source not in others:
            columns_of.setdefault(name, set()).update(tables[source])
        else:
            others.add(name)
    return {name: own for name, own in columns_of.items() if name not in others}


def has_names(query: str, tables: Collection[str]) -> bool:
    """Whether a query writes the names of all columns that it makes: not those of functions and fields."""
    words, tree = tokens(query), parsed(query)
    if words is None or tree is None or any(tree.find(kind) for kind in _NEW_SCOPES):
        return False
    if not {word.text.lower() for word in words}.isdisjoint(_NAMES_COLUMNS):
        return False
    named = {*tables, *(table.name.lower() for table in tree.find_all(exp.Table, exp.TableAlias))}
    stars = [column for column in tree.find_all(exp.Column) if isinstance(column.this, exp.Star)]
    return all(star.table.lower() in named for star in stars)


def given_names(query: str) -> set[str]:
    """Return the names that a query gives to columns, in lower case, and others."""
    tree = parsed(query)
    return set(_names_in(tree)) if tree is not None else set()


def _names_in(tree: exp.Expr, of_tables: bool = True) -> Iterator[str]:
    """Yield the names that a query gives to columns, tables, windows and parameters, in lower case. Without
    ``of_tables``, the aliases of tables that exist without the query are absent."""
    for node in tree.walk():
        if not of_tables and isinstance(node, exp.TableAlias) and isinstance(node.parent, exp.Table):
            continue
        if isinstance(node, exp.Alias | exp.CTE | exp.TableAlias | exp.Window | exp.PropertyEQ | exp.Kwarg):
            yield node.alias.lower() if not isinstance(node, exp.TableAlias) else node.name.lower()
        if isinstance(node, exp.TableAlias):
            yield from (column.name.lower() for column in node.columns)
        if isinstance(node, exp.Lambda | exp.Aliases):
            yield from (name.name.lower() for name in node.expressions)


def _check_statement(words: Sequence[Token]) -> None:
    first = next((word for word in words if word.token_type != TokenType.L_PAREN), None)
    if first is not None and first.text.lower() in _STATEMENTS:
        raise Refusal(
            at(first), f"a query must be one SELECT, not {first.text.upper()}", "write a SELECT over the inputs"
        )
    for word, after in pairwise(words):
        if word.token_type == TokenType.SEMICOLON and after.token_type != TokenType.SEMICOLON:
            raise Refusal(at(after), "one query is expected, not several", "split it into several queries with aliases")


def _check_brackets(words: Sequence[Token]) -> None:
    opened: list[Token] = []
    for word in words:
        if word.token_type in _OPENING.values():
            opened.append(word)
            continue
        opening = _OPENING.get(word.token_type)
        if opening is not None and (not opened or opened.pop().token_type != opening):
            raise Refusal(at(word), f"'{word.text}' closes no bracket", "remove it, or open the bracket")
    if opened:
        raise Refusal(at(opened[-1]), f"'{opened[-1].text}' is not closed", "close the bracket")


def _check_functions(words: Sequence[Token], tree: exp.Expr) -> None:
    """Names that are followed by a parenthesis are functions, unless the query gives the name to something."""
    named = set(_names_in(tree))
    calls = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    before: Token | None = None
    for word, after in pairwise(words):
        name = word.text.lower()
        is_call = word.token_type == TokenType.VAR and after.token_type == TokenType.L_PAREN
        is_part = before is not None and before.token_type == TokenType.DOT
        if is_call and not is_part and name in calls and name not in BUILTIN | OF_THE_GRAMMAR | named:
            near = nearest(name, BUILTIN)
            advice = f"did you mean `{near}`?" if near else "use only built-in functions"
            raise Refusal(at(word), f"{word.text} is not a built-in function of Spark", advice)
        before = word
