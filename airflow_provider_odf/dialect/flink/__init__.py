"""``engine: flink``: Flink SQL (names in backticks).

``ENGINE`` is for preprocess, which reads a batch. ``TRANSFORM`` has the windows of event time in addition.

The rules follow what a real Flink does, and the tests marked ``flink`` compare them with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import Dialect, exp, parser, tokens
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.tokenizer_core import TokenType

from airflow_provider_odf.dialect import arithmetic, calls, expressions, functions, group_windows, literals, types
from airflow_provider_odf.dialect.engine import Call, Engine, FunctionRule, Translator, chain
from airflow_provider_odf.dialect.flink import casts, numbers, times
from airflow_provider_odf.dialect.functions import LITERAL, SIZE, TEXT, Parameter, by_type, form, row
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, call
from airflow_provider_odf.dialect.types import BOOLEAN, INT, NULL, STRING, Type, decimal

_SYNTAX = ("CAST", "CEIL", "EXTRACT", "FLOOR", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")
_NEVER_COMPARED = (frozenset({"FLOAT", "DOUBLE"}), frozenset({"DATE", "TIMESTAMP"}))
"""Flink compares FLOAT with DOUBLE in 32 bits, and rejects a comparison of DATE with TIMESTAMP."""
_NEVER_COMMON = (*_NEVER_COMPARED, frozenset({"FLOAT", "DECIMAL"}), frozenset({"BIGINT", "DECIMAL"}))
"""Flink's common type depends on the order of the values, or counts the digits of a BIGINT differently."""
_ORDERED = functions.of_types(
    (
        "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "DATE", "TIMESTAMP", "BOOLEAN",
        "UNKNOWN",
    ),
    "a number, string, date, time or boolean",
)  # fmt: skip


class Flink(Dialect):
    """The grammar; meanings are in ``ENGINE``."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    NULL_ORDERING = "nulls_are_small"
    INDEX_OFFSET = 0

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar = ["`"]

    class Parser(parser.Parser):
        FUNC_TOKENS: ClassVar = {*parser.Parser.FUNC_TOKENS, TokenType.SESSION}
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: parser.Parser.FUNCTION_PARSERS[name] for name in _SYNTAX}

        def _parse_table(self, *args: Any, **options: Any) -> exp.Expr | None:
            """Parse TABLE(window function) as a table with a function, too."""
            if not self._match_pair(TokenType.TABLE, TokenType.L_PAREN):
                return super()._parse_table(*args, **options)
            name = self._curr
            self._advance()
            arguments = self._parse_wrapped_csv(self._parse_window_argument)
            self._match_r_paren()
            function = exp.Anonymous(this=name.text, expressions=arguments).update_positions(name)
            return exp.Table(this=function, alias=self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS))

        def _parse_window_argument(self) -> exp.Expr | None:
            """Parse TABLE name, DESCRIPTOR(column) or an interval."""
            if self._match(TokenType.TABLE):
                return self._parse_table_parts()
            if self._match_text_seq("DESCRIPTOR"):
                return self._parse_wrapped(self._parse_column)
            return self._parse_bitwise()


def is_member(value: Type, member: Type) -> bool:
    """Flink converts the list of an IN to the type of the value: 1 IN (1.5) is true, 1.5 IN (30) is null."""
    if value.is_integer:
        return member.is_integer or not member.is_numeric
    if value.is_decimal and member.is_integer:
        return value.precision - value.scale >= types.as_decimal(member).precision
    return not (value.is_decimal and member.is_float)


def if_(t: Translator, node: exp.Expr) -> Value:
    """Translate IF(condition, value, other), a CASE with one branch."""
    if node.args.get("false") is None:
        raise Refusal(node, "IF needs three arguments")
    branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
    return t.expression(exp.Case(ifs=[branch], default=node.args["false"].copy()))


_REPLACEMENT = Parameter(
    lambda value: value.text is not None,
    "a literal string",
    form=lambda value: (value.text or "").replace("\\", "\\\\").replace("$", "\\$"),
)
"""Plain text in Flink, without references to groups."""
_OPTIONAL_GROUP = ("|", ")?", ")*", "){", "(?!", "(?<!")
"""Parts of patterns in which a group may match nothing, which is null in Flink and an empty text in Spark."""


def regexp_extract(c: Call) -> Value:
    """Translate REGEXP_EXTRACT: null where nothing matches, which is an empty text in Spark."""
    group = c.arguments[2].integer if len(c.arguments) == 3 else 0
    if group and any(part in (c.arguments[1].text or "") for part in _OPTIONAL_GROUP):
        raise c.refusal("optional groups are not supported")
    template = "CASE WHEN regexp_like(a, b) THEN regexp_extract(a, b, c) END"
    return row(template, TEXT, LITERAL, SIZE, defaults=(0,))(c)


def concat(name: str) -> FunctionRule:
    """Return the rule of CONCAT, null if an argument is null, or CONCAT_WS, which ignores nulls: as in Spark."""
    return lambda c: Value(call(name, *[TEXT.of(c, index) for index in range(len(c.arguments))]), STRING)


def concatenate(t: Translator, node: exp.Expr) -> Value:
    """Translate text || text."""
    first, operators = chain(node, exp.DPipe)
    sides: Sequence[Value] = [expressions.operand(t, n) for n in (first, *(o.expression for o in operators))]
    if not all(side.type in (STRING, NULL) for side in sides):
        advice = types.advice([side.type for side in sides], "cast both sides to STRING")
        raise Refusal(node, "|| takes strings", advice)
    return Value(call("concat", *[side.sql for side in sides]), STRING)


SCALARS: dict[str, FunctionRule] = {
    **functions.SCALARS,
    **numbers.SCALARS,
    **times.SCALARS,
    **{name: row(name, TEXT) for name in ("md5", "reverse", "sha1")},
    **{name: row(name, TEXT, TEXT, result=BOOLEAN) for name in ("endswith", "startswith")},
    **{name: row(name, TEXT, SIZE, LITERAL) for name in ("lpad", "rpad")},
    **{name: row(name, TEXT, functions.WHOLE) for name in ("left", "repeat", "right")},
    **{name: row("substring", TEXT, SIZE, SIZE, defaults=(functions.LAST,)) for name in ("substr", "substring")},
    "cardinality": row("array_size", functions.ARRAY, result=INT),
    "concat": concat("concat"),
    "concat_ws": concat("concat_ws"),
    "ifnull": functions.of_common_type("coalesce"),
    "instr": row("instr", TEXT, TEXT, result=INT),
    "regexp": row("regexp_like", TEXT, LITERAL, result=BOOLEAN),
    "regexp_extract": regexp_extract,
    "regexp_replace": row("regexp_replace", TEXT, LITERAL, _REPLACEMENT),
    "sha256": row("sha2(a, 256)", TEXT),
    "sha512": row("sha2(a, 512)", TEXT),
    "translate": row("translate", TEXT, TEXT, TEXT),
}

_SUMS = {"INTEGER": "CAST(sum(a) AS {})", "DECIMAL": "CAST(sum(a) AS {})", "DOUBLE": "sum(a)"}


def _sum_type(type_: Type) -> Type:
    return decimal(types.MAX_PRECISION, type_.scale) if type_.is_decimal else type_


ENGINE = Engine(
    name="flink",
    dialect=Flink,
    nodes={
        **expressions.NODES,
        **literals.NODES,
        **functions.NODES,
        **calls.NODES,
        **casts.NODES,
        **numbers.NODES,
        **times.NODES,
        **dict.fromkeys(arithmetic.OPERATORS, arithmetic.operator_rule(arithmetic.calculate)),
        exp.Bracket: expressions.element,
        exp.DPipe: concatenate,
        exp.If: if_,
        exp.Neg: arithmetic.negation,
        exp.StrPosition: form("instr", "this", "substr"),
    },
    scalars=SCALARS,
    aggregates={
        "avg": by_type({"INTEGER": "CAST((sum(a) DIV nullif(count(a), 0)) AS {})", "DOUBLE": "avg(a)"}),
        "count": functions.count,
        "max": row("max", _ORDERED, result=None),
        "min": row("min", _ORDERED, result=None),
        # A sum that its type does not hold stops the query, where Flink wraps around.
        "sum": by_type(_SUMS, _sum_type),
    },
    windows={
        **functions.WINDOWS,
        # Both ignore nulls in Flink.
        "first_value": row("first_value(a, TRUE)", functions.ANY, result=None),
        "last_value": row("last_value(a, TRUE)", functions.ANY, result=None),
    },
    never_common=_NEVER_COMMON,
    never_compared=_NEVER_COMPARED,
    is_member=is_member,
)

TRANSFORM = replace(
    ENGINE,
    scalars={**SCALARS, **group_windows.SCALARS},
    # Flink adds FLOAT in 32 bits in the order of arrival. The sum of 64 bits, rounded once, does not depend on it.
    aggregates={
        **ENGINE.aggregates,
        "sum": by_type({**_SUMS, "FLOAT": "CAST(sum(CAST(a AS DOUBLE)) AS FLOAT)"}, _sum_type),
    },
    time_windows=("tumble", "hop", "cumulate"),
    has_event_times=True,
)
