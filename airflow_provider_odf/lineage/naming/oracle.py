"""Server and database in JDBC URLs of Oracle: ``host:port:sid``, Easy Connect, TNS descriptors and LDAP."""

from __future__ import annotations

import re

from airflow_provider_odf.lineage.naming.authority import host, hosts
from airflow_provider_odf.lineage.naming.stores import ORACLE

_NODE = re.compile(r"\s*(?:\(\s*(?P<key>[\w.]+)\s*=\s*(?P<value>[^()]*)|(?P<end>\)))\s*")

_MAX_DEPTH = 50


def parse(url: str) -> tuple[str, str]:
    """Return hosts with ports, and the name of the service or SID, empty if the URL has none.

    >>> parse("oracle:thin:scott/tiger@//DB1/sales")
    ('db1:1521', 'sales')

    :raises ValueError: the URL has none of the driver's forms.
    """
    address = url.partition("?")[0].rpartition("@")[2].removeprefix("//").strip()
    if "@" not in url or not address:
        raise ValueError("the JDBC URL names no server")
    if address.startswith("("):
        return _descriptor(address)
    if ldap := re.match(r"ldaps?:/*([^/\s]+)(\S*)", address, re.IGNORECASE):
        return hosts(ldap[1], ORACLE.port), ldap[2].rpartition("/")[2].partition(",")[0]
    return _easy_connect(re.sub(r"^\w+://", "", address))


def _easy_connect(address: str) -> tuple[str, str]:
    """Return hosts and service of ``host:port/service:server/instance`` or ``host:port:sid``."""
    servers, slash, service = address.partition("/")
    if not slash and (match := re.fullmatch(r"(.*):([A-Za-z_][\w$#.-]*)", servers)):
        servers, service = match[1], match[2]
    return hosts(servers, ORACLE.port), re.split(r"[:/]", service)[0]


def _descriptor(text: str) -> tuple[str, str]:
    """Return hosts and service of ``(DESCRIPTION=(ADDRESS=(HOST=h)(PORT=p))(CONNECT_DATA=(SERVICE_NAME=s)))``."""
    addresses: list[dict[str, str]] = []
    target: dict[str, str] = {}
    for path, value in _nodes(text):
        if path[-1] == "ADDRESS":
            addresses.append({})
        elif "ADDRESS" in path:
            addresses[-1][path[-1]] = value
        elif "CONNECT_DATA" in path:
            target[path[-1]] = value
    servers = ",".join(host(address.get("HOST", ""), address.get("PORT", ORACLE.port)) for address in addresses)
    names = (target.get(key) for key in ("SERVICE_NAME", "SID", "INSTANCE_NAME"))
    return hosts(servers), next(filter(None, names), "")


def _nodes(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return each node of a descriptor: its keys from the root, and its value.

    :raises ValueError: the parentheses are not balanced.
    """
    nodes: list[tuple[tuple[str, ...], str]] = []
    path: list[str] = []
    at = 0
    while at < len(text) and (path or not nodes):
        if not (match := _NODE.match(text, at)) or (match["end"] and not path):
            break
        at = match.end()
        if match["end"]:
            path.pop()
        elif len(path) == _MAX_DEPTH:
            break
        else:
            path.append(match["key"].upper())
            nodes.append((tuple(path), match["value"].strip()))
    if path or at < len(text):
        raise ValueError("the descriptor of the JDBC URL is not valid")
    return nodes
