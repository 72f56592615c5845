"""Names of datasets in lineage: the naming specification of OpenLineage, one function for each store.

Two editions are known: the current one (openlineage.io/docs/spec/naming) and that of 2024 (the former
``spec/Naming.md``). Each function gives the names of one dataset under both, and the forms that Spark's own listener
uses where these differ; `Forms.named` picks the primary name and makes symlinks of the rest. Parts are taken as users
write them: ports get their defaults, slashes and letter case their normal form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Edition: TypeAlias = Literal["current", "2024"]
"""Values of the setting ``[odf] naming_spec``."""

FILE_AUTHORITY = "127.0.0.1:0"
"""IP and port of local files in the edition of 2024, where nothing else is set."""


@dataclass(frozen=True, order=True)
class Identifier:
    namespace: str
    name: str

    def __post_init__(self) -> None:
        if not self.namespace or not self.name:
            raise ValueError(f"a dataset needs a namespace and a name, not {self.namespace!r} and {self.name!r}")


@dataclass(frozen=True)
class Named:
    """The name of a dataset in events, and the other names it is known by."""

    primary: Identifier
    symlinks: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class Forms:
    """The names of one dataset. ``former`` is that of the edition of 2024 where it differs, ``others`` are Spark's."""

    current: Identifier
    former: Identifier | None = None
    others: tuple[Identifier, ...] = ()

    def named(self, edition: Edition = "current") -> Named:
        """The edition's name, with all others as symlinks."""
        primary = self.former if edition == "2024" and self.former else self.current
        rest = dict.fromkeys(i for i in (self.current, self.former, *self.others) if i is not None and i != primary)
        return Named(primary, tuple(rest))


# --- warehouses and databases ---------------------------------------------------------------------------------------


def athena(region: str, database: str, table: str, catalog: str = "AwsDataCatalog") -> Forms:
    return Forms(Identifier(f"awsathena://athena.{region}.amazonaws.com", _dotted(catalog, database, table)))


def glue(region: str, account: str, database: str, table: str) -> Forms:
    return Forms(Identifier(f"arn:aws:glue:{region}:{account}", f"table/{database}/{table}"))


def cosmos_db(host: str, database: str, table: str) -> Forms:
    """``host`` is the whole one: ``x.documents.azure.com``."""
    namespace = f"azurecosmos://{host}/dbs/{database}"
    return Forms(Identifier(namespace, f"colls/{table}"), Identifier(namespace, f"/colls/{table}"))


def data_explorer(host: str, database: str, table: str) -> Forms:
    """``host`` is ``cluster.region``, with or without ``.kusto.windows.net``."""
    namespace = f"azurekusto://{host.removesuffix('.kusto.windows.net')}.kusto.windows.net"
    name = f"{database}/{table}"
    return Forms(Identifier(namespace, name), Identifier(f"{namespace}/{database}", name))


def synapse(host: str, database: str, schema: str, table: str, port: int = 1433) -> Forms:
    namespace, full = _server("sqlserver", host, port), _dotted(database, schema, table)
    return Forms(
        Identifier(namespace, _dotted(schema, table)),
        Identifier(f"{namespace};database={database};", full),
        (Identifier(namespace, full),),
    )


def mssql(host: str, database: str, schema: str, table: str, port: int = 1433) -> Forms:
    full = _dotted(database, schema, table)
    spark = Identifier(_server("sqlserver", host, port), full)
    return Forms(Identifier(_server("mssql", host, port), full), None, (spark,))


def bigquery(project: str, dataset: str, table: str) -> Forms:
    """``project`` is the id of the project, neither its number nor its title."""
    return Forms(Identifier("bigquery", _dotted(project, dataset, table)))


def cassandra(host: str, keyspace: str, table: str, port: int = 9042) -> Forms:
    return _two_parts("cassandra", host, port, keyspace, table)


def mysql(host: str, database: str, table: str, port: int = 3306) -> Forms:
    return _two_parts("mysql", host, port, database, table)


def hive(host: str, database: str, table: str, port: int = 9083) -> Forms:
    return _two_parts("hive", host, port, database, table)


def oceanbase(host: str, database: str, table: str, port: int = 2881) -> Forms:
    return _two_parts("oceanbase", host, port, database, table)


def teradata(host: str, database: str, table: str, port: int = 1025) -> Forms:
    return _two_parts("teradata", host, port, database, table)


def postgres(host: str, database: str, schema: str, table: str, port: int = 5432) -> Forms:
    return _three_parts("postgres", host, port, database, schema, table)


def crate_db(host: str, database: str, schema: str, table: str, port: int = 5432) -> Forms:
    return _three_parts("crate", host, port, database, schema, table)


def db2(host: str, database: str, schema: str, table: str, port: int = 6789) -> Forms:
    return _three_parts("db2", host, port, database, schema, table)


def oracle(host: str, service: str, schema: str, table: str, port: int = 1521) -> Forms:
    return _three_parts("oracle", host, port, service, schema, table)


def trino(host: str, catalog: str, schema: str, table: str, port: int) -> Forms:
    """The port has no default: producers disagree (443 or 8080), so it has to be said."""
    return _three_parts("trino", host, port, catalog, schema, table)


def redshift(host: str, database: str, schema: str, table: str, port: int = 5439, region: str | None = None) -> Forms:
    """``host`` is a cluster with its ``region``, or an endpoint: ``cluster.xxxx.us-west-2.redshift.amazonaws.com``."""
    full = _dotted(database, schema, table)
    if region is not None:
        return Forms(Identifier(f"redshift://{host}.{region}:{port}", full))
    endpoint = re.fullmatch(r"([^.]+)\.[^.]+\.([^.]+)\.redshift(?:-serverless)?\.amazonaws\.com(?:\.cn)?", host)
    if endpoint is None:
        raise ValueError(f"{host!r} is no endpoint of Redshift: give the cluster and its region")
    spark = Identifier(_server("redshift", host, port), full)
    return Forms(Identifier(f"redshift://{endpoint[1]}.{endpoint[2]}:{port}", full), None, (spark,))


def snowflake(account: str, database: str, schema: str, table: str) -> Forms:
    """Names are those of SQL: ``my_db`` is ``MY_DB``, and quotes stay only where a name needs them."""
    namespace = f"snowflake://{_snowflake_account(account)}"
    parts = [_snowflake_name(part) for part in (database, schema, table)]
    current = Identifier(namespace, _dotted(*parts))
    stripped = Identifier(namespace, _dotted(*(_unquoted(part) for part in parts)))
    return Forms(current, None, () if stripped == current else (stripped,))


def _snowflake_account(account: str) -> str:
    """Organization and account, or locator with region and cloud, which default to those of the first accounts."""
    account = account.removeprefix("https://").removesuffix("/").removesuffix(".snowflakecomputing.com")
    labels = account.split(".")
    if len(labels) == 1:
        return account if "-" in account else f"{account}.us-west-1.aws"
    return f"{account}.aws" if len(labels) == 2 else account


def _snowflake_name(part: str) -> str:
    stored = _unquoted(part) if part.startswith('"') else part.upper()
    if re.fullmatch(r"[A-Z_][A-Z0-9_$]*", stored):
        return stored
    return '"' + stored.replace('"', '""') + '"'


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') and part.endswith('"') and len(part) > 1 else part


def spanner(project: str, instance: str, database: str, schema: str, table: str) -> Forms:
    return Forms(Identifier(f"spanner://{project}:{instance}", _dotted(database, schema, table)))


def unity_catalog(host: str, catalog: str, schema: str, table: str, port: int | None = None) -> Forms:
    namespace = f"unitycatalog://{host}" if port is None else _server("unitycatalog", host, port)
    return Forms(Identifier(namespace, _dotted(catalog, schema, table)))


# --- files and objects ----------------------------------------------------------------------------------------------


def s3(bucket: str, key: str) -> Forms:
    return _objects(f"s3://{bucket}", key)


def gcs(bucket: str, key: str) -> Forms:
    return _objects(f"gs://{bucket}", key)


def abfss(container: str, service: str, path: str) -> Forms:
    """``service`` is the storage account, with or without its domain."""
    return _azure("abfss", container, service, path)


def wasbs(container: str, service: str, key: str) -> Forms:
    """``service`` is the storage account; a host with a domain is taken as it is."""
    return _azure("wasbs", container, service, key)


def dbfs(workspace: str, path: str) -> Forms:
    """Spark knows no workspace: its name is ``dbfs`` and the path."""
    name = _absolute(path)
    if not workspace:
        return Forms(Identifier("dbfs", name))
    spark = Identifier("dbfs", name)
    return Forms(Identifier(f"dbfs://{workspace}", name), Identifier(f"hdfs://{workspace}", name), (spark,))


def hdfs(authority: str, path: str) -> Forms:
    """``authority`` is the namenode's ``host:port`` or the id of a name service."""
    return Forms(Identifier(f"hdfs://{authority}", _absolute(path)))


def local_file(path: str, authority: str = FILE_AUTHORITY) -> Forms:
    """``path`` is absolute.

    :raises ValueError: it is not, so that it names nothing to others.
    """
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
    name = _absolute(path)
    return Forms(Identifier("file", name), Identifier(f"file://{authority}", name))


def remote_file(host: str, path: str) -> Forms:
    return Forms(Identifier(f"file://{host}", _absolute(path)))


# --- streams --------------------------------------------------------------------------------------------------------


def kafka(bootstrap_servers: str, topic: str) -> Forms:
    """Of several servers the first is the name."""
    first = bootstrap_servers.split(",")[0].strip()
    return Forms(Identifier(f"kafka://{first if _has_port(first) else f'{first}:9092'}", topic))


def pubsub(kind: Literal["topic", "subscription"], project: str, resource: str) -> Forms:
    return Forms(Identifier("pubsub", f"{kind}:{project}:{resource}"))


# --- parts ----------------------------------------------------------------------------------------------------------


def _dotted(*parts: str) -> str:
    if not all(parts):
        raise ValueError(f"a part of the name {'.'.join(parts)!r} is empty")
    return ".".join(parts)


def _server(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{host.lower()}:{port}"


def _two_parts(scheme: str, host: str, port: int, *parts: str) -> Forms:
    return Forms(Identifier(_server(scheme, host, port), _dotted(*parts)))


_three_parts = _two_parts


def _objects(namespace: str, key: str) -> Forms:
    """Objects have no leading slash today; the edition of 2024 writes paths, whose URI is namespace and name put
    together."""
    name = key.strip("/")
    return Forms(Identifier(namespace, name or "/"), Identifier(namespace, f"/{name}"))


def _azure(scheme: str, container: str, service: str, path: str) -> Forms:
    name = path.strip("/")
    host = service if "." in service else f"{service}.dfs.core.windows.net"
    current = Identifier(f"{scheme}://{container}@{host}", name or "/")
    return Forms(current, Identifier(f"{scheme}://{container}@{service.split('.')[0]}", f"/{name}"))


def _absolute(path: str) -> str:
    return f"/{path.strip('/')}"


def _has_port(host: str) -> bool:
    return re.search(r":\d+$", host) is not None
