"""Values and comments of lines of YAML."""

from __future__ import annotations

import json
import re
from typing import Any


def scalar(value: Any) -> str:
    """Return a value as YAML on one line: plain if that is unambiguous, else quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Z]+(\(\d+,\d+\))?)?", text)
    is_word = text.lower() in ("yes", "no", "on", "off", "y", "n", "true", "false", "null")
    return text if is_plain and not is_word else json.dumps(text, ensure_ascii=False)


def comment(reason: str) -> str:
    """Return a comment for the end of a line, empty without a reason."""
    return f"  # {printable(reason)}" if reason else ""


def printable(text: str) -> str:
    """Return a text for a comment, with spaces for its control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
