"""Pages whose commands are run: ``console`` blocks with commands after ``$`` and the output that they gave.

A page starts in an empty folder. A block after ``<!-- file: NAME -->`` is written there under that name; a command in a
``console`` block is run there, in order. In recorded output ``...`` stands for any lines. ``python -m docs.transcript
PAGE...`` runs pages and writes the output into them; a test runs them and compares.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from docs.pages import blocks

_TIMEOUT = 300
_CHANGING = (
    (re.compile(r"\bf16[0-9a-f]{2,}"), "HASH"),
    (re.compile(r"\bdid:odf:\w+"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b(candidate|rejected|replaced)-[0-9a-f]{16}\b"), r"\1-KEY"),
    (re.compile(r"\bby [\w.-]+@[\w.-]+, "), "by USER, "),
    (re.compile(r"─+|-{4,}"), "-"),
    (re.compile(r"[ \t]+"), " "),
)
"""What differs between two runs, and what stands for it in comparisons."""
_CLOCK = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")
"""A time with a fraction in recorded output: the clock's."""
_ANY_TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?"
"""What it agrees with: once in a thousand runs the clock shows a whole second."""


@dataclass
class Shell:
    """A folder in which a page's commands run one after the other; ``export`` and ``cd`` last."""

    folder: Path
    environment: dict[str, str]
    background: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def run(self, command: str) -> str:
        """The output of a command, both streams, as a terminal would show it; ``&`` starts one that runs on."""
        words = shlex.split(command)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environment[name] = value.replace("$PWD", str(self.folder))
            return ""
        if words[0] == "cd":
            self.folder /= words[1]
            return ""
        if command.endswith("&"):
            process = subprocess.Popen(
                words[:-1],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.background.append(process)
            return ""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        absolute = done.stdout.replace(f"file://{self.folder}/", "file:///data/")
        return absolute.replace(f"{self.folder}/", "").replace(str(self.folder), ".")


@contextmanager
def shell(*programs: Path) -> Iterator[Shell]:
    """A shell in an empty folder, which goes with all that still runs in it. Its commands are looked for in folders of
    ``programs`` first."""
    folders = [*map(str, programs), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "ODF_STORE", "OPENLINEAGE"))}
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        opened = Shell(Path(folder).resolve(), {**kept, "PATH": os.pathsep.join(folders), "COLUMNS": "120"})
        try:
            yield opened
        finally:
            for process in opened.background:
                process.terminate()
                process.wait()


@dataclass(frozen=True)
class Command:
    """A command of a page, the output that the page has for it, and what it gave. ``line`` is the number of the line
    after the command."""

    command: str
    recorded: tuple[str, ...]
    given: tuple[str, ...]
    line: int

    @property
    def agrees(self) -> bool:
        """Whether the output is the recorded one, but for hashes, times and widths."""
        parts: list[list[str]] = [[]]
        for line in map(_plain, self.recorded):
            if line == "...":
                parts.append([])
            else:
                parts[-1].append(line)
        pattern = r"(?:.*\n)*".join("".join(f"{_pattern(line)}\n" for line in part) for part in parts)
        return re.fullmatch(pattern, "".join(f"{_plain(line)}\n" for line in self.given)) is not None


def run(text: str, *programs: Path) -> Iterator[Command]:
    """Each command of a page, run after those before it; ``programs`` as in `shell`."""
    with shell(*programs) as opened:
        for block in blocks(text):
            if block.file is not None:
                file = opened.folder / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "console":
                for command, recorded, line in _commands(block.lines, block.first_line):
                    yield Command(command, recorded, tuple(opened.run(command).splitlines()), line)


def _commands(lines: tuple[str, ...], first_line: int) -> Iterator[tuple[str, tuple[str, ...], int]]:
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start][2:], lines[start + 1 : end], first_line + start + 1


def _plain(line: str) -> str:
    for pattern, text in _CHANGING:
        line = pattern.sub(text, line)
    return line.strip()


def _pattern(line: str) -> str:
    return _ANY_TIME.join(map(re.escape, _CLOCK.split(line)))


def rewritten(text: str) -> str:
    """The page with the output that its commands give now, where it is not the recorded one."""
    lines = text.splitlines()
    for command in reversed(list(run(text))):
        if not command.agrees:
            start = command.line - 1
            lines[start : start + len(command.recorded)] = command.given
    return "".join(f"{line}\n" for line in lines)


def main(names: Sequence[str]) -> None:
    """Rewrite the pages of these names."""
    for page in map(Path, names):
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
