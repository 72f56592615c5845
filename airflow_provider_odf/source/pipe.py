"""PrepStep::Pipe: a program that transforms data from standard input to standard output.

It runs without a shell in the manifest's folder, in its own process group, which ends with the poll.
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
    """Run the program with a file as input and write its output to ``target``.

    :raises InvalidInput: there is no such program, or Pipe steps are forbidden here.
    :raises SourceError: the program fails, times out or writes too much.
    """
    if step.kind in context.options.forbidden_steps:
        place = context.options.where("forbid_steps")
        raise InvalidInput(
            f"{label}: prepare step {step.kind} is forbidden: use another step, or remove {step.kind} from {place}"
        )
    program = Program(step.command, label, context.base, context.options)
    code = program.run(source, target, "pipe_timeout")
    if code:
        # The program inherits the worker's environment and may print secrets that no template uses.
        context.environment.hide(*redaction.secrets_of(os.environ))
        raise SourceError(f"{label}: {program.failure(code, context.environment.redact)}")
