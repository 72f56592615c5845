"""Savepoints: downloads are kept until they are merged, so that a retry does not fetch them again.

The key of a savepoint is made of the fetch step with its templates filled, the prepare steps and the last source state.
A savepoint never hides newer data: if the source can compare, the poll first asks it whether the data is still current;
otherwise a savepoint is valid for a limited time. It is discarded when the input was merged, or can never be merged.

Each poll has hard links in its own directory, so discarding does not affect other polls. The seal of that directory has
the hashes of its files. A savepoint has them too, with the dataset id and its key, and is not used if they differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.fsync import fsync
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import SourceState
from airflow_provider_odf.seal import is_file, open_json, sealed_hashes, sealed_json, write_seal
from airflow_provider_odf.source import work_area
from airflow_provider_odf.source.fetching import SourceFile, SourceFiles

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStep, PrepStep

_INDEX = "savepoint.json"


@dataclass(frozen=True)
class Savepoint:
    """Kept files of a poll of a dataset. ``hashes`` are those of the files, by name."""

    result: SourceFiles
    dataset_id: str
    saved_at: float
    hashes: Mapping[str, str]

    @property
    def state(self) -> SourceState | None:
        """Source state of the data."""
        return self.result.files[-1].state

    @property
    def age(self) -> float:
        """Seconds since the data was fetched."""
        return max(0.0, time.time() - self.saved_at)


def key(step: FetchStep, prepare: Sequence[PrepStep], state: SourceState | None, texts: object) -> str:
    """Return the key of a savepoint. ``texts`` are the step's texts with their templates filled."""
    parts = [
        step.model_dump_json(),
        [p.model_dump_json() for p in prepare],
        state and [state.kind, state.value],
        texts,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def keep(work: Path, key: str, result: SourceFiles, dataset_id: str) -> None:
    """Keep the files of a sealed poll under a key, in place of the last savepoint."""
    target, building = work / f"{work_area.SAVEPOINT}{key}", work / f"{work_area.INPUT}{uuid.uuid4().hex[:16]}"
    building.mkdir()
    for path in (path for file in result.files for path in file.paths):
        _link(path, building / path.name)
        fsync(building / path.name)
    about = {"dataset": dataset_id, "key": key, "savedAt": time.time(), **_to_json(result)}
    about["hashes"] = sealed_hashes(result.directory, dataset=dataset_id)
    (building / _INDEX).write_bytes(sealed_json(about))
    fsync(building / _INDEX)
    work_area.remove_savepoints(work)
    try:
        building.rename(target)
    except OSError:  # another poll has just made the same savepoint
        shutil.rmtree(building, ignore_errors=True)


def load(work: Path, key: str, dataset_id: str) -> Savepoint | None:
    """Return the savepoint of a dataset with a key, or None if there is none, it was changed, or it cannot be read now:
    the source still has its data."""
    folder = work / f"{work_area.SAVEPOINT}{key}"
    try:
        content = open_json((folder / _INDEX).read_bytes(), dataset=dataset_id, key=key)
        if content is None:
            return None
        result, hashes = _from_json(content, folder), content["hashes"]
        is_intact = all(is_file(path, hashes.get(path.name)) for file in result.files for path in file.paths)
    except OSError:
        return None
    return Savepoint(result, dataset_id, content["savedAt"], hashes) if is_intact else None


def take(savepoint: Savepoint, directory: Path, warnings: tuple[str, ...] = ()) -> SourceFiles | None:
    """Link the files of a savepoint into a poll's directory; return None if another poll has discarded it."""
    files = []
    try:
        for file in savepoint.result.files:
            paths = tuple(_link(path, directory / path.name) for path in file.paths)
            files.append(SourceFile(paths, file.event_time, file.state, file.label))
    except FileNotFoundError:
        for path in directory.iterdir():  # otherwise a new fetch would write through the links
            path.unlink()
        return None
    write_seal(directory, savepoint.hashes, dataset=savepoint.dataset_id)
    warnings = (*savepoint.result.warnings, *warnings)
    return SourceFiles(directory, tuple(files), warnings, savepoint.result.has_more)


def _link(source: Path, target: Path) -> Path:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copyfile(source, target)
    return target


def _to_json(result: SourceFiles) -> dict[str, Any]:
    return {
        "files": [
            {
                "names": [path.name for path in file.paths],
                "eventTime": str(file.event_time),
                "state": file.state.model_dump() if file.state else None,
                "label": file.label,
            }
            for file in result.files
        ],
        "warnings": result.warnings,
        "hasMore": result.has_more,
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
    return SourceFiles(directory, files, tuple(content["warnings"]), content["hasMore"])
