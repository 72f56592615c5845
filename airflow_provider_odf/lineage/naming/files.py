"""Names of files and objects, with slashes as in Spark's listener: a path has a leading one, a key has none."""

from __future__ import annotations

from airflow_provider_odf.lineage.naming import FILE_AUTHORITY, DatasetNames, Identifier, stores
from airflow_provider_odf.lineage.naming.stores import Store


def s3(bucket: str, key: str) -> DatasetNames:
    return _object(stores.S3, key, bucket=bucket)


def gcs(bucket: str, key: str) -> DatasetNames:
    return _object(stores.GCS, key, bucket=bucket)


def abfss(container: str, account: str, path: str) -> DatasetNames:
    """Return the names of a path; ``account`` is the storage account, with or without its domain."""
    return _azure(stores.ABFSS, "abfss", container, account, path)


def wasbs(container: str, account: str, key: str) -> DatasetNames:
    """Return the names of a key; ``account`` is the storage account, with or without its domain."""
    return _azure(stores.WASBS, "wasbs", container, account, key)


def dbfs(workspace: str, path: str) -> DatasetNames:
    """Return the names of a path. Spark does not know workspaces: its name is ``dbfs`` and the path."""
    spark = Identifier("dbfs", absolute(path))
    return stores.DBFS.names(spark, workspace=workspace, path=spark.name) if workspace else DatasetNames(spark)


def hdfs(authority: str, path: str) -> DatasetNames:
    """Return the names of a path; ``authority`` is the namenode's ``host:port`` or the id of a name service."""
    host, _, port = authority.partition(":")
    return stores.HDFS.names(host=host, port=port, path=absolute(path))


def local_file(path: str, authority: str = FILE_AUTHORITY) -> DatasetNames:
    """Return the names of an absolute path.

    :raises ValueError: the path is relative.
    """
    if not path.startswith("/"):
        raise ValueError("the path is not absolute")
    return stores.LOCAL_FILE.names(path=absolute(path), authority=authority)


def remote_file(host: str, path: str) -> DatasetNames:
    return stores.REMOTE_FILE.names(host=host, path=absolute(path))


def absolute(path: str) -> str:
    """Return a path with a leading slash, without trailing ones."""
    return f"/{path.strip('/')}"


def _object(store: Store, key: str, **parts: str) -> DatasetNames:
    name = key.strip("/")
    last = "path" if "path" in store.parts else "key"
    return store.names(**parts, **{last: name or "/"}, absolute=f"/{name}")


def _azure(store: Store, scheme: str, container: str, account: str, path: str) -> DatasetNames:
    short, _, domain = account.partition(".")
    names = _object(store, path, container=container, account=short, short=short)
    if domain in ("", "dfs.core.windows.net"):
        return names
    # The specification knows one domain; Spark's listener has that of the URI.
    return DatasetNames(Identifier(f"{scheme}://{container}@{account}", names.current.name), names.former)
