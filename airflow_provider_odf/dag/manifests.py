"""The manifests of a folder, and the DAG of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import groupby
from pathlib import Path

from airflow_provider_odf.errors import Problem
from airflow_provider_odf.manifest.files import declared_names, discover, may_declare
from airflow_provider_odf.manifest.folder_settings import LONGEST_NAME
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Loaded
from airflow_provider_odf.settings.manifests import without_forbidden_steps


def dag_id(dataset: str) -> str:
    """Return the dag_id of a dataset: its alias, with ``.`` for ``/``."""
    return dataset.replace("/", ".")


def load_folder(folder: Path, only: str | None = None) -> Loaded:
    """Return the valid manifests in a folder and below, and the problems of the others.

    :param only: a dag_id. Only files that may declare this dataset are parsed, duplicates included: Airflow builds one
        DAG per task that way.
    """
    files = [file for file in discover(folder) if may_declare(file, only)] if only is not None else []
    # Inputs of derivatives are compared with the store of each DAG, see `inputs.unknown`.
    return without_forbidden_steps(load(files or [folder], known=lambda ref: True))


def problems_by_dag(
    problems: Iterable[Problem], built: Collection[str], *, with_files: bool
) -> dict[str, list[Problem]]:
    """Return problems by the dag_ids of the datasets that their files declare, without those that have a DAG.

    :param with_files: put the problems of files that name no dataset under ``FILE.invalid``; otherwise omit them.
    """
    by_dag: dict[str, list[Problem]] = {}
    for name, group in groupby(sorted(problems), key=lambda problem: problem.place.file):
        file, of_file = Path(name), list(group)
        ids = [dag_id(name) for name in declared_names(file) if dag_id(name) not in built]
        if not ids and with_files:
            ids = [re.sub(r"[^A-Za-z0-9.-]", "_", f"{file.stem}.invalid")]
        for id_ in ids:
            by_dag.setdefault(id_[:LONGEST_NAME], []).extend(of_file)
    return by_dag
