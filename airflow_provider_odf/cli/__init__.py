"""The command line tool ``odf``. It works without a running Airflow, and imports neither Airflow nor pyspark.

Exit codes: 0 success, 1 failure, 2 invalid input. ``validate`` exits with 0 or 1.
"""

from __future__ import annotations

import ast
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from airflow_provider_odf.closed_files import close_to_others
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, OdfError, UnexpectedError
from airflow_provider_odf.version import __version__
from airflow_provider_odf.without_pandas import leave_out_pandas

_COMMANDS = {
    "validate": "manifests.validate",
    "run": "run.run",
    "plan": "plan.plan",
    "new": "manifests.new",
    "push": "run.push",
    "list": "show.list_datasets",
    "show": "show.show",
    "log": "show.log",
    "publications": "show.publications",
    "tail": "inspect.tail",
    "state": "inspect.state",
    "sql": "sql.sql",
    "diff": "inspect.diff",
    "completeness": "inspect.completeness",
    "hash": "inspect.hash_files",
    "schema": "inspect.json_schema",
    "export": "inspect.export",
    "copy": "copy.copy",
    "promote": "copy.promote",
    "verify": "upkeep.verify",
    "gc": "upkeep.collect",
    "reset": "upkeep.reset",
    "forget": "upkeep.forget",
    "rejected": "rejected.rejected",
    "contract": "contract.contract",
    "block": "inspect.block",
    "lineage": "lineage.lineage",
    "completion": "completion.completion",
}
"""Command -> module and function."""
_GROUPS = ("rejected", "contract", "block", "lineage")
"""Groups of commands: their function has the help, and their module has the group as ``GROUP``."""


class Commands(TyperGroup):
    """The commands of the tool. The module of a command is imported when the command runs, and that of no command for
    the list of all.

    Typer's messages about values contain the words of pydantic, which are for authors of models.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.commands: Any = dict.fromkeys(_COMMANDS)  # names, for suggestions

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _load(cmd_name) if cmd_name in _COMMANDS else None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as e:
            e.message = e.message.removeprefix("Value error, ").replace("Input should be", "must be", 1)
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first sentence of each command's help, wrapped rather than cut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(place)) for name, place in _COMMANDS.items()])


def _load(name: str) -> Any:
    module_name, _, function = _COMMANDS[name].partition(".")
    module = import_module(f"{__name__}.{module_name}")
    parent = typer.Typer(rich_markup_mode=None)
    if name in _GROUPS:
        parent.add_typer(module.GROUP, name=name)
    else:
        parent.command(name)(getattr(module, function))
    return typer.main.get_group(parent).commands[name]


def _first_sentence(place: str) -> str:
    """Return the first sentence of the help of a command, whose module is not imported."""
    module, _, function = place.partition(".")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_bytes())
    [command] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    words = str(ast.get_docstring(command)).partition("\n\n")[0].split()
    return " ".join(words).partition(". ")[0].rstrip(".") + "."


app = typer.Typer(
    cls=Commands,
    name="odf",
    help="Open Data Fabric datasets: validate manifests, run them, and inspect the results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would double the time of a command that only prints its help
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"odf {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Run the tool; print errors as one message and exit with their code."""
    # Else pydantic reads the entry points of every installed package before it builds its first model.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    leave_out_pandas()
    close_to_others()
    if "_ODF_COMPLETE" in os.environ:  # A shell asks for completions.
        from airflow_provider_odf.cli.completion import set_up

        set_up()
    try:
        app()
    except (InvalidInput, DatasetNotFound) as e:
        _fail(e, 2)
    except OdfError as e:
        _fail(e, 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as e:
        error = as_odf_error(e)
        if isinstance(error, UnexpectedError):
            traceback.print_exception(e)
        _fail(error, 1)


def _fail(error: OdfError, code: int) -> None:
    from airflow_provider_odf.cli.options import near

    print(near(error), file=sys.stderr)
    sys.exit(code)
