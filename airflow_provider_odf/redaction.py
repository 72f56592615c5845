"""Secrets and their masking: one policy for messages, logs, lineage names and documentation.

Secrets are values of templates, of variables with a sensitive name and of Airflow's connections in the environment.
Values beside a sensitive name and the user info of URLs are secrets too.

A secret is masked in every spelling: each character as it is, percent-encoded, or escaped as in JSON, Python or HTML.
Clients and servers mix these within one value, so no list of whole spellings would be complete.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

MASK = "***"

_STEMS = re.compile(
    r"token|secret|passw|passphrase|pwd|credential|cookie|authori[sz]ation|signature|bearer|jwt|sessionid|keyfile"
    r"|(access|account|api|auth|client|encryption|fernet|hmac|license|master|private|service|shared|signing|ssh|ssl"
    r"|storage|subscription)key"
)
_WORDS = frozenset({"auth", "key", "pass", "sas", "session", "sig"})
_KEYS_OF_DATA = frozenset({"foreign", "partition", "primary", "sort"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_SHORT = 4
_LEAST_CUT = 8
_LEAST_LINE = 16
_LEAST_NAMED = 5
"""Shorter values of variables are not masked: they are not secrets, and masking them would hide common words."""

_HARMLESS = frozenset({"false", "none", "null", "true"})
_CONNECTION = "AIRFLOW_CONN_"

_TEMPLATE = r"\$\{\{.*?\}\}"
_TEMPLATES = re.compile(rf"({_TEMPLATE})", re.DOTALL)
_LITERAL = re.compile(r"'[^']*'")
_PARAMETER = re.compile(rf"(?<=[?&;])([^=&;#?\s\"'$]+)=((?:{_TEMPLATE}|[^&;#\s\"'<>:,)]|[:,)](?!\s|$))*)", re.DOTALL)
_NAMED = re.compile(r"(?<![\w.-])(?P<name>[\w.-]+)(?:[ \t]*=+>?[ \t]*|\\?[\"']?[ \t]*:\s*)")
_VALUE = re.compile(
    r"(?P<quote>\\?[\"'])(?P<quoted>(?:(?!(?P=quote))(?:\\.|.))*)"
    r"|(?:(?:ApiKey|Basic|Bearer|Token)\s+)?[^\s\"',;&]+",
    re.DOTALL,
)
_HEADER = re.compile(r"(?<![\w-])((?:Set-)?Cookie|(?:Proxy-)?Authorization)(:[ \t]*+)(?!\[odf\])(.+)", re.IGNORECASE)
_SCHEME_OF_AUTHORIZATION = re.compile(r"\b(Basic|Bearer)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_PORT = r"\d+(?:$|[?#\s]|\\?/(?![^\s/?#@\"'<>]+@))"
_USER = re.compile(
    r"(?:(?<=(?<!/)//)|(?<=\\/\\/))"
    rf"[^\s/?#\"'<>@:]*:(?!{_PORT})[^\s@\"'<>]{{0,1000}}(?:@[^\s/?#@\"'<>]*)*@"
)
_USER_OF_WEB = re.compile(r"(?P<scheme>\b(?:https?|ftps?):\\?/\\?/)(?:\\(?!/)|[^\s/?#\"'<>*\\])+@")
_USER_OF_JDBC = re.compile(r"(?i)(\bjdbc:\w+:(?:(?:thin|oci8?):)?)((?:(?:(?!//)[^\s\"'<>@]){1,1000}@)+)")
_PASSWORD = re.compile("[/:][^@]")
_USER_QUOTED = re.compile(r"(?i)(?:(?<=%2F%2F)|(?<=%3A//))(?:(?!%2F|%3F|%23)[^\s/?#\"'<>&])*%40")
_NO_VALUES = ("$", MASK, "[odf]")
"""What begins texts after a sensitive name that are no secrets: templates, what is masked, our section of settings."""
_FLAG = re.compile(r"(?<!\w)(--(?:api-key|creds|password|secret|token)[= ])[^\s\"']+")
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL)


def is_sensitive(name: str) -> bool:
    """Return whether values of this name are secret: of a header, a variable, a query parameter, a property.

    >>> [is_sensitive(n) for n in ("Ocp-Apim-Subscription-Key", "clientKey", "PGPASSWORD", "primary_key", "keyword")]
    [True, True, True, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if _is_surely_sensitive(name):
        return True
    return any(
        word in _WORDS and not (word == "key" and at and words[at - 1] in _KEYS_OF_DATA)
        for at, word in enumerate(words)
    )


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """Return the text with all secrets masked: these in any spelling, user info in URLs, values beside a sensitive
    name.

    >>> redact("jdbc:postgresql://db/a?user=me&password=pa55 or https://me:pa55@db/a?zone=1")
    'jdbc:postgresql://db/a?user=me&password=*** or https://***@db/a?zone=1'
    """
    text = _PEM.sub(MASK, without(text, secrets))
    text = _HEADER.sub(lambda match: f"{match[1]}{match[2]}{hidden(match[3])}", text)
    text = _SCHEME_OF_AUTHORIZATION.sub(rf"\1 {MASK}", parameters(without_users(text)))
    return _without_named(_FLAG.sub(rf"\1{MASK}", text))


def without(text: str, secrets: Collection[str]) -> str:
    """Return the text with these secrets masked, in any spelling."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = _without(text, secret)
    return text


def without_users(text: str) -> str:
    """Return the text with the user info of URLs masked."""
    text = _USER_QUOTED.sub(f"{MASK}%40", _USER.sub(f"{MASK}@", text))
    text = _USER_OF_JDBC.sub(lambda match: f"{match[1]}{MASK}@" if _PASSWORD.search(match[2]) else match[0], text)
    return _USER_OF_WEB.sub(rf"\g<scheme>{MASK}@", text)


def parameters(text: str) -> str:
    """Return the text of a URL, or with URLs, with literal values of sensitive parameters masked; templates stay.

    >>> parameters("https://example.org/a.csv?year=2024&apikey=f00")
    'https://example.org/a.csv?year=2024&apikey=***'
    """
    return _PARAMETER.sub(lambda match: f"{match[1]}={value(unquote(match[1]), match[2])}", text)


def value(name: str, text: str) -> str:
    """Return a value, masked if its name is sensitive; the names of variables in templates stay."""
    return hidden(text) if is_sensitive(name) else text


def hidden(text: str) -> str:
    """Return the text with everything masked but its variables."""
    parts = _TEMPLATES.split(text)
    return "".join(_LITERAL.sub(f"'{MASK}'", p) if i % 2 else MASK * bool(p.strip()) for i, p in enumerate(parts))


def literals(url: str) -> Iterator[str]:
    """Return the secrets in a URL: user info, as sent and decoded, and values of sensitive parameters."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.password:
            user, password = unquote(parts.username or ""), unquote(parts.password)
            yield from (parts.password, password, base64.b64encode(f"{user}:{password}".encode()).decode())
        for match in _PARAMETER.finditer(url):
            if is_sensitive(unquote(match[1])):
                yield from (match[2], unquote(match[2]))


def secrets_of(variables: Mapping[str, str]) -> set[str]:
    """Return the secrets in environment variables: values of sensitive names, connections of Airflow, passwords of
    URLs."""
    secrets: set[str] = set()
    for name, text in variables.items():
        if name.upper().startswith(_CONNECTION):
            secrets |= {text, *_of_connection(text)}
        elif is_sensitive(name) and _hides(text):
            secrets.add(text)
        secrets |= {*literals(text), *filter(_hides, _of_settings(text))}
    return secrets - {""}


def _hides(text: str) -> bool:
    return len(text) >= _LEAST_NAMED and text.lower() not in _HARMLESS


def _is_surely_sensitive(name: str) -> bool:
    return _STEMS.search(re.sub(r"[^a-z]", "", name.lower())) is not None


def _without(text: str, secret: str) -> str:
    """Mask a secret in the text: in every spelling, in base64, line by line, and where the text was cut within it."""
    lines = [line for line in secret.splitlines() if len(line) >= _LEAST_LINE] if "\n" in secret else []
    encoded = base64.b64encode(secret.encode()).decode() if len(secret) >= _LEAST_CUT else secret
    for form in dict.fromkeys((secret, encoded, *lines)):
        spelled = _pattern(form)
        if len(form) < _SHORT:
            spelled = re.compile(rf"(?<!\w)(?:{spelled.pattern})(?!\w)")
        text = spelled.sub(MASK, text)
    parts = range(len(secret) - 1, _LEAST_CUT - 1, -1)
    begin = next((part for part in parts if text.startswith(secret[-part:])), 0)
    end = next((part for part in parts if text.endswith(secret[:part])), 0)
    text = MASK * bool(begin) + text[begin:]
    return text[: len(text) - end] + MASK * bool(end)


def _without_named(text: str) -> str:
    parts, at = [], 0
    for begin, end in _named(text):
        parts += [text[at:begin], MASK]
        at = end
    return "".join(parts) + text[at:]


def _named(text: str) -> Iterator[tuple[int, int]]:
    """Mask values beside a name that can only be a secret's, without their quotes; ``key: 5`` is common and no
    secret."""
    at = 0
    while named := _NAMED.search(text, at):
        at = named.end()
        if _is_surely_sensitive(named["name"]) and (value := _VALUE.match(text, at)):
            begin, at = value.span("quoted" if value["quote"] else 0)
            if begin < at and not text.startswith(_NO_VALUES, begin):
                yield begin, at


def _of_settings(text: str) -> Iterator[str]:
    """Return the secrets in a connection string: ``host=h password=…``, ``Server=h;Pwd=…``."""
    yield from (text[begin:end] for begin, end in _named(text))
    for name, sign, item in (part.partition("=") for part in text.split(";")):
        if sign and ";" in text and _is_surely_sensitive(name):
            yield item.strip("\"' ")


def _of_connection(text: str) -> Iterator[str]:
    """Return the secrets of a connection as JSON or as a URI."""
    with suppress(ValueError):
        yield from _of_json(json.loads(text))
        return
    yield from literals(text)
    for name, item in parse_qsl(urlsplit(text).query):
        with suppress(ValueError):
            yield from _of_json(json.loads(item))
        if is_sensitive(name):
            yield item


def _of_json(data: Any, name: str = "") -> Iterator[str]:
    match data:
        case dict():
            for key, item in data.items():
                yield from _of_json(item, str(key))
        case list():
            for item in data:
                yield from _of_json(item, name)
        case str():
            with suppress(ValueError):
                yield from _of_json(json.loads(data), name)
            if is_sensitive(name):
                yield data


_LONG = 256
"""In longer secrets, such as keys, letters and digits match only unencoded: no client encodes them, and the
pattern would take long to compile."""

_CASELESS = {letter: f"[{letter}{letter.upper()}]" for letter in "abcdef"}


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    """Return the pattern that matches a text in every spelling, in linear time."""
    runs = ((char, len(list(run))) for char, run in groupby(text))
    is_long = len(text) > _LONG
    return re.compile("".join(c * n if is_long and _is_plain(c) else _run(c, n) for c, n in runs))


def _run(char: str, length: int) -> str:
    """Return the pattern of a run of one character. Escaping doubles backslashes; the pattern is atomic, because trying
    single and double ones in turn would take exponential time."""
    forms = "|".join(_forms(char))
    if char == "\\":
        return f"(?>(?:{forms}){{{length},{2 * length}}})"
    return f"(?:{forms})" + (f"{{{length}}}" if length > 1 else "")


def _forms(char: str) -> tuple[str, ...]:
    plain, percent = re.escape(char), "".join(f"%(?:25)?{_hex(b, 2)}" for b in char.encode(errors="surrogatepass"))
    if _is_plain(char):
        return plain, percent
    units = char.encode("utf-16-be", errors="surrogatepass")
    in_json = "".join(rf"\\u{_hex(int.from_bytes(units[at : at + 2], 'big'), 4)}" for at in range(0, len(units), 2))
    forms = [in_json, percent, rf"&#(?:{ord(char)}|[xX]{_hex(ord(char), 1)});", re.escape(html.escape(char)), plain]
    if ord(char) < 256:
        forms.append(rf"\\x{_hex(ord(char), 2)}")
    if char != "\\":
        forms += [re.escape(json.dumps(char)[1:-1]), *([rf"\\{char}"] if char in "/'" else [])]
    return (*dict.fromkeys(forms), *([r"\+"] if char == " " else []))


def _is_plain(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _hex(number: int, width: int) -> str:
    return "".join(_CASELESS.get(digit, digit) for digit in f"{number:0{width}x}")
