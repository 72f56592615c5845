r"""Parse regular expressions of ECMA-262 (the pattern grammar of section 22.2.1).

A pattern is read as with the flag ``u``: it matches code points, ``\p{…}`` is a property and ``\u{…}`` a code point.
What only the grammar without flags allows (``a{,2}``, ``]``, ``\-``) stands for itself, as there, but not in a pattern
with ``\p{…}`` or ``\u{…}``. Escapes of letters without a meaning, such as ``\A`` or ``\h``, are refused: other
dialects give them one, which the author may have meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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


Part: TypeAlias = str | Characters
r"""Characters, or a sign of the pattern: ``(``, ``(?=``, ``)``, ``|``, ``^``, ``$``, ``\b``, ``{2,3}?``, ``(?:\1)``."""


@dataclass(frozen=True)
class Pattern:
    r"""The parts of a pattern in order. All dialects write references and repetitions in the same way.

    A regular pattern has no look-around, no references and no ``\B``. ``repetitions`` is the largest of its bounds.
    """

    parts: tuple[Part, ...]
    is_regular: bool
    repetitions: int


def parse(pattern: str) -> Pattern:
    """Return the parts of a pattern.

    :raises ValueError: it is no pattern of ECMA-262, with the place, or Java has none with its matches.
    """
    parser = _Parser(pattern)
    parser.alternatives()
    if parser.at < len(pattern):
        raise parser.error("a ) without its (")
    if parser.modern is not None and parser.legacy is not None:
        raise parser.error(
            "not allowed in a pattern with \\p{…} or \\u{…}: escape what stands for itself", parser.legacy
        )
    targets = [parser.target(reference) for reference in parser.references]
    if parser.is_endless:
        raise ValueError(f"Java cannot look behind for any number of repetitions: limit them in {pattern}")
    for reference, number in zip(parser.references, targets, strict=True):
        parser.parts[reference.part] = parser.written(reference, number)
    return Pattern(tuple(parser.parts), parser.is_regular and not targets, parser.repetitions)


_OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_NAME = re.compile(r"\(\?<([^\W\d][\w$]*|[$_][\w$]*)>")
_REPEAT = re.compile(r"([*+?]|\{(\d+)(,(\d*))?\})(\??)")
_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_REFERENCE = re.compile(r"\\(?:([1-9][0-9]*)|k<([^>]*)>)")
_PROPERTY = re.compile(r"\\([pP])\{([^}]*)\}")
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|c([a-zA-Z])|0(?![0-9])")
_LOW_HALF = re.compile(r"\\u([0-9a-fA-F]{4})")
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_MOST_REPETITIONS = 2**31 - 1


@dataclass(eq=False)
class _Group:
    """A group, or the whole pattern. ``around`` are the groups around it, each with its alternative; ``begin`` and
    ``end`` are the indices of its parentheses among the parts. ``can_miss``: the rest may match without the group."""

    opening: str
    around: _Around
    begin: int
    can_miss: bool
    end: int = 0
    alternative: int = 0


_Around: TypeAlias = tuple[tuple[_Group, int], ...]


@dataclass(frozen=True)
class _Reference:
    """A reference to a group by name or number, at a place of the pattern; ``part`` is its index among the parts."""

    group: int | str
    at: int
    part: int
    around: _Around
    is_look_behind: bool


class _Parser:
    """``at`` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.parts: list[Part] = []
        self.references: list[_Reference] = []
        self.is_regular, self.is_endless, self.repetitions = True, False, 0
        self.modern: int | None = None
        """The last place of syntax that needs the flag ``u``."""
        self.legacy: int | None = None
        """The last place of syntax that the flag ``u`` does not allow."""
        self._open = [_Group("", (), -1, False)]
        self._groups: list[_Group] = []
        self._names: dict[str, int] = {}

    def error(self, message: str, at: int | None = None) -> ValueError:
        return ValueError(f"{message}: character {(self.at if at is None else at) + 1} of {self.text}")

    def target(self, reference: _Reference) -> int:
        """Return the number of the group of a reference, from 1."""
        number = self._names.get(reference.group) if isinstance(reference.group, str) else reference.group
        if number is None or number > len(self._groups):
            raise self.error(f"there is no group {reference.group}", reference.at)
        return number

    def written(self, reference: _Reference, number: int) -> str:
        """Return a reference to a group. In ECMA-262 it is empty where the group has not matched, in Java it fails."""
        group, around = self._groups[number - 1], {*reference.around}
        can_miss = group.can_miss and all(group is not other for other, _ in around)
        apart = (other for other, alternative in group.around if (other, alternative) not in around)
        if reference.is_look_behind or can_miss or any(other.can_miss or other.alternative for other in apart):
            raise self.error(f"group {reference.group} may not have matched before the reference to it", reference.at)
        return f"(?:\\{number})" if 0 < group.end < reference.part else "(?:)"

    def alternatives(self) -> None:
        self._sequence()
        while self._take("|"):
            self.parts.append("|")
            self._open[-1].alternative += 1
            self._sequence()

    def _take(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _sequence(self) -> None:
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if _REPEAT.match(self.text, self.at):
                raise self.error("nothing to repeat")
            group = self._group() if self.text[self.at] == "(" else None
            can_repeat = group.opening not in _OPENINGS[1:] if group else self._atom()
            if can_repeat and (repeat := _REPEAT.match(self.text, self.at)):
                self._repeat(repeat, group)

    def _repeat(self, repeat: re.Match[str], group: _Group | None) -> None:
        sign, first, comma, last, lazy = repeat.groups()
        low, high = _BOUNDS.get(sign) or (int(first), int(last) if last else int(first) if comma is None else None)
        if high is not None and low > high:
            raise self.error("the bounds are in the wrong order")
        if max(low, high or 0) > _MOST_REPETITIONS:
            raise self.error(f"more than {_MOST_REPETITIONS} repetitions")
        self.at = repeat.end()
        self.repetitions = max(self.repetitions, low, high or 0)
        self.is_endless = self.is_endless or (high is None and self._is_look_behind)
        if group and not low:
            group.can_miss = True
        written = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        self.parts.append(next((sign for sign in _BOUNDS if _BOUNDS[sign] == (low, high)), written) + lazy)

    @property
    def _is_look_behind(self) -> bool:
        return any(group.opening in ("(?<=", "(?<!") for group in self._open)

    @property
    def _around(self) -> _Around:
        return tuple((group, group.alternative) for group in self._open)

    def _atom(self) -> bool:
        """Read characters, a reference or an assertion. Return whether it can be repeated."""
        character = self.text[self.at]
        if character == "[":
            self.parts.append(self._class())
        elif character == "\\":
            return self._escape()
        else:
            self.legacy = self.at if character in "{}]" else self.legacy
            self.at += 1
            if character in "^$":
                self.parts.append(character)
                return False
            self.parts.append(Characters(NOT_LINE_ENDS) if character == "." else _one(ord(character)))
        return True

    def _group(self) -> _Group:
        start = self.at
        opening = next((o for o in _OPENINGS if self._take(o)), "(")
        group = _Group(opening, self._around, len(self.parts), opening in ("(?!", "(?<!", "(?<="))
        if opening == "(":
            name = _NAME.match(self.text, start)
            if self.text.startswith("(?", start) and not name:
                raise self.error("ECMA-262 has no such group, nor inline flags")
            self._groups.append(group)
            if name and name[1] in self._names:
                raise self.error(f"the group {name[1]} is repeated")
            self._names |= {name[1]: len(self._groups)} if name else {}
            self.at = name.end() if name else start + 1
        self.is_regular = self.is_regular and opening in ("(", "(?:")
        self.parts.append(opening)
        self._open.append(group)
        self.alternatives()
        if not self._take(")"):
            raise self.error("a ( without its )", start)
        self._open.pop()
        group.end = len(self.parts)
        self.parts.append(")")
        return group

    def _escape(self) -> bool:
        if self.text.startswith((r"\b", r"\B"), self.at):
            self.is_regular = self.is_regular and self.text[self.at + 1] == "b"
            self.parts.append(self.text[self.at : self.at + 2])
            self.at += 2
            return False
        if match := _REFERENCE.match(self.text, self.at):
            name = match[2] if match[1] is None else int(match[1])
            self.references.append(_Reference(name, self.at, len(self.parts), self._around, self._is_look_behind))
            self.at = match.end()
            self.parts.append("")
            return True
        kind = self._class_escape()
        self.parts.append(kind if kind is not None else _one(self._code()))
        return True

    def _class_escape(self) -> Characters | None:
        r"""Read ``\d``, ``\p{L}`` and the like; None if there is no such escape."""
        if (ranges := CLASSES.get(self.text[self.at : self.at + 2])) is not None:
            self.at += 2
            return Characters(ranges)
        if match := _PROPERTY.match(self.text, self.at):
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
            byte, unit, point, control = match.groups()
            self.modern, self.at = start if point else self.modern, match.end()
            return ord(control) % 32 if control else self._low_half(int(byte or unit or point or "0", 16), start)
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
        low = _LOW_HALF.match(self.text, self.at)
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
