"""Text of manifests as safe Markdown: no HTML, nothing that a browser fetches by itself, no table or code that ends
early."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>]*>)")
_IMAGE = re.compile(r"!\[(\]?)")
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
_HEADING = re.compile(r"^#{1,6}(?=\s|$)")
_MOST_HEADING = 6
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_JOINER = "\u2060"
"""Invisible character that keeps Markdown from reading ``<`` and a name as a tag. It also works in code, which would
show ``&lt;`` literally."""


def cell(text: str) -> str:
    """Return text for a cell of a table: one line, without markup."""
    line = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]|<>])", r"\\\1", line)


def code(text: str) -> str:
    """Return text as code, also for a cell of a table."""
    line = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def table(*rows: tuple[str, str]) -> str:
    """Return a table of cells whose first row is the header."""
    lines = [f"| {label} | {text} |" for label, text in rows]
    return "\n".join([*lines[:1], "|---|---|", *lines[1:]])


def readable(text: str) -> str:
    """Return the text without control characters: PostgreSQL cannot store NUL, and the others are invisible."""
    return _CONTROL.sub("", text)


def block(lines: Iterable[object]) -> str:
    """Return lines as a code block whose fence is longer than any fence in them."""
    text = "\n".join(map(str, lines))
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
    return f"{fence}\n{text}\n{fence}"


def link(text: str, url: str) -> str:
    """Return a link for a cell of a table, or the text and the URL if the URL is not an http one."""
    if re.fullmatch(r"https?://[^\s<>()|`\\]+", url):
        return f"[{cell(text)}]({url})"
    return f"{cell(text)} {code(url)}" if url.strip() else cell(text)


def document(text: str, *, under: int, limit: int) -> str:
    """Return a Markdown document for use inside another one.

    Headings are ``under`` levels deeper, HTML is shown as text, images are links. It is cut after ``limit`` characters,
    at the end of a line, and ends with a newline.
    """
    text = "\n".join(re.split(r"\r\n?|\n", text.strip()))
    cut = text if len(text) <= limit else text[:limit].rpartition("\n")[0] or text[:limit]
    lines, fence = [], ""
    for line in cut.split("\n"):
        if fence:
            shown = line
            if re.fullmatch(rf" {{0,3}}{re.escape(fence)}{re.escape(fence[0])}*[ \t]*", line):
                fence = ""
        elif opened := _FENCE.fullmatch(line):
            # At the margin, where it is no part of a list or quotation that could end before it does.
            fence, shown = opened[1] or opened[2], line
        else:
            deeper = _HEADING.sub(lambda marks: "#" * min(len(marks[0]) + under, _MOST_HEADING), line, count=1)
            shown = _inert(deeper)
        lines.append(shown)
    if cut != text:
        lines += [fence, "…"]
    return "\n".join(lines) + "\n"


def _inert(line: str) -> str:
    """Return a line without HTML and images; images in code stay."""
    line = _TAG.sub(f"<{_JOINER}", line)
    parts = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_IMAGE.sub(_link, line[end : span.start()]), span[0].replace("![", f"!{_JOINER}[")]
        end = span.end()
    return "".join([*parts, _IMAGE.sub(_link, line[end:])])


def _link(image: re.Match[str]) -> str:
    """Return the start of a link that replaces an image, with a default text if the image has none."""
    return "[image]" if image[1] else "["
