"""Derivatives of the reference's examples, in the SQL of Flink and RisingWave, as their authors wrote them."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.model import SetTransform, TransformSql


def manifests(*names: str) -> dict[str, str]:
    """Return the manifests of derivatives by name."""
    return {name: _file(name).read_text() for name in names}


def transform(name: str) -> TransformSql:
    """Return the queries of a derivative."""
    (manifest,) = load([_file(name)]).manifests
    event = manifest.snapshot.last(SetTransform)
    assert event is not None
    return event.transform


def _file(name: str) -> Path:
    return Path(__file__).parent / f"{name}.yaml"
