"""Lineage of an ODF dataset, and of the source in its manifest."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.lineage.contract_facts import ContractFacts
from airflow_provider_odf.lineage.dataset import About, Subject
from airflow_provider_odf.lineage.naming import (
    FILE_AUTHORITY,
    DatasetNames,
    Edition,
    EditionNames,
    Identifier,
    uri,
    web,
)
from airflow_provider_odf.manifest import ddl, fetch_kinds, model, public_source
from airflow_provider_odf.manifest.fetch_kinds import Naming

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.protocol import Column

log = logging.getLogger(__name__)

_TEMPLATE = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{\}")


def of_dataset(
    store: Store,
    dataset: Dataset,
    state: ChainState,
    *,
    edition: Edition = "current",
    file_authority: str = FILE_AUTHORITY,
    contract: ContractFacts | None = None,
    owners: tuple[str, ...] = (),
) -> Subject:
    """Return a dataset as of a state of its chain."""
    return Subject(
        names=uri.from_uri(dataset.uri, file_authority=file_authority),
        store=store.uri,
        alias=str(dataset.alias),
        id=state.dataset_id,
        columns=_columns(state),
        description=state.info.description if state.info else None,
        about=_about(state),
        edition=edition,
        contract=contract or ContractFacts(),
        owners=owners,
        added=state.vocab.columns[:3],
    )


def of_source(
    fetch: model.FetchStep,
    *,
    base: str,
    filled: str | None = None,
    secrets: Collection[str] = (),
    edition: Edition = "current",
    file_authority: str = FILE_AUTHORITY,
) -> EditionNames | None:
    """Return the names of a fetch step's source, or None if there is no naming rule for it.

    :param base: the manifest's folder.
    :param filled: the URL or path with its templates filled in; without it paths keep their templates.
    :param secrets: values that the names must not contain.
    """
    try:
        names = _source_names(fetch, base, filled, secrets, file_authority)
    except ValueError as e:
        log.info("no lineage of the source: %s", e)
        return None
    return names.in_edition(edition) if names else None


def _source_names(
    fetch: model.FetchStep, base: str, filled: str | None, secrets: Collection[str], file_authority: str
) -> DatasetNames | None:
    kind = fetch_kinds.kind_of(fetch)
    if kind.address is None:
        return None
    written = kind.address(fetch)
    match kind.naming:
        case Naming.URI if filled is None and written.lstrip().startswith("${{"):
            return None
        case Naming.URI:
            known = filled or uri.folder(_TEMPLATE.sub("{}", written), _PLACEHOLDER)
            return uri.from_uri(known, base=base, file_authority=file_authority, template=written, secrets=secrets)
        case Naming.GLOB:
            return uri.from_glob(filled or written, base=base, file_authority=file_authority)
        case Naming.IMAGE if filled is None and _TEMPLATE.search(written):
            return None
        case Naming.IMAGE:
            return web.image(filled or written)
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
