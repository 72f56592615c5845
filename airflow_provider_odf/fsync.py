"""``fsync`` of a path, for files that must survive a power failure. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def fsync(path: Path) -> None:
    """Sync the content of a file to the disk, or the names of a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
