"""Read a document of the Data Contract Specification into the model of a contract.

Its ``$ref`` lead to definitions in the document, in other files, and on the web.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import ValidationError

from airflow_provider_odf.contract.model import Clause, DataContract, Field, Model, Spot, Steps, pointer
from airflow_provider_odf.contract.objects import FieldObject
from airflow_provider_odf.contract.problems import invalid, of_validation
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem, SourceError
from airflow_provider_odf.manifest import yaml_source
from airflow_provider_odf.manifest.document import Document

if TYPE_CHECKING:
    import httpx


MAX_DOCUMENTS = 50
MAX_BYTES = 1 << 20
MAX_REDIRECTS = 5
TIMEOUT = 10.0

_WEB = ("http", "https")


class Unresolved(Exception):
    """A reference leads nowhere: why, and how to mend it."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class Offline(Exception):
    """A reference leads to the web, which may not be asked now."""


class Library:
    """A contract and the documents that it refers to, each of which is read once.

    ``is_offline`` leaves references to the web alone. ``is_attached`` refuses all references to other documents: an
    attachment is part of a chain, which others read elsewhere.
    """

    def __init__(self, root: Document, is_offline: bool = False, is_attached: bool = False) -> None:
        self.texts: list[str] = []
        """Texts of the other documents, in the order in which they were read."""
        self._is_offline, self._is_attached = is_offline, is_attached
        self._documents = {root.file if _is_web(root.file) else str(Path(root.file).resolve()): root}

    def resolve(self, base: Document, reference: str) -> Spot:
        """Return the value that a reference in a document leads to.

        :raises Unresolved: there is no such document, or no such value in it.
        :raises Offline: the document is on the web.
        :raises ManifestInvalid: the document is not YAML.
        """
        address, _, pointer = reference.partition("#")
        if address and self._is_attached:
            raise Unresolved("points outside the attachment", "move the definition into the attachment")
        document = self._document(_absolute(base, address)) if address else base
        try:
            return Spot(document).follow(unquote(pointer))
        except KeyError as e:
            raise Unresolved("does not resolve to a definition", _definitions(document)) from e

    def _document(self, uri: str) -> Document:
        if uri not in self._documents:
            if self._is_offline and _is_web(uri):
                raise Offline
            if len(self._documents) > MAX_DOCUMENTS:
                raise Unresolved(f"exceeds the limit of {MAX_DOCUMENTS} referenced documents")
            text = _download(uri) if _is_web(uri) else _read_file(uri)
            self.texts.append(text)
            documents = yaml_source.parse(text, uri, is_exact=True)
            if len(documents) != 1 or not isinstance(documents[0].value, dict):
                raise Unresolved("points to a file that is not a single YAML mapping")
            self._documents[uri] = documents[0]
        return self._documents[uri]


def _is_web(uri: str) -> bool:
    return urlsplit(uri).scheme in _WEB


def _absolute(base: Document, address: str) -> str:
    """Return the path of a file, or a URL.

    :raises Unresolved: the address has another scheme, or leads from the web to a file.
    """
    scheme = urlsplit(address).scheme
    if scheme in _WEB:
        return address
    if scheme not in ("", "file"):
        raise Unresolved(f"has the unknown scheme {scheme}", "use a path, file:// or https://")
    if _is_web(base.file):
        if scheme == "file":
            raise Unresolved(
                "points from a web document to a local file",
                "a web document can refer only to web documents: use an https:// URL",
            )
        return urljoin(base.file, address)
    return str((Path(base.file).parent / unquote(address.removeprefix("file://"))).resolve())


def _definitions(document: Document) -> str:
    names = document.value.get("definitions") if isinstance(document.value, dict) else None
    if isinstance(names, dict) and names:
        return "the document has " + ", ".join(f"#/definitions/{name}" for name in names)
    return "the document has no definitions"


def _read_file(file: str) -> str:
    path = Path(file)
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise Unresolved(f"points to a file of more than {MAX_BYTES >> 20} MiB")
        return yaml_source.read_text(path)
    except ManifestInvalid as e:
        raise Unresolved(f"points to {path}: {e.problems[0].message}", "correct the path") from e


def _download(url: str) -> str:
    """Return the text at a URL. Redirects may not lead into a narrower network than that of the URL."""
    import httpx

    try:
        with httpx.Client(timeout=TIMEOUT) as client, _response(client, url) as response:
            response.raise_for_status()
            data = b""
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise Unresolved(f"points to a document of more than {MAX_BYTES >> 20} MiB")
            return data.decode("utf-8-sig")
    except httpx.HTTPStatusError as e:
        raise Unresolved(f"cannot be read: {e.response.status_code} {e.response.reason_phrase}") from e
    except (httpx.HTTPError, httpx.InvalidURL, SourceError) as e:
        raise Unresolved(f"cannot be read: {e or type(e).__name__}") from e
    except UnicodeDecodeError as e:
        raise Unresolved("points to a document that is not UTF-8") from e


@contextmanager
def _response(client: httpx.Client, url: str) -> Iterator[httpx.Response]:
    from airflow_provider_odf.source.http import Guard, Scope, scope_of_response

    request = client.build_request("GET", url)
    narrowest: Scope | None = None
    for _ in range(MAX_REDIRECTS + 1):
        request.extensions["trace"] = Guard(request, narrowest, "its URL").trace
        response = client.send(request, stream=True)
        narrowest = scope_of_response(response) if narrowest is None else narrowest
        if response.next_request is None:
            with closing(response):
                yield response
            return
        response.close()
        request = response.next_request
    raise Unresolved(f"cannot be read: more than {MAX_REDIRECTS} redirects")


MAX_FIELDS = 20_000
MAX_REFERENCES = 50

_NESTED = frozenset({"fields", "items", "keys", "values"})
_ALIASES = {"primary": "primaryKey"}
"""Names of clauses in versions before 1.0, and their names since."""


def read(document: Document, library: Library) -> tuple[DataContract, list[Problem]]:
    """Return the contract of a valid document, and the problems of its references."""
    reader, root, value = _Reader(document, library), Spot(document), document.value
    contract = DataContract(
        specification=f"Data Contract Specification {value['dataContractSpecification']}",
        id=str(value["id"]),
        title=str(value["info"]["title"]),
        version=str(value["info"]["version"]),
        status=value["info"].get("status") or "",
        models=tuple(reader.model(root.at("models", name)) for name in value.get("models") or ()),
        servers=_entries(root, "servers"),
        service_levels=_entries(root, "servicelevels"),
        quality=tuple(root.at(key).clause() for key in ("quality",) if root.get(key)),
        clauses=tuple(root.at(key).clause() for key in ("schema",) if root.get(key)),
        invalid=tuple(reader.invalid),
    )
    return contract, reader.problems


def _entries(root: Spot, section: str) -> tuple[Clause, ...]:
    """Return the entries of a section of the document, each with the name of its key."""
    return tuple(spot.clause() for _, spot in root.at(section).entries()) if root.get(section) else ()


@dataclass(frozen=True)
class _Trail:
    """The references that lead to a definition. ``seen`` are the spots of the definitions, ``place`` is the reference
    in the contract that led out of it."""

    seen: tuple[Spot, ...] = ()
    place: Place | None = None


class _Reader:
    def __init__(self, document: Document, library: Library) -> None:
        self.problems: list[Problem] = []
        self.invalid: list[Clause] = []
        self._document, self._library = document, library
        self._fields = 0

    def model(self, spot: Spot) -> Model:
        fields = spot.at("fields").entries() if spot.get("fields") else ()
        return Model(
            str(spot.path[-1]),
            pointer(*spot.path),
            spot.place,
            tuple(self._field(name, field.path, field, _Trail()) for name, field in fields),
            tuple(inner.clause() for key, inner in spot.entries() if key not in ("fields", "quality")),
            tuple(rule.clause("quality") for rule in spot.items("quality")),
        )

    def _field(self, name: str, path: Steps, at: Spot, trail: _Trail) -> Field:
        """Return the field at a path, which is written at ``at`` and may inherit from definitions."""
        self._fields += 1
        place = self._place(at, trail)
        keys, cautions = self._resolved(at, trail, pointer(*path, "$ref"), place)
        if self._fields > MAX_FIELDS:
            return Field(name, pointer(*path), place)
        kind = keys["type"][0].value if "type" in keys else None
        inner = {key: keys[key] for key in keys if key in ("items", "keys", "values")}
        nested = {key: self._field(key, (*path, key), *of) for key, of in inner.items()}
        fields, of_fields = keys.get("fields", (None, trail))
        rules, of_rules = keys.get("quality", (None, trail))
        return Field(
            name,
            pointer(*path),
            place,
            type=kind.lower() if kind else None,
            clauses=(
                *(
                    Clause(_ALIASES.get(key, key), spot.value, pointer(*path, key), self._place(spot, of))
                    for key, (spot, of) in keys.items()
                    if key not in _NESTED and key != "quality"
                ),
                *cautions,
            ),
            quality=tuple(
                Clause("quality", rule.value, pointer(*path, "quality", index), self._place(rule, of_rules))
                for index, rule in enumerate(rules.items() if rules else ())
            ),
            fields=tuple(
                self._field(child, (*path, "fields", child), spot, of_fields)
                for child, spot in (fields.entries() if fields else ())
            ),
            **nested,
        )

    def _resolved(
        self, at: Spot, trail: _Trail, path: str, place: Place
    ) -> tuple[dict[str, tuple[Spot, _Trail]], Sequence[Clause]]:
        """Return the keys of the field at a spot, and further clauses: a field is sensitive if nobody can read its
        definition. ``path`` is the pointer of its reference."""
        earlier = len(self.problems)
        keys = self._keys(at, trail)
        if not (problems := self.problems[earlier:]):
            return keys, ()
        self.invalid.append(replace(invalid(path, problems), place=place))
        return keys, [Clause("pii", True, path, place)]

    def _keys(self, at: Spot, trail: _Trail) -> dict[str, tuple[Spot, _Trail]]:
        """Return the keys of the field at a spot, those of its definition first, each with the references to it."""
        own = {key: (spot, trail) for key, spot in at.entries()}
        reference = at.get("$ref")
        if not isinstance(reference, str):
            return own
        try:
            target = self._target(at.at("$ref"), reference, trail)
        except Offline:
            return own
        del own["$ref"]
        if target is None:
            return own
        place = trail.place or (at.at("$ref").place if target.document is not self._document else None)
        return {**self._keys(target, _Trail((*trail.seen, target), place)), **own}

    def _target(self, at: Spot, reference: str, trail: _Trail) -> Spot | None:
        """Return the definition that a reference leads to; None, with a problem, if there is none.

        :raises Offline: the definition is on the web.
        """
        try:
            target = self._library.resolve(at.document, reference)
            if target in trail.seen:
                raise Unresolved("refers back to itself")
            if len(trail.seen) >= MAX_REFERENCES:
                raise Unresolved(f"is in a chain of more than {MAX_REFERENCES} references")
            if self._fields > MAX_FIELDS:
                raise Unresolved(f"expands to more than {MAX_FIELDS} fields")
            FieldObject.model_validate(target.value)
        except Unresolved as e:
            self.problems.append(Problem(at.place, f"$ref {reference} {e.message}", e.fix))
        except ManifestInvalid as e:
            self.problems += e.problems
        except ValidationError as e:
            self.problems += of_validation(target, e)
        else:
            return target
        return None

    def _place(self, spot: Spot, trail: _Trail) -> Place:
        """Return the place in the contract where a value is written, or where the reference to it is."""
        return spot.place if spot.document is self._document else trail.place or spot.place
