"""A DataFusion session that can only run queries."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from datafusion import SessionContext, SQLOptions

_SETTINGS = {
    # As in the reference implementation: `Price` and `price` are two columns, quoted or not.
    "datafusion.sql_parser.enable_ident_normalization": "false",
}


def create(*, memory: int | None = None, scratch: str | None = None) -> SessionContext:
    """Return a single-threaded session without tables.

    :param memory: bytes that sorts, joins and aggregates may hold before they spill to files in ``scratch``.
    :raises InvalidInput: the package ``datafusion`` is not installed.
    """
    try:
        from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext
    except ImportError as e:
        raise InvalidInput(missing()) from e
    config = SessionConfig(_SETTINGS).with_target_partitions(1).with_information_schema(False)
    runtime = RuntimeEnvBuilder()
    if memory is not None:
        runtime = runtime.with_fair_spill_pool(memory)
    if scratch is not None:
        runtime = runtime.with_disk_manager_specified(scratch)
    context = SessionContext(config, runtime)
    _register_functions(context)
    return context


def _register_functions(context: SessionContext) -> None:
    from airflow_provider_odf.datafusion import json_functions

    json_functions.register(context)


def options() -> SQLOptions:
    """Return options that allow only queries: no DDL, no DML, no statements such as SET."""
    from datafusion import SQLOptions

    return SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


def installed_version() -> str:
    """Return the version of the package ``datafusion``.

    :raises InvalidInput: it is not installed.
    """
    try:
        return version("datafusion")
    except PackageNotFoundError as e:
        raise InvalidInput(missing()) from e


def missing(exact: str = "") -> str:
    """Return the message for a Python without the package."""
    package = f"datafusion=={exact}" if exact else "datafusion"
    return (
        "engine: datafusion needs the Python package `datafusion` where Spark runs Python, also on the executors of a "
        f"cluster. It is not installed here: run `pip install {package}`"
    )
