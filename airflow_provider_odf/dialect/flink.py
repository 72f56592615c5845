"""``engine: flink``: Flink SQL (names in backticks).

``ENGINE`` is for preprocess, which reads a batch. ``TRANSFORM`` has the windows of event time in addition.

The rules follow what a real Flink does, and the tests marked ``flink`` compare them with it. Where Flink wraps around
or saturates, the query stops instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sqlglot import Dialect, exp, parser, tokens
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.tokenizer_core import TokenType

from airflow_provider_odf.dialect import arithmetic, expressions, flink_functions, functions, ordering, types, windows
from airflow_provider_odf.dialect.engine import Call, Engine, FunctionRule, Translator, chain, spell
from airflow_provider_odf.dialect.expressions import time_literal
from airflow_provider_odf.dialect.flink_functions import read_time
from airflow_provider_odf.dialect.functions import LITERAL, SIZE, TEXT, Parameter, by_type, form, row
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.dialect.spark import Value, call, sql
from airflow_provider_odf.dialect.spark import cast as cast_to
from airflow_provider_odf.dialect.spark import try_cast as try_cast_to
from airflow_provider_odf.dialect.types import BOOLEAN, INT, NULL, STRING, Type, decimal, of_data_type, timestamp

_NUMBERS = ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL")
_CASTS = {
    "INTEGER": (*_NUMBERS, "BOOLEAN", "STRING"),
    "FLOAT": ("INTEGER", "FLOAT", "DOUBLE", "STRING"),
    "DOUBLE": (*_NUMBERS, "STRING"),
    "DECIMAL": ("INTEGER", "DOUBLE", "DECIMAL", "STRING"),
    "STRING": (*_NUMBERS, "BOOLEAN", "STRING", "DATE", "TIMESTAMP"),
    "BOOLEAN": ("BOOLEAN", "INTEGER", "STRING"),
    "DATE": ("DATE", "TIMESTAMP", "STRING"),
    "TIMESTAMP": ("DATE", "TIMESTAMP", "STRING"),
}
"""The types to which a CAST of a type is supported."""
_UNITS = {0: "second", 3: "millisecond"}
_FRACTIONS = {0: "", 3: ".SSS", 6: ".SSSSSS"}
"""The fraction of a second in text, by the precision of a TIMESTAMP."""
_DEFAULT_DIGITS = 6
_NO_TARGETS = ("UNKNOWN", "TIME", "STRUCT", "ARRAY", "BINARY")
_COMPACT_DIGITS = range(types.EXACT_DOUBLE_DIGITS + 1, 19)
"""Digits of a DECIMAL that Flink stores as an integer, which it converts to DOUBLE in two steps."""
_MAX_LENGTH = 2**31 - 1

_WHOLE = "^ *[+-]?[0-9]+ *$"
_NUMBER = r"^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
_NO_WHOLE = "^[^0-9]*$|[A-Za-z]"
_NO_NUMBER = r"^[^0-9nNiI]*$|[^0-9A-Fa-fxXpPiInNtTyY.+\-\s]"
"""Strings that Java cannot parse as a number in any notation."""
_TRY_NUMBER = (
    "CASE WHEN regexp_like(a, b) THEN c WHEN a IS NULL OR regexp_like(a, d) THEN NULL "
    "ELSE raise_error(concat("
    "'TRY_CAST: engines may parse this string as different numbers (correct or filter it first): ', a)) END"
)


def cast(t: Translator, node: exp.Expr) -> Value:
    """Translate CAST(… AS type), and ``type 'literal'``."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type == NULL:
        return Value(cast_to(value.sql, type_), type_)
    if value.type == STRING and type_ == timestamp(0):
        raise Refusal(node, "a CAST of a string to TIMESTAMP(0) is not supported", "cast it to TIMESTAMP(3) first")
    if value.text is not None and type_.is_time:
        literal = time_literal(node, value.text, type_)
        # Without a precision it may be a literal, which has as many digits as its text.
        return Value(literal.sql, type_) if node.args["to"].expressions else literal
    if type_.family not in _CASTS.get(value.type.family, ()):
        advice = types.advice([value.type], "")
        raise Refusal(node, f"CAST of {value.type} to {type_} is not supported", advice)
    if type_.is_float and value.type.scale and value.type.precision in _COMPACT_DIGITS:
        advice = f"cast to DECIMAL({_COMPACT_DIGITS.stop},{value.type.scale}) first"
        raise Refusal(node, f"Flink rounds {value.type} twice when it converts to DOUBLE", advice)
    return Value(_shorten(node, _text(node, value)) if type_ == STRING else _convert(value, type_), type_)


def try_cast(t: Translator, node: exp.Expr) -> Value:
    """Translate TRY_CAST of text: null if it is no such value. Text that engines may read as different values stops
    the query."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type != STRING or not (type_.is_time or type_.is_numeric):
        advice = types.advice([value.type], "TRY_CAST takes strings here")
        raise Refusal(node, f"TRY_CAST of {value.type} to {type_} is not supported", advice)
    if type_.is_time:
        return Value(read_time(value.sql, type_, or_null=True), type_)
    is_number, is_other = (_WHOLE, _NO_WHOLE) if type_.is_integer else (_NUMBER, _NO_NUMBER)
    return Value(sql(_TRY_NUMBER, value.sql, is_number, try_cast_to(value.sql, type_), is_other), type_)


def _target(node: exp.Expr) -> Type:
    target: exp.DataType = node.args["to"]
    type_ = of_data_type(target, timestamp(_DEFAULT_DIGITS))
    if target.this in (exp.DType.CHAR, exp.DType.NCHAR):
        raise Refusal(node, "Flink pads CHAR with spaces, but Spark does not", "use STRING or VARCHAR")
    if target.this == exp.DType.TIMESTAMPTZ or type_.name in _NO_TARGETS:
        raise Refusal(node, f"a CAST to {spell(target)} is not supported")
    if not type_.is_timestamp or not target.expressions:
        return type_
    digits = target.expressions[0].name
    if digits not in map(str, _FRACTIONS):
        raise Refusal(node, f"TIMESTAMP({digits}) is not supported", "use a precision of 0, 3 or 6")
    return timestamp(int(digits))


def _convert(value: Value, type_: Type) -> exp.Expr:
    if value.type == STRING and type_.is_time:
        return read_time(value.sql, type_, or_null=False)
    if value.type.is_timestamp and type_.is_timestamp:
        # A coarser precision cuts; an unknown one may have more digits.
        is_coarser = type_.precision in _UNITS and not 0 <= value.type.precision <= type_.precision
        return call("date_trunc", _UNITS[type_.precision], value.sql) if is_coarser else value.sql
    return cast_to(value.sql, type_)


def _text(node: exp.Expr, value: Value) -> exp.Expr:
    if value.type == STRING:
        return value.sql
    if not value.type.is_timestamp:
        text = cast_to(value.sql, STRING)
        return call("upper", text) if value.type.name == "BOOLEAN" else text
    if value.type.precision not in _FRACTIONS:
        message = "the result depends on the precision of the TIMESTAMP, which is unknown"
        raise Refusal(node, message, "cast it to TIMESTAMP(3) first")
    return call("date_format", value.sql, f"yyyy-MM-dd HH:mm:ss{_FRACTIONS[value.type.precision]}")


def _shorten(node: exp.Expr, text: exp.Expr) -> exp.Expr:
    """VARCHAR(n) cuts a text, which Spark's CAST does not."""
    length = node.args["to"].expressions
    if not length:
        return text
    digits = length[0].name
    if not digits.isdigit() or len(digits) > len(str(_MAX_LENGTH)) or not 1 <= int(digits) <= _MAX_LENGTH:
        raise Refusal(node, f"VARCHAR takes a length from 1 to {_MAX_LENGTH}")
    return call("left", text, int(digits))


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
    **flink_functions.SCALARS,
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
        **functions.NODES,
        **ordering.NODES,
        **flink_functions.NODES,
        **dict.fromkeys(arithmetic.OPERATORS, arithmetic.operator_rule(arithmetic.calculate)),
        exp.Cast: cast,
        exp.TryCast: try_cast,
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
    scalars={**SCALARS, **windows.SCALARS},
    # Flink adds FLOAT in 32 bits in the order of arrival. The sum of 64 bits, rounded once, does not depend on it.
    aggregates={
        **ENGINE.aggregates,
        "sum": by_type({**_SUMS, "FLOAT": "CAST(sum(CAST(a AS DOUBLE)) AS FLOAT)"}, _sum_type),
    },
    time_windows=("tumble", "hop", "cumulate"),
    has_event_times=True,
)
