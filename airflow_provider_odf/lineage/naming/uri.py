"""Names of datasets given as a URI or a path: a manifest's source, a store's directory, a URI of the naming
specification, an asset of Airflow.

Names of files equal those of Spark's listener (percent-decoded, no trailing slash). A scheme without a rule has the
listener's rule for unknown file systems: its authority is the namespace, its path the name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage.naming import FILE_AUTHORITY, DatasetNames, Identifier, files, services, stores, web
from airflow_provider_odf.lineage.naming.authority import hosts, without_users
from airflow_provider_odf.lineage.naming.jdbc import from_jdbc

WILDCARD = re.compile(r"[*\[{]|\?(?![\w.-]+=)")
"""A wildcard of a glob, or a placeholder: ``{model}``, ``${DAY}``, ``{{ ds }}``. Parameters of a URI are neither."""

_BUCKET = re.compile(r"[\w.:-]+")
_START = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(//[^/?#]*)?")
_NO_PATH = re.compile(r"\s*(?:[/\\]{2,}.*@|(?!\.)[^/\\]*(?://.*)?:.*@)", re.DOTALL)
"""``//user@`` and ``user:password@``, which a path may have only behind one ``/`` or ``./``."""


def from_uri(
    uri: str,
    table: str | None = None,
    *,
    base: str | None = None,
    file_authority: str = FILE_AUTHORITY,
    template: str | None = None,
    secrets: Collection[str] = (),
) -> DatasetNames:
    """Return the names of a URI, JDBC URL or path.

    :param table: a table in what the URI names: in a database, or in a directory that is a warehouse of Spark.
    :param base: folder of relative paths, by default the working directory.
    :param template: the URI as the user wrote it, if ``uri`` has its templates filled in.
    :param secrets: texts that the names must not contain.
    :raises ValueError: the URI has no name. The message contains no part of it but the scheme.
    """
    if uri[:5].lower() == "jdbc:":
        return from_jdbc(uri, table or "", base=base)
    if not uri.strip():
        raise ValueError("the URI is missing")
    parts = _split(uri)
    scheme = parts.scheme.lower().partition("+")[0]
    if scheme in services.SCHEMES:
        return services.SCHEMES[scheme](parts._replace(netloc=without_users(parts.netloc)), table)
    if scheme in ("", "file"):
        names = _file(parts, uri, base, file_authority)
    elif scheme in web.PORTS:
        names = web.url(parts, template, secrets)
    else:
        names = _FILES.get(scheme, _other)(parts)
    return _in_warehouse(names, table) if table else names


def from_glob(pattern: str, *, base: str | None = None, file_authority: str = FILE_AUTHORITY) -> DatasetNames:
    """Return the names of the folder that holds all files of a glob, which may be without a wildcard."""
    return from_pattern(f"{pattern}*", base=base, file_authority=file_authority)


def from_pattern(
    pattern: str, table: str | None = None, *, base: str | None = None, file_authority: str = FILE_AUTHORITY
) -> DatasetNames:
    """Return the names of a URI or path that may be a glob or have placeholders: those of the folder that holds all
    its files. Spark names several files in the same way.

    :raises ValueError: the URI has no name.
    """
    return from_uri(folder(pattern), table, base=base, file_authority=file_authority)


def folder(pattern: str, variable: re.Pattern[str] = WILDCARD) -> str:
    """Return a URI or path up to the folder before its first wildcard or placeholder; without one, as it is. Parameters
    of a URL that have one are left out, and so are all if its path has one. Databases have no folders.

    >>> folder("s3://bucket/orders/*/new-?.json")
    's3://bucket/orders'
    """
    start = _START.match(pattern)
    scheme = start["scheme"].lower() if start else ""
    if scheme == "jdbc" or scheme.partition("+")[0] in services.SCHEMES:
        return pattern
    root = start[0] if start else ""
    path, mark, query = pattern[len(root) :], "", ""
    if scheme in web.PORTS:
        path, mark, query = path.partition("?")
    if match := variable.search(path):
        above, slash, _ = path[: match.start()].rpartition("/")
        return root + (above or slash or ("." if scheme in ("", "file") else ""))
    return root + path + mark + "&".join(p for p in query.split("&") if not variable.search(p))


def _split(uri: str) -> SplitResult:
    """Split a URI; a path may have any character, even those with a meaning in a URI."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        _check_path(uri)
        return SplitResult("", "", uri, "", "")
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise ValueError("the URI is not valid") from None
    check_credentials(uri, parts.netloc)
    return parts


def _check_path(path: str) -> None:
    """Raise an error if a path may be a URI whose scheme is missing or not valid, with credentials."""
    if _NO_PATH.match(path) or redaction.without_users(path) != path:
        fix = "write the scheme in front of //, or ./ in front of a path"
        raise ValueError(f"the URI has credentials and no valid scheme: {fix}")


def check_credentials(uri: str, authority: str) -> None:
    """Raise an error if it is unclear where the credentials of a URI end.

    :raises ValueError: a password contains ``/``, ``?``, ``#`` or ``@``.
    """
    masked = redaction.without_users(uri)
    host = re.split(r"[/?#]", masked.partition(f"{redaction.MASK}@")[2])[0]
    if masked.partition("?")[0] != uri.partition("?")[0] and host != authority.rpartition("@")[2]:
        raise ValueError("the credentials in the URI are not percent-encoded")


def _file(parts: SplitResult, uri: str, base: str | None, authority: str) -> DatasetNames:
    if parts.scheme == "":
        return files.local_file(os.path.abspath(os.path.join(base or "", uri)), authority)
    # `?` and `#` belong to a file's name here, as they do in Spark.
    rest = re.sub(r"^file:(//[^/]*)?", "", uri, flags=re.IGNORECASE)
    _check_path(rest)
    host = parts.netloc.rpartition("@")[2]
    if re.fullmatch(r"(localhost|127\.0\.0\.1|\[::1\])?(:\d+)?", host, re.IGNORECASE):
        return files.local_file(os.path.abspath(os.path.join(base or "", unquote(rest))), authority)
    return files.remote_file(hosts(host), unquote(rest))


def _in_warehouse(names: DatasetNames, table: str) -> DatasetNames:
    """Return the names of a table in a directory: Spark's listener has the directory as its namespace."""
    directory = names.current
    if directory.name == "/":
        return DatasetNames(Identifier(directory.namespace, table))
    colon = "" if "://" in directory.namespace else ":"
    return DatasetNames(Identifier(f"{directory.namespace}{colon}/{directory.name.lstrip('/')}", table))


def _bucket(parts: SplitResult) -> str:
    bucket = parts.netloc.rpartition("@")[2]
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"the {parts.scheme} URI has no bucket or an invalid one")
    return bucket


def _container(parts: SplitResult) -> tuple[str, str, str]:
    user, _, account = parts.netloc.rpartition("@")
    container = user.rpartition("@")[2]
    if not re.fullmatch(r"[\w$-]+", container) or not _BUCKET.fullmatch(account):
        raise ValueError(f"the {parts.scheme} URI names no container: write {parts.scheme}://CONTAINER@ACCOUNT/PATH")
    return container, account.lower(), unquote(parts.path)


def _hdfs(parts: SplitResult) -> DatasetNames:
    return files.hdfs(hosts(parts.netloc), unquote(parts.path)) if parts.netloc else _other(parts)


def _dbfs(parts: SplitResult) -> DatasetNames:
    return files.dbfs(_bucket(parts) if parts.netloc else "", unquote(parts.path))


def _kafka(parts: SplitResult) -> DatasetNames:
    """Return the names of a topic, under the first of several servers."""
    return kafka(parts.netloc, unquote(parts.path).strip("/"))


def kafka(servers: str, topic: str) -> DatasetNames:
    """Return the names of a topic, under the first of several servers.

    :raises ValueError: a server or the topic is missing.
    """
    if not topic:
        raise ValueError("the kafka URI has no topic")
    host, _, port = hosts(servers, stores.KAFKA.port).split(",")[0].rpartition(":")
    return stores.KAFKA.names(host=host, port=port, topic=topic)


def _other(parts: SplitResult) -> DatasetNames:
    if not parts.netloc and not parts.path.startswith("/"):
        raise ValueError(f"there is no naming rule for {parts.scheme} URIs without a host and a path")
    scheme = parts.scheme.lower()
    namespace = f"{scheme}://{_bucket(parts)}" if parts.netloc else scheme
    return DatasetNames(Identifier(namespace, files.absolute(unquote(parts.path))))


_FILES: Mapping[str, Callable[[SplitResult], DatasetNames]] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), lambda parts: files.s3(_bucket(parts), unquote(parts.path))),
    **dict.fromkeys(("gs", "gcs"), lambda parts: files.gcs(_bucket(parts), unquote(parts.path))),
    **dict.fromkeys(("abfs", "abfss"), lambda parts: files.abfss(*_container(parts))),
    **dict.fromkeys(("wasb", "wasbs"), lambda parts: files.wasbs(*_container(parts))),
    "hdfs": _hdfs,
    "dbfs": _dbfs,
    "kafka": _kafka,
}
