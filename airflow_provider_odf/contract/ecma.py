"""ECMA-262 regular expressions, which contracts are written in, as the Java ones that Spark runs.

Only what both dialects read, and read differently, is rewritten; the rest is passed on. Not covered: ``\\s`` is ASCII
in Java, and ``.`` stops at U+0085 too.
"""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r"\\.|\[\^\]|\[\]|\[\^?|\$|.", re.DOTALL)
_INSIDE = re.compile(r"\\.|\]|\[|&&|.", re.DOTALL)
_ESCAPES = {r"\0": r"\x00", r"\v": r"\x0B"}
_JAVA_OUTSIDE = _ESCAPES | {"$": r"\z", "[^]": r"[\s\S]", "[]": "(?!)"}
_JAVA_INSIDE = _ESCAPES | {"[": r"\[", "&&": r"&\&"}


def to_java(pattern: str) -> str:
    r"""The Java pattern that finds what the ECMA-262 one finds.

    >>> to_java(r"^[[a&&]$")
    '^[\\[a&\\&]\\z'
    """
    result: list[str] = []
    in_class, at = False, 0
    while match := (_INSIDE if in_class else _OUTSIDE).match(pattern, at):
        part, at = match.group(), match.end()
        result.append((_JAVA_INSIDE if in_class else _JAVA_OUTSIDE).get(part, part))
        in_class = part != "]" if in_class else part in ("[", "[^")
    return "".join(result)
