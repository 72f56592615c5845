"""stub"""

from __future__ import annotations

from typing import Any


def register(context: Any) -> None:
    return None
