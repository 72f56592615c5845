"""URLs with templates: which part of a URL a value goes into decides what it may hold.

A value is a value: it cannot move the borders between user, password, host and path (RFC 3986, section 3.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from airflow_provider_odf import redaction
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.template import Environment, masked

_PATH = re.compile(r"[/?#]")
_BORDER = re.compile(r"[\s/\\@:?#%\x00-\x1f]")
_PORT = re.compile(r":\d+$")


@dataclass(frozen=True)
class Parts:
    """A URL cut up, its templates still in it: joined they are the URL. ``user`` ends with its ``@``; a URL of a file
    or without ``://`` is all ``path``."""

    scheme: str
    user: str
    host: str
    path: str

    @classmethod
    def of(cls, url: str) -> Parts:
        """
        >>> Parts.of("http://me:${{ env.KEY || '@/' }}@${{ env.HOST }}:80/a.csv")
        Parts(scheme='http://', user="me:${{ env.KEY || '@/' }}@", host='${{ env.HOST }}:80', path='/a.csv')
        """
        plain = masked(url)
        scheme, separator, rest = plain.partition("://")
        if not separator or scheme.lower() == "file" or _PATH.search(scheme):
            return cls("", "", "", url)
        begin = len(scheme) + len(separator)
        end = begin + len(_PATH.split(rest, maxsplit=1)[0])
        host = plain.rfind("@", begin, end) + 1 or begin
        return cls(url[:begin], url[begin:host], url[host:end], url[end:])


def public(url: str) -> str:
    """A URL as the manifest has it, without user and password and without literal values of sensitive parameters: what
    messages may show.

    >>> public("https://me:secret@example.org/a.csv?key=${{ env.KEY }}")
    'https://example.org/a.csv?key=${{ env.KEY }}'
    """
    parts = Parts.of(url)
    return redaction.parameters(parts.scheme + parts.host + parts.path)


def invalid(label: str) -> InvalidInput:
    """The error for what is not a URL. Words of a library about it would quote values of templates."""
    return InvalidInput(f"{label}: not a URL once its templates are filled")


def fill(url: str, environment: Environment) -> str:
    """The URL with its templates filled: values are percent-encoded in user and password, taken as they are in the path
    and after it, and a plain word in scheme and host.

    :raises InvalidInput: a template cannot be filled, or a value would move the borders of the host.
    """
    label = public(url)
    where, parts = f"url {label}", Parts.of(url)

    def word(value: str) -> str:
        if _BORDER.search(value):
            raise InvalidInput(
                f"{label}: a value in the host holds a space or one of / \\ @ : ? # %, which would lead elsewhere"
            )
        return value

    def last(value: str) -> str:
        port = _PORT.search(value)
        return word(value[: port.start()]) + port[0] if port else word(value)

    host, end = _last_template(parts.host)
    return "".join(
        (
            environment.fill(parts.scheme, where, word),
            environment.fill(parts.user, where, lambda value: quote(value, safe="")),
            environment.fill(host, where, word),
            environment.fill(end, where, last),
            environment.fill(parts.path, where),
        )
    )


def _last_template(host: str) -> tuple[str, str]:
    """What comes before a template at the end, and the template: only there a value may bring the port along."""
    plain = masked(host)
    at = plain.rfind("${{") if plain.endswith("}}") else len(host)
    return host[:at], host[at:]
