"""Names of datasets in files that may be invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.manifest.yaml_source import scan

_ANY = re.compile(rb"\bname[\"']?\s*:\s*[\"']?([^\s\"',}]+)")
_PLAIN = re.compile(rb"[A-Za-z0-9./-]+")
_OF_CONTENT = re.compile(
    r"^content[ \t]*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*(?=([ \t]+))"  # the indentation of its first line
    r"(?:(?!---).*\n)*?\1name[ \t]*:[ \t]*[\"']?([^\s\"'#]+)[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)


def names(file: Path) -> list[str]:
    """Return the names of the datasets that a file declares: by its YAML, or by its lines if that cannot be parsed."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return []
    documents, _ = scan(text, str(file))
    names = [*_of_documents(documents), *(match[2] for match in _OF_CONTENT.finditer(text))]
    return list({name.lower(): name for name in reversed(names) if _is_name(name)}.values())[::-1]


def may_declare(file: Path, name: str) -> bool:
    """Return whether a file may declare a dataset of a name, ignoring case and with ``.`` for ``/``. The file is read
    but not parsed."""
    try:
        names = _ANY.findall(file.read_bytes())
    except OSError:
        return False
    key = name.replace("/", ".").lower().encode()
    return any(text.replace(b"/", b".").lower() == key or not _PLAIN.fullmatch(text) for text in names)


def _of_documents(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        try:
            content = document.value["content"]
        except (ManifestInvalid, KeyError, TypeError):
            continue
        if isinstance(content, dict) and isinstance(content.get("name"), str):
            yield content["name"]


def _is_name(text: str) -> bool:
    try:
        DatasetAlias.parse(text)
    except ValueError:
        return False
    return True
