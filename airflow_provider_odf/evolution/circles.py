"""Datasets that would read themselves through others, by their chains. Manifests show only the circles among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay

if TYPE_CHECKING:
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.evolution.input_state import InputState
    from airflow_provider_odf.manifest.names import DatasetAlias


def find(
    store: Store, alias: DatasetAlias, state: ChainState | None, inputs: Sequence[InputState]
) -> tuple[str, ...] | None:
    """Return the names of a circle of datasets from a derivative with these inputs to itself, inputs first, or None if
    there is none."""
    if state is None:
        return None
    seen: set[str] = set()
    paths: list[tuple[tuple[str, ...], ChainState]] = [((str(alias), str(i.dataset.alias)), i.state) for i in inputs]
    while paths:
        names, current = paths.pop()
        if current.dataset_id == state.dataset_id:
            return names[::-1]
        if current.transform is None or current.dataset_id in seen:
            continue
        seen.add(current.dataset_id)
        below = [store.find(item.dataset_ref) for item in current.transform.inputs]
        paths += [((*names, str(d.alias)), replay(d)) for d in below if d is not None]
    return None
