"""Names of tables in cloud services by JDBC URLs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from airflow_provider_odf.lineage.naming import DatasetNames, databases, stores, tables
from airflow_provider_odf.lineage.naming.jdbc_address import NotUnderstood, hosts, of_spark, parse, settings


def redshift(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Redshift; with IAM the URL has the cluster and the region."""
    named = tables.parts(table)
    if match := re.fullmatch(r"redshift:iam://([\w-]+):([\w-]+)/([^?;#]*).*", url, re.IGNORECASE | re.DOTALL):
        authority = f"{match[1].lower()}.{match[2].lower()}:{stores.REDSHIFT.port}"
        return databases.redshift(authority, _outer(named, unquote(match[3])), named)
    address = parse(url)
    spark = of_spark(f"redshift://{hosts(address.hosts)}", address.path, table)
    authority = hosts(address.hosts, stores.REDSHIFT.port)
    return databases.redshift(authority, _outer(named, address.path), named, spark)


def snowflake(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Snowflake, with database and schema among the settings."""
    address = parse(url)
    account = hosts(address.hosts)
    known = (unquote(address.settings.get(name, "")) for name in ("db", "schema"))
    spark = of_spark(f"snowflake://{account}", address.path, table)
    return databases.snowflake(account, _outer(tables.split(table), *known), table, spark)


def bigquery(url: str, table: str) -> DatasetNames:
    """Return the names of a table in BigQuery, with project and data set among the settings."""
    known = settings(url)
    named = tables.parts(table)
    outer = _outer(named, known.get("projectid", ""), known.get("defaultdataset", ""))
    if len(outer) + len(named) < 3:
        raise ValueError("the JDBC URL has no ProjectId, or the table no data set")
    return stores.BIGQUERY.of_table("", outer, named)


def databricks(url: str, table: str) -> DatasetNames:
    """Return the names of a table in the Unity Catalog of a workspace."""
    address = parse(url)
    named = tables.parts(table)
    schema = address.settings.get("connschema", "") or address.path
    authority = hosts(address.hosts)
    names = databases.unity_catalog(authority, _outer(named, address.settings.get("conncatalog", ""), schema), named)
    return DatasetNames(names.current, None, (of_spark(f"databricks://{authority}", address.path, table),))


def athena(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Athena, with region, catalog and database among the settings."""
    known = settings(re.sub(r"^\w+://", ";", url))
    host = re.search(r"//athena\.([\w-]+)\.amazonaws\.com", url)
    region = known.get("awsregion") or known.get("region") or (host[1] if host else "")
    if not re.fullmatch(r"[\w-]+", region):
        raise ValueError("the JDBC URL names no region")
    named = tables.parts(table)
    database = known.get("schema") or known.get("database") or "default"
    return databases.athena(region, _outer(named, known.get("catalog", ""), database), named)


def spanner(url: str, table: str) -> DatasetNames:
    """Return the names of a table in Spanner, whose path has project, instance and database."""
    match = re.search(r"/projects/([\w-]+)/instances/([\w-]+)/databases/([\w-]+)", url)
    if not match:
        raise NotUnderstood
    return stores.SPANNER.of_table("", [match[3]], tables.parts(table), project_id=match[1], instance=match[2])


def _outer(table: Sequence[str], *known: str) -> list[str]:
    """Return the outer levels, the outermost first, that a table with up to three levels does not have itself."""
    return [level for level in known[: 3 - len(table)] if level] if len(table) < 3 else []
