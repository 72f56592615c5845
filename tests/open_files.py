"""Files and folders with rights for users who are neither their owner nor in their group."""

from __future__ import annotations

from pathlib import Path

OTHERS = 0o007


def open_to_others(*folders: Path) -> list[str]:
    """The paths below folders that others may read, write or enter, with their modes."""
    modes = {path: path.lstat().st_mode & 0o777 for folder in folders for path in sorted(folder.rglob("*"))}
    return [f"{path} {mode:o}" for path, mode in modes.items() if mode & OTHERS and not path.is_symlink()]
