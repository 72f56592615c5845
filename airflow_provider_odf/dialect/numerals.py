"""Literal numbers where a fraction is a DECIMAL, as standard SQL has it."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Translation
from airflow_provider_odf.dialect.expressions import literal as shared
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import Typed, cast
from airflow_provider_odf.dialect.types import INT, MAX_PRECISION, decimal

_LARGEST_INT, _INT_DIGITS = 2**31 - 1, 10


def literal(t: Translation, node: exp.Expr) -> Typed:
    """Whole numbers are INT or BIGINT by their size, others DECIMAL unless they have an exponent."""
    if node.args.get("is_string") or "e" in node.name.lower():
        return shared(t, node)
    if node.name.isdigit():
        is_int = len(node.name.lstrip("0")) <= _INT_DIGITS and int(node.name[-_INT_DIGITS:]) <= _LARGEST_INT
        return Typed(exp.Literal.number(int(node.name)), INT) if is_int else shared(t, node)
    whole, _, fraction = node.name.partition(".")
    if len(whole) + len(fraction) > MAX_PRECISION:
        raise Refused(node, f"the number has more than {MAX_PRECISION} digits", "write fewer, or with an exponent")
    type_ = decimal(len(whole) + len(fraction), len(fraction))
    number = exp.Literal.number(node.name)
    # Spark does not count the zero before the point.
    return Typed(cast(number, type_) if whole.startswith("0") else number, type_)
