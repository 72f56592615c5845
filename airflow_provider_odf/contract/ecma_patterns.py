"""Convert the ECMA-262 regular expressions of contracts to the Java ones of Spark, and to those of RE2.

RE2 takes linear time. It matches the patterns with which Java could take exponential time.

Only syntax that both dialects accept with different meanings is rewritten. Two differences remain: in Java, ``\\s`` is
ASCII only, and ``.`` also stops at U+0085.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPE = r"\\[pPu]\{[^}]*\}|\\."
_GROUP = r"\(\?(?:<?[=!]|<\w+>|[a-z-]*:|[a-z-]+\))"  # flags exist only in Java
_QUANTIFIER = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??"
_OUTSIDE = re.compile(rf"{_ESCAPE}|\[\^\]|\[\]|\[\^?|\$|{_GROUP}|{_QUANTIFIER}|.", re.DOTALL)
_INSIDE = re.compile(rf"{_ESCAPE}|\]|\[|&&|.", re.DOTALL)
_ESCAPES = {r"\0": r"\x00", r"\v": r"\x0B"}
_JAVA_OUTSIDE = _ESCAPES | {"$": r"\z", "[^]": r"[\s\S]", "[]": "(?!)", "{": r"\{"}
_JAVA_INSIDE = _ESCAPES | {"[": r"\[", "&&": r"&\&"}
_RE2 = {"[]": r"[^\x00-\x{10FFFF}]"}
_ASSERTIONS = ("^", "$", r"\b", r"\B")
_CLOSING = {"(": ")", "[": "]"}


class _Token(NamedTuple):
    text: str
    at: int
    in_class: bool
    """Whether the token is inside the brackets of a class. The opening bracket is not."""

    @property
    def is_quantifier(self) -> bool:
        return not self.in_class and (self.text[0] in "*+?" or (self.text[0] == "{" and len(self.text) > 1))


def to_java(pattern: str) -> str:
    r"""Return the Java pattern with the matches of the ECMA-262 one.

    >>> to_java(r"^[[a&&]$")
    '^[\\[a&\\&]\\z'
    """
    return "".join((_JAVA_INSIDE if t.in_class else _JAVA_OUTSIDE).get(t.text, t.text) for t in _tokens(pattern))


def check(pattern: str) -> None:
    """Check the syntax of a pattern.

    :raises ValueError: an unmatched bracket, or nothing before a quantifier, with the place.
    """
    can_repeat = False
    for token in _tokens(pattern):
        if token.text == "\\":
            raise ValueError(f"it ends with a backslash: {_shown(pattern, token.at)}")
        if token.is_quantifier and not can_repeat:
            raise ValueError(f"nothing to repeat: {_shown(pattern, token.at)}")
        is_atom = token.in_class or not (token.text[0] in "(|" or token.text in _ASSERTIONS)
        can_repeat = is_atom and not token.is_quantifier
    _check_brackets(pattern)


def to_re2(pattern: str) -> str:
    r"""Return the pattern of RE2 with the matches of the ECMA-262 one.

    >>> to_re2(r"^\u00e9$")
    '^\\x{00e9}\\z'
    """
    texts = (
        _RE2.get(t.text) or (_JAVA_INSIDE if t.in_class else _JAVA_OUTSIDE).get(t.text, t.text)
        for t in _tokens(pattern)
    )
    return re.sub(r"\(\?<(?=\w)", "(?P<", re.sub(r"\\u([0-9a-fA-F]{4})", r"\\x{\1}", "".join(texts)))


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


def is_regular(pattern: str) -> bool:
    """Whether a pattern has neither look-around nor references to groups, which RE2 does not support."""
    return not any(
        not t.in_class and (t.text in ("(?=", "(?!", "(?<=", "(?<!") or re.fullmatch(r"\\[1-9]|\\k", t.text))
        for t in _tokens(pattern)
    )


def _check_brackets(pattern: str) -> None:
    opened: list[_Token] = []
    for token in _tokens(pattern):
        if token.in_class:
            if token.text == "]":
                opened.pop()
        elif token.text in ("[", "[^") or (token.text[0] == "(" and token.text[-1] != ")"):
            opened.append(token)
        elif token.text == ")":
            if not opened:
                raise ValueError(f"a ) without its (: {_shown(pattern, token.at)}")
            opened.pop()
    if opened:
        bracket = opened[-1].text[0]
        raise ValueError(f"a {bracket} without its {_CLOSING[bracket]}: {_shown(pattern, opened[-1].at)}")


def _tokens(pattern: str) -> Iterator[_Token]:
    in_class, at = False, 0
    while match := (_INSIDE if in_class else _OUTSIDE).match(pattern, at):
        text = match.group()
        yield _Token(text, at, in_class)
        at = match.end()
        in_class = text != "]" if in_class else text in ("[", "[^")


def _shown(pattern: str, at: int) -> str:
    return f"character {at + 1} of {pattern}"


def arguments(pattern: str) -> tuple[dict[str, str], str]:
    """Return the pattern for the engine, in the dialect that matches it, and its problem, empty if there is none."""
    same = {"pattern": pattern}
    try:
        check(pattern)
    except ValueError as e:
        return same, f"not a regular expression: {e}"
    if not needs_linear_time(pattern):
        return {**same, "java": to_java(pattern)}, ""
    if is_regular(pattern):
        return {**same, "re2": to_re2(pattern)}, ""
    return same, (
        "matching this pattern could take exponential time: remove nested repetitions, such as (a+)+, or remove "
        "look-around and references to groups"
    )
