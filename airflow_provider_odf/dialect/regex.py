"""Patterns of regular expressions that engines and Spark read alike."""

from __future__ import annotations

import re

_FLAGS = "(?Ud)"
"""Unicode meaning of \\d, \\w, \\s, \\b and only \\n as the end of a line, as Rust has them."""

_TOKEN = re.compile(
    r"(?P<escape>\\(?:[dDwWsSbB]|[nrt]|[^0-9A-Za-z\s]))"
    r"|(?P<end>\$)"
    r"|(?P<set>\[\^?\]?(?:\\(?:[dDwWsSnrt]|[^0-9A-Za-z\s])|[^\[\]\\&~-]|(?<=[^\[^-])-(?=[^\[\]-])|-(?=\]))*\])"
    r"|(?P<group>\(\?:|\((?!\?)|\))"
    r"|(?P<repeat>(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{]))"
    r"|(?P<plain>[.^|]|[^\\$\[\](){}*+?.^|])"
)


def java_pattern(pattern: str, flags: str = "") -> str:
    """The pattern for Spark's functions.

    :raises ValueError: it has something that the two read differently, or that only one has."""
    if set(flags) - set("i"):
        raise ValueError(f"flags {flags} are not translated")
    parts, position = [], 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise ValueError(f"{pattern[position:][:10]!r} in the pattern has no exact form")
        # Java's $ also matches before a line feed at the end.
        parts.append("\\z" if match.lastgroup == "end" else match.group())
        position = match.end()
    joined = "".join(parts)
    try:
        re.compile(joined.replace("\\z", "\\Z"))
    except re.error as error:
        raise ValueError(f"the pattern is not valid: {error}") from None
    return (f"{_FLAGS}(?iu)" if flags else _FLAGS) + joined


def matches_nothing(pattern: str) -> bool:
    """Whether the pattern can match a text of no length: then engines replace at different places."""
    return re.search(re.sub(r"\\[bB]|\^|\$", "", pattern), "") is not None


def count_groups(pattern: str) -> int:
    """How many groups a pattern that ``java_pattern`` took has."""
    return re.compile(pattern).groups
