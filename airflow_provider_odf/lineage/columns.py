"""Lineage of columns, from the SQL of a derivative: which columns of its inputs each of its columns is made of."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from airflow_provider_odf.protocol import SqlQueryStep

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.lineage import Node

log = logging.getLogger(__name__)

Way: TypeAlias = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
"""How a column is made of another one: OpenLineage's subtypes of direct transformations, weakest first."""

_WAYS: Sequence[Way] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


@dataclass(frozen=True, order=True)
class Origin:
    """A column of an input, which queries know as ``table``."""

    table: str
    column: str
    way: Way


def origins(
    engine: str, steps: Sequence[SqlQueryStep], tables: Mapping[str, Sequence[str]], output: Sequence[str]
) -> Mapping[str, tuple[Origin, ...]]:
    """Return the origins of columns of the last query. It is empty if they cannot be derived, as for SQL that sqlglot
    does not parse.

    :param tables: columns of the inputs, by name in the queries.
    :param output: columns of the last query.
    """
    from airflow_provider_odf.dialect import limits

    try:
        with limits.room():
            return _origins(engine, steps, tables, output)
    except Exception as e:  # The query has run: a gap of the analysis must not hide the lineage of datasets.
        log.info("no column lineage: the query cannot be analyzed: %s", e)
        return {}


def _origins(
    engine: str, steps: Sequence[SqlQueryStep], tables: Mapping[str, Sequence[str]], output: Sequence[str]
) -> Mapping[str, tuple[Origin, ...]]:
    from sqlglot.lineage import lineage

    schema = {_plain(table): {_plain(column): "text" for column in columns} for table, columns in tables.items()}
    spelled = {
        (_plain(table), _plain(column)): (table, column) for table, columns in tables.items() for column in columns
    }
    nodes = lineage(None, _whole(engine, steps), schema, trim_selects=False, copy=False)
    result: dict[str, tuple[Origin, ...]] = {}
    for column in output:
        strongest: dict[tuple[str, str], int] = {}
        for leaf, way in _leaves(nodes[_plain(column)], 0) if _plain(column) in nodes else ():
            if leaf in spelled:
                strongest[spelled[leaf]] = max(way, strongest.get(spelled[leaf], 0))
        if strongest:
            result[column] = tuple(sorted(Origin(*names, _WAYS[way]) for names, way in strongest.items()))
    return result


def _plain(name: str) -> str:
    """Return a name that needs no quotes: sqlglot reads the points in names of datasets as those of schemas. Names are
    in lower case, since no two of them differ only in case."""
    return re.sub(r"\W", lambda char: f"_{ord(char[0]):x}_", name.lower())


def _whole(engine: str, steps: Sequence[SqlQueryStep]) -> exp.Query:
    """Return all queries as one, in which the earlier ones are common table expressions."""
    from sqlglot import exp

    *before, last = (_parsed(engine, step.query) for step in steps)
    with_ = [
        exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(_plain(step.alias or ""))))
        for query, step in zip(before, steps, strict=False)
    ]
    if with_:
        own = last.args.get("with_")
        last.set("with_", exp.With(expressions=[*with_, *(own.expressions if own else [])]))
    return last


def _parsed(engine: str, query: str) -> exp.Query:
    from sqlglot import Dialect, exp

    from airflow_provider_odf.dialect import limits
    from airflow_provider_odf.dialect.translate import ENGINES

    known = ENGINES.get(engine)
    dialect = Dialect.get_or_raise(known.dialect if known else "spark" if engine == "spark" else "postgres")
    tokens = dialect.tokenize(query)
    limits.check_nesting(tokens)
    (tree,) = dialect.parser().parse(tokens, query)
    tree = known.query(tree) if known and tree else tree
    if not isinstance(tree, exp.Query):
        raise ValueError("it is not a SELECT")
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", _plain(identifier.name))
        identifier.set("quoted", False)
    return tree


def _leaves(node: Node, way: int) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield table and column of each origin, with the strongest way on the path to it."""
    from sqlglot import exp

    if isinstance(node.expression, exp.Table):
        yield (node.expression.name, exp.to_column(node.name).name), way
        return
    way = max(way, _way(node.expression))
    for below in node.downstream:
        yield from _leaves(below, way)


def _way(expression: exp.Expr) -> int:
    from sqlglot import exp

    inner = expression.unalias()
    if isinstance(inner, exp.Column | exp.Query):
        return _WAYS.index("IDENTITY")
    return _WAYS.index("AGGREGATION" if any(map(_aggregates, inner.walk())) else "TRANSFORMATION")


def _aggregates(node: exp.Expr) -> bool:
    """Return whether a node is an aggregate function; some dialects leave their functions unparsed."""
    from sqlglot import exp

    from airflow_provider_odf.dialect.translate import ENGINES

    if isinstance(node, exp.Anonymous):
        return any(node.name.lower() in engine.aggregates for engine in ENGINES.values())
    return isinstance(node, exp.AggFunc)
