"""Prepare steps of a source (PrepStep), each from files to files: Decompress, and Pipe.

The program of a Pipe transforms data from standard input to standard output. It runs without a shell in the manifest's
folder, in its own process group, which ends with the poll.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import SourceError
from airflow_provider_odf.manifest.model import PrepStepDecompress
from airflow_provider_odf.source import decompress
from airflow_provider_odf.source.program import Program

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import PrepStep, PrepStepPipe
    from airflow_provider_odf.source.fetching import Context, SourceFile


def prepare(file: SourceFile, steps: Sequence[PrepStep], context: Context) -> SourceFile:
    """Return the input after all steps; intermediate files are deleted.

    :raises InvalidInput: there is no such program, or Pipe steps are forbidden here.
    :raises SourceError: the data does not fit a step; or a program fails, times out or writes too much.
    """
    for index, step in enumerate(steps):
        prepared = [new for path in file.paths for new in _apply(step, path, file.label, index, context)]
        for path in file.paths:
            path.unlink()
        file = replace(file, paths=tuple(prepared))
    return file


def _apply(step: PrepStep, path: Path, label: str, index: int, context: Context) -> tuple[Path, ...]:
    target = context.directory / f"{path.name}-{index}"
    if not isinstance(step, PrepStepDecompress):
        _pipe(step, path, target, label, context)
    elif step.format == "Zip":
        return decompress.unzip(path, target, step.sub_path, label, context.options, context.tell)
    else:
        decompress.gunzip(path, target, label, context.options, context.tell)
    return (target,)


def _pipe(step: PrepStepPipe, source: Path, target: Path, label: str, context: Context) -> None:
    context.options.check_allowed(step.kind, f"{label}: prepare step")
    program = Program(step.command, label, context.base, context.options)
    code = program.run(source, target, "pipe_timeout")
    if code:
        # The program inherits the worker's environment and may print secrets that no template uses.
        context.environment.hide(*redaction.secrets_of(os.environ))
        raise SourceError(f"{label}: {program.failure(code, context.environment.redact)}")
