"""PrepStep::Pipe: a program that gets the data on standard input and writes them to standard output.

It runs without a shell, in the manifest's folder, in a process group of its own, which ends with the poll.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.source.program import Program

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import PrepStepPipe
    from airflow_provider_odf.source.context import Context


def run(step: PrepStepPipe, source: Path, target: Path, label: str, context: Context) -> None:
    """Write what the program makes of a file.

    :raises InvalidInput: there is no such program, or such steps are forbidden here.
    :raises SourceError: it fails, does not end in time or writes more than is allowed.
    """
    if step.kind in context.options.forbidden_steps:
        raise InvalidInput(f"{label}: prepare step {step.kind} is forbidden here (forbid_steps)")
    program = Program(step.command, label, context.base, context.options)
    code = program.run(source, target, context.options.pipe_timeout)
    if code:
        # A program has the environment of its worker, and might quote secrets that no template names.
        context.environment.hide(*redaction.secrets_of(os.environ))
        raise SourceError(f"{label}: {program.ending(code, context.environment.redact)}")
