"""Builder of flatbuffers, and reader of untrusted ones: it checks every position, and raises ``ValueError`` for invalid
bytes.

The flatbuffers runtime for Python follows any offset, but blocks come from files that may be damaged or hostile.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

TIMESTAMP = struct.Struct("<iHxxII")
"""Year, day of the year, second of the day and nanosecond."""

_U16_PAIR = struct.Struct("<HH")
_I32 = struct.Struct("<i")
_U32 = struct.Struct("<I")
_NUMBERS = {letter: struct.Struct("<" + letter) for letter in "?BhHiIqQ"}
"""Types of scalars by their letters in ``struct``."""
_MAX_OVERLAP = 8


def new_builder() -> Any:
    """Return a flatbuffers builder."""
    # Imported where blocks are written: with numpy behind it, it would double the start of commands that only read.
    import flatbuffers

    return flatbuffers.Builder(1024)


class Reader:
    """A finished flatbuffer. Positions are absolute; 0 stands for an absent field."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        # Objects of an honest buffer do not overlap. Without a limit a small buffer could unfold into a huge object.
        self._budget = _MAX_OVERLAP * len(data)

    def root(self) -> int:
        """Position of the root table."""
        return self.follow(0)

    def follow(self, at: int) -> int:
        """Return the position of the table, vector or string that the offset at ``at`` points to."""
        return at + self._unpack(_U32, at)

    def fields(self, table: int) -> Sequence[int]:
        """Return the positions of the table's fields by slot; slots beyond the end of the sequence are absent."""
        vtable = table - self._unpack(_I32, table)
        size, table_size = self.unpack(_U16_PAIR, vtable)
        if size < 4 or size % 2 or table_size < 4:
            raise ValueError(f"the table at byte {table} has no valid vtable")
        self._take(table, table_size)
        self._check(vtable, size)
        offsets = struct.unpack_from(f"<{size // 2 - 2}H", self._data, vtable + 4)
        if max(offsets, default=0) >= table_size:
            raise ValueError(f"the table at byte {table} has a field outside of it")
        return [offset and table + offset for offset in offsets]

    def scalar(self, letter: str, at: int) -> int:
        """Return the number at ``at``; ``letter`` is its type in ``struct``."""
        return self._unpack(_NUMBERS[letter], at)

    def unpack(self, layout: struct.Struct, at: int) -> tuple[int, ...]:
        """Return the members of an inline struct."""
        self._check(at, layout.size)
        return layout.unpack_from(self._data, at)

    def vector(self, at: int, item_size: int) -> range:
        """Return the positions of the items of the vector that the offset at ``at`` points to."""
        start = self.follow(at) + 4
        count = self._unpack(_U32, start - 4)
        self._take(start, count * item_size)
        return range(start, start + count * item_size, item_size)

    def blob(self, at: int) -> bytes:
        """Return the bytes of the vector or string (in UTF-8) that the offset at ``at`` points to."""
        items = self.vector(at, 1)
        return self._data[items.start : items.stop]

    def _unpack(self, layout: struct.Struct, at: int) -> int:
        self._check(at, layout.size)
        number: int = layout.unpack_from(self._data, at)[0]
        return number

    def _take(self, at: int, size: int) -> None:
        self._check(at, size)
        self._budget -= size + 4
        if self._budget < 0:
            raise ValueError("its objects overlap")

    def _check(self, at: int, size: int) -> None:
        if at < 0 or at + size > len(self._data):
            raise ValueError(
                f"truncated: bytes {at} to {at + size} are needed, but there are only {len(self._data)} bytes"
            )
