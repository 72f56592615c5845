"""Spellings of a secret: each character as it is, percent-encoded, or escaped as in JSON, Python or HTML.

Clients and servers mix these within one value, so no list of whole spellings would be complete.
"""

from __future__ import annotations

import html
import json
import re
from functools import lru_cache
from itertools import groupby

_LONG = 256
"""In longer secrets, such as keys, letters and digits match only unencoded: no client encodes them, and the
pattern would take long to compile."""

_CASELESS = {letter: f"[{letter}{letter.upper()}]" for letter in "abcdef"}


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """Return the pattern that matches a text in every spelling, in linear time."""
    runs = ((char, len(list(run))) for char, run in groupby(text))
    is_long = len(text) > _LONG
    return re.compile("".join(c * n if is_long and _is_plain(c) else _run(c, n) for c, n in runs))


def _run(char: str, length: int) -> str:
    """Return the pattern of a run of one character. Escaping doubles backslashes; the pattern is atomic, because trying
    single and double ones in turn would take exponential time."""
    forms = "|".join(_forms(char))
    if char == "\\":
        return f"(?>(?:{forms}){{{length},{2 * length}}})"
    return f"(?:{forms})" + (f"{{{length}}}" if length > 1 else "")


def _forms(char: str) -> tuple[str, ...]:
    plain, percent = re.escape(char), "".join(f"%(?:25)?{_hex(b, 2)}" for b in char.encode(errors="surrogatepass"))
    if _is_plain(char):
        return plain, percent
    units = char.encode("utf-16-be", errors="surrogatepass")
    in_json = "".join(rf"\\u{_hex(int.from_bytes(units[at : at + 2], 'big'), 4)}" for at in range(0, len(units), 2))
    forms = [in_json, percent, rf"&#(?:{ord(char)}|[xX]{_hex(ord(char), 1)});", re.escape(html.escape(char)), plain]
    if ord(char) < 256:
        forms.append(rf"\\x{_hex(ord(char), 2)}")
    if char != "\\":
        forms += [re.escape(json.dumps(char)[1:-1]), *([rf"\\{char}"] if char in "/'" else [])]
    return (*dict.fromkeys(forms), *([r"\+"] if char == " " else []))


def _is_plain(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _hex(number: int, width: int) -> str:
    return "".join(_CASELESS.get(digit, digit) for digit in f"{number:0{width}x}")
