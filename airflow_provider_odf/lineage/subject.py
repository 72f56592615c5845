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
from airflow_provider_odf.manifest import ddl, model, public_source

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.protocol import Column

log = logging.getLogger(__name__)

_TEMPLATE = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{\}")
_MQTT_WILDCARDS = re.compile(r"/?[^/]*[+#].*", re.DOTALL)
"""The levels of a topic from the first wildcard on."""


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
    match fetch:
        case model.FetchStepUrl(url=url) if filled is None and url.lstrip().startswith("${{"):
            return None
        case model.FetchStepUrl(url=url):
            known = filled or uri.folder(_TEMPLATE.sub("{}", url), _PLACEHOLDER)
            return uri.from_uri(known, base=base, file_authority=file_authority, template=url, secrets=secrets)
        case model.FetchStepFilesGlob(path=path):
            return uri.from_glob(filled or path, base=base, file_authority=file_authority)
        case model.FetchStepContainer(image=image) if filled or not _TEMPLATE.search(image):
            return web.image(filled or image)
        case model.FetchStepMqtt(host=host, port=port, topics=topics):
            names = dict.fromkeys(_MQTT_WILDCARDS.sub("", _TEMPLATE.sub("+", topic.path)) or "/" for topic in topics)
            return DatasetNames(Identifier(f"mqtt://{host}:{port}", ",".join(names)))
        case _:
            return None


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
