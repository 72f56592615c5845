"""Find the contract of a dataset, and its model in the contract.

The first of these counts: the file that a task names, ``NAME.datacontract.yaml`` beside the manifest, and the
attachment ``datacontract.yaml`` in the dataset's metadata, which is part of the chain.

Most datasets have none, so what reads contracts is imported only when there is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.file_status import is_file
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.manifest.model import SetAttachments

if TYPE_CHECKING:
    from airflow_provider_odf import protocol
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.sensitivity import Sensitivity

SUFFIXES = (".datacontract.yaml", ".datacontract.yml")
ATTACHMENT = "datacontract.yaml"


@dataclass(frozen=True)
class Location:
    """Where a contract is: a file, or the attachment of a dataset with its text."""

    file: Path
    attachment: str | None = None

    def __str__(self) -> str:
        return str(self.file) if self.attachment is None else f"{self.file} (attachment {ATTACHMENT})"

    @property
    def label(self) -> str:
        """The name of the file, for people who know the folder."""
        return self.file.name if self.attachment is None else f"{ATTACHMENT} (attachment)"

    def load(self, is_offline: bool = False) -> ContractFile:
        """Return the contract. ``is_offline`` leaves its references to the web unresolved.

        :raises ManifestInvalid: the contract has problems. The error has all of them.
        """
        from airflow_provider_odf.contract.load import load, parse

        if self.attachment is None:
            return load(self.file, is_offline)
        return parse(self.attachment, str(self), is_attached=True)


def contract_location(manifest: Manifest, chosen: str | None = None) -> Location | None:
    """Return the contract of the dataset with a manifest, or None. ``chosen`` is a path, relative to the manifest.

    :raises StorageError: the operating system does not tell whether there is one.
    """
    if chosen is not None:
        return Location(manifest.file.parent / chosen)
    for path in beside(manifest.file, str(manifest.snapshot.name)):
        with storage_errors(path):
            if is_file(path):
                return Location(path)
    return attached(manifest.snapshot.last(SetAttachments), manifest.file)


def attached(attachments: SetAttachments | None, file: Path) -> Location | None:
    """Return the contract among the attachments in a file, or None."""
    items = attachments.attachments.items if attachments else ()
    return next((Location(file, item.content) for item in items if item.path == ATTACHMENT), None)


def beside(manifest: Path, dataset: str) -> list[Path]:
    """Return the paths at which a dataset's contract may be: ``NAME.datacontract.yaml``, without the account."""
    name = dataset.rpartition("/")[2]
    return [manifest.parent / (name + suffix) for suffix in SUFFIXES]


def model_of(dataset: str) -> str:
    """Return the name of the model for a dataset: its name without the account, with ``_`` for ``-`` and ``.``."""
    return re.sub(r"[-.]", "_", dataset.rpartition("/")[2])


def model_name(contract: ContractFile, dataset: str) -> str:
    """Return the model of a dataset: the only one, or the one with its name, with ``_`` for ``-`` and ``.``.

    :raises ManifestInvalid: there is no model, or none with that name.
    """
    models = [model.name for model in contract.contract.models]
    if len(models) == 1:
        return models[0]
    wanted = model_of(dataset)
    if wanted in models:
        return wanted
    if alike := [m for m in models if m.lower() == wanted.lower()]:
        return alike[0]
    if models:
        message = f"no model named {wanted!r} among {', '.join(models)}"
        fix = f"dataset {dataset} is tested against the model with this name, or against the only model: rename a model"
    else:
        message, fix = "the contract has no models", f"add a model for dataset {dataset}"
    raise ManifestInvalid([Problem(contract.models_place, message, fix)])


def bind(manifest: Manifest, chosen: str | None = None) -> protocol.Contract | None:
    """Return the compiled contract of the dataset with a manifest, or None if it has no contract.

    ``chosen`` is a path, relative to the manifest.

    :raises ManifestInvalid: the contract has problems, or no model for the dataset.
    """
    location = contract_location(manifest, chosen)
    return of_dataset(location.load(), str(manifest.snapshot.name)) if location is not None else None


def of_dataset(file: ContractFile, dataset: str, sensitivity: Sensitivity | None = None) -> protocol.Contract:
    """Return the compiled contract of a dataset.

    :param sensitivity: its sensitive columns, by default those that the contract marks.
    :raises ManifestInvalid: the contract has no model for the dataset.
    """
    from airflow_provider_odf.contract.compile import compile_model
    from airflow_provider_odf.contract.sensitivity import marked

    model = model_name(file, dataset)
    if sensitivity is None:
        return compile_model(file, model)
    contract = compile_model(marked(file, model, sensitivity), model)
    return replace(contract, sensitive_columns=tuple(sorted(sensitivity.labels)))
