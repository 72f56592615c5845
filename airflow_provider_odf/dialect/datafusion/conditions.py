"""DataFusion's choices between values whose types are not those of COALESCE: nvl, ifnull and nvl2."""

from __future__ import annotations

from airflow_provider_odf.dialect.engine import Call, FunctionRule
from airflow_provider_odf.dialect.expressions import common_type, unified
from airflow_provider_odf.dialect.parameters import CONDITIONS
from airflow_provider_odf.dialect.typed import Typed, call
from airflow_provider_odf.dialect.types import BOOLEAN, NULL, STRING, Type


def ifnull(c: Call) -> Typed:
    """coalesce of two values; DataFusion's makes a DECIMAL DOUBLE and a time STRING."""
    c.expect(2)
    for value in c.arguments:
        if value.type.is_known and not _is_kept(value.type):
            raise c.refusal(f"makes {value.type} another type in DataFusion", "use coalesce, which keeps it")
    return CONDITIONS["coalesce"](c)


def _is_kept(type_: Type) -> bool:
    return type_.is_integer or type_.is_float or type_ in (STRING, BOOLEAN, NULL)


def nvl2(c: Call) -> Typed:
    """The type is that of all three arguments, also of the one that is only looked at."""
    c.expect(3)
    first = c.argument(0)
    values, type_ = unified(c.translation, c.node, c.arguments[1:])
    is_text = type_ == STRING and (first.type.is_numeric or first.type in (STRING, NULL))
    if not is_text and common_type(c.translation, c.node, c.arguments) != type_:
        advice = "write it as CASE WHEN a IS NOT NULL THEN b ELSE c END"
        raise c.refusal(f"takes the type {first.type} of the first argument into account", advice)
    return Typed(call("nvl2", first.sql, *values), type_)


SCALARS: dict[str, FunctionRule] = {"ifnull": ifnull, "nvl": ifnull, "nvl2": nvl2}
