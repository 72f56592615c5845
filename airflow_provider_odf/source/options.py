"""Limits and switches of polls that belong to an installation, not to a manifest."""

from __future__ import annotations

from dataclasses import dataclass

_KIB = 1 << 10
_GIB = 1 << 30


@dataclass(frozen=True)
class Options:
    """Sizes are in bytes, times in seconds."""

    connect_timeout: float = 30
    read_timeout: float = 60
    """How long a server or a stalled connection may stay silent."""
    attempts: int = 4
    """Tries in a row that bring no byte beyond those before, after which a source counts as unavailable."""
    first_wait: float = 0.5
    """Pause before the second try; it doubles with every further one."""
    longest_wait: float = 60
    """A server that asks for a longer pause (Retry-After) is left to the next poll."""
    largest_download: int = 256 * _GIB
    largest_file: int = 1024 * _GIB
    """Limit of what a prepare step may write, in all."""
    largest_ratio: int = 250
    """Beyond ``ratio_free`` bytes a file may unpack to so many times its size."""
    ratio_free: int = _GIB // 4
    pipe_timeout: float = 3600
    savepoint_age: float = 3600
    """How long a kept fetch stands in for a source that cannot be asked whether it is still current."""
    forbidden_steps: frozenset[str] = frozenset()
    """Kinds of steps that may not run here: ``Pipe``, ``Container``."""
    container_command: tuple[str, ...] = ()
    """Container runtime and its global flags; podman or docker, whichever is found, where empty."""
    container_arguments: tuple[str, ...] = ()
    """Further flags of its ``run``."""
    container_network: str = "none"
    container_memory: str = "2g"
    container_cpus: str = "1"
    container_timeout: float = 3600
    container_batches: int = 1000
    """How often one poll runs a container that says it has more data."""
    stderr_tail: int = 2 * _KIB
    """How much of a failed program's error output a message shows."""
