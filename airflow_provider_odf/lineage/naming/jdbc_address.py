"""Parts of JDBC URLs, and the names that Spark's listener makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import unquote

from airflow_provider_odf.lineage.naming import DatasetNames, Identifier
from airflow_provider_odf.lineage.naming.authority import hosts as normalized_hosts

Driver: TypeAlias = Callable[[str, str], DatasetNames]
"""Rule of a driver: the names of a URL, without ``jdbc:``, and a table."""

_ADDRESS = re.compile(r"[^/]*?//(?P<hosts>[^/?;#]*)(/(?P<path>[^?;#]*))?(?P<settings>[?;].*)?", re.DOTALL)
_SETTING = re.compile(r"[?;&,](?P<name>[^=;&,?]+)=(?P<value>[^;&,]*)")


class NotUnderstood(Exception):
    """The URL has a form that its driver's rule does not know."""


@dataclass(frozen=True)
class Address:
    """Parts of a JDBC URL. ``settings`` have names in lower case."""

    hosts: str
    path: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


def parse(url: str) -> Address:
    """Return the parts of ``driver:…://hosts/path?settings``; ``driver:path`` and ``driver:/`` have no hosts.

    :raises NotUnderstood: the URL has another form.
    """
    if match := _ADDRESS.fullmatch(url):
        return Address(match["hosts"], unquote(match["path"] or "").strip("/"), settings(match["settings"] or ""))
    if match := re.fullmatch(r"\w+:/?(?P<path>[\w%.-]*)(\?.*)?", url):
        return Address("", unquote(match["path"]))
    raise NotUnderstood


def settings(text: str) -> dict[str, str]:
    """Return the settings in ``?name=value&…``, ``;name=value;…`` or ``,name=value,…``, with names in lower case."""
    return {match["name"].strip().lower(): match["value"] for match in _SETTING.finditer(text)}


def hosts(text: str, port: str = "") -> str:
    """Return hosts and ports.

    :raises NotUnderstood: one is invalid.
    :raises ValueError: there is none.
    """
    if not text:
        raise ValueError("the JDBC URL names no server")
    try:
        return normalized_hosts(text, port)
    except ValueError:
        raise NotUnderstood from None


def of_spark(namespace: str, database: str, table: str, *, levels: int = 3) -> Identifier:
    """Return the name of Spark's listener: the database of the URL, if the table has fewer than this many levels, and
    the table as written."""
    is_complete = len(table.split(".")) >= levels
    return Identifier(namespace, table if is_complete or not database else f"{database}.{table}")
