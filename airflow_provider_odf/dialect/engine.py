"""The dialect of a source engine as tables of rules, the translation of an expression with them, and the tables that
its queries read.

The tables of rules are an allow-list: a node or function without a rule is refused. So nothing reaches Spark unchecked,
even if sqlglot learns new syntax.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from sqlglot import Dialect, exp

from airflow_provider_odf.dialect import parsing, types
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value
from airflow_provider_odf.dialect.types import Columns, Scope, Type
from airflow_provider_odf.protocol import DatasetVocabulary
from airflow_provider_odf.run_functions import RUN_FUNCTIONS

ADVICE = "write it in another way, or use engine: spark with Spark's SQL"


@dataclass(frozen=True)
class Call:
    """A function call with translated arguments."""

    translator: Translator
    node: exp.Expr
    name: str
    arguments: Sequence[Value]

    def refusal(self, message: str, advice: str = "") -> Refusal:
        return Refusal(self.node, f"{self.name}: {message}", advice)

    def expect(self, minimum: int, maximum: int | None = None) -> Sequence[Value]:
        """Return the arguments.

        :raises Refusal: there are too few or too many."""
        maximum = minimum if maximum is None else maximum
        if not minimum <= len(self.arguments) <= maximum:
            wanted = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
            raise self.refusal(f"takes {wanted} arguments here, not {len(self.arguments)}")
        return self.arguments


NodeRule = Callable[["Translator", exp.Expr], Value]
FunctionRule = Callable[[Call], Value]


@dataclass(frozen=True)
class Engine:
    """A source engine: its parser, and the rules for its nodes and functions.

    Values of two type names in ``never_common`` have no common type in CASE, those in ``never_compared`` are not
    compared. ``is_member`` returns whether IN compares two types like =. ``query`` returns the query in a statement.

    In transforms, ``time_windows`` are the window functions in FROM. With ``has_event_times``, windows and joins of
    event times wait for the watermark."""

    name: str
    dialect: type[Dialect]
    nodes: Mapping[type[exp.Expr], NodeRule]
    scalars: Mapping[str, FunctionRule]
    aggregates: Mapping[str, FunctionRule]
    windows: Mapping[str, FunctionRule]
    never_common: Collection[frozenset[str]] = ()
    never_compared: Collection[frozenset[str]] = ()
    is_member: Callable[[Type, Type], bool] = lambda value, member: True
    query: Callable[[exp.Expr], exp.Expr] = lambda statement: statement
    time_windows: Collection[str] = ()
    has_event_times: bool = False

    def common(self, left: Type, right: Type) -> Type | None:
        """Return the type of a CASE over values of two types, or None if this engine and Spark differ."""
        return None if frozenset((left.name, right.name)) in self.never_common else types.common(left, right)

    def compared(self, left: Type, right: Type) -> Type | None:
        """Return the type in which two types are compared, or None if this engine and Spark differ."""
        return None if frozenset((left.name, right.name)) in self.never_compared else types.common(left, right)


@dataclass(frozen=True)
class Translator:
    """Translates expressions in a scope. ``subquery`` translates a query inside an expression.

    ``ties`` are the columns that order rows where the query does not, or None if they keep the order of arrival."""

    engine: Engine
    scope: Scope
    subquery: Callable[[exp.Expr, Scope], tuple[exp.Query, Columns]]
    ties: tuple[exp.Expr, ...] | None = None

    def expression(self, node: exp.Expr) -> Value:
        """Return ``node`` as a Spark expression with its type.

        :raises Refusal: there is no exact translation."""
        rule = self.engine.nodes.get(type(node))
        if rule is None:
            raise Refusal(node, f"{spell(node)} is not supported by the {self.engine.name} translation", ADVICE)
        try:
            value = rule(self, node)
            parsing.check_result(node, value.sql)
        except Refusal:
            raise
        except RecursionError:
            raise Refusal(
                node, "the expression is too long to be translated", "split it into several queries"
            ) from None
        except Exception as e:  # a bug in a rule refuses the query with its place
            raise Refusal(node, f"{spell(node)} cannot be translated: {e!r}", ADVICE) from e
        return value

    def expressions(self, nodes: Sequence[exp.Expr]) -> Sequence[Value]:
        return tuple(map(self.expression, nodes))

    def call(
        self, node: exp.Expr, table: Mapping[str, FunctionRule], arguments: Sequence[exp.Expr], name: str = ""
    ) -> Value:
        """Translate a call with the rule for its name in a table of functions."""
        name = name or node.name
        rule = table.get(name.lower())
        if rule is None:
            raise self._unknown_function(node, name.lower())
        return rule(Call(self, node, name, self.expressions(arguments)))

    def _unknown_function(self, node: exp.Expr, name: str) -> Refusal:
        if name in RUN_FUNCTIONS:
            advice = "use columns instead, such as the event time"
            return Refusal(node, f"{name} has another value in each run", advice)
        kinds = {"aggregate": self.engine.aggregates, "window": self.engine.windows, "scalar": self.engine.scalars}
        kind = next((kind for kind, table in kinds.items() if name in table), None)
        if kind:
            return Refusal(node, f"{kind} function {name} is not supported in this place", ADVICE)
        return Refusal(node, f"function {name} is not supported by the {self.engine.name} translation", ADVICE)


def refuse_others(node: exp.Expr, allowed: Collection[str]) -> None:
    """:raises Refusal: the node has a part that is not allowed."""
    for key, value in node.args.items():
        if key not in allowed and value not in (None, False, [], ""):
            first = value[0] if isinstance(value, list) else value
            place = first if isinstance(first, exp.Expression) else node
            raise Refusal(place, f"{key.strip('_').replace('_', ' ').upper()} is not supported here")


def chain(node: exp.Expr, kinds: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return the first operand of ``a + b - c`` and its operators in the order of the text, so that none recurses."""
    operators = []
    while isinstance(node, kinds):
        operators.append(node)
        node = node.this
    return node, operators[::-1]


def spell(node: exp.Expr) -> str:
    """Return the node as SQL, shortened for a message."""
    words = node.sql(dialect="postgres", comments=False)
    return words if len(words) <= 60 else f"{words[:57]}..."


@dataclass(frozen=True)
class TemporalTable:
    """An input whose versions can be read: its name, primary key and system columns, and the columns that order records
    of one event time before their offset does."""

    name: str
    primary_key: tuple[str, ...]
    vocab: DatasetVocabulary
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tables(ABC):
    """Inputs, earlier steps and WITH. Keys of ``tables`` are in lower case.

    ``outer`` is the scope of the expression around a query. In transforms, ``temporal_tables`` has the inputs whose
    versions can be read."""

    engine: Engine
    tables: Mapping[str, tuple[str, Columns]]
    outer: Scope | None = None
    temporal_tables: Mapping[str, TemporalTable] | None = None

    def with_table(self, name: str, columns: Columns) -> Self:
        """Return the same with one more table, which hides another one of this name."""
        others = self.temporal_tables and {n: t for n, t in self.temporal_tables.items() if n != name.lower()}
        return replace(self, tables={**self.tables, name.lower(): (name, columns)}, temporal_tables=others)

    @property
    def is_transform(self) -> bool:
        return self.temporal_tables is not None

    def table(self, node: exp.Expr) -> tuple[str, Columns]:
        """Return name and columns of the table that a node names.

        :raises Refusal: it does not exist."""
        parts = [part.name for part in node.parts] if isinstance(node, exp.Table | exp.Column) else []
        if len(parts) != 1:
            advice = "quote a name with dots as a whole"
            raise Refusal(node, f"table {'.'.join(parts)} does not exist", advice)
        if parts[0].lower() not in self.tables:
            names = ", ".join(name for name, _ in self.tables.values())
            raise Refusal(node, f"table {parts[0]} does not exist", f"tables: {names}")
        return self.tables[parts[0].lower()]

    def translator(self, scope: Scope) -> Translator:
        return Translator(self.engine, scope, self.subquery)

    @abstractmethod
    def subquery(self, node: exp.Expr, scope: Scope) -> tuple[exp.Query, Columns]:
        """Return the translation of a query inside an expression."""

    @abstractmethod
    def query(self, node: exp.Expr, *, is_named: bool = True) -> tuple[exp.Query, Columns]:
        """Return the query for Spark and its columns. With ``is_named`` every column needs a name that the engines
        share.

        :raises Refusal: there is no exact translation."""
