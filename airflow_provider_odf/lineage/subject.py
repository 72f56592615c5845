"""From the parts of a cycle to what lineage says about them: an ODF dataset, and the source of its manifest."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.lineage import uri
from airflow_provider_odf.lineage.events import About, Subject
from airflow_provider_odf.lineage.naming import FILE_AUTHORITY, Edition, Forms, Identifier, Named
from airflow_provider_odf.manifest import ddl, model, public

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.protocol import Column


def of_dataset(
    store: Store,
    dataset: Dataset,
    state: ChainState,
    *,
    edition: Edition = "current",
    file_authority: str = FILE_AUTHORITY,
) -> Subject:
    """A dataset as of a state of its chain."""
    return Subject(
        forms=uri.from_uri(dataset.uri, file_authority=file_authority),
        store=store.uri,
        alias=str(dataset.alias),
        id=state.dataset_id,
        columns=_columns(state),
        description=state.info.description if state.info else None,
        about=_about(state),
        edition=edition,
    )


def of_source(
    fetch: model.FetchStep,
    *,
    base: str,
    filled: str | None = None,
    secrets: Collection[str] = (),
    edition: Edition = "current",
    file_authority: str = FILE_AUTHORITY,
) -> Named | None:
    """What a manifest's fetch step reads; None where there is no naming rule for it.

    ``base`` is the manifest's folder. ``filled`` is the URL or path with its templates filled in; without it, paths
    keep the text of their templates. ``secrets`` are values that must not come out.
    """
    try:
        forms = _source_forms(fetch, base, filled, secrets, file_authority)
    except ValueError:
        return None
    return forms.named(edition) if forms else None


def _source_forms(
    fetch: model.FetchStep, base: str, filled: str | None, secrets: Collection[str], file_authority: str
) -> Forms | None:
    match fetch:
        case model.FetchStepUrl(url=url) if filled is None and url.lstrip().startswith("${{"):
            return None
        case model.FetchStepUrl(url=url):
            return uri.from_uri(filled or url, base=base, file_authority=file_authority, template=url, secrets=secrets)
        case model.FetchStepFilesGlob(path=path):
            return uri.from_glob(filled or path, base=base, file_authority=file_authority)
        case model.FetchStepContainer(image=image):
            return Forms(Identifier("oci", filled or image))
        case model.FetchStepMqtt(host=host, port=port, topics=topics):
            return Forms(Identifier(f"mqtt://{host}:{port}", ",".join(topic.path for topic in topics)))
        case _:
            return None


def _about(state: ChainState) -> About:
    items = state.attachments.attachments.items if state.attachments else ()
    licence = public.dump(state.license) if state.license else {}
    return About(
        kind=state.kind,
        keywords=(state.info.keywords if state.info else None) or (),
        license={name: value for name, value in licence.items() if name != "kind"} or None,
        attachments=tuple((item.path, len(item.content.encode())) for item in items),
    )


def _columns(state: ChainState) -> tuple[Column, ...]:
    """The columns of the dataset; none where it has no schema yet, or one that Spark has no types for."""
    if state.schema is None:
        return ()
    from airflow_provider_odf.chain import schema

    try:
        return ddl.odf_columns(schema.data_schema(state.schema))
    except InvalidInput:
        return ()
