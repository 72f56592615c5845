"""What a rule finds in a manifest: a path into the model and words; the place in the file is looked up later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """``path`` has the model's attribute names and indices; ``offset`` is the character within the text there."""

    path: tuple[str | int, ...]
    message: str
    fix: str = ""
    is_warning: bool = False
    offset: int = 0

    def under(self, *path: str | int) -> Finding:
        """The same, seen from further up."""
        return Finding((*path, *self.path), self.message, self.fix, self.is_warning, self.offset)
