"""Find the contract of a dataset, and its model in the contract."""

from __future__ import annotations

import os
import re
from pathlib import Path

from airflow_provider_odf import protocol
from airflow_provider_odf.contract.compile import compile_model
from airflow_provider_odf.contract.load import ContractFile, load
from airflow_provider_odf.errors import ManifestInvalid, Problem

SUFFIXES = (".datacontract.yaml", ".datacontract.yml")


def find(manifest: Path, dataset: str) -> Path | None:
    """Return the path of ``NAME.datacontract.yaml`` beside a manifest, or None if there is no such file.

    NAME is the dataset's name without its account.
    """
    name = dataset.rpartition("/")[2]
    paths = (manifest.parent / (name + suffix) for suffix in SUFFIXES)
    return next(filter(os.path.isfile, paths), None)  # unlike Path.is_file, it accepts names that are too long


def model_name(contract: ContractFile, dataset: str) -> str:
    """Return the model of a dataset: the only one, or the one with its name, with ``_`` for ``-`` and ``.``.

    :raises ManifestInvalid: there is no model, or none with that name.
    """
    models = [model.name for model in contract.contract.models]
    if len(models) == 1:
        return models[0]
    wanted = re.sub(r"[-.]", "_", dataset.rpartition("/")[2])
    if wanted in models:
        return wanted
    if alike := [m for m in models if m.lower() == wanted.lower()]:
        return alike[0]
    message = f"no model named {wanted!r} among {', '.join(models)}" if models else "the contract has no models"
    fix = f"dataset {dataset} is tested against the only model, or the one of its name"
    raise ManifestInvalid([Problem(contract.models_place, message, fix)])


def bind(manifest: Path, dataset: str, is_offline: bool = False) -> protocol.Contract | None:
    """Return the compiled contract of the dataset with this manifest, or None if it has no contract. ``is_offline``
    leaves its references to the web unresolved.

    :raises ManifestInvalid: the contract has problems, or no model for the dataset.
    """
    path = find(manifest, dataset)
    if path is None:
        return None
    contract = load(path, is_offline)
    return compile_model(contract, model_name(contract, dataset))
