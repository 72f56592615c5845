"""Load a data contract from YAML and report all problems at once, each with its place.

Documents follow the Data Contract Specification 0.9.3 to 1.2.1, or its successor, the Open Data Contract Standard 3.0
to 3.2. ``$ref`` leads to definitions in the same document, in other files and on the web.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from airflow_provider_odf.contract import dcs, odcs
from airflow_provider_odf.contract.dcs import Library
from airflow_provider_odf.contract.model import DataContract, Spot
from airflow_provider_odf.contract.objects import DataContractObject, StandardObject
from airflow_provider_odf.contract.problems import MOST_REPAIRS, Repair, unknown_keys
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest import yaml_source
from airflow_provider_odf.manifest.document import Document

OLDEST, NEWEST = (0, 9, 3), (1, 2, 1)
OLDEST_STANDARD, NEWEST_STANDARD = (3, 0, 0), (3, 2, 0)


@dataclass(frozen=True)
class ContractFile:
    """A contract, with its references resolved.

    ``digest`` is the SHA-256 in hex of its text, and of the other documents that it refers to.
    """

    contract: DataContract
    file: str
    digest: str
    document: Document
    unknown: tuple[Problem, ...] = ()
    """Keys that the specification does not have."""
    problems: tuple[Problem, ...] = ()
    """Values of wrong types, missing values and references without a definition. They are clauses, too."""

    def place(self, *path: str | int) -> Place:
        """Return the place of the value at a path, or of the last existing part of the path."""
        return self.document.place(path)

    @property
    def models_place(self) -> Place:
        """The place of the section with the models."""
        return self.place("schema" if is_standard(self.document) else "models")

    def place_of(self, pointer: str, *steps: str | int) -> Place:
        """Return the place of the value at a JSON pointer, and steps from there, or of the last part that exists."""
        return Spot(self.document).nearest(pointer).at(*steps).place


def load(path: Path, is_offline: bool = False) -> ContractFile:
    """Return the contract in a file. ``is_offline`` leaves references to the web unresolved.

    :raises ManifestInvalid: the file is no contract, or has no valid model.
    """
    return parse(yaml_source.read_text(path), str(path), is_offline)


def parse(text: str, file: str, is_offline: bool = False, is_attached: bool = False) -> ContractFile:
    """Return the contract in a text; ``file`` is its name in problems, and relative references start next to it. An
    attachment cannot refer to other documents.

    A wrong value stops nothing but its clause.

    :raises ManifestInvalid: the text is no contract, or has no valid model.
    """
    document = document_of(text, file)
    repair, typed = Repair(), document
    for _ in range(MOST_REPAIRS):
        try:
            read = _read(text, file, typed, is_offline, is_attached)
            break
        except ValidationError as e:
            typed = repair.repaired(typed, e)
    else:
        raise ManifestInvalid(sorted(problem for problems in repair.problems.values() for problem in problems))
    problems = sorted({*read.problems, *(problem for problems in repair.problems.values() for problem in problems)})
    if problems and not read.contract.models:
        raise ManifestInvalid(problems)
    contract = replace(read.contract, invalid=(*repair.clauses, *read.contract.invalid))
    return replace(read, contract=contract, document=document, problems=tuple(problems))


def _read(text: str, file: str, document: Document, is_offline: bool, is_attached: bool) -> ContractFile:
    """Return a contract whose values have the right types, with the problems of its references.

    :raises ValidationError: they do not, or a required one is missing.
    """
    library = Library(document, is_offline, is_attached)
    root = (StandardObject if is_standard(document) else DataContractObject).model_validate(document.value)
    contract, problems = (odcs.read(document), []) if is_standard(document) else dcs.read(document, library)
    unknown = dict(unknown_keys(root, document))
    contract = replace(contract, unknown=tuple(Spot(document, path).clause() for path in unknown))
    digest = hashlib.sha256("".join([text, *library.texts]).encode()).hexdigest()
    return ContractFile(contract, file, digest, document, tuple(unknown.values()), tuple(problems))


def is_standard(document: Document) -> bool:
    """Whether a document follows the Open Data Contract Standard."""
    return "dataContractSpecification" not in document.value and document.value.get("kind") == "DataContract"


def document_of(text: str, file: str) -> Document:
    """Return the one document of a text, whose specification has a known version.

    :raises ManifestInvalid: the text is not one mapping, or its version is unknown.
    """
    documents = yaml_source.parse(text, file, is_exact=True)
    if not documents:
        message = "the file is empty; a contract file must have one YAML document"
        raise ManifestInvalid([Problem(Place(file, 1, 1), message)])
    if len(documents) > 1:
        message = f"the file has {len(documents)} YAML documents; a contract file must have exactly one"
        raise ManifestInvalid([Problem(documents[1].place(()), message, "move the others to files of their own")])
    if not isinstance(documents[0].value, dict):
        raise ManifestInvalid([Problem(documents[0].place(()), "a contract must be a YAML mapping")])
    if problem := _version_problem(documents[0]):
        raise ManifestInvalid([problem])
    return documents[0]


def _version_problem(document: Document) -> Problem | None:
    if is_standard(document):
        key, prefix, oldest, newest = "apiVersion", "v", OLDEST_STANDARD, NEWEST_STANDARD
    else:
        key, prefix, oldest, newest = "dataContractSpecification", "", OLDEST, NEWEST
    if key not in document.value:
        fix = "write 'apiVersion: v3.2.0'" if prefix else "write 'dataContractSpecification: 1.2.1' at the top"
        if not prefix:
            fix += ", or 'kind: DataContract' and 'apiVersion: v3.2.0'"
        return Problem(document.place(()), f"{key} is missing", fix)
    version = str(document.value[key])
    match = re.fullmatch(rf"{prefix}(\d{{1,4}})\.(\d{{1,4}})\.(\d{{1,4}})", version)
    if match and oldest <= tuple(map(int, match.groups())) <= newest:
        return None
    first, last = (prefix + ".".join(map(str, v)) for v in (oldest, newest))
    place = document.place((key,))
    message = f"version {version} of the specification is not supported"
    return Problem(place, message, f"use a version from {first} to {last}")
