"""The container runtime: podman or docker, and its flags.

Podman copies standard output through a monitor process (conmon) to the attached client. Under load this loses output
although the container succeeds and moves its state, so rows would be skipped silently. Podman therefore passes our file
itself to the container (`output_flags`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput, SourceError

if TYPE_CHECKING:
    from airflow_provider_odf.source.options import Options

OUT = "/opt/odf/out"
_RUNTIMES = ("podman", "docker")
_DIRECT_OUTPUT = "--log-driver=passthrough"
_VERSION_SECONDS = 60


def command(options: Options, label: str) -> tuple[str, ...]:
    """Return the command of the container runtime.

    :raises InvalidInput: no runtime is installed.
    """
    if options.container_command:
        return options.container_command
    name = next((name for name in _RUNTIMES if shutil.which(name)), None)
    if name is None:
        raise InvalidInput(f"{label}: no container runtime: install podman or docker where polls run")
    return (name,)


def output_flags(runtime: tuple[str, ...], label: str) -> tuple[str, ...]:
    """Return the flags of ``run`` that prevent lost output.

    Docker needs none: its client attaches before it starts a container, and waits for the end of the output.

    :raises SourceError: the runtime does not show its version.
    """
    try:
        return (_DIRECT_OUTPUT,) if "podman" in _version(runtime).lower() else ()
    except OSError:
        return ()  # starting the container fails too, with a message
    except subprocess.SubprocessError as e:
        raise SourceError(f"{label}: cannot get the version of the container runtime: {e}") from None


@lru_cache
def _version(runtime: tuple[str, ...]) -> str:
    """Return the version text of a runtime. Its command does not tell: podman also has a ``docker`` command."""
    arguments = (*runtime, "--version")
    return subprocess.run(arguments, capture_output=True, timeout=_VERSION_SECONDS, check=True).stdout.decode()


def flags(private: Path, variables: dict[str, str], label: str, options: Options) -> list[str]:
    """Return the flags of ``run``.

    Values of variables stay out of the command line, which everyone on a machine can read. The container inherits them;
    those that the runtime needs itself (PATH, HOME) are in a private file.

    :raises InvalidInput: a value for that file has line breaks.
    """
    result = ["--network", options.container_network, "--volume", f"{(private / 'out').absolute()}:{OUT}"]
    if options.container_memory:
        result += ["--memory", options.container_memory]
    if options.container_cpus:
        result += ["--cpus", options.container_cpus]
    shadowed = {name: value for name, value in variables.items() if os.environ.get(name, value) != value}
    result += [flag for name in variables if name not in shadowed for flag in ("--env", name)]
    if shadowed:
        result += ["--env-file", str(_env_file(private / "env", shadowed, label))]
    return [*result, *options.container_arguments]


def _env_file(path: Path, variables: dict[str, str], label: str) -> Path:
    if broken := [name for name, value in variables.items() if "\n" in value or "\r" in value]:
        raise InvalidInput(
            f"env {broken[0]} of {label}: the value has line breaks, and the worker has a variable of the same name: "
            "rename the variable"
        )
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")
    return path
