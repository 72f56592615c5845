"""Encodings of texts by the names that Python, Java and the IANA give them, as Python's."""

from __future__ import annotations

import codecs

_JAVA_NAMES = {"windows-31j": "cp932", "x-windows-949": "cp949", "x-windows-950": "cp950", "x-macroman": "mac-roman"}


def python_name(name: str) -> str:
    """Python's name of an encoding.

    >>> python_name("Windows-31J")
    'cp932'

    :raises ValueError: there is none, or it is one of something else than text.
    """
    given = name.strip().lower() or "utf-8"
    try:
        found = codecs.lookup(_JAVA_NAMES.get(given, given)).name
        "".encode(found)  # Python also has codecs that are not of text
    except LookupError:
        raise ValueError(f"unknown encoding {name!r}") from None
    return found
