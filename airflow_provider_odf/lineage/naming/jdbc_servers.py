"""Names of tables in database servers by JDBC URLs: those drivers whose URLs have hosts, a database and settings."""

from __future__ import annotations

import re

from airflow_provider_odf.lineage.naming import DatasetNames, oracle, stores, tables
from airflow_provider_odf.lineage.naming.jdbc_address import Driver, NotUnderstood, hosts, of_spark, parse, settings
from airflow_provider_odf.lineage.naming.stores import Store


def server(
    store: Store, scheme: str = "", *, keeps_database: bool = False, host: str = "", spark_levels: int = 3
) -> Driver:
    """Return the rule of a driver.

    :param scheme: that of Spark's listener, by default the specification's.
    :param keeps_database: whether the URL's database is part of the name even if the table has all levels.
    :param host: the driver's default host.
    :param spark_levels: see `of_spark`.
    """

    def names(url: str, table: str) -> DatasetNames:
        address = parse(url)
        authority = hosts(address.hosts or host, store.port)
        named = tables.parts(table)
        outer = [part for part in address.path.split("/") if part]
        schema = address.settings.get("currentschema", "").partition(",")[0]
        if len(named) >= len(store.levels) and not (keeps_database and len(named) < spark_levels):
            outer = []
        elif schema and outer and len(named) == 1:
            outer = [*outer, schema]
        result = store.of_table(authority, outer, named)
        namespace = f"{scheme}://{authority}" if scheme else result.current.namespace
        return DatasetNames(result.current, None, (of_spark(namespace, address.path, table, levels=spark_levels),))

    return names


_mysql = server(stores.MYSQL, host="localhost", spark_levels=2)
_cassandra = server(stores.CASSANDRA)
_clickhouse = server(stores.CLICKHOUSE, spark_levels=2)
_db2 = server(stores.DB2)
_teradata = server(stores.TERADATA, keeps_database=True)


def mysql(url: str, table: str) -> DatasetNames:
    """Return the names of a table in MySQL, whose driver has three forms for a host: ``host:port``,
    ``address=(host=h)(port=p)`` and ``(host=h,port=p)``.

    :raises NotUnderstood: a value contains a bracket.
    """
    plain = re.sub(r"^[\w+:]+://", "mysql://", url)
    match = re.fullmatch(r"mysql://(?P<hosts>(?:\([^()]*\)|[^/?#()])*)(?P<rest>.*)", plain, re.DOTALL)
    if not match or not re.search(r"\(\s*\w+\s*=|\[[^\]]*,", match["hosts"]):
        return _mysql(plain, table)
    text = re.sub(r".*@(?=[^()]*(\(|$))", "", match["hosts"], flags=re.DOTALL).removeprefix("[").removesuffix("]")
    servers = [_mysql_host(one) for one in re.split(r",(?![^()]*\))", text)]
    if re.search(r"[()=]", re.split(r"[?#;]", match["rest"])[0]) or plain.count("(") != plain.count(")"):
        raise NotUnderstood  # a value with a bracket ended too early: what follows may be the rest of a password
    return _mysql(f"mysql://{','.join(servers)}{match['rest']}", table)


def _mysql_host(text: str) -> str:
    keys = {name.lower(): value for name, value in re.findall(r"[(,]\s*(\w+)\s*=\s*([^(),]*)", text)}
    if "host" not in keys:
        return text
    host = f"[{keys['host']}]" if ":" in keys["host"] else keys["host"]
    return f"{host}:{keys['port']}" if keys.get("port") else host


def cassandra(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Cassandra, whose driver separates hosts by ``--``."""
    head, slashes, rest = url.partition("//")
    servers, slash, path = rest.partition("/")
    return _cassandra(f"{head}{slashes}{servers.replace('--', ',')}{slash}{path}", table)


def clickhouse(url: str, table: str) -> DatasetNames:
    """Return the names of a table in ClickHouse, whose driver has two names and several protocols."""
    plain = re.sub(r"^(ch|clickhouse):((https?|grpc):)?//", "clickhouse://", url, flags=re.IGNORECASE)
    return _clickhouse(plain, table)


def db2(url: str, table: str) -> DatasetNames:
    """Return the names of a table in DB2, whose settings follow the database and a colon."""
    return _db2(re.sub(r"(//[^/]*/[^:]*):.*", r"\1", url, flags=re.DOTALL), table)


def teradata(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Teradata, which has database and port among its settings."""
    match = re.fullmatch(r"\w+://(?P<hosts>[^/]*)/?(?P<settings>.*)", url, re.DOTALL)
    if not match:
        raise NotUnderstood
    known = settings(f",{match['settings']}")
    authority = hosts(match["hosts"], known.get("dbs_port", stores.TERADATA.port))
    return _teradata(f"teradata://{authority}/{known.get('database', '')}", table)


def oracle_thin(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Oracle, by any of the forms of its driver."""
    try:
        authority, service = oracle.parse(url)
    except ValueError:
        raise NotUnderstood from None
    named = tables.parts(table)
    outer = [service] if service and len(named) < len(stores.ORACLE.levels) else []
    names = stores.ORACLE.of_table(authority, outer, named)
    return DatasetNames(names.current, None, (of_spark(names.current.namespace, service, table),))
