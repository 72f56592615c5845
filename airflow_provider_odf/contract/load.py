"""Load a data contract from YAML and report all problems at once, each with its place.

Implements the Data Contract Specification 0.9.3 to 1.2.1: the document, its versions and ``$ref`` to definitions in the
same document. A ``$ref`` to another document stays a clause, and the compiler reports it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from airflow_provider_odf.contract import dcs
from airflow_provider_odf.contract.model import DataContract
from airflow_provider_odf.contract.objects import DataContractObject, SpecificationObject
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest import yaml_source
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.wording import nearest

OLDEST, NEWEST = (0, 9, 3), (1, 2, 1)


@dataclass(frozen=True)
class ContractFile:
    """A valid contract, with its local references resolved.

    ``digest`` is the SHA-256 of the text in hex.
    """

    contract: DataContract
    file: str
    digest: str
    document: Document

    def place(self, *path: str | int) -> Place:
        """Return the place of the value at a path, or of the last existing part of the path."""
        return self.document.place(path)


def load(path: Path) -> ContractFile:
    """Return the contract in a file.

    :raises ManifestInvalid: the file has problems. The error has all of them.
    """
    return parse(yaml_source.read_text(path), str(path))


def parse(text: str, file: str) -> ContractFile:
    """Return the contract in a text; ``file`` is its name in problems.

    :raises ManifestInvalid: the text has problems. The error has all of them.
    """
    document = _document(text, file)
    if problem := _version_problem(document):
        raise ManifestInvalid([problem])
    try:
        root = DataContractObject.model_validate(document.value)
    except ValidationError as e:
        raise ManifestInvalid(sorted(_problem(document, error) for error in e.errors())) from e
    contract, problems = dcs.read(document, root)
    if problems := [*problems, *_near_misses(root, document, ())]:
        raise ManifestInvalid(sorted(problems))
    return ContractFile(contract, file, hashlib.sha256(text.encode()).hexdigest(), document)


def _document(text: str, file: str) -> Document:
    documents = yaml_source.parse(text, file)
    if not documents:
        raise ManifestInvalid([Problem(Place(file, 1, 1), "the file is empty, a contract is one YAML document")])
    if len(documents) > 1:
        message = f"{len(documents)} YAML documents, a contract is exactly one"
        raise ManifestInvalid([Problem(documents[1].place(()), message, "move the others to files of their own")])
    if not isinstance(documents[0].value, dict):
        raise ManifestInvalid([Problem(documents[0].place(()), "a contract is a mapping")])
    return documents[0]


def _version_problem(document: Document) -> Problem | None:
    value = document.value
    if "dataContractSpecification" not in value:
        fix = "write 'dataContractSpecification: 1.2.1' at the top"
        if value.get("kind") == "DataContract":
            fix = "the Open Data Contract Standard is not read, the Data Contract Specification is"
        return Problem(document.place(()), "dataContractSpecification is missing", fix)
    version = str(value["dataContractSpecification"])
    numbers = tuple(int(n) for n in re.findall(r"\d+", version))
    if re.fullmatch(r"\d+\.\d+\.\d+", version) and OLDEST <= numbers <= NEWEST:
        return None
    oldest, newest = (".".join(map(str, v)) for v in (OLDEST, NEWEST))
    place = document.place(("dataContractSpecification",))
    return Problem(place, f"version {version} of the specification is not known", f"{oldest} to {newest} are")


def _problem(document: Document, error: Any) -> Problem:
    path = tuple(part for part in error["loc"] if part != "[key]")
    place = document.place(path if error["type"] != "missing" else path[:-1])
    name = ".".join(map(str, path)) or "contract"
    if error["type"] == "missing":
        return Problem(place, f"{name} is missing")
    message = str(error["msg"]).removeprefix("Value error, ")
    message = re.sub(r"^Input should be an? (valid )?", "must be a ", message)
    return Problem(place, f"{name}: {message}")


def _near_misses(node: object, document: Document, path: tuple[str | int, ...]) -> Iterator[Problem]:
    """Yield problems of extensions with names similar to known keys: a typing error would silently disable a clause."""
    if isinstance(node, SpecificationObject):
        known = {(f.alias or name): name for name, f in type(node).model_fields.items()}
        for key in node.model_extra or {}:
            if close := nearest(key, known, cutoff=0.85):
                yield Problem(
                    document.place((*path, key), of_key=True), f"unknown key {key!r}", f"did you mean {close!r}?"
                )
        for alias, name in known.items():
            yield from _near_misses(getattr(node, name), document, (*path, alias))
    elif isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, BaseModel):
                yield from _near_misses(value, document, (*path, key))
