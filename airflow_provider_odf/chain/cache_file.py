"""Disposable files of what was computed from a chain: a first line with a format, the SHA-256 of the content, and the
names of the file and of its folder, which is that of a dataset.

A file of another format, with other bytes, or from another place counts as missing: a copy of a file of another dataset
is not believed.
"""

from __future__ import annotations

import contextlib
from hashlib import sha256
from pathlib import Path

from airflow_provider_odf.chain import durable_files
from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.errors import OdfError


def read(file: Path, form: str) -> bytes | None:
    """Return the content of a file, or None if there is none of this format, or it is damaged."""
    try:
        header, _, content = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if header == _header(file, form, content) else None


def write(file: Path, form: str, content: bytes) -> None:
    """Write a file into an existing folder, if this process may: without the file the content is computed again.

    A reader of a dataset makes no folder, because its writers might not be able to use it. Nothing waits for the disk:
    a file that a loss of power damages has another hash.
    """
    if file.parent.is_dir():
        with contextlib.suppress(OdfError, OSError):
            durable_files.write(file, _header(file, form, content) + b"\n" + content, is_synced=False)


def make_folder(work_area: Path, folder: Path) -> bool:
    """Make a folder in a work area, and return whether it is there. No work area is made: a reader of a store leaves
    none, because its writers might not be able to use it."""
    if not work_area.is_dir():
        return False
    with contextlib.suppress(OSError):
        make_folders(folder)
    return folder.is_dir()


def _header(file: Path, form: str, content: bytes) -> bytes:
    return f"{form} {sha256(content).hexdigest()} {file.parent.name}/{file.name}".encode()
