"""Regular expressions of Java for the formats of text: email (RFC 5321, 4.1.2), uri (RFC 3986), uuid (RFC 4122).

Repetitions are possessive, so that a match takes linear time.
"""

from __future__ import annotations

from collections.abc import Mapping

_HEX = "[0-9A-Fa-f]"


def _encoded(characters: str) -> str:
    """Return the expression for any number of characters of a class or percent-encoded ones."""
    return f"[{characters}]*+(?:%{_HEX}{{2}}[{characters}]*+)*+"


_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = f"{_HEX}{{1,4}}"
_LAST = rf"(?:{_GROUP}:{_GROUP}|{_IPV4})"
_IPV6 = "|".join([
    f"(?:{_GROUP}:){{6}}{_LAST}",
    f"::(?:{_GROUP}:){{5}}{_LAST}",
    f"(?:{_GROUP})?::(?:{_GROUP}:){{4}}{_LAST}",
    f"(?:(?:{_GROUP}:){{0,1}}{_GROUP})?::(?:{_GROUP}:){{3}}{_LAST}",
    f"(?:(?:{_GROUP}:){{0,2}}{_GROUP})?::(?:{_GROUP}:){{2}}{_LAST}",
    f"(?:(?:{_GROUP}:){{0,3}}{_GROUP})?::{_GROUP}:{_LAST}",
    f"(?:(?:{_GROUP}:){{0,4}}{_GROUP})?::{_LAST}",
    f"(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP}",
    f"(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::",
])  # fmt: skip

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_DOT_STRING = rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*+"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~]){0,62}"'
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*+"
_LITERAL = rf"\[(?:{_IPV4}|IPv6:(?:{_IPV6})|(?!IPv6:)[A-Za-z0-9-]*[A-Za-z0-9]:[!-Z^-~]+)\]"
_EMAIL = rf"\A(?=.{{3,254}}\z)(?:{_DOT_STRING}|{_QUOTED})@(?:{_DOMAIN}|{_LITERAL})\z"

_UNRESERVED = r"A-Za-z0-9\-._~"
_NAME = rf"{_UNRESERVED}!$&'()*+,;="
_PATH = rf"{_NAME}:@"
_HOST = rf"(?:\[(?:{_IPV6}|[vV]{_HEX}+\.[{_NAME}:]+)\]|{_encoded(_NAME)})"
_AUTHORITY = rf"//(?:{_encoded(f'{_NAME}:')}@)?{_HOST}(?::\d*+)?"
_PATHS = [
    rf"{_AUTHORITY}(?:/{_encoded(f'{_PATH}/')})?",
    rf"/(?!/){_encoded(f'{_PATH}/')}",
    rf"(?!/){_encoded(f'{_PATH}/')}",
]
_URI = (
    rf"\A[A-Za-z][A-Za-z0-9+.\-]*+:(?:{'|'.join(_PATHS)})"
    rf"(?:\?{_encoded(f'{_PATH}/?')})?(?:#{_encoded(f'{_PATH}/?')})?\z"
)

_UUID = rf"\A{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\z"

FORMATS: Mapping[str, str] = {"email": _EMAIL, "uri": _URI, "uuid": _UUID}
"""Format -> its expression."""
