"""The page about names in lineage: the tables from the rules, the text around them."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_odf.lineage.naming import server, stores
from airflow_provider_odf.lineage.naming.stores import Store
from docs.generate.markdown import NOTICE, code, table

_OWN = """\
# Lineage names

Datasets in lineage events are named by the [OpenLineage naming specification](https://openlineage.io/docs/spec/naming),
so the names match those of other producers. The [glossary](glossary.md) explains the terms.
[`odf lineage name`](cli.md#odf-lineage-name) prints the name of a URI, a JDBC URL or a path:

```text
$ odf lineage name s3a://lake/orders/
s3://lake	orders
$ odf lineage name jdbc:postgresql://me:pa55@DB.example.com/shop public.orders
postgres://db.example.com:5432	shop.public.orders
$ ODF_NAMING_SPEC=2024 odf lineage name s3a://lake/orders/
s3://lake	/orders
```

## A dataset of this provider

| | namespace | name |
| --- | --- | --- |
| primary name | `file` | absolute path of the dataset's folder |
| symlink of type LOCATION | `file` | absolute path of the folder with the slices, `data` |
| symlink of type ALIAS | `odf+` and the store's URI | the alias: `name` or `account/name` |
| symlink of type ID | `did:odf` | the dataset's id, without `did:odf:` |

The version facet contains the block hash. The URI of the dataset's asset in Airflow is that of the same folder.

## Sources

"""

_SOURCES = (
    (
        "`Url` with http, https, ftp",
        "`scheme://host`, and the port unless it is the default",
        "path, and literal query parameters, sorted",
    ),
    ("`Url` that is a local file", "`file`", "absolute path"),
    ("`FilesGlob`", "`file`", "absolute path of the folder before the first wildcard"),
    ("`Container`", "`oci://` and the registry", "repository and tag or digest, as `library/alpine:latest`"),
    ("`Mqtt`", "`mqtt://host:port`", "the topics, each up to the level before its first wildcard"),
    ("`MergeOperator(data=...)`", "by its URI, see below", ""),
)

_WEB = """\
Sources of `EthereumLogs`, and of `Mqtt` with a template as host, have no name.

The naming specification has no rule for HTTP, FTP and containers. These names never contain user information, query
parameters whose value a template filled in, parameters of a signature (`X-Amz-…`, `sig` and the like), or parameters
with a [sensitive name](../how-to/use-secrets.md#what-is-masked). Paths have one spelling: `%7E` and `~` are the same. A
`Url` that consists only of a template, or whose host has one, has no name. One with a template in its path has the name
of the folder before the first.

## Editions

The specification changed in 2024 and 2025. `[odf] naming_spec` selects the edition of the primary names: `current` or
`2024`. If the editions differ, the name of the other edition is reported as a symlink. A store that the edition of 2024
does not know has its current name in both. Local files have the authority `127.0.0.1:0` in the edition of 2024.
"""

_NORMAL = """\
## How parts are normalized

- **Scheme and host** are in lower case, except for buckets, containers and name services. IPv6 addresses have brackets.
- **Ports** are added where the table has a default port. Several hosts are separated by commas, each with its port;
  Kafka has the first one only.
- **Paths** are percent-decoded. Object keys have no slash at either end; the root of a bucket is `/`. Paths of files,
  HDFS and DBFS have a leading slash and no trailing one. A relative path becomes absolute. Namespaces of `hdfs:/p`
  and `dbfs:/p`, without an authority, are `hdfs` and `dbfs`.
- **Schemes with one meaning** share a name: `s3a`, `s3n` and `s3`; `gcs` and `gs`; `abfs` and `abfss`; `wasb` and
  `wasbs`; `postgresql` and `postgres`.
- **`az://CONTAINER/PATH`** has the name of `abfss` if `AZURE_STORAGE_ACCOUNT_NAME` is set, from which clients take the
  account; otherwise `az://CONTAINER` is the namespace.
- **Quotes** around parts of a table's name are removed, case stays. In Snowflake, a part without quotes is in upper
  case, and a part that needs quotes has them; the name without quotes is a symlink.
- **Dots in a part** are not escaped, like in the clients of OpenLineage.
- **Credentials and settings** never become part of a name: user information, and every parameter but those that name a
  server, database, schema or table.
- **A file on another host**, `file://host/p`, has the namespace `file://host`. `localhost`, `127.0.0.1` and `::1` are
  this host.
- **Another scheme** has the rule of Spark's listener for unknown file systems: `scheme://authority` and the path.
- **A glob or a placeholder** never becomes part of a name. A path with `*`, `?`, `[…]`, `{…}`, `${…}` or `{{ … }}` has
  the name of the folder before the first of them: `s3://lake/orders/*.json` is `orders` in `s3://lake`. Parameters of a
  URL with one are left out. `odf lineage name` takes a path as it is if a file of that name exists.
- **A table in a directory**, `odf lineage name s3://lake/warehouse db.orders`, has the directory as its namespace.

URIs of databases have the path of the specification, `postgres://host/database.schema.table`, or that of Airflow's
assets, `postgres://host/database/schema/table`.

## JDBC URLs

The names are those of OpenLineage's Java client 1.54, which Spark's listener uses. They differ in these cases; where
the listener has a useful name, it is a symlink.

"""

_UNLIKE_SPARK = (
    (
        "Redshift",
        "`redshift://cluster.region:5439`",
        "the specification; Airflow has it too, the listener has the whole host",
    ),
    ("Snowflake", "`snowflake://organization-account`, with `db` and `schema` of the URL", "the specification"),
    ("`sqlserver` at `*.sql.azuresynapse.net`", "the rule of Azure Synapse", "the specification"),
    (
        "`sqlserver` at `*.datawarehouse.fabric.microsoft.com`",
        "the rule of Microsoft Fabric Warehouse",
        "the specification",
    ),
    (
        "any other `sqlserver`, `jtds`",
        "`sqlserver://host`, with a port if the URL has one; a symlink to the rule MSSQL",
        "the listener and dbt say `sqlserver`, Airflow says `mssql`",
    ),
    ("`hive2`", "`hive://host:10000`", "the specification"),
    ("Databricks", "`unitycatalog://host`", "the specification"),
    ("BigQuery, Athena, Spanner", "their rules, with project, region or instance of the URL", "the specification"),
    (
        "`mysql` with `address=(host=…)` or `(host=…,port=…)`",
        "`mysql://host:port,…`",
        "the listener does not parse these URLs",
    ),
    (
        "several hosts with a database such as `my-db`, hosts with `_`, IPv6 in `sqlserver` and descriptors of Oracle",
        "by the rule",
        "the listener does not parse these URLs",
    ),
    (
        "`postgresql:db`, `mysql:///db`",
        "at `localhost`, the driver's default",
        "the listener does not parse these URLs",
    ),
    ("Trino with catalog and schema, `catalog/schema`", "`catalog.schema.table`", "the specification has no slash"),
    ("Cassandra, OceanBase with a qualified table", "without the URL's database", "the specification has two levels"),
    ("Postgres with `currentSchema`", "`database.schema.table`", "the specification has three levels"),
    ("quoted tables", "without quotes", "the listener removes them in queries"),
    (
        "DB2 with settings after the database, Oracle with `service:server/instance`",
        "without these",
        "they are not names",
    ),
)

_UNKNOWN = """\
An unknown driver has `driver://host` and `database.table`. A URL that no rule understands is the namespace itself, like
in the listener, but without everything from the first credential on. In-memory databases and files are such URLs:
`jdbc:h2:mem:test`, `jdbc:sqlite:/a/b.db`. Derby has `file:` and its folder. A query in place of a table has no name.

## Without a name

An invalid URI, one without a host or bucket, and a `Url` made by a template have no name. A task leaves such a source
or input out of its events, says why in its log without showing the URI, and goes on: two unknown sources with one name
would connect what is not connected. `odf lineage name` exits with 2; with `-` it prints `error` and the reason,
and exits with 0. It takes a text without `:` and `/` as a path only if the path exists.

"""

_JOBS = """\
## Jobs

The job of a task is named `DAG.TASK`, in the namespace of `[openlineage] namespace`. A Spark application is named
`odf_OPERATION_DATASET`, in lower case and with `_` for other characters, in the namespace of its task. This is also its
`spark.app.name`. Spark's OpenLineage listener reports a normalized form of that name, which is the same. The action of
an application is named `odf_OPERATION_DATASET.OPERATION`.
"""


def page() -> str:
    """docs/reference/lineage-names.md"""
    return "\n".join(
        [
            NOTICE,
            _OWN,
            table(("source", "namespace", "name"), _SOURCES),
            _WEB,
            "## Stores\n",
            table(("store", "namespace", "name", "default port"), map(_current, stores.SPECIFICATION)),
            "Spark's listener and this provider name two more: "
            + " and ".join(f"{s.title} as {' and '.join(_current(s)[1:3])}" for s in _MORE)
            + ". Fabric and Unity Catalog have a port only if it is not the default one.\n",
            "In the edition of 2024, these stores have other names:\n",
            table(("store", "namespace", "name"), _former()),
            _NORMAL,
            table(("URL", "name here", "why"), _UNLIKE_SPARK),
            _UNKNOWN,
            "## Data contracts\n",
            "In Python, `from_uri` and `from_jdbc` of `airflow_provider_odf.lineage.naming.uri` and `.jdbc` return all "
            "names of a dataset. `.stores` has a rule for each store: `stores.POSTGRES.names(host=…, port=…, …)`.\n",
            "A model of a [data contract](../how-to/use-a-contract.md) has a name on each server of the contract, by "
            "the same rules: by its `physicalName` where there is one. The facet `odf_dataset` of a dataset with a "
            "contract has them as `servers`. They are no symlinks, because the servers have copies. A server without a "
            "name, of another type or with a variable that is not set, is left out. So is one with a placeholder or a "
            "wildcard outside of a path, such as a topic `orders-*`. Types of servers:\n",
            ", ".join(map(code, sorted(server.TYPES))) + ".\n",
            _JOBS,
        ]
    )


_MORE = (stores.CLICKHOUSE, stores.SQL_SERVER)


def _current(store: Store) -> tuple[str, str, str, str]:
    named = store.names(**{part: f"{{{part}}}" for part in store.parts}).current
    return store.title, code(named.namespace), code(named.name), code(store.port)


def _former() -> Iterator[tuple[str, str, str]]:
    for store in stores.SPECIFICATION:
        if store.former:
            namespace, name = (form.replace("{absolute}", "/{key}") for form in store.former)
            yield store.title, code(namespace), code(name)
