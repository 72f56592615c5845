"""Names of tables in SQL Server, Azure Synapse and Microsoft Fabric by JDBC URLs of Microsoft's driver and of jTDS.

The naming specification has three rules for one protocol. The domain shows Synapse and Fabric. Any other server has the
name of Spark's listener and of dbt, and as another name that of the rule MSSQL, which Airflow's provider follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier, databases, stores, tables
from airflow_provider_odf.lineage.naming.authority import host, without_port
from airflow_provider_odf.lineage.naming.jdbc_address import of_spark

_URL = re.compile(
    r"(jtds:)?\w+://(?P<host>\[[^\]]*\]|[^\\/:;\[\]]*)?(\\(?P<instance>[^:;/]*))?(:(?P<port>\d+))?"
    r"(/(?P<database>[^;]*))?(?P<settings>;.*)?",
    re.DOTALL | re.IGNORECASE,
)
_FABRIC = (".datawarehouse.fabric.microsoft.com", ".datawarehouse.pbidedicated.windows.net")
_SETTING = re.compile(r"\s*(?P<name>[^=;{}]+?)\s*=\s*(?P<value>\{(?:[^}]|\}\})*\}|[^;]*)(;|$)")


def names(url: str, table: str) -> DatasetNames:
    """Return the names of a table.

    :raises ValueError: the URL names no server, or an invalid one.
    """
    if not (match := _URL.fullmatch(url)):
        raise ValueError("the JDBC URL of SQL Server is not valid")
    settings = _settings((match["settings"] or "")[1:])
    name = match["host"] or _first(settings, "servername", "server")
    port = match["port"] or _first(settings, "portnumber", "port")
    instance = match["instance"] or _first(settings, "instancename", "instance")
    database = match["database"] or _first(settings, "databasename", "database")
    return of_server(host(name, port if port.isdigit() else ""), instance, database, table)


def of_server(authority: str, instance: str, database: str, written: str) -> DatasetNames:
    """Return the names of a table.

    :param authority: the host, and its port if it is known.
    :param written: the table as its author wrote it.
    """
    table = tables.parts(written)
    name = without_port(authority)
    outer = [database] if database and len(table) < 3 else []
    path = f"/{instance}" if instance else ""
    spark = of_spark(f"sqlserver://{authority}{path}", database, written)
    if name.endswith(".sql.azuresynapse.net"):
        return databases.synapse(host(authority, stores.SYNAPSE.port), database, table, spark)
    if name.endswith(_FABRIC):
        return stores.FABRIC.of_table(databases.but(authority, "1433"), outer, table, spark)
    current = stores.SQL_SERVER.of_table(authority, outer, table).current
    mssql = stores.MSSQL.of_table(authority if instance else host(authority, stores.MSSQL.port), outer, table).current
    others = (Identifier(mssql.namespace + path, mssql.name), spark)
    return DatasetNames(Identifier(current.namespace + path, current.name), None, others)


def _settings(text: str) -> dict[str, str]:
    """Return the settings by names in lower case. A value in braces may contain semicolons."""
    settings: dict[str, str] = {}
    for match in _SETTING.finditer(text):
        value = match["value"].strip()
        value = value[1:-1].replace("}}", "}") if value.startswith("{") else value
        settings.setdefault(match["name"].strip().lower(), value)
    return settings


def _first(settings: Mapping[str, str], *names: str) -> str:
    return next((settings[name] for name in names if settings.get(name)), "")
