"""Read a document of the Data Contract Specification into the model of a contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from airflow_provider_odf.contract import references
from airflow_provider_odf.contract.model import Clause, DataContract, Field, Model, Path, Spot, pointer
from airflow_provider_odf.contract.objects import FieldObject
from airflow_provider_odf.contract.problems import invalid, of_validation
from airflow_provider_odf.contract.references import Library, Offline, Unresolved
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest.document import Document

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

    def _field(self, name: str, path: Path, at: Spot, trail: _Trail) -> Field:
        """Return the field at a path, which is written at ``at`` and may inherit from definitions."""
        self._fields += 1
        place = self._place(at, trail)
        keys, cautions = self._resolved(at, trail, pointer(*path, "$ref"), place)
        if self._fields > MAX_FIELDS:
            return Field(name, pointer(*path), place)
        kind = keys["type"][0].value if "type" in keys else None
        nested = {key: self._children(key, *keys[key], path) for key in keys if key in _NESTED}
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
            quality=tuple(self._quality(*keys["quality"], path)) if "quality" in keys else (),
            fields=nested.get("fields", ()),
            items=next(iter(nested.get("items", ())), None),
            keys=next(iter(nested.get("keys", ())), None),
            values=next(iter(nested.get("values", ())), None),
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

    def _children(self, key: str, spot: Spot, trail: _Trail, path: Path) -> tuple[Field, ...]:
        if key == "fields":
            return tuple(self._field(name, (*path, key, name), inner, trail) for name, inner in spot.entries())
        return (self._field(key, (*path, key), spot, trail),)

    def _quality(self, rules: Spot, trail: _Trail, path: Path) -> Iterator[Clause]:
        for index, rule in enumerate(rules.items()):
            yield Clause("quality", rule.value, pointer(*path, "quality", index), self._place(rule, trail))

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
            self.problems.append(references.problem(at.place, reference, e))
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
