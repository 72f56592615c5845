"""What a demo prints: titles, and commands with their output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console


class Screen:
    """The terminal.

    :param store: the store of the commands ``odf``, as they show it.
    :param environment: variables of these commands; by default those of this process.
    """

    def __init__(self, store: str, environment: Mapping[str, str] | None = None) -> None:
        self.store, self.environment = store, environment
        self.console = Console(width=None if sys.stdout.isatty() else 150, highlight=False, soft_wrap=True)

    def say(self, title: str) -> None:
        self.console.print(f"\n[bold cyan]== {title}[/]")

    def print(self, text: str) -> None:
        self.console.print(text)

    def odf(self, *arguments: str) -> None:
        self.console.print(f"[dim]$ .venv/bin/odf {' '.join(arguments)} --store {self.store}[/]")
        sys.stdout.flush()
        subprocess.run([odf(), *arguments], check=True, env=self.environment)


def odf() -> str:
    """Return the path of the command ``odf`` of this environment."""
    return str(Path(sys.executable).with_name("odf"))
