"""The dialect of a source engine as tables of rules, and the translation of an expression with them.

The tables are an allow-list: a node or function without a rule is refused. So nothing reaches Spark unchecked, even if
sqlglot learns new syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import Dialect, exp

from airflow_provider_odf.dialect import limits
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.scope import Columns, Scope
from airflow_provider_odf.dialect.typed import Typed, strictly
from airflow_provider_odf.dialect.types import STRING, Type, common

ADVICE = "write it in another way, or use engine: spark with Spark's SQL"


@dataclass(frozen=True)
class Call:
    """A function call with translated arguments."""

    translation: Translation
    node: exp.Expr
    name: str
    arguments: tuple[Typed, ...]

    def refusal(self, message: str, advice: str = "") -> Refused:
        return Refused(self.node, f"{self.name}: {message}", advice)

    def argument(self, index: int) -> Typed:
        if index >= len(self.arguments):
            raise self.refusal(f"needs at least {index + 1} arguments")
        return self.arguments[index]

    def expect(self, fewest: int, most: int | None = None) -> None:
        """:raises Refused: the number of arguments is out of range."""
        most = fewest if most is None else most
        if not fewest <= len(self.arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise self.refusal(f"takes {wanted} arguments here, not {len(self.arguments)}")

    def only(self) -> Typed:
        """Return the only argument.

        :raises Refused: there is not exactly one."""
        self.expect(1)
        return self.argument(0)

    def string(self, index: int) -> exp.Expr:
        """Return an argument that must be a string. If its type is unknown, Spark checks it."""
        value = self.argument(index)
        if not value.type.is_known:
            return strictly(value, STRING, f"argument {index + 1} of {self.name}")
        if value.type != STRING:
            raise self.refusal(f"argument {index + 1} must be a string, not {value.type}", "cast it to VARCHAR")
        return value.sql

    def text(self, index: int) -> str:
        """Return an argument that must be a string literal."""
        text = self.argument(index).text
        if text is None:
            raise self.refusal(f"argument {index + 1} must be a string literal")
        return text

    def size(self, index: int, least: int = 0) -> int:
        """Return an argument that must be a literal whole number of at least ``least``."""
        value = self.argument(index).integer
        if value is None or value < least:
            raise self.refusal(f"argument {index + 1} must be a literal whole number from {least} on")
        return value


NodeRule = Callable[["Translation", exp.Expr], Typed]
FunctionRule = Callable[[Call], Typed]


@dataclass(frozen=True)
class Engine:
    """A source engine: its parser, and the rules for its nodes and functions.

    ``common`` returns the type of a CASE over values of two types, ``compared`` the type in which two are compared, or
    None if the engine and Spark differ. ``is_member`` returns whether IN compares two types like =. ``query`` returns
    the query in a statement."""

    name: str
    dialect: type[Dialect]
    nodes: Mapping[type[exp.Expr], NodeRule]
    scalars: Mapping[str, FunctionRule]
    aggregates: Mapping[str, FunctionRule]
    windows: Mapping[str, FunctionRule]
    common: Callable[[Type, Type], Type | None] = common
    compared: Callable[[Type, Type], Type | None] = common
    is_member: Callable[[Type, Type], bool] = lambda value, member: True
    query: Callable[[exp.Expr], exp.Expr] = lambda statement: statement


@dataclass(frozen=True)
class Translation:
    """Translates expressions in a scope. ``subquery`` translates a query inside an expression."""

    engine: Engine
    scope: Scope
    subquery: Callable[[exp.Expr, Scope], tuple[exp.Query, Columns]]

    def expression(self, node: exp.Expr) -> Typed:
        """Return ``node`` as a Spark expression with its type.

        :raises Refused: there is no exact translation."""
        rule = self.engine.nodes.get(type(node))
        if rule is None:
            raise Refused(node, f"{spell(node)} is not supported by the {self.engine.name} translation", ADVICE)
        try:
            value = rule(self, node)
            limits.check_result(node, value.sql)
        except Refused:
            raise
        except RecursionError:
            raise Refused(node, "the expression is too long to be translated", "split it into queries") from None
        except Exception as e:  # a bug in a rule refuses the query with its place
            raise Refused(node, f"{spell(node)} cannot be translated: {e!r}", ADVICE) from e
        return value

    def expressions(self, nodes: Sequence[exp.Expr]) -> tuple[Typed, ...]:
        return tuple(map(self.expression, nodes))

    def call(self, node: exp.Expr, table: Mapping[str, FunctionRule], arguments: Sequence[exp.Expr]) -> Typed:
        """Translate a call with the rule for its name in a table of functions."""
        rule = table.get(node.name.lower())
        if rule is None:
            raise self._unknown_function(node, node.name.lower())
        return rule(Call(self, node, node.name, self.expressions(arguments)))

    def _unknown_function(self, node: exp.Expr, name: str) -> Refused:
        kinds = {"aggregate": self.engine.aggregates, "window": self.engine.windows, "scalar": self.engine.scalars}
        kind = next((kind for kind, table in kinds.items() if name in table), None)
        if kind:
            return Refused(node, f"{kind} function {name} is not translated in this place", ADVICE)
        return Refused(node, f"function {name} is not supported by the {self.engine.name} translation", ADVICE)

    def within(self, scope: Scope) -> Translation:
        return replace(self, scope=scope)


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
