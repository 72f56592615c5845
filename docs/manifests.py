"""Manifests, data contracts and settings that stand in the documentation: they must be valid."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow_provider_odf.contract import load as contracts
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.files import SETTINGS_FILE
from airflow_provider_odf.manifest.folder_settings import read_settings
from airflow_provider_odf.manifest.load import load
from docs.pages import ROOT, Block, blocks

_FRAGMENT = """\
kind: DatasetSnapshot
version: 1
content:
  name: a-fragment
  kind: Root
  metadata:
"""


def problems(files: Sequence[Path]) -> Iterator[str]:
    """One line for each ``yaml`` block that is neither a valid manifest, nor its events, nor another file of ours.

    A block that shows what is wrong has ``invalid`` in its file's name.
    """
    for file in files:
        for block in blocks(file.read_text(encoding="utf-8")):
            if block.language == "yaml" and "invalid" not in (block.file or ""):
                for problem in _problems(block):
                    yield f"{file.relative_to(ROOT)}:{block.first_line}: {problem}"


def _problems(block: Block) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, SETTINGS_FILE if block.file == SETTINGS_FILE else "block.yaml")
        file.write_text(_document(block.text), encoding="utf-8")
        try:
            if file.name == SETTINGS_FILE:
                read_settings(file)
            elif "dataContractSpecification:" in block.text:
                contracts.load(file)
            elif "services:" not in block.text:
                loaded = load([file])
                return [str(p) for p in loaded.problems] or ([] if loaded.manifests else ["not a manifest"])
        except ManifestInvalid as e:
            return [str(problem) for problem in e.problems]
    return []


def _document(text: str) -> str:
    """Events alone, or the parts of one event, stand in a manifest that has the rest."""
    if not text.startswith("- kind:"):
        return text
    return _FRAGMENT + "".join(f"    {line}\n" for line in text.splitlines())
