"""Run the prepare steps of a source (PrepStep), each from files to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.manifest.model import PrepStepDecompress
from airflow_provider_odf.source import decompress, pipe
from airflow_provider_odf.source.files import SourceFile

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import PrepStep
    from airflow_provider_odf.source.context import Context, FetchedFile


def prepare(file: FetchedFile, steps: Sequence[PrepStep], context: Context) -> SourceFile:
    """Return the input after all steps; intermediate files are deleted.

    :raises SourceError: the data does not fit a step, or a program fails.
    """
    paths: tuple[Path, ...] = (file.path,) if file.path is not None else ()
    for index, step in enumerate(steps):
        prepared = [new for path in paths for new in _apply(step, path, file.label, f"{path.name}-{index}", context)]
        for path in paths:
            path.unlink()
        paths = tuple(prepared)
    return SourceFile(paths, file.event_time, file.state, file.label, file.stamp)


def _apply(step: PrepStep, path: Path, label: str, name: str, context: Context) -> tuple[Path, ...]:
    target = context.directory / name
    if not isinstance(step, PrepStepDecompress):
        pipe.run(step, path, target, label, context)
        return (target,)
    if step.format == "Zip":
        return decompress.unzip(path, target, step.sub_path, label, context.options, context.tell)
    decompress.gunzip(path, target, label, context.options, context.tell)
    return (target,)
