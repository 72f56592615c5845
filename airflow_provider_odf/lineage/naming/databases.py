"""Names of tables in databases whose address is not simply a host and a port."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier, stores, tables
from airflow_provider_odf.lineage.naming.authority import host, without_port

_REDSHIFT = re.compile(
    r"(?P<cluster>[^.]+)\.[^.]+\.(?P<region>[a-z0-9-]+)\.redshift(-serverless)?\.amazonaws\.com(\.cn)?"
)


def redshift(authority: str, outer: Sequence[str], table: Sequence[str], *others: Identifier) -> DatasetNames:
    """Return the names of a table in a cluster. The name of the cluster and its region identify it; of an endpoint they
    are the first and the third label. Another host stands for itself."""
    name, _, port = authority.rpartition(":")
    if match := _REDSHIFT.fullmatch(name):
        cluster, region = match["cluster"], match["region"]
    elif re.fullmatch(r"[^.\[]+\.[a-z0-9-]+", name):
        cluster, _, region = name.partition(".")
    else:
        names = stores.POSTGRES.of_table(authority, outer, table)
        return DatasetNames(Identifier(f"redshift://{authority}", names.current.name), None, others)
    return stores.REDSHIFT.of_table("", outer, table, *others, cluster=cluster, region=region, port=port)


def snowflake(account: str, outer: Sequence[str], table: str, *others: Identifier) -> DatasetNames:
    """Return the names of a table, with each part as Snowflake writes it, and without any quotes as another name.

    :param account: the account's identifier, with or without the domain: ``organization-account``, or a locator with
        region and cloud; by default those of Spark's listener.
    """
    identifier = re.sub(r"\.snowflakecomputing\.(com|cn)(:\d+)?$", "", account)
    path = [*(part for level in outer for part in tables.snowflake(level)), *tables.snowflake(table)]
    organization, dash, name = identifier.partition("-")
    if dash and name and "." not in identifier:
        names = stores.SNOWFLAKE.of_table("", path[:-1], path[-1:], organization=organization, account=name)
    else:
        default = {0: ".us-west-1.aws", 1: ".aws"}.get(identifier.count("."), "")
        names = stores.SNOWFLAKE_LOCATOR.of_table("", path[:-1], path[-1:], locator=identifier + default)
    plain = ".".join(part for level in path for part in tables.parts(level))
    return DatasetNames(names.current, None, (Identifier(names.current.namespace, plain), *others))


def synapse(authority: str, database: str, table: Sequence[str], *others: Identifier) -> DatasetNames:
    """Return the names of a table in Azure Synapse; only the edition of 2024 has the database in them."""
    name, _, port = authority.rpartition(":")
    *_, schema, last = ["", *table]
    return stores.SYNAPSE.names(*others, host=name, port=port, database=database, schema=schema, table=last)


def athena(region: str, outer: Sequence[str], table: Sequence[str]) -> DatasetNames:
    """Return the names of a table; its default catalog is that of AWS Glue."""
    path = [*outer, *table]
    catalog = [] if len(path) > 2 else ["AwsDataCatalog"]
    return stores.ATHENA.of_table("", [*catalog, *path[:-1]], path[-1:], region=region)


def unity_catalog(authority: str, outer: Sequence[str], table: Sequence[str]) -> DatasetNames:
    """Return the names of a table in a workspace of Databricks or a server of Unity Catalog."""
    return stores.UNITY_CATALOG.of_table(but(host(authority), "443"), outer, table)


def data_explorer(cluster: str, path: Sequence[str]) -> DatasetNames:
    """Return the names of a table; ``cluster`` is the name and location of a cluster, with or without its domain."""
    name = re.sub(r"\.kusto\.windows\.net$", "", without_port(host(cluster)))
    *outer, table = path
    return stores.DATA_EXPLORER.names(host=name, database=".".join(outer), table=table)


def but(authority: str, port: str) -> str:
    """Return host and port, without the port if it is this one."""
    return authority.removesuffix(f":{port}")
