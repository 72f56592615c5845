"""Names of datasets in lineage by the naming specification of OpenLineage, one function for each kind of store.

There are two editions: the current one (openlineage.io/docs/spec/naming) and that of 2024 (the former
``spec/Naming.md``). Each function returns the names of one dataset in both, and those of Spark's own listener where
they differ. `DatasetNames.in_edition` selects the primary name; the others become symlinks. Missing ports get their
default, and slashes are normalized.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Edition: TypeAlias = Literal["current", "2024"]
"""Values of the setting ``[odf] naming_spec``."""

FILE_AUTHORITY = "127.0.0.1:0"
"""Default IP and port of local files in the edition of 2024."""


@dataclass(frozen=True, order=True)
class Identifier:
    namespace: str
    name: str

    def __post_init__(self) -> None:
        if not self.namespace or not self.name:
            raise ValueError(f"a dataset needs a namespace and a name, not {self.namespace!r} and {self.name!r}")


@dataclass(frozen=True)
class EditionNames:
    """Primary name of a dataset in events, and its other names."""

    primary: Identifier
    symlinks: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class DatasetNames:
    """Names of one dataset. ``former`` is that of the edition of 2024 if it differs, ``others`` are Spark's."""

    current: Identifier
    former: Identifier | None = None
    others: tuple[Identifier, ...] = ()

    def in_edition(self, edition: Edition = "current") -> EditionNames:
        """Return the edition's name, with all others as symlinks."""
        primary = self.former if edition == "2024" and self.former else self.current
        rest = dict.fromkeys(i for i in (self.current, self.former, *self.others) if i is not None and i != primary)
        return EditionNames(primary, tuple(rest))


# --- files and objects ----------------------------------------------------------------------------------------------


def s3(bucket: str, key: str) -> DatasetNames:
    return _objects(f"s3://{bucket}", key)


def gcs(bucket: str, key: str) -> DatasetNames:
    return _objects(f"gs://{bucket}", key)


def abfss(container: str, service: str, path: str) -> DatasetNames:
    """Return the names of a path; ``service`` is the storage account, with or without its domain."""
    return _azure("abfss", container, service, path)


def wasbs(container: str, service: str, key: str) -> DatasetNames:
    """Return the names of a key; ``service`` is the storage account, with or without its domain."""
    return _azure("wasbs", container, service, key)


def dbfs(workspace: str, path: str) -> DatasetNames:
    """Return the names of a path. Spark does not know workspaces: its name is ``dbfs`` and the path."""
    name = _absolute(path)
    if not workspace:
        return DatasetNames(Identifier("dbfs", name))
    spark = Identifier("dbfs", name)
    return DatasetNames(Identifier(f"dbfs://{workspace}", name), Identifier(f"hdfs://{workspace}", name), (spark,))


def hdfs(authority: str, path: str) -> DatasetNames:
    """Return the names of a path; ``authority`` is the namenode's ``host:port`` or the id of a name service."""
    return DatasetNames(Identifier(f"hdfs://{authority}", _absolute(path)))


def local_file(path: str, authority: str = FILE_AUTHORITY) -> DatasetNames:
    """Return the names of an absolute path.

    :raises ValueError: the path is relative.
    """
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
    name = _absolute(path)
    return DatasetNames(Identifier("file", name), Identifier(f"file://{authority}", name))


def remote_file(host: str, path: str) -> DatasetNames:
    return DatasetNames(Identifier(f"file://{host}", _absolute(path)))


# --- streams --------------------------------------------------------------------------------------------------------


def kafka(bootstrap_servers: str, topic: str) -> DatasetNames:
    """Return the names of a topic, under the first of several servers."""
    first = bootstrap_servers.split(",")[0].strip()
    return DatasetNames(Identifier(f"kafka://{first if _has_port(first) else f'{first}:9092'}", topic))


# --- parts ----------------------------------------------------------------------------------------------------------


def _objects(namespace: str, key: str) -> DatasetNames:
    """Return the names of an object: without a leading slash in the current edition, with one in that of 2024."""
    name = key.strip("/")
    return DatasetNames(Identifier(namespace, name or "/"), Identifier(namespace, f"/{name}"))


def _azure(scheme: str, container: str, service: str, path: str) -> DatasetNames:
    name = path.strip("/")
    host = service if "." in service else f"{service}.dfs.core.windows.net"
    current = Identifier(f"{scheme}://{container}@{host}", name or "/")
    return DatasetNames(current, Identifier(f"{scheme}://{container}@{service.split('.')[0]}", f"/{name}"))


def _absolute(path: str) -> str:
    return f"/{path.strip('/')}"


def _has_port(host: str) -> bool:
    return re.search(r":\d+$", host) is not None
