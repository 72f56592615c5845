r"""Convert the ECMA-262 regular expressions of contracts to the Java ones of Spark, and to those of RE2.

RE2 takes linear time. It matches the patterns with which Java could take exponential time.

Dialects give the same escapes other meanings. So every set of characters is written as its code points, and all that is
left of a dialect is what they have in common. A pattern that Java cannot match as ECMA-262 says is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_provider_odf.contract.ecma_syntax import (
    ALL,
    WORD,
    Alternatives,
    Assertion,
    Characters,
    Group,
    Node,
    Pattern,
    Ranges,
    Reference,
    Repetition,
    complement,
    parse,
)

_ESCAPE = r"\\[pPu]\{[^}]*\}|\\."
_GROUP = r"\(\?(?:<?[=!]|<\w+>|>|[a-zA-Z-]*:|[a-zA-Z-]+\))"
_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})[?+]?"
_OUTSIDE = re.compile(rf"{_ESCAPE}|\[\^\]|\[\]|\[\^?|{_GROUP}|{_QUANTIFIER}|.", re.DOTALL)
_INSIDE = re.compile(rf"{_ESCAPE}|\]|.", re.DOTALL)


TOO_SLOW = (
    "matching this pattern could take exponential time: remove nested repetitions, such as (a+)+, or remove "
    "look-around and references to groups"
)


class _Token(NamedTuple):
    text: str
    in_class: bool
    """Whether the token is inside the brackets of a class. The opening bracket is not."""

    @property
    def is_quantifier(self) -> bool:
        return not self.in_class and (self.text[0] in "*+?" or (self.text[0] == "{" and len(self.text) > 1))


def needs_linear_time(pattern: str) -> bool:
    """Whether backtracking could take a time that is exponential in the length of a text.

    It could if a group is repeated that contains a repetition or alternatives: ``(a+)+``, ``(a|ab)*``.
    """
    branches: list[bool] = [False]
    repeats = False
    for token in _tokens(pattern):
        if token.in_class:
            repeats = repeats and token.text != "]"
        elif token.text[0] == "(" and token.text[-1] != ")":
            branches.append(False)
            repeats = False
        elif token.text == ")":
            repeats = branches.pop() if len(branches) > 1 else False
            branches[-1] = branches[-1] or repeats
        elif token.is_quantifier:
            is_many = token.text[0] in "*+" or bool(re.match(r"\{\d+,\d*\}|\{\d{2,}", token.text))
            if repeats and is_many:
                return True
            branches[-1] = branches[-1] or is_many
            repeats = False
        else:
            branches[-1] = branches[-1] or token.text == "|"
            repeats = False
    return False


def _tokens(pattern: str) -> Iterator[_Token]:
    in_class, at = False, 0
    while match := (_INSIDE if in_class else _OUTSIDE).match(pattern, at):
        text = match.group()
        yield _Token(text, in_class)
        at = match.end()
        in_class = text != "]" if in_class else text in ("[", "[^")


_SURROGATES = (0xD800, 0xDFFF)
_MOST_RE2_REPETITIONS = 1000


@dataclass(frozen=True)
class _Dialect:
    """How a dialect writes a code point, and what is not the same in all."""

    code: str
    end: str
    has_ascii_boundary: bool = False
    script: str = "script="

    def property(self, escape: str) -> str:
        """Return the escape of a property of Unicode."""
        return escape.replace("script=", self.script)


_JAVA = _Dialect(r"\x{{{:x}}}", r"\z")
_RE2 = _Dialect(r"\x{{{:x}}}", r"\z", has_ascii_boundary=True, script="")
_PYTHON = _Dialect(r"\U{:08x}", r"\Z")


def to_java(pattern: str) -> str:
    r"""Return the Java pattern with the matches of the ECMA-262 one.

    >>> to_java(r"^[[a&&]$")
    '^[&\\[a]\\z'

    :raises ValueError: it is no pattern of ECMA-262, or Java has none with these matches.
    """
    return _written(pattern, _JAVA)


def to_re2(pattern: str) -> str:
    r"""Return the pattern of RE2 with the matches of the ECMA-262 one.

    :raises ValueError: it is no pattern of ECMA-262, or has look-around or references.
    """
    return _written(pattern, _RE2)


def to_python(pattern: str) -> str:
    """Return the pattern of Python's library ``regex`` with the matches of the ECMA-262 one.

    :raises ValueError: as for `to_java`.
    """
    return _written(pattern, _PYTHON)


def arguments(pattern: str) -> tuple[dict[str, str], str]:
    """Return the pattern for the engine, in the dialect that matches it, and its problem, empty if there is none."""
    same = {"pattern": pattern}
    try:
        java = to_java(pattern)
    except ValueError as e:
        return same, f"not a regular expression: {e}"
    if not needs_linear_time(pattern):
        return {**same, "java": java}, ""
    if _is_regular(parse(pattern).root):
        return {**same, "re2": to_re2(pattern)}, ""
    return same, TOO_SLOW


def _written(pattern: str, dialect: _Dialect) -> str:
    parsed = parse(pattern)
    return _Writer(pattern, parsed, dialect).alternatives(parsed.root)


def _is_regular(alternatives: Alternatives) -> bool:
    r"""Whether RE2 can match a pattern: without look-around, references, ``\B``, and large numbers of repetitions."""
    return all(_is_regular_part(part) for branch in alternatives.branches for part in branch)


def _is_regular_part(part: Node) -> bool:
    if isinstance(part, Group):
        return part.opening in ("(", "(?:") and _is_regular(part.body)
    if isinstance(part, Repetition):
        return max(part.low, part.high or 0) <= _MOST_RE2_REPETITIONS and _is_regular_part(part.part)
    # RE2 looks at bytes: its \B also matches inside of a character.
    return not isinstance(part, Reference) and part != Assertion(r"\B")


_Step = tuple[int, int, bool]


@dataclass(frozen=True)
class _Captures:
    """Where groups and references are: the steps from the root, each with whether a match may go without it, and the
    position of a group's beginning and end in the order of the pattern."""

    groups: dict[int, tuple[tuple[_Step, ...], int, list[int]]] = field(default_factory=dict)
    references: dict[int, tuple[tuple[_Step, ...], int]] = field(default_factory=dict)

    def walk(self, alternatives: Alternatives, steps: tuple[_Step, ...], position: int) -> int:
        """Add the groups and references of a part of the pattern, and return the position after it."""
        is_choice = len(alternatives.branches) > 1
        for index, branch in enumerate(alternatives.branches):
            for part in branch:
                position = self._part(part, (*steps, (id(alternatives), index, is_choice)), position + 1)
        return position

    def _part(self, part: Node, steps: tuple[_Step, ...], position: int) -> int:
        if isinstance(part, Repetition):
            return self._part(part.part, (*steps, (id(part), 0, part.low == 0)), position)
        if isinstance(part, Reference):
            self.references[part.at] = (steps, position)
        if not isinstance(part, Group):
            return position
        ends: list[int] = []
        self.groups[part.number] = (steps, position, ends)
        may_miss = part.opening in ("(?!", "(?<!", "(?<=")
        position = self.walk(part.body, (*steps, (id(part), 0, may_miss)), position) + 1
        ends.append(position)
        return position


class _Writer:
    def __init__(self, text: str, pattern: Pattern, dialect: _Dialect) -> None:
        self._text, self._pattern, self._dialect = text, pattern, dialect
        self._captures = _Captures()
        self._captures.walk(pattern.root, (), 0)
        self._is_look_behind = False

    def alternatives(self, alternatives: Alternatives) -> str:
        return "|".join("".join(self._part(part) for part in branch) for branch in alternatives.branches)

    def _part(self, part: Node) -> str:
        if isinstance(part, Characters):
            return self._characters(part)
        if isinstance(part, Assertion):
            return self._assertion(part.text)
        if isinstance(part, Reference):
            return self._reference(part)
        if isinstance(part, Repetition):
            return self._repetition(part)
        outside, self._is_look_behind = self._is_look_behind, self._is_look_behind or part.is_look_behind
        body = self.alternatives(part.body)
        self._is_look_behind = outside
        return f"{part.opening}{body})"

    def _repetition(self, repetition: Repetition) -> str:
        low, high = repetition.low, repetition.high
        if self._is_look_behind and high is None:
            raise ValueError(f"Java cannot look behind for any number of repetitions: limit them in {self._text}")
        signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        bounds = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        part = self._part(repetition.part)
        return f"{part}{signs.get((low, high), bounds)}{'?' if repetition.is_lazy else ''}"

    def _assertion(self, text: str) -> str:
        if text == "^" or (text != "$" and self._dialect.has_ascii_boundary):
            return text
        if text == "$":
            return self._dialect.end
        word = self._characters(Characters(WORD))
        edges = ("(?!{0})", "(?={0})") if text == r"\b" else ("(?={0})", "(?!{0})")
        return f"(?:(?<={word}){edges[0].format(word)}|(?<!{word}){edges[1].format(word)})"

    def _reference(self, reference: Reference) -> str:
        """Return a reference to a group. In ECMA-262 it is empty where the group has not matched, in Java it fails."""
        number = self._pattern.names[reference.group] if isinstance(reference.group, str) else reference.group
        steps, begin, ends = self._captures.groups[number]
        around, position = self._captures.references[reference.at]
        common = sum(1 for _ in _common(steps, around))
        if self._is_look_behind or any(may_miss for _, _, may_miss in steps[common:]):
            raise ValueError(
                f"group {reference.group} may not have matched before the reference to it: "
                f"character {reference.at + 1} of {self._text}"
            )
        is_after = position > ends[0] and position > begin
        return f"(?:\\{number})" if is_after else "(?:)"

    def _characters(self, characters: Characters) -> str:
        ranges, is_negated = _merged(characters.ranges), characters.is_negated
        if characters.properties:
            named = (self._dialect.property(name) for name in characters.properties)
            return f"[{'^' if is_negated else ''}{''.join(named)}{self._ranges(ranges)}]"
        if len(others := _merged(complement(ranges))) < len(ranges) or not ranges:
            ranges, is_negated = others, not is_negated
        if not is_negated and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self._code(ranges[0][0])
        return (
            f"[{'^' if is_negated else ''}{self._ranges(ranges)}]"
            if ranges
            else f"[{'' if is_negated else '^'}{self._ranges(ALL)}]"
        )

    def _ranges(self, ranges: Ranges) -> str:
        codes = ((self._code(low), "" if low == high else f"-{self._code(high)}") for low, high in ranges)
        return "".join(low + high for low, high in codes)

    def _code(self, code: int) -> str:
        character = chr(code)
        if character.isascii() and (character.isalnum() or character in "_ @"):
            return character
        return f"\\{character}" if 0x20 < code < 0x7F else self._dialect.code.format(code)


def _common(one: tuple[_Step, ...], other: tuple[_Step, ...]) -> Iterator[_Step]:
    for a, b in zip(one, other, strict=False):
        if a != b:
            return
        yield a


def _merged(ranges: Ranges) -> Ranges:
    """Return ranges in order, joined where they touch. Surrogates, which no text contains, are in none of them, or in
    one that has both of their neighbors."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(_without_surrogates(ranges)):
        if merged and low <= _next(merged[-1][1]):
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _without_surrogates(ranges: Ranges) -> Iterator[tuple[int, int]]:
    first, last = _SURROGATES
    for low, high in ranges:
        if low < first:
            yield low, min(high, first - 1)
        if high > last:
            yield max(low, last + 1), high


def _next(code: int) -> int:
    """Return the code point after one, of those that texts contain."""
    return code + 1 if code + 1 != _SURROGATES[0] else _SURROGATES[1] + 1
