"""``dateFormat`` and ``timestampFormat``: the word rfc3339, Java patterns, or strftime where there is a ``%``."""

from __future__ import annotations

from airflow_provider_odf.errors import InvalidQuery

_JAVA = {
    "Y": "yyyy",
    "y": "yy",
    "m": "MM",
    "d": "dd",
    "e": "d",
    "j": "DDD",
    "H": "HH",
    "I": "hh",
    "M": "mm",
    "S": "ss",
    "f": "[SSSSSS][SSS]",
    "p": "a",
    "b": "MMM",
    "h": "MMM",
    "B": "MMMM",
    "a": "EEE",
    "A": "EEEE",
    "z": "[XXX][XX]",
    "Z": "VV",
    "F": "yyyy-MM-dd",
    "T": "HH:mm:ss",
    "R": "HH:mm",
    "D": "MM/dd/yy",
    "n": "'\n'",
    "t": "'\t'",
    "%": "%",
}


def java_pattern(text: str) -> str | None:
    """The Java pattern of a format, None for rfc3339.

    :raises InvalidQuery: a strftime directive that has no Java form.
    """
    if not text or text.lower() == "rfc3339":
        return None
    return _from_strftime(text) if "%" in text else text


def _from_strftime(text: str) -> str:
    pattern, rest = "", text
    while rest:
        literal, percent, rest = rest.partition("%")
        pattern += _quoted(literal)
        if percent:
            # `%-d`, `%_d` take the value without its leading zero; reading, Java's single letter does.
            directive, is_bare = (rest[1:2], True) if rest[:1] in ("-", "_") else (rest[:1], False)
            rest = rest[2:] if is_bare else rest[1:]
            if directive not in _JAVA:
                raise InvalidQuery(f"time format {text!r}: %{directive} is not known")
            java = _JAVA[directive]
            pattern += java[:1] if is_bare and len(set(java)) == 1 else java
    return pattern


def _quoted(literal: str) -> str:
    """Letters are pattern symbols in Java unless quoted."""
    if not any(c.isalpha() or c in "[]{}#'" for c in literal):
        return literal
    return "'" + literal.replace("'", "''") + "'"
