"""Limits and switches of polls that an installation sets, not a manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput, SourceError

_KIB, _MB = 1 << 10, 1_000_000
_GIB = 1 << 30
_SIZE = re.compile(r"(\d+) *([kmgt]?)(?:i?b)?", re.IGNORECASE)
_STEPS = ("Pipe", "Container")


def megabytes(size: int) -> str:
    """Return a size in MB, or in bytes below one MB."""
    return f"{size // _MB} MB" if size >= _MB else f"{size} bytes"


@dataclass(frozen=True)
class Options:
    """Sizes are in bytes, times in seconds. An installation can set those in `OPTIONS`."""

    connect_timeout: float = 30
    read_timeout: float = 60
    """Maximum time without data from a server."""
    attempts: int = 4
    """Attempts in a row without progress after which a source is unavailable."""
    first_wait: float = 0.5
    """Pause before the second attempt; it doubles with each further one."""
    longest_wait: float = 60
    """Longest pause. If a server asks for more (Retry-After), the poll fails."""
    largest_download: int = 256 * _GIB
    largest_file: int = 1024 * _GIB
    """Maximum total output of a prepare step."""
    largest_ratio: int = 250
    """Maximum ratio of decompressed to compressed size, for more than ``ratio_free`` decompressed bytes."""
    ratio_free: int = _GIB // 4
    pipe_timeout: float = 3600
    savepoint_age: float = 3600
    """Maximum age in seconds of fetched data that a retry reuses if the source cannot be checked for changes."""
    forbidden_steps: frozenset[str] = frozenset()
    """Forbidden kinds of steps: ``Pipe``, ``Container``."""
    container_command: tuple[str, ...] = ()
    """Container runtime and its global flags. If empty, podman, else docker."""
    container_arguments: tuple[str, ...] = ()
    """Further flags of ``run``."""
    container_network: str = "none"
    container_memory: str = "2g"
    container_cpus: str = "1"
    container_timeout: float = 3600
    batches: int = 1000
    """Maximum runs of a container, and batches of logs, in one poll, while there is more data."""
    batch_records: int = 10_000
    """Number of messages or logs after which an input ends and the next one begins."""
    ethereum_nodes: Mapping[str, str] = field(default_factory=dict)
    """Chain id -> URL of a node, for steps without ``nodeUrl``."""
    ethereum_block_stride: int = 100_000
    """Maximum number of blocks in one request for logs."""
    ethereum_newest: str = "latest"
    """Newest block to read: ``latest``, ``safe`` or ``finalized``."""
    mqtt_idle: float = 1
    """Time without a message after which a poll ends."""
    mqtt_timeout: float = 60
    """Maximum time that a poll reads messages."""
    private_redirects: bool = False
    """Whether a redirect may lead into a narrower network than the source's own URL."""
    link_local: bool = False
    """Whether HTTP sources may have link-local addresses, as metadata services of clouds have."""
    outside_links: bool = False
    """Whether links may lead out of the folder of a glob."""
    still_rejected: str = "fail"
    """How a poll ends if all new input was rejected before: ``fail`` or ``skip``."""
    stderr_tail: int = 2 * _KIB
    """Bytes of a failed program's error output in its message."""
    where: Callable[[str], str] = field(default=str, compare=False)
    """Return the place where an installation sets an option, for messages."""

    def check_allowed(self, kind: str, what: str) -> None:
        """Check that a kind of step is not forbidden. ``what`` is the beginning of the message.

        :raises InvalidInput: it is.
        """
        if kind in self.forbidden_steps:
            place = self.where("forbid_steps")
            raise InvalidInput(f"{what} {kind} is forbidden: use another step, or remove {kind} from {place}")

    def check_download(self, size: int, label: str) -> None:
        """Check the size of a download.

        :raises SourceError: it is above the limit.
        """
        if size > self.largest_download:
            raise SourceError(
                f"{label}: larger than {megabytes(self.largest_download)}, the limit for downloads: "
                f"increase {self.where('largest_download')}, or split the file"
            )


def from_texts(texts: Mapping[str, str], where: Callable[[str], str] = str) -> Options:
    """Return options from texts by the names in `OPTIONS`; others have their defaults.

    >>> from_texts({"largest_download": "10 GB", "forbid_steps": "pipe"}).largest_download
    10737418240

    :raises InvalidInput: a text is not valid for its option. ``where`` returns the place of an option for messages.
    """
    values: dict[str, Any] = {}
    for name, text in texts.items():
        attribute, parse = _OPTIONS[name]
        try:
            values[attribute] = parse(text.strip())
        except ValueError as e:
            raise InvalidInput(f"{where(name)} = {redaction.redact(text)}: {e}") from None
    return Options(**values, where=where)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("must be a size such as 1000, 512m or 10g")
    return int(match[1]) << 10 * " kmgt".index(match[2].lower() or " ")


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        raise ValueError("must be a number of seconds above 0")
    return float(text)


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise ValueError("must be a whole number above 0")
    return int(text)


def _nodes(text: str) -> dict[str, str]:
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if any(not chain.isdigit() or not url for chain, _, url in pairs):
        raise ValueError("must be chain ids with URLs, as in 1=https://node.example.org, 137=https://…")
    return {chain: url for chain, _, url in pairs}


def _steps(text: str) -> frozenset[str]:
    kinds = {step.lower(): step for step in _STEPS}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in parts if part.lower() not in kinds]:
        raise ValueError(f"{unknown[0]} is not a kind of step that can be forbidden: use {' or '.join(_STEPS)}")
    return frozenset(kinds[part.lower()] for part in parts)


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


def _one_of(*values: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in values:
            raise ValueError(f"must be {' or '.join(values)}")
        return text

    return parse


def _follows(text: str) -> bool:
    return _one_of("refuse", "follow")(text) == "follow"


def _allows(text: str) -> bool:
    return _one_of("refuse", "allow")(text) == "allow"


_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "forbid_steps": ("forbidden_steps", _steps),
    "largest_download": ("largest_download", _size),
    "largest_file": ("largest_file", _size),
    "private_redirects": ("private_redirects", _follows),
    "link_local": ("link_local", _allows),
    "outside_links": ("outside_links", _follows),
    "read_timeout": ("read_timeout", _seconds),
    "pipe_timeout": ("pipe_timeout", _seconds),
    "container_command": ("container_command", _words),
    "container_arguments": ("container_arguments", _words),
    "container_network": ("container_network", str),
    "container_memory": ("container_memory", str),
    "container_cpus": ("container_cpus", str),
    "container_timeout": ("container_timeout", _seconds),
    "ethereum_nodes": ("ethereum_nodes", _nodes),
    "ethereum_block_stride": ("ethereum_block_stride", _count),
    "ethereum_newest": ("ethereum_newest", _one_of("latest", "safe", "finalized")),
    "mqtt_idle": ("mqtt_idle", _seconds),
    "mqtt_timeout": ("mqtt_timeout", _seconds),
    "still_rejected": ("still_rejected", _one_of("fail", "skip")),
}

OPTIONS = tuple(_OPTIONS)
"""Names of the options that an installation sets: in ``[odf]`` of airflow.cfg, or as ``ODF_NAME`` for ``odf``."""


def from_environment(environment: Mapping[str, str], forbid: Sequence[str] = ()) -> Options:
    """Return options from ``ODF_FORBID_STEPS``, ``ODF_LARGEST_FILE`` and so on, and forbid further steps.

    :raises InvalidInput: a value is not valid for its option.
    """
    texts = {name: environment[_variable(name)] for name in OPTIONS if _variable(name) in environment}
    options = replace(from_texts(texts, _variable), where=_place)
    if not forbid:
        return options
    more = from_texts({"forbid_steps": ",".join(forbid)}, lambda _: "--forbid").forbidden_steps
    return replace(options, forbidden_steps=options.forbidden_steps | more)


def _place(name: str) -> str:
    return f"{_variable(name)} or --forbid" if name == "forbid_steps" else _variable(name)


def _variable(name: str) -> str:
    return f"ODF_{name.upper()}"
