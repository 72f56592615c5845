"""Files and folders with rights for users who are neither their owner nor in their group."""

from __future__ import annotations

from pathlib import Path

OTHERS = 0o007


def open_to_others(*folders: Path) -> list[str]:
    """The paths below folders that others reach, to read, write or enter them, with their modes.

    What lies in a closed folder is closed, whatever its own mode."""
    found = []
    for path in (path for folder in folders for path in sorted(folder.glob("*")) if not path.is_symlink()):
        mode = path.stat().st_mode & 0o777
        if mode & OTHERS:
            found += [f"{path} {mode:o}", *(open_to_others(path) if path.is_dir() else ())]
    return found
