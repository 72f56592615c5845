"""An ODF dataset as lineage knows it: its names, columns, description and owners at one of its blocks, what its
contract says, and the source in its manifest."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_provider_odf import object_stores
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.lineage.naming import DatasetNames, Edition, EditionNames, Identifier, uri, web
from airflow_provider_odf.manifest import ddl, fetch_kinds, model, public_source
from airflow_provider_odf.manifest.fetch_kinds import Naming
from airflow_provider_odf.protocol import Column

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.model import Field

log = logging.getLogger(__name__)

_TEMPLATE = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{\}")


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


@dataclass(frozen=True)
class About:
    """Descriptive facts of a dataset. ``license`` has the names of the specification's SetLicense; ``attachments`` are
    paths and sizes in bytes."""

    kind: str
    keywords: tuple[str, ...] = ()
    license: Mapping[str, str] | None = None
    attachments: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Subject:
    """ODF dataset in lineage. ``names`` are the names of its directory; ``store`` is the URI of the store that knows
    its alias; ``columns`` are those of a slice, system columns first. ``owners`` own the dataset where the contract
    names nobody."""

    names: DatasetNames
    store: str
    alias: str
    id: str | None = None
    columns: tuple[Column, ...] = ()
    description: str | None = None
    about: About | None = None
    edition: Edition = "current"
    contract: ContractFacts = field(default_factory=ContractFacts)
    owners: tuple[str, ...] = ()
    inherited: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Tags that columns have from those that they are made of, by name in lower case: keys and values."""
    added: tuple[str, ...] = ()
    """Columns that every merge adds."""

    def tags(self, column: str) -> tuple[tuple[str, str], ...]:
        """Return the tags of a column: those of the contract, and those that it inherits."""
        facts = self.contract.columns.get(column.lower())
        own = facts.tags if facts is not None else ()
        return tuple(dict.fromkeys((*own, *self.inherited.get(column.lower(), ()))))

    @property
    def edition_names(self) -> EditionNames:
        return self.names.in_edition(self.edition)

    @property
    def links(self) -> tuple[tuple[Identifier, str], ...]:
        """Other names of the dataset with their types: its other locations, the folder of its slices, its alias in the
        store, its id."""
        folder = self.names.current
        links = [(identifier, "LOCATION") for identifier in self.edition_names.symlinks]
        links.append((Identifier(folder.namespace, f"{folder.name.rstrip('/')}/data"), "LOCATION"))
        links.append((Identifier(f"odf+{self.store.rstrip('/')}", self.alias), "ALIAS"))
        if self.id:
            links.append((Identifier("did:odf", self.id.removeprefix("did:odf:")), "ID"))
        return tuple(links)


@dataclass(frozen=True)
class Counts:
    """What a task read or wrote: numbers of records, bytes and files, as far as they are known."""

    records: int | None = None
    size: int | None = None
    files: int | None = None


@dataclass(frozen=True)
class Input:
    """Input of a derivative: its name in queries, the newest block of it that was read, and what was new."""

    query_alias: str
    subject: Subject
    version: str | None
    counts: Counts | None = None


# --- datasets and sources -------------------------------------------------------------------------------------------


def of_dataset(
    store: Store,
    dataset: Dataset,
    state: ChainState,
    *,
    edition: Edition = "current",
) -> Subject:
    """Return a dataset as of a state of its chain."""
    return Subject(
        names=uri.from_uri(dataset.uri),
        store=store.uri,
        alias=str(dataset.alias),
        id=state.dataset_id,
        columns=_columns(state),
        description=state.info.description if state.info else None,
        about=_about(state),
        edition=edition,
        added=state.vocab.columns[:3],
    )


def of_source(fetch: model.FetchStep, *, base: str, edition: Edition = "current") -> EditionNames | None:
    """Return the names of a fetch step's source, or None if there is no naming rule for it: a URL or path up to its
    first template.

    :param base: the manifest's folder.
    """
    try:
        names = _source_names(fetch, base)
        return names.in_edition(edition) if names else None
    except (InvalidInput, ValueError) as e:
        log.info("no lineage of the source: %s", e)
        return None


def _source_names(fetch: model.FetchStep, base: str) -> DatasetNames | None:
    kind = fetch_kinds.kind_of(fetch)
    if kind.address is None:
        return None
    written = kind.address(fetch)
    match kind.naming:
        case Naming.URI if written.lstrip().startswith("${{"):
            return None
        case Naming.URI:
            known = uri.folder(_TEMPLATE.sub("{}", written), _PLACEHOLDER)
            if object_stores.is_object(known):  # whose key is not percent-encoded
                bucket, key = object_stores.split(known)
                known = f"{bucket}/{quote(key)}"
            return uri.from_uri(known, base=base)
        case Naming.GLOB:
            return uri.from_glob(written, base=base)
        case Naming.IMAGE | Naming.LITERAL if _TEMPLATE.search(written):
            return None
        case Naming.IMAGE:
            return web.image(written)
        case Naming.LITERAL:
            host, _, name = written.partition("://")[2].partition("/")
            return DatasetNames(Identifier(f"{written.partition('://')[0]}://{host}", name))


def _about(state: ChainState) -> About:
    items = state.attachments.attachments.items if state.attachments else ()
    licence = public_source.dump(state.license) if state.license else {}
    return About(
        kind=state.kind,
        keywords=(state.info.keywords if state.info else None) or (),
        license={name: value for name, value in licence.items() if name != "kind"} or None,
        attachments=tuple((item.path, len(item.content.encode())) for item in items),
    )


def _columns(state: ChainState) -> tuple[Column, ...]:
    """Return the dataset's columns; none if it has no schema yet, or one with types that Spark does not have."""
    if state.schema is None:
        return ()
    from airflow_provider_odf.chain import schema

    try:
        return ddl.odf_columns(schema.data_schema(state.schema))
    except InvalidInput:
        return ()


# --- contracts ------------------------------------------------------------------------------------------------------


def contract_facts(file: ContractFile, model_name: str) -> ContractFacts:
    """Return the facts of a contract about the dataset of one of its models."""
    root, model = file.document.value, file.contract.model(model_name)
    tags = model.clause("tags")
    description = model.clause("description")
    return ContractFacts(
        owners=tuple(_owners(root)),
        description=_text(description.value if description else None) or _contract_description(root),
        tags=tuple(dict.fromkeys([*_texts(root.get("tags")), *_texts(tags.value if tags else None)])),
        columns={column.name.lower(): _column_facts(column) for column in model.fields},
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


def _contract_description(root: Mapping[str, Any]) -> str | None:
    info, description = root.get("info"), root.get("description")
    if isinstance(info, dict):
        return _text(info.get("description"))
    return _text(description.get("purpose")) if isinstance(description, dict) else None


def _column_facts(column: Field) -> ColumnFacts:
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
