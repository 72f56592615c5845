r"""Sets of characters that escapes of ECMA-262 stand for: ``\s``, ``\w``, ``\p{L}`` (section 22.2.2.9)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points from the first to the last of each range."""

ALL: Ranges = ((0, 0x10FFFF),)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return all other code points.

    >>> complement([(10, 0x10FFFF)])
    ((0, 9),)
    """
    rest, begin = [], 0
    for low, high in sorted(ranges):
        if low > begin:
            rest.append((begin, low - 1))
        begin = max(begin, high + 1)
    return (*rest, (begin, ALL[0][1])) if begin <= ALL[0][1] else tuple(rest)


DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = (*DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
NOT_LINE_ENDS = complement([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])
CLASSES = {
    r"\d": DIGITS, r"\D": complement(DIGITS),
    r"\w": WORD, r"\W": complement(WORD),
    r"\s": _SPACE, r"\S": complement(_SPACE),
}  # fmt: skip
"""Escape -> its characters."""

_CATEGORIES = {
    "L": "Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter", "Lo": "Other_Letter", "M": "Mark", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark", "N": "Number", "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number",
    "P": "Punctuation", "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation", "Po": "Other_Punctuation",
    "S": "Symbol", "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "So": "Other_Symbol",
    "Z": "Separator", "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator",
    "Cc": "Control", "Cf": "Format", "Co": "Private_Use",
}  # fmt: skip
_LONG = {long: short for short, long in _CATEGORIES.items()}
_SCRIPTS = frozenset(
    {"Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hebrew", "Hiragana", "Katakana", "Latin", "Thai"}
)
"""Scripts whose characters were the same for years. All engines name them so."""


def property_named(name: str, *, is_negated: bool) -> tuple[Ranges, tuple[str, ...]]:
    r"""Return the characters with a property of Unicode: as ranges, or by an escape that Java and RE2 have too.

    :raises ValueError: the engines have no such property, or ECMA-262 has none.
    """
    if name in ("Any", "ASCII"):
        ranges: Ranges = ALL if name == "Any" else ((0, 0x7F),)
        return (complement(ranges) if is_negated else ranges), ()
    kind, _, value = name.rpartition("=")
    escape = r"\P" if is_negated else r"\p"
    category = _LONG.get(value, value)
    if kind in ("", "gc", "General_Category") and category in _CATEGORIES:
        return (), (f"{escape}{{{category}}}",)
    if kind in ("sc", "Script") and value in _SCRIPTS:
        return (), (f"{escape}{{script={value}}}",)
    reason = "general categories, Any, ASCII and Script= with a large script are supported"
    raise ValueError(f"the property {re.sub('[^ -~]', '?', name)} is not supported: {reason}")
