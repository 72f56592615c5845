"""Dataset names, aliases and ids (specification: Dataset Identity; grammar of ``DatasetName`` and ``DatasetAlias``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from airflow_provider_odf import multiformats
from airflow_provider_odf.object_stores import SCHEMES

_SUBDOMAIN = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_NAME = re.compile(rf"{_SUBDOMAIN}(?:\.{_SUBDOMAIN})*")
_DID = "did:odf:"
_URI = re.compile(r"[A-Za-z0-9]+(?:\+[A-Za-z0-9]+)*://.+")
HTTP_SCHEMES = ("https", "http")
_KEY_SIZE = 32
_GRAMMAR = "letters, digits and single '-' or '.' between them"


def parse_name(text: str) -> str:
    """Return ``text`` if it is a ``DatasetName`` (names of accounts have the same grammar).

    :raises ValueError: it is not; the message suggests a valid name.
    """
    if _NAME.fullmatch(text):
        return text
    suggestion = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")
    suggestion = re.sub(r"-*\.[-.]*", ".", suggestion)
    hint = f"; use {suggestion!r}" if _NAME.fullmatch(suggestion) else ""
    raise ValueError(f"{text!r} is not a dataset name: {_GRAMMAR}{hint}")


def is_alias(text: str) -> bool:
    """Return whether a text is a ``DatasetAlias``."""
    try:
        DatasetAlias.parse(text)
    except ValueError:
        return False
    return True


@total_ordering
@dataclass(frozen=True, eq=False)
class DatasetAlias:
    """Alias of a dataset: ``name`` or ``account/name``. The spelling is kept; comparisons ignore case."""

    account: str | None
    name: str

    @classmethod
    def parse(cls, text: str) -> DatasetAlias:
        """Return the alias of a text.

        :raises ValueError: the text is not ``name`` or ``account/name`` of the grammar.
        """
        account, slash, name = text.rpartition("/")
        return cls(parse_name(account) if slash else None, parse_name(name))

    @property
    def _folded(self) -> tuple[str, str]:
        return ((self.account or "").lower(), self.name.lower())

    def __str__(self) -> str:
        return f"{self.account}/{self.name}" if self.account else self.name

    def __eq__(self, other: object) -> bool:
        return self._folded == other._folded if isinstance(other, DatasetAlias) else NotImplemented

    def __lt__(self, other: DatasetAlias) -> bool:
        return self._folded < other._folded

    def __hash__(self) -> int:
        return hash(self._folded)


@dataclass(frozen=True, order=True)
class DatasetId:
    """Id of a dataset (``did:odf:…``): the Ed25519 public key that identifies it in every store."""

    key: bytes

    def __post_init__(self) -> None:
        if len(self.key) != _KEY_SIZE:
            raise ValueError(f"a dataset id has a key of {_KEY_SIZE} bytes, not {len(self.key)}")

    @classmethod
    def create(cls) -> DatasetId:
        """Return the public key of a new random key pair. The private key is discarded: nothing in a dataset is
        signed."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate().public_key().public_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> DatasetId:
        """Return the id of a text.

        :raises ValueError: not ``did:odf:`` with an Ed25519 key in base16, base58btc or base64url.
        """
        if not text.startswith(_DID):
            raise ValueError(f"{text!r} is not a dataset id: it does not start with {_DID!r}")
        try:
            return cls.from_binary(multiformats.decode(text[len(_DID) :]))
        except ValueError as e:
            raise ValueError(f"{text!r} is not a dataset id: {e}") from None

    @classmethod
    def from_binary(cls, data: bytes) -> DatasetId:
        """Return the id of its binary form: ``ed 01`` and 32 bytes.

        :raises ValueError: the bytes have another form.
        """
        prefix = multiformats.ED25519_PUB
        if not data.startswith(prefix):
            raise ValueError(
                f"the key is not of the kind ed25519-pub (its bytes start with {data[:2].hex()!r}, not 'ed01')"
            )
        return cls(data[len(prefix) :])

    @property
    def binary(self) -> bytes:
        return multiformats.ED25519_PUB + self.key

    def __str__(self) -> str:
        return _DID + multiformats.encode(self.binary)


@dataclass(frozen=True)
class DatasetUri:
    """Location of the folder of a dataset in any store: on this machine, in an object store, or on a web server."""

    text: str

    @classmethod
    def parse(cls, text: str) -> DatasetUri:
        """Return the location of a text, in the spelling that stores have for it.

        :raises ValueError: not a URI, or one whose files cannot be read. The message has no part of it but the scheme:
            URIs of other schemes may contain secrets.
        """
        scheme = text.partition("://")[0].lower()
        if not _URI.fullmatch(text) or scheme not in ("file", *SCHEMES, *HTTP_SCHEMES):
            known = ", ".join(("file", *SCHEMES, *HTTP_SCHEMES))
            message = f"datasets of other stores are read from {known}, not from {scheme}:// locations"
            raise ValueError(f"{message}: mount the store, or copy the dataset to one of these")
        return cls(_folder(text) if scheme == "file" else remote_folder(text, "dataset"))

    @property
    def is_remote(self) -> bool:
        """Whether the folder is on no file system of this machine."""
        return not self.text.startswith("file:")

    def __str__(self) -> str:
        return self.text


def remote_folder(uri: str, what: str) -> str:
    """Return the URI of a folder in an object store or on a web server in one spelling, without a slash at its end.

    :param what: ``dataset`` or ``store``, of which the second one may be a whole bucket or server.
    :raises ValueError: it has no bucket or host, no path, or credentials or parameters. The message does not quote it.
    """
    parts = urlsplit(uri)
    scheme, path = parts.scheme.lower(), parts.path.rstrip("/")
    is_user = "@" in parts.netloc and scheme != "abfss"  # there it is the container
    if is_user or parts.query or parts.fragment:
        raise ValueError(
            f"the location of a {what} has no user, password, parameters and fragment: credentials of object stores "
            "are in the environment, and those of web servers in ~/.netrc"
        )
    if not parts.netloc or (what == "dataset" and not path):
        raise ValueError(f"the location of a {what} is the URI of its folder: {scheme}://…/…")
    return f"{scheme}://{parts.netloc.lower() if scheme in HTTP_SCHEMES else parts.netloc}{path}"


def _folder(uri: str) -> str:
    """Return the URI of a folder on this machine, in the spelling of ``Path.as_uri``."""
    parts = urlsplit(uri)
    path = Path(unquote(parts.path))
    if (
        parts.netloc not in ("", "localhost")
        or parts.query
        or parts.fragment
        or not path.is_absolute()
        or not path.name
    ):
        raise ValueError("the location of a dataset is the absolute path of its folder on this machine: file:///…")
    return path.as_uri()


DatasetRef: TypeAlias = DatasetId | DatasetAlias | DatasetUri


def parse_ref(text: str) -> DatasetRef:
    """Return the id, alias or location in a ``datasetRef``.

    :raises ValueError: the text is none of these.
    """
    if text.startswith("did:"):
        return DatasetId.parse(text)
    if "://" in text:
        return DatasetUri.parse(text)
    if text.count("/") > 1 or "/did:" in text:
        raise ValueError(
            f"{text!r} names a repository, and repositories are not known here: name the dataset by alias, id, or the "
            "location of its folder (file:///…, s3://…, https://…)"
        )
    return DatasetAlias.parse(text)
