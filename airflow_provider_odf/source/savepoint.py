"""What was fetched over a network is kept until it is merged, so that a retry does not fetch it again.

A savepoint belongs to a fetch step with its templates filled, its prepare steps and the source state before. It never
hides newer data: a source that can be asked is asked first whether the kept content is still its current one; for
others a savepoint counts for a limited time. Whoever merged the input, or learned that it can never be merged, discards
it.

Each poll holds hard links in a directory of its own, so that discarding takes nothing from a poll that runs elsewhere.
The hashes of its files are in the seal of that directory. A savepoint has them too, with the dataset id and its key,
and is not used if they differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import SourceState
from airflow_provider_odf.owned import owned_directory, sweep, was_killed
from airflow_provider_odf.seal import is_file, open_json, sealed_hashes, sealed_json, write_seal
from airflow_provider_odf.source.files import SourceFile, SourceFiles

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStep, PrepStep

_NAME = "savepoint-"
_POLL = "poll-"
_MERGE = "merge-"
_INDEX = "savepoint.json"
ABANDONED = 7 * 24 * 3600
"""Seconds after which nobody comes back for the files of a poll."""


@dataclass(frozen=True)
class Savepoint:
    """A kept poll of a dataset. ``hashes`` are those of its files, by name."""

    polled: SourceFiles
    dataset_id: str
    saved_at: float
    hashes: Mapping[str, str]

    @property
    def state(self) -> SourceState | None:
        """State of the source when it was fetched."""
        return self.polled.files[-1].state

    @property
    def age(self) -> float:
        """Seconds since it was fetched."""
        return max(0.0, time.time() - self.saved_at)


def key(step: FetchStep, prepare: Sequence[PrepStep], state: SourceState | None, filled: object) -> str:
    """Names what was asked of a source; ``filled`` are the step's texts with their templates filled."""
    asked = [
        step.model_dump_json(),
        [p.model_dump_json() for p in prepare],
        state and [state.kind, state.value],
        filled,
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:24]


def directory(work: Path) -> Path:
    """A new directory for the files of one poll. Directories that others left are removed: of polls that were killed,
    and of results that nobody has taken for a week."""
    for old in work.glob(f"{_POLL}*"):
        if _age(old) > ABANDONED or was_killed(old):
            shutil.rmtree(old, ignore_errors=True)
    new = work / f"{_POLL}{uuid.uuid4().hex[:16]}"
    new.mkdir(parents=True)
    return new


@contextmanager
def polling(work: Path) -> Iterator[Path]:
    """A new directory while a poll fills it, removed again if the poll fails, or at the next one if it is killed."""
    new = directory(work)
    try:
        with owned_directory(new):
            yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


@contextmanager
def merging(work: Path) -> Iterator[Path]:
    """A new directory for the files of one merge, removed at its end, or by the next merge if it is killed."""
    sweep(work, f"{_MERGE}*")
    new = work / f"{_MERGE}{uuid.uuid4().hex[:12]}"
    new.mkdir(parents=True)
    try:
        with owned_directory(new):
            yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def keep(work: Path, key: str, polled: SourceFiles, dataset_id: str) -> None:
    """Keep a sealed poll under a key, in place of what was kept before."""
    kept, building = work / f"{_NAME}{key}", work / f"{_POLL}{uuid.uuid4().hex[:16]}"
    building.mkdir()
    for path in (path for file in polled.files for path in file.paths):
        _link(path, building / path.name)
        _sync(building / path.name)
    about = {"dataset": dataset_id, "key": key, "savedAt": time.time(), **_to_json(polled)}
    about["hashes"] = sealed_hashes(polled.directory, dataset=dataset_id)
    (building / _INDEX).write_bytes(sealed_json(about))
    _sync(building / _INDEX)
    _remove_kept(work)
    try:
        building.rename(kept)
    except OSError:  # another poll kept the same in this moment
        shutil.rmtree(building, ignore_errors=True)


def load(work: Path, key: str, dataset_id: str) -> Savepoint | None:
    """What is kept of a dataset under a key, if it is as it was kept."""
    kept = work / f"{_NAME}{key}"
    try:
        content = open_json((kept / _INDEX).read_bytes(), dataset=dataset_id, key=key)
    except OSError:
        return None
    if content is None:
        return None
    polled, hashes = _from_json(content, kept), content["hashes"]
    is_intact = all(is_file(path, hashes.get(path.name)) for file in polled.files for path in file.paths)
    return Savepoint(polled, dataset_id, content["savedAt"], hashes) if is_intact else None


def take(savepoint: Savepoint, directory: Path, warnings: tuple[str, ...] = ()) -> SourceFiles | None:
    """The kept poll as links in a poll's own directory; None where another poll discarded it meanwhile."""
    files = []
    try:
        for file in savepoint.polled.files:
            paths = tuple(_link(path, directory / path.name) for path in file.paths)
            files.append(SourceFile(paths, file.event_time, file.state, file.label))
    except FileNotFoundError:
        for path in directory.iterdir():  # or a new fetch would write through the links
            path.unlink()
        return None
    write_seal(directory, savepoint.hashes, dataset=savepoint.dataset_id)
    warnings = (*savepoint.polled.warnings, *warnings)
    return SourceFiles(tuple(files), directory, warnings, has_more=savepoint.polled.has_more)


def discard(directory: Path) -> None:
    """Remove the files of a poll (`SourceFiles.directory`) and what is kept for its retries. To be called when the
    input is in the chain, was rejected, or failed in a way that another try cannot mend."""
    shutil.rmtree(directory, ignore_errors=True)
    _remove_kept(directory.parent)


def _remove_kept(work: Path) -> None:
    for kept in work.glob(f"{_NAME}*"):
        shutil.rmtree(kept, ignore_errors=True)


def _link(source: Path, target: Path) -> Path:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
    return target


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _to_json(polled: SourceFiles) -> dict[str, Any]:
    return {
        "files": [
            {
                "names": [path.name for path in file.paths],
                "eventTime": str(file.event_time),
                "state": file.state.model_dump() if file.state else None,
                "label": file.label,
            }
            for file in polled.files
        ],
        "warnings": polled.warnings,
        "hasMore": polled.has_more,
    }


def _from_json(content: dict[str, Any], directory: Path) -> SourceFiles:
    files = tuple(
        SourceFile(
            paths=tuple(directory / name for name in file["names"]),
            event_time=Instant.parse(file["eventTime"]),
            state=SourceState(**file["state"]) if file["state"] else None,
            label=file["label"],
        )
        for file in content["files"]
    )
    return SourceFiles(files, directory, tuple(content["warnings"]), has_more=content["hasMore"])
