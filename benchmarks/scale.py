"""How large a case is measured, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scale:
    """``directory`` is the case's own and goes away after it. ``picture`` is a file to draw to."""

    directory: Path
    rows: int
    reps: int
    sources: int
    picture: Path | None = None
