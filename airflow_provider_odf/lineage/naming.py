"""Names of datasets in lineage by the naming specification of OpenLineage, one function for each kind of store.

There are two editions: the current one (openlineage.io/docs/spec/naming) and that of 2024 (the former
``spec/Naming.md``). Each function returns the names of one dataset in both, and those of Spark's own listener where
they differ; `Forms.named` picks the primary name and makes symlinks of the rest. Missing ports get their default, and
slashes their normal form.
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


# --- parts ----------------------------------------------------------------------------------------------------------


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
