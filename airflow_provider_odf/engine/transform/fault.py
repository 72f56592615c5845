"""Why a query is not a function of the rows of its inputs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """Why a query is not deterministic; ``word`` is where it says so, ``fix`` what to write instead."""

    word: str
    message: str
    fix: str
