"""Parts of JDBC URLs, by the form of each driver: hosts, path and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from airflow_provider_odf.lineage.naming import addresses, stores

_ADDRESS = re.compile(r"[^/]*?//(?P<hosts>[^/?;#]*)(/(?P<path>[^?;#]*))?(?P<settings>[?;].*)?", re.DOTALL)
_SETTING = re.compile(r"[?;&,](?P<name>[^=;&,?]+)=(?P<value>[^;&,]*)")
_NODE = re.compile(r"\s*(?:\(\s*(?P<key>[\w.]+)\s*=\s*(?P<value>[^()]*)|(?P<end>\)))\s*")
_MAX_DEPTH = 50
_SQL_SERVER = re.compile(
    r"(jtds:)?\w+://(?P<host>\[[^\]]*\]|[^\\/:;\[\]]*)?(\\(?P<instance>[^:;/]*))?(:(?P<port>\d+))?"
    r"(/(?P<database>[^;]*))?(?P<settings>;.*)?",
    re.DOTALL | re.IGNORECASE,
)
_SQL_SERVER_SETTING = re.compile(r"\s*(?P<name>[^=;{}]+?)\s*=\s*(?P<value>\{(?:[^}]|\}\})*\}|[^;]*)(;|$)")


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
        return addresses.hosts(text, port)
    except ValueError:
        raise NotUnderstood from None


def cassandra(url: str) -> str:
    """Return a URL of Cassandra with commas between its hosts: its driver has ``--``."""
    head, slashes, rest = url.partition("//")
    servers, slash, path = rest.partition("/")
    return f"{head}{slashes}{servers.replace('--', ',')}{slash}{path}"


def clickhouse(url: str) -> str:
    """Return a URL of ClickHouse with one name and one protocol."""
    return re.sub(r"^(ch|clickhouse):((https?|grpc):)?//", "clickhouse://", url, flags=re.IGNORECASE)


def db2(url: str) -> str:
    """Return a URL of DB2 without its settings, which follow the database and a colon."""
    return re.sub(r"(//[^/]*/[^:]*):.*", r"\1", url, flags=re.DOTALL)


def mysql(url: str) -> str:
    """Return a URL of MySQL with hosts as ``host:port``: its driver has two other forms, ``address=(host=h)(port=p)``
    and ``(host=h,port=p)``.

    :raises NotUnderstood: a value contains a bracket.
    """
    plain = re.sub(r"^[\w+:]+://", "mysql://", url)
    match = re.fullmatch(r"mysql://(?P<hosts>(?:\([^()]*\)|[^/?#()])*)(?P<rest>.*)", plain, re.DOTALL)
    if not match or not re.search(r"\(\s*\w+\s*=|\[[^\]]*,", match["hosts"]):
        return plain
    text = re.sub(r".*@(?=[^()]*(\(|$))", "", match["hosts"], flags=re.DOTALL).removeprefix("[").removesuffix("]")
    servers = [_mysql_host(one) for one in re.split(r",(?![^()]*\))", text)]
    if re.search(r"[()=]", re.split(r"[?#;]", match["rest"])[0]) or plain.count("(") != plain.count(")"):
        raise NotUnderstood  # a value with a bracket ended too early: what follows may be the rest of a password
    return f"mysql://{','.join(servers)}{match['rest']}"


def _mysql_host(text: str) -> str:
    keys = {name.lower(): value for name, value in re.findall(r"[(,]\s*(\w+)\s*=\s*([^(),]*)", text)}
    if "host" not in keys:
        return text
    host = f"[{keys['host']}]" if ":" in keys["host"] else keys["host"]
    return f"{host}:{keys['port']}" if keys.get("port") else host


def teradata(url: str) -> str:
    """Return a URL of Teradata with port and database in their usual places: it has them among its settings.

    :raises NotUnderstood: the URL has another form.
    :raises ValueError: it names no server.
    """
    match = re.fullmatch(r"\w+://(?P<hosts>[^/]*)/?(?P<settings>.*)", url, re.DOTALL)
    if not match:
        raise NotUnderstood
    known = settings(f",{match['settings']}")
    authority = hosts(match["hosts"], known.get("dbs_port", stores.TERADATA.port))
    return f"teradata://{authority}/{known.get('database', '')}"


def oracle(url: str) -> tuple[str, str]:
    """Return hosts with ports, and the name of the service or SID, empty if the URL has none.

    >>> oracle("oracle:thin:scott/tiger@//DB1/sales")
    ('db1:1521', 'sales')

    :raises ValueError: the URL has none of the driver's forms.
    """
    address = url.partition("?")[0].rpartition("@")[2].removeprefix("//").strip()
    if "@" not in url or not address:
        raise ValueError("the JDBC URL names no server")
    if address.startswith("("):
        return _oracle_descriptor(address)
    if ldap := re.match(r"ldaps?:/*([^/\s]+)(\S*)", address, re.IGNORECASE):
        return addresses.hosts(ldap[1], stores.ORACLE.port), ldap[2].rpartition("/")[2].partition(",")[0]
    return _oracle_easy_connect(re.sub(r"^\w+://", "", address))


def _oracle_easy_connect(address: str) -> tuple[str, str]:
    """Return hosts and service of ``host:port/service:server/instance`` or ``host:port:sid``."""
    servers, slash, service = address.partition("/")
    if not slash and (match := re.fullmatch(r"(.*):([A-Za-z_][\w$#.-]*)", servers)):
        servers, service = match[1], match[2]
    return addresses.hosts(servers, stores.ORACLE.port), re.split(r"[:/]", service)[0]


def _oracle_descriptor(text: str) -> tuple[str, str]:
    """Return hosts and service of ``(DESCRIPTION=(ADDRESS=(HOST=h)(PORT=p))(CONNECT_DATA=(SERVICE_NAME=s)))``."""
    listeners: list[dict[str, str]] = []
    target: dict[str, str] = {}
    for path, value in _descriptor_nodes(text):
        if path[-1] == "ADDRESS":
            listeners.append({})
        elif "ADDRESS" in path:
            listeners[-1][path[-1]] = value
        elif "CONNECT_DATA" in path:
            target[path[-1]] = value
    servers = ",".join(addresses.host(at.get("HOST", ""), at.get("PORT", stores.ORACLE.port)) for at in listeners)
    names = (target.get(key) for key in ("SERVICE_NAME", "SID", "INSTANCE_NAME"))
    return addresses.hosts(servers), next(filter(None, names), "")


def _descriptor_nodes(text: str) -> list[tuple[tuple[str, ...], str]]:
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


def sql_server(url: str) -> tuple[str, str, str]:
    """Return the server, its instance and the database, in URLs of Microsoft's driver and of jTDS.

    :raises ValueError: the URL names no server, or an invalid one.
    """
    if not (match := _SQL_SERVER.fullmatch(url)):
        raise ValueError("the JDBC URL of SQL Server is not valid")
    known = _sql_server_settings((match["settings"] or "")[1:])

    def value(part: str, *names: str) -> str:
        return match[part] or next((known[name] for name in names if known.get(name)), "")

    port = value("port", "portnumber", "port")
    return (
        addresses.host(value("host", "servername", "server"), port if port.isdigit() else ""),
        value("instance", "instancename", "instance"),
        value("database", "databasename", "database"),
    )


def _sql_server_settings(text: str) -> dict[str, str]:
    """Return the settings by names in lower case. A value in braces may contain semicolons."""
    settings: dict[str, str] = {}
    for match in _SQL_SERVER_SETTING.finditer(text):
        value = match["value"].strip()
        value = value[1:-1].replace("}}", "}") if value.startswith("{") else value
        settings.setdefault(match["name"].strip().lower(), value)
    return settings
