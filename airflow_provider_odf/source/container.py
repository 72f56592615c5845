"""FetchStep::Container: a container image that writes the data to its standard output.

The container reads the source state from ``ODF_ETAG`` or ``ODF_LAST_MODIFIED``. It writes the new state to a file under
``/opt/odf/out``: ``new-etag`` or ``new-last-modified``, and ``new-has-more-data`` to run again. Each run with output is
an input of its own; a run without output may still move the state. Output without a state is compared by content. A run
without output and state has nothing new; without a previous state it has failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import redaction
from airflow_provider_odf.error_conversion import system_error
from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.template import variables_of
from airflow_provider_odf.source import source_state
from airflow_provider_odf.source.fetching import Context, Fetch, SourceFile, SourceFiles
from airflow_provider_odf.source.program import Program

if TYPE_CHECKING:
    from airflow_provider_odf.manifest.model import FetchStepContainer, SourceState
    from airflow_provider_odf.manifest.template import Environment
    from airflow_provider_odf.source.options import Options


_NEW_ETAG, _NEW_LAST_MODIFIED, _HAS_MORE = "new-etag", "new-last-modified", "new-has-more-data"
_BATCH_SIZE = "10000"
_MAX_STATE = 1 << 16
_NOT_STARTED, _KILLED = (125, 126, 127), 137
_RUNTIME_ERRORS = ("Error: ", "docker: ")


@dataclass(frozen=True)
class Image:
    """A container step with its templates filled. ``label`` is the image as the manifest spells it."""

    name: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    variables: dict[str, str]
    label: str

    @classmethod
    def of(cls, step: FetchStepContainer, environment: Environment) -> Image:
        """Return the image of a step.

        :raises InvalidInput: a template cannot be filled, or a variable without a value is not set.
        """
        variables = {"ODF_BATCH_SIZE": _BATCH_SIZE}
        for variable in step.env or ():
            where = f"env {variable.name} of {step.image}"
            value = variable.value
            text = environment.get(variable.name, where) if value is None else environment.fill(value, where)
            variables[variable.name] = text
            if redaction.is_sensitive(variable.name):
                environment.hide(text)
        return cls(
            name=environment.fill(step.image, f"image {step.image}"),
            command=tuple(step.command or ()),
            arguments=tuple(_argument(a, step.image, environment) for a in step.args or ()),
            variables=variables,
            label=step.image,
        )


def _argument(text: str, image: str, environment: Environment) -> str:
    """Return an argument with its templates filled."""
    for name in variables_of(text):
        if redaction.is_sensitive(name):
            raise InvalidInput(
                f"args of {image}: env.{name} would appear on a command line, which everyone on the machine can read: "
                "pass it in `env`"
            )
    return environment.fill(text, f"args of {image}")


def prepare(step: FetchStepContainer, context: Context) -> Fetch:
    """Return how to run the container of a step.

    :raises InvalidInput: a template cannot be filled, or a variable without a value is not set.
    """
    image = Image.of(step, context.environment)
    return Fetch(lambda context: _fetch(image, context), texts=repr(image), has_savepoint=True)


def _fetch(image: Image, context: Context) -> SourceFiles:
    """Run the container until it has no more data, and return the output of each run as an input."""
    context.options.check_allowed("Container", f"{image.label}: fetch step")
    fetched: list[SourceFile] = []
    for index in range(context.options.batches):
        try:
            file, has_more = _run(image, context, index)
        except SourceError as e:
            if not fetched:
                raise
            return context.result(*fetched, warnings=(f"{e}; earlier batches were kept",))
        if file is None:
            return context.result(*fetched)
        fetched.append(file)
        if not has_more:
            return context.result(*fetched)
        context = replace(context, state=file.state)
    limit = f"{image.label}: has more data after {context.options.batches} runs: the next poll continues"
    return context.result(*fetched, warnings=(limit,), has_more=True)


def _run(image: Image, context: Context, index: int) -> tuple[SourceFile | None, bool]:
    """Return the input of one run, or None if it has nothing new, and whether there is more."""
    private, target = context.directory / "container", context.directory / f"batch-{index:05}"
    private.mkdir(mode=0o700)
    out = private / "out"
    out.mkdir()
    out.chmod(0o777)  # the container may run as any user; the folder around it is private
    try:
        _execute(image, private, target, context)
        state = _state(out, image.label)
        has_more = (out / _HAS_MORE).exists()
    finally:
        shutil.rmtree(private, ignore_errors=True)
    file = _input(state, target, image.label, context)
    if file is None or not file.paths:
        target.unlink()
    return file, has_more


def _execute(image: Image, private: Path, target: Path, context: Context) -> None:
    options, name = context.options, f"odf-{uuid.uuid4().hex[:16]}"
    variables = {
        "ODF_ETAG": source_state.value_of(context.state, source_state.ETAG) or "",
        "ODF_LAST_MODIFIED": source_state.value_of(context.state, source_state.LAST_MODIFIED) or "",
        "ODF_NEW_ETAG_PATH": f"{_OUT}/{_NEW_ETAG}",
        "ODF_NEW_LAST_MODIFIED_PATH": f"{_OUT}/{_NEW_LAST_MODIFIED}",
        "ODF_NEW_HAS_MORE_DATA_PATH": f"{_OUT}/{_HAS_MORE}",
        **image.variables,
    }
    runtime = _runtime(options, image.label)
    flags = [
        *_output_flags(runtime, image.label),
        *_run_flags(private, variables, image.label, options),
    ]
    command = (*runtime, "run", "--rm", "--name", name, *flags, *_image_and_arguments(image))
    stop = (*runtime, "kill", name)
    program = Program(command, image.label, context.base, options, stop=stop, name="the container")
    code = program.run(None, target, "container_timeout", {**variables, **os.environ})
    if code:
        context.environment.hide(*redaction.secrets_of(os.environ))
        raise SourceError(f"{image.label}: {_failure(program, code, context)}")


def _failure(program: Program, code: int, context: Context) -> str:
    """Return why a container failed. If the runtime could not start it, only the runtime's last error counts."""
    redact = context.environment.redact
    errors = [line for line in program.error_output(redact).splitlines() if line.startswith(_RUNTIME_ERRORS)]
    if code in _NOT_STARTED and errors:
        return f"the container could not be started: {errors[-1].partition(': ')[2]}"
    if code == _KILLED:
        limit = context.options.container_memory
        return "the container was killed" + (f": it may need more than {limit} of memory" if limit else "")
    return program.failure(code, redact)


def _image_and_arguments(image: Image) -> list[str]:
    """Return image, entry point and arguments. ``command`` replaces the entry point; no shell parses them."""
    if not image.command:
        return [image.name, *image.arguments]
    entry_point, *rest = image.command
    return ["--entrypoint", entry_point, image.name, *rest, *image.arguments]


def _state(out: Path, label: str) -> SourceState | None:
    """Return the source state that the container wrote, or None."""
    if etag := _text(out / _NEW_ETAG):
        return source_state.etag(etag)
    if modified := _text(out / _NEW_LAST_MODIFIED):
        try:
            return source_state.last_modified(Instant.parse(modified.strip()))
        except ValueError as e:
            raise SourceError(f"{label}: the container wrote an invalid {_NEW_LAST_MODIFIED}: {e}") from None
    return None


def _text(path: Path) -> str:
    """Return the text of a small file. Links are not followed, since they lead out of the container."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as e:
        if system_error(e) is not None:
            raise
        return ""
    with os.fdopen(file, "rb") as stream:
        return stream.read(_MAX_STATE).decode("utf-8", "replace")


def _input(state: SourceState | None, target: Path, label: str, context: Context) -> SourceFile | None:
    is_empty = target.stat().st_size == 0
    if source_state.is_same(state, context.state):
        if is_empty:
            return None
        raise SourceError(
            f"{label}: the container wrote data but not a new state, so each poll would fetch it again: write a new "
            f"state to {_NEW_ETAG} or {_NEW_LAST_MODIFIED}"
        )
    if is_empty:
        if state is None and context.state is None:
            raise SourceError(
                f"{label}: the container wrote neither data nor a state: write {_NEW_ETAG} or {_NEW_LAST_MODIFIED} if "
                "there is no data yet"
            )
        return SourceFile((), context.system_time, state, label) if state else None
    state = state or source_state.content_hash(target)
    return (
        None if source_state.is_same(state, context.state) else SourceFile((target,), context.system_time, state, label)
    )


_OUT = "/opt/odf/out"
_RUNTIMES = ("podman", "docker")
_DIRECT_OUTPUT = "--log-driver=passthrough"
_VERSION_SECONDS = 60


def _runtime(options: Options, label: str) -> tuple[str, ...]:
    """Return the command of the container runtime."""
    if options.container_command:
        return options.container_command
    name = next((name for name in _RUNTIMES if shutil.which(name)), None)
    if name is None:
        raise InvalidInput(f"{label}: no container runtime: install podman or docker where polls run")
    return (name,)


def _output_flags(runtime: tuple[str, ...], label: str) -> tuple[str, ...]:
    """Return the flags of ``run`` that prevent lost output.

    Docker needs none: its client attaches before it starts a container, and waits for the end of the output."""
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


def _run_flags(private: Path, variables: dict[str, str], label: str, options: Options) -> list[str]:
    """Return the flags of ``run``.

    Values of variables stay out of the command line, which everyone on a machine can read. The container inherits them;
    those that the runtime needs itself (PATH, HOME) are in a private file."""
    result = ["--network", options.container_network, "--volume", f"{(private / 'out').absolute()}:{_OUT}"]
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
