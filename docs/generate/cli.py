"""The page about the command line tool, from the tool itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main

from airflow_provider_odf import cli
from docs.generate.markdown import NOTICE, code, from_rst, table

_INTRODUCTION = """\
# Command line

`odf` works without a running Airflow: it imports neither Airflow nor pyspark. `odf run` and `odf push` start
Spark once for all datasets, and not at all where nothing is new. So do `odf contract test`, `odf verify --replay` and,
for a query that no run has analyzed yet, `odf plan`.

In a folder that is given all YAML files count, also those in folders below, but not what `.airflowignore` names, as in
Airflow's dags folder, nor hidden folders.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | ran and did not succeed: a source that cannot be had, a rejected candidate, a damaged dataset |
| 2 | invalid input: a manifest, a contract, an option, a dataset that does not exist |

`odf validate` reports: 0, or 1 where something is wrong or no manifest is found.

## Output

Results go to standard output, notes and errors to standard error. With `--format json` the output is one JSON array:
times are RFC 3339, dates ISO 8601, decimals strings, nulls null, and operations `+A`, `-R`, `-C`, `+C`.
"""


def page() -> str:
    """docs/reference/cli.md"""
    tool = typer.main.get_command(cli.app)
    sections = [section for words, command in _commands(tool, ("odf",)) for section in _section(words, command)]
    return "\n".join([NOTICE, _INTRODUCTION, *sections])


def _commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if getattr(command, "commands", None):
            yield from _commands(command, (*words, name))
        else:
            yield (*words, name), command


def _section(words: tuple[str, ...], command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    usage = [*words, *(["[OPTIONS]"] if options else []), *map(_usage, arguments)]
    yield f"## {' '.join(words)}\n"
    yield f"```text\n{' '.join(usage)}\n```\n"
    yield from_rst(inspect.cleandoc(command.help or "")) + "\n"
    rows = [(code(_name(p)), from_rst(p.help or ""), code(_default(p))) for p in (*arguments, *options)]
    if rows:
        yield table(("argument or option", "meaning", "default"), rows)


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    if argument.nargs != 1 and "..." not in name:
        name += "..."
    return name if argument.required else f"[{name}]"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _usage(parameter)
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return names
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"{names} {'|'.join(member.value for member in kind)}"
    if get_origin(kind) is Literal:
        return f"{names} {'|'.join(get_args(kind))}"
    return f"{names} {parameter.metavar or {int: 'N', Path: 'FILE'}.get(kind, 'TEXT')}"


def _default(parameter: Any) -> str:
    if parameter.envvar:
        default = parameter.show_default
        return f"${parameter.envvar}, else {default if isinstance(default, str) else parameter.default}"
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if parameter.required or getattr(parameter, "is_flag", False) or parameter.default is None:
        return ""
    return str(getattr(parameter.default, "value", parameter.default))
