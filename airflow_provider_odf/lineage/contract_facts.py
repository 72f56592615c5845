"""What a data contract says about a dataset and its columns, for lineage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.model import Field
    from airflow_provider_odf.lineage.naming import DatasetNames


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of a column. ``tags`` are keys and values; ``lineage`` is the field's ``lineage`` object, or empty."""

    description: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    lineage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ContractFacts:
    """Facts of a dataset. ``owners`` are names and roles, ``columns`` are by name in lower case. ``servers`` are the
    names of the contract's servers, with the names that the model has in lineage there."""

    owners: tuple[tuple[str, str | None], ...] = ()
    description: str | None = None
    tags: tuple[str, ...] = ()
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)
    servers: tuple[tuple[str, DatasetNames], ...] = ()


def facts(file: ContractFile, model_name: str) -> ContractFacts:
    """Return the facts of a contract about the dataset of one of its models."""
    root, model = file.document.value, file.contract.model(model_name)
    tags = model.clause("tags")
    description = model.clause("description")
    return ContractFacts(
        owners=tuple(_owners(root)),
        description=_text(description.value if description else None) or _description(root),
        tags=tuple(dict.fromkeys([*_texts(root.get("tags")), *_texts(tags.value if tags else None)])),
        columns={column.name.lower(): _column(column) for column in model.fields},
        servers=tuple(_servers(file, model_name)),
    )


def _owners(root: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the owner of the Data Contract Specification, or the team of the Open Data Contract Standard."""
    info, team = root.get("info"), root.get("team")
    if isinstance(info, dict) and (owner := _text(info.get("owner"))):
        yield owner, "OWNER"
    members = team.get("members") if isinstance(team, dict) else team
    for member in members if isinstance(members, list) else ():
        if isinstance(member, dict) and (name := _text(member.get("username")) or _text(member.get("name"))):
            yield name, _text(member.get("role"))


def _servers(file: ContractFile, model: str) -> Iterator[tuple[str, DatasetNames]]:
    """Yield the model's names on the servers, without those that have no name: of an unknown type, or incomplete."""
    from airflow_provider_odf.contract.sources import fill_variables, table_name
    from airflow_provider_odf.lineage.naming.server import from_server

    folder, table = os.path.dirname(file.file), table_name(file, model)
    for server in file.contract.servers:
        with suppress(ValueError):
            entry = server.value if isinstance(server.value, dict) else {}
            entry = {key: fill_variables(value, os.environ) for key, value in entry.items()}
            yield server.name, from_server(entry, model, folder=folder, table=table)


def _description(root: Mapping[str, Any]) -> str | None:
    info, description = root.get("info"), root.get("description")
    if isinstance(info, dict):
        return _text(info.get("description"))
    return _text(description.get("purpose")) if isinstance(description, dict) else None


def _column(column: Field) -> ColumnFacts:
    tags = [(tag, "true") for tag in _texts(column.value("tags"))]
    if column.value("pii"):
        tags.append(("pii", "true"))
    if classification := _text(column.value("classification")):
        tags.append(("classification", classification))
    lineage = column.value("lineage")
    return ColumnFacts(_text(column.value("description")), tuple(tags), lineage if isinstance(lineage, dict) else {})


def _texts(value: object) -> Sequence[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
