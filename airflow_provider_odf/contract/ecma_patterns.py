r"""Convert the ECMA-262 regular expressions of contracts to the Java ones of Spark, and to those of RE2.

RE2 takes linear time. It matches the patterns with which Java could take exponential time.

Dialects give the same escapes other meanings. So every set of characters is written as its code points, and all that is
left of a dialect is what they have in common. A pattern that Java cannot match as ECMA-262 says is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_odf.contract.ecma_syntax import ALL, WORD, Characters, Part, Ranges, complement, parse

TOO_SLOW = (
    "matching this pattern could take exponential time: remove nested repetitions, such as (a+)+, or remove "
    "look-around and references to groups"
)

_TOKEN = re.compile(
    r"\\[pPu]\{[^}]*\}|\\."  # an escape
    r"|\[\^?(?:\\[pPu]\{[^}]*\}|\\.|[^\]])*(?:\]|\Z)"  # a class
    r"|(?P<opening>\(\?(?:<?[=!]|<\w+>|>|[a-zA-Z-]*:))|\(\?[a-zA-Z-]+\)"
    r"|(?P<repeat>(?:(?P<many>[*+]|\{\d+,\d*\}|\{\d{2,}\})|\?|\{\d\})[?+]?)",
    re.DOTALL,
)
_INNERMOST_GROUP = re.compile(r"\(([^()]*)\)(\*?)")


def needs_linear_time(pattern: str) -> bool:
    """Whether backtracking could take a time that is exponential in the length of a text.

    It could if a group is repeated that contains a repetition or alternatives: ``(a+)+``, ``(a|ab)*``.
    """

    def simplified(token: re.Match[str]) -> str:
        if token["repeat"]:
            return "*" if token["many"] else ""
        return "(" if token["opening"] else "x"

    text = _TOKEN.sub(simplified, pattern)
    while group := _INNERMOST_GROUP.search(text):
        repeats = not {"*", "|"}.isdisjoint(group[1])
        if repeats and group[2]:
            return True
        text = f"{text[: group.start()]}{'|' if repeats else 'x'}{text[group.start(2) :]}"
    return False


_SURROGATES = (0xD800, 0xDFFF)
_MOST_RE2_REPETITIONS = 1000


@dataclass(frozen=True)
class _Dialect:
    """How a dialect writes what is not the same in all: a code point, the end of the text, properties and ``\\b``."""

    code: str
    end: str
    has_ascii_boundary: bool = False
    script: str = "script="

    def write(self, pattern: str) -> str:
        return "".join(map(self._part, parse(pattern).parts))

    def _part(self, part: Part) -> str:
        if isinstance(part, Characters):
            return self._characters(part)
        if part == "$":
            return self.end
        if part not in (r"\b", r"\B") or self.has_ascii_boundary:
            return part
        word = self._characters(Characters(WORD))
        one, other = ("(?!", "(?=") if part == r"\b" else ("(?=", "(?!")
        return f"(?:(?<={word}){one}{word})|(?<!{word}){other}{word}))"

    def _characters(self, characters: Characters) -> str:
        ranges, sign = _merged(characters.ranges), "^" if characters.is_negated else ""
        if characters.properties:
            named = (name.replace("script=", self.script) for name in characters.properties)
            return f"[{sign}{''.join(named)}{self._ranges(ranges)}]"
        if len(others := _merged(complement(ranges))) < len(ranges) or not ranges:
            ranges, sign = others, "" if sign else "^"
        if not sign and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self._code(ranges[0][0])
        return f"[{sign}{self._ranges(ranges)}]" if ranges else f"[{'' if sign else '^'}{self._ranges(ALL)}]"

    def _ranges(self, ranges: Ranges) -> str:
        return "".join(self._code(low) + ("" if low == high else f"-{self._code(high)}") for low, high in ranges)

    def _code(self, code: int) -> str:
        character = chr(code)
        if character.isascii() and (character.isalnum() or character in "_ @"):
            return character
        return f"\\{character}" if 0x20 < code < 0x7F else self.code.format(code)


_JAVA = _Dialect(r"\x{{{:x}}}", r"\z")
_RE2 = _Dialect(r"\x{{{:x}}}", r"\z", has_ascii_boundary=True, script="")
_PYTHON = _Dialect(r"\U{:08x}", r"\Z")


def _merged(ranges: Ranges) -> Ranges:
    """Return ranges in order, joined where they touch. Surrogates, which no text contains, are in none of them, or in
    one that has both of their neighbors."""
    without = complement((*complement(ranges), _SURROGATES))
    return complement(gap for gap in complement(without) if gap != _SURROGATES)


def to_java(pattern: str) -> str:
    r"""Return the Java pattern with the matches of the ECMA-262 one.

    >>> to_java(r"^[[a&&]$")
    '^[&\\[a]\\z'

    :raises ValueError: it is no pattern of ECMA-262, or Java has none with these matches.
    """
    return _JAVA.write(pattern)


def to_re2(pattern: str) -> str:
    r"""Return the pattern of RE2 with the matches of the ECMA-262 one, which is regular.

    :raises ValueError: as for `to_java`.
    """
    return _RE2.write(pattern)


def to_python(pattern: str) -> str:
    """Return the pattern of Python's library ``regex`` with the matches of the ECMA-262 one.

    :raises ValueError: as for `to_java`.
    """
    return _PYTHON.write(pattern)


def arguments(pattern: str) -> tuple[dict[str, str], str]:
    """Return the pattern for the engine, in the dialect that matches it, and its problem, empty if there is none."""
    same = {"pattern": pattern}
    try:
        java = to_java(pattern)
    except ValueError as e:
        return same, f"not a regular expression: {e}"
    if not needs_linear_time(pattern):
        return {**same, "java": java}, ""
    if is_regular(pattern):
        return {**same, "re2": to_re2(pattern)}, ""
    return same, TOO_SLOW


def is_regular(pattern: str) -> bool:
    r"""Whether RE2 can match a pattern: without look-around, references, ``\B``, and large numbers of repetitions."""
    parsed = parse(pattern)
    return parsed.is_regular and parsed.repetitions <= _MOST_RE2_REPETITIONS
