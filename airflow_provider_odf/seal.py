"""Content hashes of files that are kept between runs: state cache, fetched files, savepoints, reports.

The writer of files adds a *seal*: their SHA-256 hashes and their *subject*, such as a dataset id and a block hash. The
reader compares. SHA-256 is the fastest strong hash of the standard library on processors with instructions for it;
slices and blocks have their own SHA3-256 hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SEAL = "seal.json"
_HASH = "sha256"
_CHUNK = 1 << 20
_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
"""What is not there was altered. Any other OSError is a fault of the machine, not of the file."""


def sealed_json(content: Mapping[str, Any]) -> bytes:
    """Return a JSON object that includes the hash of its content."""
    return json.dumps({**content, _HASH: _content_hash(content)}, ensure_ascii=False, indent=1).encode()


def open_json(data: bytes | None, **subject: str) -> dict[str, Any] | None:
    """Return the sealed content, or None if the bytes are missing, altered or of another subject.

    :param subject: properties that the object must have.
    """
    try:
        content = json.loads(data or b"")
        is_intact = content.pop(_HASH) == _content_hash(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if is_intact and subject.items() <= content.items() else None


def is_unsealed(data: bytes | None, *subject: str) -> bool:
    """Return whether bytes are a JSON object that was never sealed: one of which only the name of the hash is altered
    still has the properties of its subject."""
    try:
        content = json.loads(data or b"")
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {_HASH, *subject}.isdisjoint(content)


def seal(directory: Path, files: Iterable[Path], **subject: str) -> None:
    """Write the seal of a directory for files below it; a directory stands for every file in it."""
    hashes = {_name(file, directory): file_hash(file) for path in files for file in _files(path)}
    write_seal(directory, hashes, **subject)


def write_seal(directory: Path, hashes: Mapping[str, str], **subject: str) -> None:
    """Write the seal of a directory for files whose hashes are known, by their path in it."""
    (directory / SEAL).write_bytes(seal_of(hashes, **subject))


def seal_of(hashes: Mapping[str, str], **subject: str) -> bytes:
    """Return the seal of files whose hashes are known, by their path in their directory."""
    return sealed_json({**subject, "files": dict(hashes)})


def sealed_hashes(directory: Path, **subject: str) -> dict[str, str] | None:
    """Return the hashes in the seal of a directory, or None if it has no intact seal of this subject.

    :raises OSError: the seal is there and cannot be read now.
    """
    try:
        return hashes_in((directory / SEAL).read_bytes(), **subject)
    except _MISSING:
        return None


def hashes_in(data: bytes | None, **subject: str) -> dict[str, str] | None:
    """Return the hashes in a seal, or None if it is missing, altered or of another subject."""
    content = open_json(data, **subject)
    return content["files"] if content else None


def first_altered(directory: Path, files: Iterable[Path] | None = None, **subject: str) -> Path | None:
    """Return the first file that differs from its seal, or None if all are intact. The seal itself is returned if it is
    altered or of another subject.

    :raises OSError: a file is there and cannot be read now, which says nothing about its content.
    :param files: files or directories to compare, by default every sealed file.
    """
    hashes = sealed_hashes(directory, **subject)
    if hashes is None:
        return directory / SEAL
    compared = [directory / name for name in hashes] if files is None else [f for path in files for f in _files(path)]
    return next((file for file in compared if not is_file(file, hashes.get(_name(file, directory)))), None)


def is_file(path: Path, expected: str | None) -> bool:
    """Return whether there is a file with this hash.

    :raises OSError: the file is there and cannot be read now.
    """
    try:
        return file_hash(path) == expected
    except _MISSING:
        return False


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _content_hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _name(file: Path, directory: Path) -> str:
    return file.relative_to(directory).as_posix()
