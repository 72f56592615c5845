"""Datasets of a store in the lineage of a task, with what their chains and contracts say about them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import settings
from airflow_provider_odf.contract import binding
from airflow_provider_odf.cycle.cycle import States
from airflow_provider_odf.cycle.sensitive import SensitiveColumns, stated
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.lineage.columns import Reading, reading_of, transform_of
from airflow_provider_odf.lineage.dataset import ContractFacts, Counts, Input, Subject, contract_facts, of_dataset
from airflow_provider_odf.lineage.naming import uri
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf import protocol
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState, InputPosition
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.contract.binding import Location
    from airflow_provider_odf.cycle.messages import Candidate

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Datasets:
    """Datasets of a store, and inputs that it finds in others. ``own`` is the dataset of the task, with its contract
    and the owners of the DAG."""

    store: Store
    own: str | None = None
    contract: Location | None = None
    owners: tuple[str, ...] = ()
    states: States = field(default_factory=States)

    def at(self, alias: str, block_hash: str) -> Subject:
        """Return a dataset as of a block."""
        dataset = self.store.dataset(alias)
        return self._of(dataset, self.states(dataset, block_hash))

    def now(self, alias: str) -> tuple[Subject, str | None]:
        """Return a dataset as of its head, and the head. A new dataset has a name only."""
        dataset = self.store.get(alias)
        head = dataset.head() if dataset is not None else None
        if dataset is not None and head is not None:
            return self._of(dataset, self.states(dataset, head)), head
        names = uri.from_uri(f"{self.store.uri.rstrip('/')}/{alias}")
        edition = settings.read().naming_spec
        contract = self._facts(self.contract, alias) if alias == self.own else ContractFacts()
        owners = self.owners if alias == self.own else ()
        return Subject(names, self.store.uri, alias, edition=edition, contract=contract, owners=owners), None

    def query(self, transform: model.SetTransform) -> protocol.Transform:
        """Return the queries of a derivative as its manifest has them."""
        return transform_of(transform.transform)

    def inputs(self, transform: model.SetTransform) -> Iterator[Input]:
        """Yield the inputs of a derivative that the store finds, as of their heads."""
        for declared in transform.inputs:
            dataset = self.store.find(declared.dataset_ref)
            if dataset is not None and (head := dataset.head()) is not None:
                subject = self._of(dataset, self.states(dataset, head))
                yield Input(declared.alias or str(dataset.alias), subject, head)

    def read_inputs(self, candidate: Candidate) -> tuple[model.SetTransform, list[Input]] | None:
        """Return the transform of a derivative's candidate, and those of its inputs that the store finds, as of the
        blocks that were read."""
        dataset = self.store.dataset(candidate.dataset)
        state = self.states(dataset, candidate.candidate)
        if state.transform is None:
            return None
        before = self.states(dataset, candidate.base).query_inputs
        inputs = (self._read(item, state.query_inputs, before) for item in state.transform.inputs)
        return state.transform, [item for item in inputs if item is not None]

    def reading(self, candidate: Candidate, source_name: str | None, *, has_manifest_source: bool) -> Reading | None:
        """Return how a candidate's source was read; None if the chain has no such source."""
        state = self.states(self.store.dataset(candidate.dataset), candidate.candidate)
        source = state.polling_source if has_manifest_source else state.push_sources.get(source_name or "")
        return reading_of(source, state.vocab) if source is not None else None

    def _of(self, dataset: Dataset, state: ChainState) -> Subject:
        alias = str(dataset.alias)
        is_own = alias == self.own and self.store.owns(dataset)
        location = self.contract if is_own and self.contract is not None else None
        location = location or binding.attached(state.attachments, Path(dataset.location))
        subject = of_dataset(self.store.store_of(dataset), dataset, state, edition=settings.read().naming_spec)
        return replace(
            subject,
            contract=self._facts(location, alias),
            owners=self.owners if is_own else (),
            inherited=self._inherited(dataset, state, location),
        )

    def _inherited(
        self, dataset: Dataset, state: ChainState, location: Location | None
    ) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Return the tags of sensitive columns, beside those of the contract."""
        folder = self.contract.file.parent if self.contract is not None and self.contract.attachment is None else None
        own = stated(location, str(dataset.alias)) if location is not None else None
        try:
            sensitivity = SensitiveColumns(self.store, folder, self.states).of(dataset, state, own)
        except (OdfError, OSError) as e:  # the events of a run must not fail because of an input
            log.info("%s: lineage without sensitive columns: %s", dataset.alias, e)
            return {}
        tags = {name: [label.partition("=") for label in of] for name, of in sensitivity.labels.items()}
        return {name: tuple((key, value) for key, _, value in of) for name, of in tags.items()}

    def _facts(self, location: Location | None, alias: str) -> ContractFacts:
        try:
            file = location.load(is_offline=True) if location is not None else None
            return contract_facts(file, binding.model_name(file, alias)) if file is not None else ContractFacts()
        except (OdfError, OSError) as e:  # The task that tests the contract reports its problems.
            log.info("%s: lineage without the contract: %s", alias, e)
            return ContractFacts()

    def _read(
        self, declared: model.TransformInput, after: Mapping[str, InputPosition], before: Mapping[str, InputPosition]
    ) -> Input | None:
        """Return an input as of the block that was read; None if none was, or if the store does not find it."""
        position, dataset = after.get(declared.dataset_ref), self.store.find(declared.dataset_ref)
        if dataset is None or position is None or position.block_hash is None:
            return None
        subject = self._of(dataset, self.states(dataset, position.block_hash))
        counts = Counts(records=_next_offset(position) - _next_offset(before.get(declared.dataset_ref)))
        return Input(declared.alias or str(dataset.alias), subject, position.block_hash, counts)


def _next_offset(position: InputPosition | None) -> int:
    return 0 if position is None or position.offset is None else position.offset + 1
