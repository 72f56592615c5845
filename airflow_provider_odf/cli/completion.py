"""The command ``completion``: the script by which a shell completes commands, options and names of datasets."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

PROGRAM, VARIABLE = "odf", "_ODF_COMPLETE"
"""Name of the program, and of the variable that a shell sets to ask it for completions."""


def set_up() -> None:
    """Set up what answers a shell."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # typer names it there

    completion_init()


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.", metavar="SHELL")],
) -> None:
    """Print the script that completes commands, options and names of datasets in bash, zsh or fish.

    Bash: eval "$(odf completion bash)" in ~/.bashrc. Zsh: the same with zsh in ~/.zshrc, after compinit. Fish: odf
    completion fish > ~/.config/fish/completions/odf.fish.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    sys.stdout.write(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell) + "\n")
