"""An ODF dataset as lineage knows it: its names, columns, description and owners at one of its blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_odf.lineage.contract_facts import ContractFacts
from airflow_provider_odf.lineage.naming import DatasetNames, Edition, EditionNames, Identifier
from airflow_provider_odf.protocol import Column


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
