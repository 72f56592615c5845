"""Read a document of the Data Contract Specification into the model of a contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from airflow_provider_odf.contract.model import Clause, DataContract, Field, Model, pointer
from airflow_provider_odf.contract.objects import DataContractObject, FieldObject
from airflow_provider_odf.errors import Place, Problem
from airflow_provider_odf.manifest.document import Document

Path: TypeAlias = tuple[str | int, ...]

_NESTED = frozenset({"fields", "items", "keys", "values"})
_ALIASES = {"primary": "primaryKey"}
"""Names of clauses in versions before 1.0, and their names since."""


def read(document: Document, root: DataContractObject) -> tuple[DataContract, list[Problem]]:
    """Return the contract of a valid document, and the problems of its references.

    ``root`` is the document as objects, which have checked it.
    """
    reader = _Reader(document)
    models = tuple(reader.model(str(name)) for name in root.models)
    value = document.value
    contract = DataContract(
        specification=f"Data Contract Specification {root.data_contract_specification}",
        id=root.id,
        title=root.info.title,
        version=root.info.version,
        status=root.info.status or "",
        models=models,
        servers=tuple(reader.entries("servers")),
        service_levels=tuple(reader.entries("servicelevels")),
        quality=(reader.clause(("quality",), value["quality"]),) if value.get("quality") else (),
        clauses=(reader.clause(("schema",), value["schema"]),) if value.get("schema") else (),
    )
    return contract, reader.problems


@dataclass(frozen=True)
class _Key:
    """A key of a field: its value, and where it is written."""

    value: Any
    at: Path


class _Reader:
    def __init__(self, document: Document) -> None:
        self.problems: list[Problem] = []
        self._document = document

    def model(self, name: str) -> Model:
        path: Path = ("models", name)
        value = self._document.value["models"][name]
        fields = value.get("fields") or {}
        return Model(
            name,
            pointer(*path),
            self._place(path),
            tuple(self._field(f, (*path, "fields", f), (*path, "fields", f), ()) for f in fields),
            tuple(
                self.clause((*path, key), v)
                for key, v in value.items()
                if key not in ("fields", "quality") and v is not None
            ),
            tuple(self._quality(_Key(value.get("quality"), (*path, "quality")), path)),
        )

    def entries(self, section: str) -> Iterator[Clause]:
        """Yield the entries of a section of the document, each with the name of its key."""
        for name, value in (self._document.value.get(section) or {}).items():
            yield self.clause((section, name), value)

    def clause(self, path: Path, value: Any) -> Clause:
        """Return a clause that is written at its path."""
        return Clause(str(path[-1]), value, pointer(*path), self._place(path))

    def _field(self, name: str, path: Path, at: Path, seen: tuple[str, ...]) -> Field:
        """Return the field at a path, which is written at ``at`` and may inherit from definitions.

        ``seen`` are the references that lead here.
        """
        keys, seen = self._keys(at, seen)
        kind = keys["type"].value if "type" in keys else None
        nested = {key: self._children(key, keys[key], path, seen) for key in keys if key in _NESTED}
        return Field(
            name,
            pointer(*path),
            self._place(at),
            type=kind.lower() if kind else None,
            clauses=tuple(
                Clause(_ALIASES.get(key, key), k.value, pointer(*path, key), self._place(k.at))
                for key, k in keys.items()
                if key not in _NESTED and key != "quality"
            ),
            quality=tuple(self._quality(keys["quality"], path)) if "quality" in keys else (),
            fields=nested.get("fields", ()),
            items=next(iter(nested.get("items", ())), None),
            keys=next(iter(nested.get("keys", ())), None),
            values=next(iter(nested.get("values", ())), None),
        )

    def _children(self, key: str, nested: _Key, path: Path, seen: tuple[str, ...]) -> tuple[Field, ...]:
        if key == "fields":
            return tuple(self._field(name, (*path, key, name), (*nested.at, name), seen) for name in nested.value)
        return (self._field(key, (*path, key), nested.at, seen),)

    def _quality(self, rules: _Key, path: Path) -> Iterator[Clause]:
        for index, rule in enumerate(rules.value or ()):
            yield Clause("quality", rule, pointer(*path, "quality", index), self._place((*rules.at, index)))

    def _keys(self, at: Path, seen: tuple[str, ...]) -> tuple[dict[str, _Key], tuple[str, ...]]:
        """Return the keys of the field at a place, those of its definition first, and the references passed."""
        value = _at(self._document.value, at)
        own = {key: _Key(v, (*at, key)) for key, v in value.items() if v is not None}
        reference = value.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return own, seen
        own.pop("$ref")
        target = self._target(reference, (*at, "$ref"), seen)
        if target is None:
            return own, seen
        inherited, seen = self._keys(target, (*seen, reference))
        return {**inherited, **own}, seen

    def _target(self, reference: str, at: Path, seen: tuple[str, ...]) -> Path | None:
        """Return the path of a definition; None, with a problem, if there is none."""
        if reference in seen:
            self.problems.append(Problem(self._place(at), f"$ref {reference} leads back to itself"))
            return None
        target = tuple(part.replace("~1", "/").replace("~0", "~") for part in reference[1:].split("/")[1:])
        try:
            FieldObject.model_validate(_at(self._document.value, target))
        except (KeyError, ValidationError):
            names = ", ".join(f"#/definitions/{name}" for name in self._document.value.get("definitions") or {})
            fix = f"the document has {names}" if names else "the document has no definitions"
            self.problems.append(Problem(self._place(at), f"$ref {reference} leads to no definition", fix))
            return None
        return target

    def _place(self, path: Path) -> Place:
        return self._document.place(path)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            raise KeyError(step)
        value = value[step]
    return value
