"""Python's names of encodings, from their names in Python, Java and the IANA registry."""

from __future__ import annotations

import codecs

_JAVA_NAMES = {"windows-31j": "cp932", "x-windows-949": "cp949", "x-windows-950": "cp950", "x-macroman": "mac-roman"}


def python_name(name: str) -> str:
    """Return Python's name of an encoding.

    >>> python_name("Windows-31J")
    'cp932'

    :raises ValueError: the encoding is unknown, or does not encode text.
    """
    key = name.strip().lower() or "utf-8"
    try:
        codec = codecs.lookup(_JAVA_NAMES.get(key, key)).name
        "".encode(codec)  # Python also has codecs that are not of text
    except LookupError:
        raise ValueError(f"unknown encoding {name!r}") from None
    return codec
