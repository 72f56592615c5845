"""Building blocks of function tables: how arguments are taken, and rules for functions that Spark has too."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.expressions import NEGATED_DIGITS, comparable, negated, unified
from airflow_provider_odf.dialect.typed import Typed, as_int, call, converted, switch
from airflow_provider_odf.dialect.types import BOOLEAN, DOUBLE, NULL, Type

Parameter = Callable[[Call, int], exp.Expr]


def string(c: Call, index: int) -> exp.Expr:
    return c.string(index).sql


def double(c: Call, index: int) -> exp.Expr:
    """A number as DOUBLE. FLOAT is refused: engines go on with 32 bits, Spark does not; so are long decimals."""
    value = c.argument(index)
    if value.type.is_integer or value.type in (DOUBLE, NULL):
        return converted(value, DOUBLE)
    raise c.refusal(f"argument {index + 1} must be DOUBLE or a whole number, not {value.type}", "cast it to DOUBLE")


def whole(c: Call, index: int) -> exp.Expr:
    """A whole number as INT."""
    value = c.argument(index)
    if not value.type.is_integer:
        raise c.refusal(f"argument {index + 1} must be a whole number, not {value.type}", "cast it to INT")
    return as_int(value)


def size(c: Call, index: int) -> exp.Expr:
    """A literal whole number that is not negative."""
    value = c.argument(index).integer
    if value is None or value < 0:
        raise c.refusal(f"argument {index + 1} must be a literal whole number, not negative")
    return exp.Literal.number(value)


def array(c: Call, index: int) -> exp.Expr:
    value = c.argument(index)
    if value.type.name != "ARRAY":
        raise c.refusal(f"argument {index + 1} must be an array, not {value.type}")
    return value.sql


def boolean(c: Call, index: int) -> exp.Expr:
    value = c.argument(index)
    if value.type not in (BOOLEAN, NULL):
        raise c.refusal(f"argument {index + 1} must be a BOOLEAN, not {value.type}")
    return value.sql


def plain(name: str, *parameters: Parameter, result: Type, optional: int = 0) -> FunctionRule:
    """A function that Spark has under ``name`` with the same meaning; the last ``optional`` arguments may miss."""

    def rule(c: Call) -> Typed:
        c.expect(len(parameters) - optional, len(parameters))
        arguments = [take(c, i) for i, take in enumerate(parameters[: len(c.arguments)])]
        return Typed(call(name, *arguments), result)

    return rule


def same_type(name: str, is_allowed: Callable[[Type], bool], kinds: str) -> FunctionRule:
    """A function of one argument whose result has the argument's type."""

    def rule(c: Call) -> Typed:
        c.expect(1)
        value = c.argument(0)
        if not is_allowed(value.type):
            raise c.refusal(f"takes {kinds} here, not {value.type}")
        return Typed(call(name, value.sql), value.type)

    return rule


def over_common_type(name: str) -> FunctionRule:
    """A function of any number of values of one type, such as coalesce and greatest."""

    def rule(c: Call) -> Typed:
        values = list(c.arguments)
        if not values:
            raise c.refusal("needs arguments")
        forms, type_ = unified(c.translation, c.node, values)
        return Typed(call(name, *forms) if len(forms) > 1 else forms[0], type_)

    return rule


def extreme(name: str) -> FunctionRule:
    """greatest and least. Engines order -0.0 and 0.0 differently."""
    of_any = over_common_type(name)

    def rule(c: Call) -> Typed:
        result = of_any(c)
        if result.type.is_float or not result.type.is_known:
            raise c.refusal(f"is not translated for {result.type}", "write it as CASE WHEN a > b THEN a ELSE b END")
        return result

    return rule


def nullif(c: Call) -> Typed:
    c.expect(2)
    first, second = c.translation.engine.among(c.arguments)
    left, right = comparable(c.translation, c.node, first, second)
    # The result has the type in which the two are compared, also where Spark would not widen the first.
    shared = converted(first, left.type) if left.sql is first.sql else left.sql
    return Typed(call("nullif", shared, right.sql), left.type)


def first_nullif(c: Call) -> Typed:
    """NULLIF where the result has the type of the first argument, whatever the second is."""
    c.expect(2)
    first, second = c.argument(0), c.argument(1)
    if c.translation.engine.common(first.type, second.type) != first.type:
        raise c.refusal(f"is not translated for {first.type} and {second.type}", "cast the second")
    return nullif(c)


def absolute(c: Call) -> Typed:
    """abs of a number, in its own type."""
    c.expect(1)
    value = c.argument(0)
    if not value.type.is_numeric:
        raise c.refusal(f"takes numbers here, not {value.type}")
    if value.type.name != "DECIMAL" or value.type.precision <= NEGATED_DIGITS:
        return Typed(call("abs", value.sql), value.type)
    is_negative = exp.LT(this=value.sql.copy(), expression=exp.Literal.number(0))
    return Typed(switch([(is_negative, negated(c.node, value))], value.sql.copy()), value.type)


CONDITIONS: dict[str, FunctionRule] = {
    "coalesce": over_common_type("coalesce"),
    "ifnull": over_common_type("coalesce"),
    "nullif": nullif,
    "greatest": extreme("greatest"),
    "least": extreme("least"),
}
