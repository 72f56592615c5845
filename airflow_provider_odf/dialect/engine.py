"""What a source engine's dialect consists of, and the translation of one expression by it.

Everything is an allow-list: a node or a function that no rule names is refused at its place. So nothing reaches Spark
that was not looked at, whatever sqlglot learns to parse.
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


@dataclass(frozen=True)
class Call:
    """A function call whose arguments are translated already."""

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
        """:raises Refused: if the number of arguments is another."""
        most = fewest if most is None else most
        if not fewest <= len(self.arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise self.refusal(f"takes {wanted} arguments here, not {len(self.arguments)}")

    def string(self, index: int) -> Typed:
        """The argument, which must be a string; one of unknown type is checked by Spark."""
        value = self.argument(index)
        if not value.type.is_known:
            return Typed(strictly(value, STRING, f"argument {index + 1} of {self.name}"), STRING)
        if value.type != STRING:
            raise self.refusal(f"argument {index + 1} must be a string, not {value.type}", "cast it to VARCHAR")
        return value

    def text(self, index: int) -> str:
        """The argument, which must be a string literal."""
        text = self.argument(index).text
        if text is None:
            raise self.refusal(f"argument {index + 1} must be a string literal")
        return text


NodeRule = Callable[["Translation", exp.Expr], Typed]
FunctionRule = Callable[[Call], Typed]


def _itself(statement: exp.Expr) -> exp.Expr:
    return statement


def _always(value: Type, member: Type) -> bool:
    return True


def _as_it_is(value: Typed, other: Type) -> Typed:
    return value


@dataclass(frozen=True)
class Engine:
    """A source engine: how its SQL is parsed, and what each of its nodes and functions is in Spark.

    ``reasons`` say why a function is refused, where there is more to say
    than that it is not known. ``common`` is the type of a CASE over values of two types, ``compared`` the one in which
    they are compared; None where the engine and Spark do not agree. ``beside`` is a value as it is compared with one of
    a type, ``among`` are the values of a CASE as they stand beside each other. ``is_member``: whether IN
    compares values of two types as = does. ``query``: the query in a statement."""

    name: str
    dialect: type[Dialect]
    nodes: Mapping[type[exp.Expr], NodeRule]
    scalars: Mapping[str, FunctionRule]
    aggregates: Mapping[str, FunctionRule]
    windows: Mapping[str, FunctionRule]
    reasons: Mapping[str, str]
    common: Callable[[Type, Type], Type | None] = common
    compared: Callable[[Type, Type], Type | None] = common
    beside: Callable[[Typed, Type], Typed] = _as_it_is
    among: Callable[[Sequence[Typed]], list[Typed]] = list
    is_member: Callable[[Type, Type], bool] = _always
    query: Callable[[exp.Expr], exp.Expr] = _itself


@dataclass(frozen=True)
class Translation:
    """Translates expressions as a scope sees them. ``subquery`` translates a query that stands inside an expression."""

    engine: Engine
    scope: Scope
    subquery: Callable[[exp.Expr, Scope], tuple[exp.Query, Columns]]

    def expression(self, node: exp.Expr) -> Typed:
        """The Spark form of ``node`` and its type.

        :raises Refused: if no form is known to be exact."""
        rule = self.engine.nodes.get(type(node))
        if rule is None:
            raise Refused(node, f"{spelled(node)} is not known to the {self.engine.name} translation", self.advice)
        try:
            value = rule(self, node)
            limits.check_result(node, value.sql)
        except Refused:
            raise
        except RecursionError:
            raise Refused(node, "the expression is too long to be translated", "split it into queries") from None
        except Exception as e:  # a fault of a rule costs this query, and says where
            raise Refused(node, f"{spelled(node)} cannot be translated: {e!r}", self.advice) from e
        return value

    def expressions(self, nodes: Sequence[exp.Expr]) -> tuple[Typed, ...]:
        return tuple(map(self.expression, nodes))

    @property
    def advice(self) -> str:
        return "write it in another way, or use engine: spark with Spark's SQL"

    def call(self, node: exp.Anonymous, table: Mapping[str, FunctionRule], arguments: Sequence[exp.Expr]) -> Typed:
        """A call by the rule that a table of functions has for its name."""
        name = node.name.lower()
        rule = table.get(name)
        if rule is None:
            raise self.unknown_function(node, name)
        return rule(Call(self, node, node.name, self.expressions(arguments)))

    def unknown_function(self, node: exp.Expr, name: str) -> Refused:
        kinds = {"aggregate": self.engine.aggregates, "window": self.engine.windows, "scalar": self.engine.scalars}
        kind = next((kind for kind, table in kinds.items() if name in table), None)
        if kind:
            return Refused(node, f"{name} is a function of kind {kind} and not translated in this place", self.advice)
        if reason := self.engine.reasons.get(name):
            return Refused(node, f"function {name} has no exact form on Spark: {reason}", self.advice)
        return Refused(node, f"function {name} is not known to the {self.engine.name} translation", self.advice)

    def within(self, scope: Scope) -> Translation:
        return replace(self, scope=scope)


def chain(node: exp.Expr, kinds: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> tuple[exp.Expr, list[exp.Expr]]:
    """``a + b - c`` as its first operand and its operators in the order of the text, so that none recurses."""
    operators = []
    while isinstance(node, kinds):
        operators.append(node)
        node = node.this
    return node, operators[::-1]


def spelled(node: exp.Expr) -> str:
    """The node as SQL, shortened for a message."""
    words = node.sql(dialect="postgres", comments=False)
    return words if len(words) <= 60 else f"{words[:57]}..."
