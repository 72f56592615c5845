"""The command line tool ``odf``. It works without a running Airflow, and imports neither Airflow nor pyspark.

Exit codes: 0 success, 1 failure, 2 invalid input. ``validate`` exits with 0 or 1.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from airflow_provider_odf import __version__
from airflow_provider_odf.cli import (
    contract,
    export,
    forget,
    gc,
    inspect,
    lineage,
    new,
    plan,
    push,
    rejected,
    reset,
    run,
    show,
    verify,
)
from airflow_provider_odf.cli.output import near
from airflow_provider_odf.closed_files import close_to_others
from airflow_provider_odf.error_conversion import as_odf_error
from airflow_provider_odf.errors import DatasetNotFound, InvalidInput, OdfError, UnexpectedError


class Commands(TyperGroup):
    """The commands of the tool. Typer's messages about values contain the words of pydantic, which are for authors of
    models."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as e:
            e.message = e.message.removeprefix("Value error, ").replace("Input should be", "must be", 1)
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first sentence of each command's help, wrapped rather than cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(command)) for name, command in commands])


def _first_sentence(command: Any) -> str:
    return " ".join(str(command.help).partition("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."


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


run.register(app)
plan.register(app)
new.register(app)
push.register(app)
rejected.register(app)
contract.register(app)
show.register(app)
inspect.register(app)
export.register(app)
lineage.register(app)
verify.register(app)
gc.register(app)
reset.register(app)
forget.register(app)


def main() -> None:
    """Run the tool; print errors as one message and exit with their code."""
    # Else pydantic reads the entry points of every installed package before it builds its first model.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    close_to_others()
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
    print(near(error), file=sys.stderr)
    sys.exit(code)
