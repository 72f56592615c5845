"""Heads up to which this user has verified datasets on this machine, so that verifying again can begin after them.

They are disposable, and lie in a folder of the user's cache that nobody else may open: whoever can write to the store,
its work area or a copy of it shall not be able to say that it was verified. A copy has another URI, so it has no head.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from airflow_provider_odf import closed_files
from airflow_provider_odf.chain import cache_file
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.instant import Instant

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset

_FORMAT = "verified-head 1"
_FOLDER = 0o700


@dataclass(frozen=True)
class VerifiedHead:
    """A block up to which a history was verified: so many blocks, at ``time``, all of them at once at ``complete``."""

    head: str
    blocks: int
    time: Instant
    complete: Instant

    def __str__(self) -> str:
        once = "" if self.complete == self.time else f" (everything at once at {self.complete})"
        return f"at {self.time}{once}"


@dataclass(frozen=True)
class _Record:
    """A head, and the state of the chain there, without its slices."""

    verified: VerifiedHead
    state: ChainState


def read(dataset: Dataset) -> tuple[VerifiedHead, ChainState] | None:
    """Return the head up to which a dataset was verified and the state there, None if there is none, it is damaged, or
    others could have written it."""
    file = _file(dataset)
    if not _is_own(file.parent) or (content := cache_file.read(file, _FORMAT)) is None:
        return None
    with suppress(ValueError):
        record = _adapter().validate_json(content)
        return record.verified, record.state
    return None


def keep(dataset: Dataset, state: ChainState, since: VerifiedHead | None) -> None:
    """Keep the head of a state as verified, if this user may.

    :param since: the head after which blocks were verified, None if all were.
    """
    if since is not None and since.head == state.head:
        return
    now, file = Instant.now().floor_ms(), _file(dataset)
    verified = VerifiedHead(state.head, state.sequence_number + 1, now, since.complete if since is not None else now)
    record = _Record(verified, replace(state, slices=()))
    content = _adapter().dump_json(record, exclude={"state": {"slices"}})
    with suppress(OSError):
        closed_files.make_folders(file.parent.parent)
        file.parent.mkdir(_FOLDER, exist_ok=True)
    # Another tool may have written values that change on their way through JSON.
    if _is_own(file.parent) and _adapter().validate_json(content) == record:
        cache_file.write(file, _FORMAT, content)


def _file(dataset: Dataset) -> Path:
    return folder() / sha256(dataset.uri.encode()).hexdigest()


def folder() -> Path:
    """Return the folder of the heads that this user has verified on this machine, which may not exist."""
    return closed_files.user_cache() / "verified"


def _is_own(folder: Path) -> bool:
    """Return whether a folder is one that this user alone may use."""
    with suppress(OSError):
        info = folder.lstat()
        return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    return False


@cache
def _adapter() -> TypeAdapter[_Record]:
    return TypeAdapter(_Record)
