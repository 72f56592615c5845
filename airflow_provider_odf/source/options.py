"""Limits and switches of polls that belong to an installation, not to a manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput

_KIB = 1 << 10
_GIB = 1 << 30
_SIZE = re.compile(r"(\d+) *([kmgt]?)(?:i?b)?", re.IGNORECASE)
_STEPS = ("Pipe", "Container")


@dataclass(frozen=True)
class Options:
    """Sizes are in bytes, times in seconds. Those that an installation sets as texts are in `OPTIONS`."""

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
    private_redirects: bool = False
    """Whether a redirect may lead into a narrower network than the source's own URL."""
    outside_links: bool = False
    """Whether links may lead out of the folder of a glob."""
    still_rejected: str = "fail"
    """How a poll ends that finds only input which was rejected before: ``fail`` or ``skip``."""
    stderr_tail: int = 2 * _KIB
    """How much of a failed program's error output a message shows."""


def from_texts(texts: Mapping[str, str], where: Callable[[str], str] = str) -> Options:
    """Options from texts by the names in `OPTIONS`; what is not among them has its default.

    >>> from_texts({"largest_download": "10 GB", "forbid_steps": "pipe"}).largest_download
    10737418240

    :raises InvalidInput: a text that the option does not take; ``where`` says where it stands.
    """
    values: dict[str, Any] = {}
    for name, text in texts.items():
        field, parse = _OPTIONS[name]
        try:
            values[field] = parse(text.strip())
        except ValueError as e:
            raise InvalidInput(f"{where(name)} = {redaction.redact(text)}: {e}") from None
    return Options(**values)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("must be a number of bytes, with k, m, g or t for more: 10g")
    return int(match[1]) << 10 * " kmgt".index(match[2].lower() or " ")


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        raise ValueError("must be a number of seconds above 0")
    return float(text)


def _steps(text: str) -> frozenset[str]:
    known = {step.lower(): step for step in _STEPS}
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in asked if part.lower() not in known]:
        raise ValueError(f"{unknown[0]} is no kind of step that can be switched off: take {', '.join(_STEPS)}")
    return frozenset(known[part.lower()] for part in asked)


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("must be a command line: a quotation mark is not closed") from None
    for word in words:
        name, separator, _ = word.removeprefix("--env=").removeprefix("-e").partition("=")
        if word.startswith("--creds") or (separator and not name.startswith("-") and redaction.is_sensitive(name)):
            raise ValueError(
                "everyone on the machine can read command lines: put credentials into a file (--authfile, --env-file)"
            )
    return words


def _follows(text: str) -> bool:
    if text not in ("refuse", "follow"):
        raise ValueError("must be refuse or follow")
    return text == "follow"


def _ending(text: str) -> str:
    if text not in ("fail", "skip"):
        raise ValueError("must be fail or skip")
    return text


_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "forbid_steps": ("forbidden_steps", _steps),
    "largest_download": ("largest_download", _size),
    "largest_file": ("largest_file", _size),
    "private_redirects": ("private_redirects", _follows),
    "outside_links": ("outside_links", _follows),
    "read_timeout": ("read_timeout", _seconds),
    "pipe_timeout": ("pipe_timeout", _seconds),
    "container_command": ("container_command", _words),
    "container_arguments": ("container_arguments", _words),
    "container_network": ("container_network", str),
    "container_memory": ("container_memory", str),
    "container_cpus": ("container_cpus", str),
    "container_timeout": ("container_timeout", _seconds),
    "still_rejected": ("still_rejected", _ending),
}

OPTIONS = tuple(_OPTIONS)
"""Names of the options that an installation sets: in ``[odf]`` of airflow.cfg, or as ``ODF_NAME`` for ``odf run``."""


def from_environment(environment: Mapping[str, str], forbid: Sequence[str] = ()) -> Options:
    """Options from ``ODF_FORBID_STEPS``, ``ODF_LARGEST_FILE`` and so on, with further steps forbidden.

    :raises InvalidInput: a value that the option does not take.
    """
    texts = {name: environment[_variable(name)] for name in OPTIONS if _variable(name) in environment}
    options = from_texts(texts, _variable)
    if not forbid:
        return options
    more = from_texts({"forbid_steps": ",".join(forbid)}, lambda _: "--forbid").forbidden_steps
    return replace(options, forbidden_steps=options.forbidden_steps | more)


def _variable(name: str) -> str:
    return f"ODF_{name.upper()}"
