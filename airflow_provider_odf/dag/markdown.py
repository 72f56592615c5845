"""Text of manifests as Markdown that stays what it is: no HTML, nothing that a reader's browser fetches by itself, no
table or code that ends early."""

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
"""Between ``<`` and a name it makes the two no tag, and is not seen; also in code, which shows ``&lt;`` as it is."""


def cell(text: str) -> str:
    """Text in a cell of a table: one line, without markup."""
    line = " ".join(text.split())
    return re.sub(r"([\\`*_\[\]|<>])", r"\\\1", line)


def code(text: str) -> str:
    """Text as code, also in a cell of a table."""
    line = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def readable(text: str) -> str:
    """The text without control characters: PostgreSQL stores no NUL, and nobody reads the others."""
    return _CONTROL.sub("", text)


def block(lines: Iterable[object]) -> str:
    """Lines of text as a block of code, which nothing in them ends."""
    text = "\n".join(map(str, lines))
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
    return f"{fence}\n{text}\n{fence}"


def link(text: str, url: str) -> str:
    """A link for a cell of a table where the URL is one of the web, else the text and the URL."""
    if re.fullmatch(r"https?://[^\s<>()|`\\]+", url):
        return f"[{cell(text)}]({url})"
    return f"{cell(text)} {code(url)}" if url.strip() else cell(text)


def document(text: str, *, under: int, limit: int) -> str:
    """A Markdown document inside another: headings ``under`` levels deeper, HTML shown as text, images as links, cut
    after ``limit`` characters at the end of a line. It ends with a newline."""
    text = "\n".join(re.split(r"\r\n?|\n", text.strip()))
    cut = text if len(text) <= limit else text[:limit].rpartition("\n")[0] or text[:limit]
    lines, fence = [], ""
    for line in cut.split("\n"):
        if fence:
            fence, shown = _after(line, fence), line
        elif opened := _FENCE.fullmatch(line):
            # At the margin, where it is no part of a list or quotation that could end before it does.
            fence, shown = opened[1] or opened[2], line
        else:
            shown = _inert(_HEADING.sub(lambda marks: _deeper(marks[0], under), line, count=1))
        lines.append(shown)
    if cut != text:
        lines += [fence, "…"]
    return "\n".join(lines) + "\n"


def _after(line: str, fence: str) -> str:
    """The open fence after one more line of code."""
    return "" if re.fullmatch(rf" {{0,3}}{re.escape(fence)}{re.escape(fence[0])}*[ \t]*", line) else fence


def _deeper(marks: str, levels: int) -> str:
    return "#" * min(len(marks) + levels, _MOST_HEADING)


def _inert(line: str) -> str:
    """A line in which no HTML and no image begins. What looks like an image in code keeps its looks."""
    line = _TAG.sub(f"<{_JOINER}", line)
    parts = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_IMAGE.sub(_link, line[end : span.start()]), span[0].replace("![", f"!{_JOINER}[")]
        end = span.end()
    return "".join([*parts, _IMAGE.sub(_link, line[end:])])


def _link(image: re.Match[str]) -> str:
    """The beginning of a link in place of that of an image, with a text if the image has none."""
    return "[image]" if image[1] else "["
