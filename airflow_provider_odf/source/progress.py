"""Progress messages of long transfers."""

from __future__ import annotations

import time
from collections.abc import Callable

_INTERVAL = 10.0
_MB = 1_000_000


class Transfer:
    """Reports the progress of a transfer, at most every ten seconds."""

    def __init__(self, label: str, tell: Callable[[str], None], total: int | None = None) -> None:
        self._label, self._tell = label, tell
        self.total = total
        self._next = time.monotonic() + _INTERVAL

    def reached(self, size: int) -> None:
        """Report ``size`` transferred bytes, if it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        of = f" of {megabytes(self.total)}" if self.total else ""
        self._tell(f"{self._label}: {size // _MB if of else megabytes(size)}{of}")


def megabytes(size: int) -> str:
    """Return a size in MB, or in bytes below one MB."""
    return f"{size // _MB} MB" if size >= _MB else f"{size} bytes"
