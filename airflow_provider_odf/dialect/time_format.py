"""chrono's strftime formats (DataFusion) as Java patterns (Spark): the directives that both read, or write, alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOTH = {
    "Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "F": "yyyy-MM-dd", "T": "HH:mm:ss",
    "R": "HH:mm", "b": "MMM", "h": "MMM", "B": "MMMM", "I": "hh", "p": "a", "3f": "SSS", "6f": "SSSSSS",
    ".3f": ".SSS", ".6f": ".SSSSSS", "%": "%",
}  # fmt: skip
_READ = {
    **_BOTH, "z": "[xx][xxx]", ":z": "[xxx][xx]", "#z": "[xxx][xx][x]", ".f": "[.SSSSSSSSS]", ".3f": "[.SSS]",
    ".6f": "[.SSSSSS]",
}  # fmt: skip
_WRITE = {**_BOTH, "j": "DDD", "a": "EEE", "A": "EEEE", "y": "yy"}
_SHORT = ("d", "m", "H", "I", "M", "S")
"""Directives that read one digit as well, where no other digit can follow."""
_TWO, _ZONE = "[0-9]{2}", "[+-][0-9]{2}:?[0-9]{2}"
_TEXTS = {
    "Y": "[0-9]{4}", **dict.fromkeys(_SHORT, _TWO), "F": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "T": "[0-9]{2}:[0-9]{2}:[0-9]{2}", "R": "[0-9]{2}:[0-9]{2}", **dict.fromkeys("bhB", "[A-Za-z]{3,9}"),
    "p": "[AaPp][Mm]", "3f": "[0-9]{3}", "6f": "[0-9]{6}", ".3f": "([.][0-9]{3})?", ".6f": "([.][0-9]{6})?",
    ".f": "([.][0-9]{1,9})?", "%": "%", "z": _ZONE, ":z": _ZONE, "#z": "[+-][0-9]{2}(:?[0-9]{2})?",
}  # fmt: skip
_PARTS = {
    "Y": "year", "m": "month", "b": "month", "h": "month", "B": "month", "d": "day", "F": "year month day",
    "H": "hour", "M": "minute", "S": "second", "T": "hour minute second", "R": "hour minute", "I": "half", "p": "noon",
    **dict.fromkeys(("3f", "6f", ".3f", ".6f", ".f"), "fraction"), **dict.fromkeys(("z", ":z", "#z"), "zone"),
}  # fmt: skip
_DATE = {"year", "month", "day"}
_MINUTE = ({"hour", "minute"}, {"half", "noon", "minute"})
_TIMES = [
    set(), *(minute | finer for minute in _MINUTE for finer in (set(), {"second"}, {"second", "fraction"})),
]  # fmt: skip
_NO_DIGITS = ("", "p", "b", "h", "B", ".f", ".3f", ".6f", "%", "z", ":z", "#z")
_TOKEN = re.compile(r"%(?P<directive>[.]?[369]?f|[:#]?z|.)|(?P<text>[^%]+)", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """A Java pattern, and the regular expression of the texts that it may be given; Java would take others too."""

    java: str
    texts: str


def to_read(pattern: str) -> Reading:
    """How to read what the chrono format reads. It is stricter about blanks, and about digits that touch.

    :raises ValueError: a directive has no exact counterpart, or a part of a date or time is missing."""
    tokens = _tokens(pattern, _READ)
    _expect_whole([_PARTS[d] for d, _ in tokens if d in _PARTS])
    java, texts = [], []
    for index, (directive, text) in enumerate(tokens):
        if not directive:
            java.append(_quoted(text))
            texts.append(re.escape(text))
            continue
        is_short = directive in _SHORT and not _touches_digits(tokens, index)
        java.append(_READ[directive][:1] if is_short else _READ[directive])
        texts.append("[0-9]{1,2}" if is_short else _TEXTS[directive])
    return Reading("".join(java), rf"\A{''.join(texts)}\z")


def to_write(pattern: str) -> str:
    """The Java pattern that writes what the chrono format writes.

    :raises ValueError: a directive has no exact counterpart."""
    return "".join(_WRITE[d] if d else _quoted(text) for d, text in _tokens(pattern, _WRITE))


def _tokens(pattern: str, directives: dict[str, str]) -> list[tuple[str, str]]:
    """Directives and the texts between them; one of a pair is empty."""
    tokens = [(match["directive"] or "", match["text"] or "") for match in _TOKEN.finditer(pattern)]
    for directive, _ in tokens:
        if directive and directive not in directives:
            raise ValueError(f"%{directive} in the time format has no exact form on Spark")
    if pattern.endswith("%") and not pattern.endswith("%%"):
        raise ValueError("the time format ends with a lone %")
    return tokens


def _expect_whole(parts: list[str]) -> None:
    """What is missing is an error in DataFusion, or makes it drop the rest of the time.

    :raises ValueError: if a part is missing, or is there twice."""
    names = " ".join(parts).split()
    found = set(names)
    if len(found) != len(names):
        raise ValueError("the time format has a part twice")
    if not found >= _DATE:
        raise ValueError("the time format needs year, month and day")
    time = found - _DATE - {"zone"}
    if time not in _TIMES or ("zone" in found and not time):
        raise ValueError("the time format needs hour (%H, or %I with %p) and minute before anything finer, or no time")


def _touches_digits(tokens: list[tuple[str, str]], index: int) -> bool:
    """Whether what stands next to a directive may be a digit too."""
    before = tokens[index - 1] if index else ("", " ")
    after = tokens[index + 1] if index + 1 < len(tokens) else ("", " ")
    sides = [(before[0], before[1][-1:]), (after[0], after[1][:1])]
    return any(directive not in _NO_DIGITS or character.isdigit() for directive, character in sides)


def _quoted(text: str) -> str:
    """Letters and Java's special signs in quotes."""
    return re.sub(r"[A-Za-z'\[\]{}#]+", lambda match: "'" + match.group().replace("'", "''") + "'", text)
