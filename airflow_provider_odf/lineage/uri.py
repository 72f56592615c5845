"""Names of datasets given as a URI or a path: a manifest's source, a store's directory.

Names of files equal those of Spark's listener (percent-decoded, no trailing slash). The naming specification has no
rule for http, https and ftp. Here the namespace is ``scheme://host`` with any port but the default one, and the name is
the path with the literal query parameters, sorted. Names contain no secrets: no user info, no parameter whose value
comes from a template, and none that usually has credentials.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from urllib.parse import SplitResult, unquote, urlsplit

from airflow_provider_odf import redaction
from airflow_provider_odf.lineage import naming
from airflow_provider_odf.lineage.naming import FILE_AUTHORITY, DatasetNames, Identifier
from airflow_provider_odf.secret_spellings import pattern

_DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ftps": 990}
_TEMPLATE = "${{"
_GLOB = re.compile(r"[*?\[{]")


def from_uri(
    uri: str,
    *,
    base: str | None = None,
    file_authority: str = FILE_AUTHORITY,
    template: str | None = None,
    secrets: Collection[str] = (),
) -> DatasetNames:
    """Return the names of a URI or path.

    :param base: folder of relative paths, by default the working directory.
    :param template: the URI as the user wrote it, if ``uri`` has its templates filled in.
    :param secrets: texts that the names must not contain.
    :raises ValueError: there is no rule for this kind of URI.
    """
    parts = _split(uri)
    scheme = parts.scheme.lower()
    if scheme in ("", "file"):
        return _file(parts, uri, base, file_authority)
    if scheme in _DEFAULT_PORTS:
        return _web(parts, template, secrets)
    path, host = unquote(parts.path), _authority(parts)
    match scheme:
        case "s3" | "s3a" | "s3n":
            return naming.s3(host, path)
        case "gs" | "gcs":
            return naming.gcs(host, path)
        case "hdfs" | "viewfs":
            return naming.hdfs(host, path)
        case "dbfs":
            return naming.dbfs(host, path)
        case "abfs" | "abfss":
            return naming.abfss(*_container(parts), path)
        case "wasb" | "wasbs":
            return naming.wasbs(*_container(parts), path)
        case "kafka":
            return naming.kafka(_authority(parts), path.strip("/"))
        case _:
            raise ValueError(f"OpenLineage has no naming rule for URIs with the scheme {scheme}")


def from_glob(pattern: str, *, base: str | None = None, file_authority: str = FILE_AUTHORITY) -> DatasetNames:
    """Return the names of the directory that holds all files of a glob; Spark names several files in the same way."""
    head = pattern[: match.start()] if (match := _GLOB.search(pattern)) else pattern
    return from_uri(head.rpartition("/")[0] or "/" if "/" in head else ".", base=base, file_authority=file_authority)


def _split(uri: str) -> SplitResult:
    """Split a URI; a path may have any character, even those with a meaning in a URI."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        return urlsplit(uri)
    return SplitResult("", "", uri, "", "")


def _file(parts: SplitResult, uri: str, base: str | None, authority: str) -> DatasetNames:
    if parts.scheme == "":
        return naming.local_file(os.path.abspath(os.path.join(base or "", uri)), authority)
    # `?` and `#` belong to a file's name here, as they do in Spark.
    rest = re.sub(r"^file:(//[^/]*)?", "", uri, flags=re.IGNORECASE)
    if parts.netloc not in ("", "localhost"):
        return naming.remote_file(_authority(parts), unquote(rest))
    path = os.path.abspath(os.path.join(base or "", unquote(rest)))
    return naming.local_file(path, authority)


def _authority(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _container(parts: SplitResult) -> tuple[str, str]:
    container, _, service = parts.netloc.rpartition("@")
    if not container:
        scheme = parts.scheme
        raise ValueError(f"{scheme}://{parts.netloc} names no container: write {scheme}://CONTAINER@ACCOUNT/PATH")
    return container, service


def _web(parts: SplitResult, template: str | None, secrets: Collection[str]) -> DatasetNames:
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    port = parts.port
    scheme = parts.scheme.lower()
    authority = shown if port is None or port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}"
    path = redaction.parameters(_masked(parts.path or "/", secrets))
    query = _literal_query(parts.query, template, secrets)
    return DatasetNames(Identifier(f"{scheme}://{authority}", f"{path}?{query}" if query else path))


def _masked(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = pattern(secret).sub(redaction.MASK, text)
    return text


def _literal_query(query: str, template: str | None, secrets: Collection[str]) -> str:
    """Return the sorted parameters that are literal in the template and have no credentials."""
    parameters = [p for p in query.split("&") if p]
    if template is not None and _TEMPLATE in template:
        literal = set(re.split(r"[?&]", re.sub(r"\$\{\{.*?\}\}", _TEMPLATE, template.partition("#")[0]))[1:])
        parameters = [p for p in parameters if p in literal]
    return "&".join(sorted(p for p in parameters if not _is_credential(p, secrets)))


def _is_credential(parameter: str, secrets: Collection[str]) -> bool:
    name, _, value = parameter.partition("=")
    if redaction.is_sensitive(unquote(name)):
        return True
    return any(secret in value or secret in unquote(value) for secret in secrets if secret)
