r"""Parse regular expressions of ECMA-262 (the pattern grammar of section 22.2.1).

A pattern is read as with the flag ``u``: it matches code points, ``\p{…}`` is a property and ``\u{…}`` a code point.
What only the grammar without flags allows (``a{,2}``, ``]``, ``\-``) stands for itself, as there, but not in a pattern
with ``\p{…}`` or ``\u{…}``. Escapes of letters without a meaning, such as ``\A`` or ``\h``, are refused: other
dialects give them one, which the author may have meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Characters:
    """One code point in some ranges, or with one of some properties, or none of them."""

    ranges: Ranges
    properties: tuple[str, ...] = ()
    is_negated: bool = False


@dataclass(frozen=True)
class Assertion:
    r"""``^``, ``$``, ``\b`` or ``\B``."""

    text: str


@dataclass(frozen=True)
class Reference:
    """What a group matched. The number of the group counts from 1."""

    group: int | str
    at: int


@dataclass(frozen=True)
class Group:
    """Alternatives in parentheses. ``opening`` is ``(`` for a group that captures, or ``(?:``, ``(?=``, ``(?<!`` …"""

    opening: str
    body: Alternatives
    number: int = 0

    @property
    def is_look_behind(self) -> bool:
        return self.opening in ("(?<=", "(?<!")


@dataclass(frozen=True)
class Repetition:
    """A part that is repeated; without ``high``, any number of times."""

    part: Node
    low: int
    high: int | None
    is_lazy: bool


@dataclass(frozen=True)
class Alternatives:
    """Alternatives, each a sequence of parts."""

    branches: tuple[tuple[Node, ...], ...]


Node: TypeAlias = Characters | Assertion | Reference | Group | Repetition

_OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_NAME = re.compile(r"\(\?<([^\W\d][\w$]*|[$_][\w$]*)>")
_REPEAT = re.compile(r"([*+?]|\{(\d+)(,(\d*))?\})(\??)")
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|c([a-zA-Z])|0(?![0-9])")
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_MOST_REPETITIONS = 2**31 - 1
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True)
class Pattern:
    """A pattern as alternatives, with the number of groups and the numbers of those with a name."""

    root: Alternatives
    groups: int
    names: dict[str, int]


def parse(pattern: str) -> Pattern:
    """Return the parts of a pattern.

    :raises ValueError: it is no pattern of ECMA-262, with the place.
    """
    parser = _Parser(pattern)
    root = parser.alternatives()
    if parser.at < len(pattern):
        raise parser.error("a ) without its (")
    if parser.modern is not None and parser.legacy is not None:
        raise parser.error(
            "not allowed in a pattern with \\p{…} or \\u{…}: escape what stands for itself", parser.legacy
        )
    for reference in parser.references:
        number = parser.names.get(reference.group) if isinstance(reference.group, str) else reference.group
        if number is None or number > parser.groups:
            raise parser.error(f"there is no group {reference.group}", reference.at)
    return Pattern(root, parser.groups, parser.names)


class _Parser:
    """``at`` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.groups = text, 0, 0
        self.names: dict[str, int] = {}
        self.references: list[Reference] = []
        self.modern: int | None = None
        """The last place of syntax that needs the flag ``u``."""
        self.legacy: int | None = None
        """The last place of syntax that the flag ``u`` does not allow."""

    def error(self, message: str, at: int | None = None) -> ValueError:
        return ValueError(f"{message}: character {(self.at if at is None else at) + 1} of {self.text}")

    def alternatives(self) -> Alternatives:
        branches = [tuple(self._sequence())]
        while self._take("|"):
            branches.append(tuple(self._sequence()))
        return Alternatives(tuple(branches))

    def _take(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _sequence(self) -> Iterator[Node]:
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if _REPEAT.match(self.text, self.at):
                raise self.error("nothing to repeat")
            part = self._part()
            can_repeat = not isinstance(part, Assertion) and not (
                isinstance(part, Group) and part.opening in _OPENINGS[1:]
            )
            repeat = _REPEAT.match(self.text, self.at)
            yield self._repeated(part, repeat) if repeat and can_repeat else part

    def _repeated(self, part: Node, repeat: re.Match[str]) -> Repetition:
        sign, low, upper, high, lazy = repeat.groups()
        bounds: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        least, most = bounds.get(sign) or (int(low), int(high) if high else int(low) if upper is None else None)
        if most is not None and least > most:
            raise self.error("the bounds are in the wrong order")
        if max(least, most or 0) > _MOST_REPETITIONS:
            raise self.error(f"more than {_MOST_REPETITIONS} repetitions")
        self.at = repeat.end()
        return Repetition(part, least, most, bool(lazy))

    def _part(self) -> Node:
        character = self.text[self.at]
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        self.legacy = self.at if character in "{}]" else self.legacy
        self.at += 1
        if character in "^$":
            return Assertion(character)
        return Characters(NOT_LINE_ENDS) if character == "." else _one(ord(character))

    def _group(self) -> Group:
        start, number = self.at, 0
        opening = next((o for o in _OPENINGS if self._take(o)), "(")
        if opening == "(":
            name = _NAME.match(self.text, start)
            if self.text.startswith("(?", start) and not name:
                raise self.error("ECMA-262 has no such group, nor inline flags")
            number = self.groups = self.groups + 1
            if name and name[1] in self.names:
                raise self.error(f"the group {name[1]} is repeated")
            self.names |= {name[1]: number} if name else {}
            self.at = name.end() if name else start + 1
        body = self.alternatives()
        if not self._take(")"):
            raise self.error("a ( without its )", start)
        return Group(opening, body, number)

    def _escape(self) -> Node:
        start = self.at
        self.at += 1
        if self.text[self.at : self.at + 1] in ("b", "B"):
            self.at += 1
            return Assertion(self.text[start : self.at])
        if match := re.compile(r"[1-9][0-9]*|k<([^>]*)>").match(self.text, self.at):
            self.at = match.end()
            self.references.append(Reference(match[1] if match[1] is not None else int(match[0]), start))
            return self.references[-1]
        self.at = start
        kind = self._class_escape()
        return kind if kind is not None else _one(self._code())

    def _class_escape(self) -> Characters | None:
        r"""Read ``\d``, ``\p{L}`` and the like; None if there is no such escape."""
        if (ranges := CLASSES.get(self.text[self.at : self.at + 2])) is not None:
            self.at += 2
            return Characters(ranges)
        if match := re.compile(r"\\([pP])\{([^}]*)\}").match(self.text, self.at):
            try:
                characters = Characters(*property_named(match[2], is_negated=match[1] == "P"))
            except ValueError as e:
                raise self.error(str(e)) from None
            self.modern, self.at = self.at, match.end()
            return characters
        return None

    def _code(self, is_in_class: bool = False) -> int:
        """Read one character, which may be an escape, and return its code point."""
        start = self.at
        if self.text[start] != "\\":
            self.at += 1
            return ord(self.text[start])
        self.at += 1
        if self.at == len(self.text):
            raise self.error("it ends with a backslash", start)
        escaped = self.text[self.at]
        if match := _CODE.match(self.text, self.at):
            self.modern = start if match[3] else self.modern
            self.at = match.end()
            return self._low_half(_code_of(match), start)
        if escaped in _CONTROLS or (is_in_class and escaped == "b"):
            self.at += 1
            return _CONTROLS.get(escaped, 0x08)
        if escaped.isalnum():
            raise self.error(f"\\{escaped} is no escape of ECMA-262", start)
        if escaped not in _SYNTAX and not (is_in_class and escaped == "-"):
            self.legacy = start
        self.at += 1
        return ord(escaped)

    def _low_half(self, code: int, start: int) -> int:
        r"""Return a code point, with the low half of its surrogate pair that may follow: ``\ud83d\ude00``."""
        if code > ALL[-1][1]:
            raise self.error("there is no such code point", start)
        low = re.compile(r"\\u([0-9a-fA-F]{4})").match(self.text, self.at)
        if code not in _HIGH or low is None or int(low[1], 16) not in _LOW:
            return code
        self.at = low.end()
        return 0x10000 + ((code - _HIGH.start) << 10) + int(low[1], 16) - _LOW.start

    def _class(self) -> Characters:
        start = self.at
        self.at += 1
        is_negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        properties: list[str] = []
        while not self._take("]"):
            if self.at >= len(self.text):
                raise self.error("a [ without its ]", start)
            place, kind = self.at, self._class_escape()
            if kind is not None:
                if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                    self.legacy = self.at
                ranges += kind.ranges
                properties += kind.properties
                continue
            low = self._code(is_in_class=True)
            ranges.append((low, self._end_of_range(low, place)))
        return Characters(tuple(ranges), tuple(properties), is_negated)

    def _end_of_range(self, low: int, place: int) -> int:
        """Read the end of a range that begins with a code point, and return it. Without an end, it is the beginning."""
        at = self.at
        if not self._take("-") or self.text[self.at : self.at + 1] in ("]", ""):
            self.at = at
            return low
        if self._class_escape() is not None:  # the hyphen stands for itself
            self.legacy = self.at = at
            return low
        high = self._code(is_in_class=True)
        if high < low:
            raise self.error("the range is in the wrong order", place)
        return high


def _one(code: int) -> Characters:
    return Characters(((code, code),))


def _code_of(match: re.Match[str]) -> int:
    byte, unit, point, control = match.groups()
    if control:
        return ord(control) % 32
    return int(byte or unit or point or "0", 16)
