"""Names of tables in databases given as a JDBC URL.

The names are those of Spark's listener, except where the naming specification has another rule for the database, or
where the listener does not understand the form of the URL: see the page on lineage names. Then the listener's name is
among the others. Only known parts of a URL become part of a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import unquote

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import (
    DatasetNames,
    Identifier,
    jdbc_servers,
    jdbc_services,
    sqlserver,
    stores,
    tables,
)
from airflow_provider_odf.lineage.naming.jdbc_address import Driver, NotUnderstood, hosts, of_spark
from airflow_provider_odf.lineage.naming.jdbc_servers import server

_CREDENTIAL = re.compile(r"[,;&:?(]\s*(?P<name>[\w .-]+?)\s*=")
_USERS = frozenset({"user", "username", "uid", "userid", "login"})


def from_jdbc(url: str, table: str, *, base: str | None = None) -> DatasetNames:
    """Return the names of a table.

    :param table: the table's name, as in Spark's option ``dbtable``.
    :param base: folder of relative paths of Derby's databases, by default the working directory.
    :raises ValueError: the URL names no server, or the table is missing or a query.
    """
    rest = re.sub(r"^jdbc:", "", url.strip(), flags=re.IGNORECASE)
    scheme = rest.partition(":")[0].lower()
    if not re.fullmatch(r"[a-z][\w+.-]*", scheme) or not rest.partition(":")[2]:
        raise ValueError("the JDBC URL names no driver or no server")
    tables.split(table)
    if scheme == "derby" and "//" not in rest:
        return _derby(rest, table, base)
    try:
        return _DRIVERS.get(scheme.partition("+")[0], _unknown)(rest, table)
    except NotUnderstood:
        return DatasetNames(Identifier(_without_credentials(rest), table))


def _derby(url: str, table: str, base: str | None) -> DatasetNames:
    """Return the names of a table in an embedded Derby, whose database is a folder."""
    match = re.search(r";databaseName=([^;]+)", url)
    folder = os.path.abspath(os.path.join(base or "", match[1] if match else "metastore_db"))
    return DatasetNames(Identifier(f"file:{folder}", table))


def _unknown(url: str, table: str) -> DatasetNames:
    """Return the names that Spark's listener has for every other driver: scheme and hosts, database and table."""
    match = re.fullmatch(r"(?P<scheme>[\w+.-]+)://(?P<hosts>[^/?#;]+)(/(?P<path>[^?#;]*))?([?#;].*)?", url, re.DOTALL)
    if not match or re.match(r"[^/]*//[^/?#]*;", url):
        raise NotUnderstood
    if re.fullmatch(r"[0-9a-fA-F]*(:[0-9a-fA-F.]*){2,}", match["hosts"]):
        # The listener does not know IPv6 addresses without brackets.
        raise NotUnderstood
    database = unquote(match["path"] or "")
    namespace = f"{match['scheme'].lower()}://{hosts(match['hosts'])}"
    spark = of_spark(namespace, database, table)
    return DatasetNames(of_spark(namespace, database, ".".join(tables.parts(table))), None, (spark,))


def _without_credentials(url: str) -> str:
    """Return a URL as it is in a namespace: without credentials, and without all that follows them."""
    text = url.partition("?")[0]
    before, sign, after = text.rpartition("@")
    if sign and not re.fullmatch(r"(\w+:)+", before):
        text = re.sub(r"^(\w+:(//)?).*", r"\1", before, flags=re.DOTALL) + after
    for match in _CREDENTIAL.finditer(text):
        if redaction.is_sensitive(match["name"]) or match["name"].lower() in _USERS:
            text = text[: match.start()].rstrip(",;&:?(")
            break
    return redaction.redact(text)


_DRIVERS: Mapping[str, Driver] = {
    "athena": jdbc_services.athena,
    "awsathena": jdbc_services.athena,
    "bigquery": jdbc_services.bigquery,
    "cassandra": jdbc_servers.cassandra,
    "ch": jdbc_servers.clickhouse,
    "clickhouse": jdbc_servers.clickhouse,
    "cloudspanner": jdbc_services.spanner,
    "crate": server(stores.CRATE),
    "databricks": jdbc_services.databricks,
    "db2": jdbc_servers.db2,
    "hive2": server(stores.HIVE, "hive2"),
    "jtds": sqlserver.names,
    "mysql": jdbc_servers.mysql,
    "oceanbase": server(stores.OCEANBASE),
    "oracle": jdbc_servers.oracle_thin,
    "postgresql": server(stores.POSTGRES, host="localhost"),
    "redshift": jdbc_services.redshift,
    "snowflake": jdbc_services.snowflake,
    "sqlserver": sqlserver.names,
    "teradata": jdbc_servers.teradata,
    "trino": server(stores.TRINO),
}
"""Driver, the first part of a URL after ``jdbc:`` -> rule."""
