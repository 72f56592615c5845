"""Manifests that this Airflow allows: ``[odf] forbid_steps`` forbids kinds of steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from airflow_provider_odf import settings
from airflow_provider_odf.errors import InvalidInput, ManifestInvalid, Problem
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Loaded, Manifest
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.wording import listed


def load_one(file: str, dataset: str | None) -> Manifest:
    """Return the manifest of a dataset in a file. Without ``dataset`` the file must have only one.

    :raises ManifestInvalid: the file is not valid, or uses forbidden steps.
    :raises InvalidInput: the file has no such dataset, or several and ``dataset`` is None.
    """
    loaded = without_forbidden_steps(load([Path(file)]))
    if loaded.problems:
        raise ManifestInvalid(loaded.problems)
    names = [str(m.snapshot.name) for m in loaded.manifests]
    if dataset is None and len(names) == 1:
        return loaded.manifests[0]
    for manifest, name in zip(loaded.manifests, names, strict=True):
        if dataset is not None and name.lower() == dataset.lower():
            return manifest
    if dataset is None and names:
        raise InvalidInput(f"{file}: the file has several datasets; name one of them: {', '.join(names)}")
    missing = f"dataset {dataset}" if dataset else "dataset"
    raise InvalidInput(f"{file}: the file has no {missing}; it has {listed(names)}")


def without_forbidden_steps(loaded: Loaded) -> Loaded:
    """Return the manifests without those that use forbidden steps; each forbidden step becomes a problem."""
    options = settings.read().options
    if not options.forbidden_steps:
        return loaded
    refused = {m.file: list(_forbidden(m, options)) for m in loaded.manifests}
    return Loaded(
        manifests=tuple(m for m in loaded.manifests if not refused[m.file]),
        problems=tuple(sorted([*loaded.problems, *(p for problems in refused.values() for p in problems)])),
        warnings=loaded.warnings,
    )


def _forbidden(manifest: Manifest, options: Options) -> Iterator[Problem]:
    for index, event in enumerate(manifest.snapshot.metadata):
        steps = [("fetch", getattr(event, "fetch", None))]
        steps += [("prepare", step) for step in getattr(event, "prepare", None) or ()]
        for name, step in steps:
            if step is not None and step.kind in options.forbidden_steps:
                place = manifest.place("content", "metadata", index, name)
                fix = f"remove the step, or remove {step.kind} from {options.where('forbid_steps')}"
                yield Problem(place, f"{step.kind} steps are forbidden", fix)
