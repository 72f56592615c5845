"""Datasets of the models that a contract refers to: their rows are what references are tested against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract.binding import model_of
from airflow_provider_odf.cycle.history import history
from airflow_provider_odf.evolution.inputs import merge_of

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.cycle import Cycle


def with_related(cycle: Cycle, contract: protocol.Contract) -> protocol.Contract:
    """Return the contract with the published rows of the datasets that its references and queries name.

    A model belongs to the dataset of its name, with ``_`` for ``-`` and ``.``.

    :raises ChainCorrupted: a slice of such a dataset is missing, or is not what its physical hash says.
    """
    models = contract.named_models() - {contract.model.lower()}
    return replace(contract, related=tuple(_related(cycle, models))) if models else contract


def _related(cycle: Cycle, models: set[str]) -> Iterator[protocol.RelatedDataset]:
    for dataset in cycle.store.datasets():
        name = model_of(str(dataset.alias)).lower()
        if name in models and (head := dataset.head()) is not None:
            state = replay(dataset, head)
            yield protocol.RelatedDataset(
                name,
                state.vocab,
                history(cycle.store, dataset, state, cycle.progress),
                merge_of(state),
                chain_schema.ipc_base64(state.schema) if state.schema else None,
                tuple(sorted(cycle.sensitive_columns.names(dataset, state))),
            )
