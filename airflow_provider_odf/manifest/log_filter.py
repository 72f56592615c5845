"""``filter`` of FetchStep::EthereumLogs: a condition in SQL that a node can answer, as in the reference implementation.

It compares ``address`` and ``topic0`` to ``topic3`` with binary literals or ``eth_event_selector('…')``, and
``block_number`` with numbers. Conditions are joined by AND; values of one column also by OR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from sqlglot import exp

_LENGTHS = {"address": 20, **{f"topic{i}": 32 for i in range(4)}}
_BLOCK = "block_number"
_LONGEST_NUMBER = 100
"""Digits of a number; Python reads no more than some thousand."""


@dataclass(frozen=True)
class LogFilter:
    """A filter: allowed values by column, and the first and the last block, None for the newest one."""

    values: dict[str, frozenset[bytes]] = field(default_factory=dict)
    first_block: int = 0
    last_block: int | None = None

    def only(self, column: str, values: frozenset[bytes]) -> LogFilter:
        """Return the filter with fewer values of a column."""
        return replace(self, values={**self.values, column: self.values.get(column, values) & values})

    def between(self, first: int, last: int | None) -> LogFilter:
        """Return the filter with fewer blocks."""
        ends = [end for end in (self.last_block, last) if end is not None]
        return replace(self, first_block=max(self.first_block, first), last_block=min(ends, default=None))


def parse(text: str, selector: Callable[[str], bytes]) -> LogFilter:
    """Return the filter of a condition. ``selector`` returns the first topic for the signature of an event.

    :raises InvalidInput: it is no such condition.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        condition = sqlglot.parse_one(text, dialect="postgres")
    except SqlglotError as e:
        raise InvalidInput(f"filter: not a condition in SQL: {str(e).partition('.')[0]}") from None
    result = LogFilter()
    for term in _terms(condition):
        result = _with(result, term, selector)
    return result


def _terms(node: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _with(result: LogFilter, term: exp.Expr, selector: Callable[[str], bytes]) -> LogFilter:
    from sqlglot import exp

    if (blocks := _blocks(term)) is not None:
        return result.between(*blocks)
    column, values = "", set[bytes]()
    for alternative in term.flatten() if isinstance(term, exp.Or) else (term,):
        one = alternative.unnest()
        for part in one.flatten() if isinstance(one, exp.Or) else (one,):
            name, found = _equal(part.unnest(), selector)
            if column not in ("", name):
                raise _too_complex(term)
            column, values = name, values | found
    return result.only(column, frozenset(values))


def _blocks(term: exp.Expr) -> tuple[int, int | None] | None:
    """Return the range of blocks of a comparison, or None if it compares something else."""
    from sqlglot import exp

    if isinstance(term, exp.Between) and _name(term.this) == _BLOCK:
        return _number(term.args["low"], term), _number(term.args["high"], term)
    if not isinstance(term, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return None
    kinds: dict[type, str] = {exp.EQ: "=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
    kind, left, right = kinds[type(term)], term.left, term.right
    if _name(right) == _BLOCK:
        kind, left, right = kind.translate(str.maketrans("<>", "><")), right, left
    if _name(left) != _BLOCK:
        return None
    number = _number(right, term)
    last = {"<": number - 1, "<=": number, "=": number}.get(kind)
    return {">": number + 1, ">=": number, "=": number}.get(kind, 0), last


def _equal(term: exp.Expr, selector: Callable[[str], bytes]) -> tuple[str, set[bytes]]:
    """Return the column that a term compares, and its values."""
    from sqlglot import exp

    if isinstance(term, exp.EQ):
        column, values = (term.left, [term.right]) if _name(term.left) else (term.right, [term.left])
    elif isinstance(term, exp.In) and term.expressions:
        column, values = term.this, term.expressions
    else:
        raise _too_complex(term)
    name = _name(column)
    if name not in _LENGTHS:
        raise _too_complex(term)
    return name, {_bytes(value, name, term, selector) for value in values}


def _bytes(value: exp.Expr, column: str, term: exp.Expr, selector: Callable[[str], bytes]) -> bytes:
    from sqlglot import exp

    if isinstance(value, exp.Anonymous) and value.name.lower() == "eth_event_selector":
        arguments = value.expressions
        if len(arguments) == 1 and isinstance(arguments[0], exp.Literal) and arguments[0].is_string:
            return selector(arguments[0].this)
    if not isinstance(value, exp.HexString):
        raise _too_complex(term)
    digits, length = value.this, _LENGTHS[column]
    if len(digits) != 2 * length:
        raise InvalidInput(f"filter: X'{digits}' is not {length} bytes long, as {column} is")
    return bytes.fromhex(digits)


def _name(node: exp.Expr) -> str:
    from sqlglot import exp

    return node.name if isinstance(node, exp.Column) else ""


def _number(node: exp.Expr, term: exp.Expr) -> int:
    from sqlglot import exp

    if (
        isinstance(node, exp.Literal)
        and not node.is_string
        and node.this.isdigit()
        and len(node.this) < _LONGEST_NUMBER
    ):
        return int(node.this)
    raise _too_complex(term)


def _too_complex(term: exp.Expr) -> InvalidInput:
    return InvalidInput(
        f"filter: a node cannot evaluate {term.sql('postgres')} (compare address and topic0 to topic3 with X'…' or "
        "eth_event_selector('…'), and block_number with numbers; put other conditions into `preprocess`)"
    )
