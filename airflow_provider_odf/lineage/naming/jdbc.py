"""Names of tables in databases given as a JDBC URL.

The names are those of Spark's listener, except where the naming specification has another rule for the database, or
where the listener does not understand the form of the URL: see the page on lineage names. Then the listener's name is
among the others. Only known parts of a URL become part of a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import DatasetNames, Identifier, jdbc_urls, stores
from airflow_provider_odf.lineage.naming.addresses import host, split_table, table_parts, without_port
from airflow_provider_odf.lineage.naming.jdbc_urls import NotUnderstood, hosts, parse, settings
from airflow_provider_odf.lineage.naming.stores import Store

Driver: TypeAlias = Callable[[str, str], DatasetNames]
"""Rule of a driver: the names of a URL, without ``jdbc:``, and a table."""

_CREDENTIAL = re.compile(r"[,;&:?(]\s*(?P<name>[\w .-]+?)\s*=")
_USERS = frozenset({"user", "username", "uid", "userid", "login"})
_FABRIC = (".datawarehouse.fabric.microsoft.com", ".datawarehouse.pbidedicated.windows.net")


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
    split_table(table)
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
    spark = _of_spark(namespace, database, table)
    return DatasetNames(_of_spark(namespace, database, ".".join(table_parts(table))), None, (spark,))


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


def _of_spark(namespace: str, database: str, table: str, *, levels: int = 3) -> Identifier:
    """Return the name of Spark's listener: the database of the URL, if the table has fewer than this many levels, and
    the table as written."""
    is_complete = len(table.split(".")) >= levels
    return Identifier(namespace, table if is_complete or not database else f"{database}.{table}")


# --- database servers -----------------------------------------------------------------------------------------------


def _server(
    store: Store,
    scheme: str = "",
    *,
    plain: Callable[[str], str] = str,
    keeps_database: bool = False,
    host: str = "",
    spark_levels: int = 3,
) -> Driver:
    """Return the rule of a driver whose URLs have hosts, a database and settings.

    :param scheme: that of Spark's listener, by default the specification's.
    :param plain: returns a URL of the driver in this form.
    :param keeps_database: whether the URL's database is part of the name even if the table has all levels.
    :param host: the driver's default host.
    :param spark_levels: see `_of_spark`.
    """

    def names(url: str, table: str) -> DatasetNames:
        address = parse(plain(url))
        authority = hosts(address.hosts or host, store.port)
        named = table_parts(table)
        outer = [part for part in address.path.split("/") if part]
        schema = address.settings.get("currentschema", "").partition(",")[0]
        if len(named) >= len(store.levels) and not (keeps_database and len(named) < spark_levels):
            outer = []
        elif schema and outer and len(named) == 1:
            outer = [*outer, schema]
        result = store.of_table(authority, outer, named)
        namespace = f"{scheme}://{authority}" if scheme else result.current.namespace
        return DatasetNames(result.current, None, (_of_spark(namespace, address.path, table, levels=spark_levels),))

    return names


def _oracle(url: str, table: str) -> DatasetNames:
    try:
        authority, service = jdbc_urls.oracle(url)
    except ValueError:
        raise NotUnderstood from None
    named = table_parts(table)
    outer = [service] if service and len(named) < len(stores.ORACLE.levels) else []
    names = stores.ORACLE.of_table(authority, outer, named)
    return DatasetNames(names.current, None, (_of_spark(names.current.namespace, service, table),))


def sql_server(authority: str, instance: str, database: str, written: str) -> DatasetNames:
    """Return the names of a table in SQL Server, Azure Synapse or Microsoft Fabric.

    The naming specification has three rules for one protocol. The domain shows Synapse and Fabric. Any other server has
    the name of Spark's listener and of dbt, and as another name that of the rule MSSQL, which Airflow's provider
    follows.

    :param authority: the host, and its port if it is known.
    :param written: the table as its author wrote it.
    """
    table = table_parts(written)
    name = without_port(authority)
    outer = [database] if database and len(table) < 3 else []
    path = f"/{instance}" if instance else ""
    spark = _of_spark(f"sqlserver://{authority}{path}", database, written)
    if name.endswith(".sql.azuresynapse.net"):
        return stores.synapse(host(authority, stores.SYNAPSE.port), database, table, spark)
    if name.endswith(_FABRIC):
        return stores.fabric(authority, outer, table, spark)
    current = stores.SQL_SERVER.of_table(authority, outer, table).current
    mssql = stores.MSSQL.of_table(authority if instance else host(authority, stores.MSSQL.port), outer, table).current
    others = (Identifier(mssql.namespace + path, mssql.name), spark)
    return DatasetNames(Identifier(current.namespace + path, current.name), None, others)


# --- cloud services -------------------------------------------------------------------------------------------------


def _redshift(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Redshift; with IAM the URL has the cluster and the region."""
    named = table_parts(table)
    if match := re.fullmatch(r"redshift:iam://([\w-]+):([\w-]+)/([^?;#]*).*", url, re.IGNORECASE | re.DOTALL):
        authority = f"{match[1].lower()}.{match[2].lower()}:{stores.REDSHIFT.port}"
        return stores.redshift(authority, _outer(named, unquote(match[3])), named)
    address = parse(url)
    spark = _of_spark(f"redshift://{hosts(address.hosts)}", address.path, table)
    authority = hosts(address.hosts, stores.REDSHIFT.port)
    return stores.redshift(authority, _outer(named, address.path), named, spark)


def _snowflake(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Snowflake, with database and schema among the settings."""
    address = parse(url)
    account = hosts(address.hosts)
    known = (unquote(address.settings.get(name, "")) for name in ("db", "schema"))
    spark = _of_spark(f"snowflake://{account}", address.path, table)
    return stores.snowflake(account, _outer(split_table(table), *known), table, spark)


def _bigquery(url: str, table: str) -> DatasetNames:
    """Return the names of a table in BigQuery, with project and data set among the settings."""
    known = settings(url)
    named = table_parts(table)
    outer = _outer(named, known.get("projectid", ""), known.get("defaultdataset", ""))
    if len(outer) + len(named) < 3:
        raise ValueError("the JDBC URL has no ProjectId, or the table no data set")
    return stores.BIGQUERY.of_table("", outer, named)


def _databricks(url: str, table: str) -> DatasetNames:
    address = parse(url)
    named = table_parts(table)
    schema = address.settings.get("connschema", "") or address.path
    authority = hosts(address.hosts)
    names = stores.unity_catalog(authority, _outer(named, address.settings.get("conncatalog", ""), schema), named)
    return DatasetNames(names.current, None, (_of_spark(f"databricks://{authority}", address.path, table),))


def _athena(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Athena, with region, catalog and database among the settings."""
    known = settings(re.sub(r"^\w+://", ";", url))
    host = re.search(r"//athena\.([\w-]+)\.amazonaws\.com", url)
    region = known.get("awsregion") or known.get("region") or (host[1] if host else "")
    if not re.fullmatch(r"[\w-]+", region):
        raise ValueError("the JDBC URL names no region")
    named = table_parts(table)
    database = known.get("schema") or known.get("database") or "default"
    return stores.athena(region, _outer(named, known.get("catalog", ""), database), named)


def _spanner(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Spanner, whose path has project, instance and database."""
    match = re.search(r"/projects/([\w-]+)/instances/([\w-]+)/databases/([\w-]+)", url)
    if not match:
        raise NotUnderstood
    return stores.SPANNER.of_table("", [match[3]], table_parts(table), project_id=match[1], instance=match[2])


def _outer(table: Sequence[str], *known: str) -> list[str]:
    """Return the outer levels, the outermost first, that a table with up to three levels does not have itself."""
    return [level for level in known[: 3 - len(table)] if level] if len(table) < 3 else []


_DRIVERS: Mapping[str, Driver] = {
    **dict.fromkeys(("athena", "awsathena"), _athena),
    "bigquery": _bigquery,
    "cassandra": _server(stores.CASSANDRA, plain=jdbc_urls.cassandra),
    **dict.fromkeys(("ch", "clickhouse"), _server(stores.CLICKHOUSE, plain=jdbc_urls.clickhouse, spark_levels=2)),
    "cloudspanner": _spanner,
    "crate": _server(stores.CRATE),
    "databricks": _databricks,
    "db2": _server(stores.DB2, plain=jdbc_urls.db2),
    "hive2": _server(stores.HIVE, "hive2"),
    **dict.fromkeys(("jtds", "sqlserver"), lambda url, table: sql_server(*jdbc_urls.sql_server(url), table)),
    "mysql": _server(stores.MYSQL, plain=jdbc_urls.mysql, host="localhost", spark_levels=2),
    "oceanbase": _server(stores.OCEANBASE),
    "oracle": _oracle,
    "postgresql": _server(stores.POSTGRES, host="localhost"),
    "redshift": _redshift,
    "snowflake": _snowflake,
    "teradata": _server(stores.TERADATA, plain=jdbc_urls.teradata, keeps_database=True),
    "trino": _server(stores.TRINO),
}
"""Driver, the first part of a URL after ``jdbc:`` -> rule."""
