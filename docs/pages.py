"""The Markdown pages of the repository: their code blocks, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

_FENCE = re.compile(r"(?P<ticks>`{3,})(?P<language>\w*)\s*")
_FILE = re.compile(r"<!-- file: (?P<name>\S+) -->")
_HEADING = re.compile(r"#{1,6} +(?P<text>.+?)\s*#*")
_LINK = re.compile(r"!?\[(?:[^\][]|\[[^\]]*\])*\]\((?P<target>[^()\s]+)\)")
_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Block:
    """A fenced block of code: its lines, and the line number of the first of them. ``file`` is the name that a comment
    ``<!-- file: NAME -->`` before the block gives it."""

    language: str
    lines: tuple[str, ...]
    first_line: int
    file: str | None = None

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def pages() -> list[Path]:
    """Every page: those at the root of the repository, and those below docs/."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = text.splitlines()
    index, file = 0, None
    while index < len(lines):
        opening = _FENCE.fullmatch(lines[index])
        if opening is None:
            named = _FILE.fullmatch(lines[index])
            file = named["name"] if named else file if not lines[index].strip() else None
            index += 1
            continue
        end = lines.index(opening["ticks"], index + 1)
        yield Block(opening["language"], tuple(lines[index + 1 : end]), index + 2, file)
        index, file = end + 1, None


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced blocks, with their numbers."""
    inside: set[int] = set()
    for block in blocks(text):
        inside.update(range(block.first_line - 1, block.first_line + len(block.lines) + 1))
    yield from ((number, line) for number, line in enumerate(text.splitlines(), 1) if number not in inside)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    found: set[str] = set()
    for _, line in prose(text):
        if heading := _HEADING.fullmatch(line):
            slug = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "]", heading["text"]).lower()).replace(" ", "-")
            taken = sum(1 for anchor in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", anchor))
            found.add(f"{slug}-{taken}" if slug in found else slug)
    return found


def link_problems(files: Sequence[Path]) -> Iterator[str]:
    """One line for each relative link that leads to no file of the repository, or to no heading of a page."""
    for file in files:
        for number, line in prose(file.read_text(encoding="utf-8")):
            for link in _LINK.finditer(_CODE.sub(lambda code: " " * len(code[0]), line)):
                if problem := _problem(file, link["target"]):
                    yield f"{file.relative_to(ROOT)}:{number}: {problem}"


def _problem(page: Path, target: str) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    file = (page.parent / unquote(name)).resolve() if name else page
    if not file.is_relative_to(ROOT) or not file.exists():
        return f"{target}: no such file in the repository"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text(encoding="utf-8"))):
        return f"{target}: no such heading"
    return None
