"""chrono's strftime formats (DataFusion) as Java patterns (Spark): the directives that both read, or write, alike."""

from __future__ import annotations

import re

_BOTH = {
    "Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "F": "yyyy-MM-dd", "T": "HH:mm:ss",
    "R": "HH:mm", "b": "MMM", "h": "MMM", "B": "MMMM", "I": "hh", "p": "a", "3f": "SSS", "6f": "SSSSSS",
    ".3f": ".SSS", ".6f": ".SSSSSS", "%": "%",
}  # fmt: skip
_READ = {**_BOTH, "z": "[xx][xxx]", ":z": "[xxx][xx]", "#z": "[xxx][xx][x]", ".f": "[.SSSSSSSSS][.SSSSSS][.SSS]"}
_WRITE = {**_BOTH, "j": "DDD", "a": "EEE", "A": "EEEE", "y": "yy"}
_TOKEN = re.compile(r"%(?P<directive>[.]?[369]?f|[:#]?z|.)|(?P<text>[^%]+)", re.DOTALL)


def to_read(pattern: str) -> str:
    """The Java pattern that reads what the chrono format reads. Java is stricter (two digits where chrono takes one).

    :raises ValueError: a directive has no exact counterpart."""
    return _java(pattern, _READ)


def to_write(pattern: str) -> str:
    """The Java pattern that writes what the chrono format writes.

    :raises ValueError: a directive has no exact counterpart."""
    return _java(pattern, _WRITE)


def _java(pattern: str, directives: dict[str, str]) -> str:
    parts = []
    for match in _TOKEN.finditer(pattern):
        directive = match["directive"]
        if directive is not None and directive not in directives:
            raise ValueError(f"%{directive} in the time format has no exact form on Spark")
        parts.append(_quoted(match["text"]) if directive is None else directives[directive])
    if pattern.endswith("%") and not pattern.endswith("%%"):
        raise ValueError("the time format ends with a lone %")
    return "".join(parts)


def _quoted(text: str) -> str:
    """Letters and Java's special signs in quotes."""
    return re.sub(r"[A-Za-z'\[\]{}#]+", lambda match: "'" + match.group().replace("'", "''") + "'", text)
