"""Sensitive columns of datasets in a store, with those that derivatives make of sensitive columns of their inputs.

What counts for a dataset is the contract in force: the file next to the manifest where the manifest is known, else what
its newest test recorded, and the attachment in the chain. A column of a derivative is sensitive if a sensitive column
goes into it or decides about its values or rows, also as a hash. Only the contract of the derivative can lower it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.contract import binding
from airflow_provider_odf.contract.sensitivity import EVERY_COLUMN, UNNAMED, Sensitivity
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.file_status import is_file
from airflow_provider_odf.manifest import model

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.lineage.columns import ColumnLineage

log = logging.getLogger(__name__)

_MOST_BLOCKS = 300
"""Blocks in which the newest test is looked for."""


@dataclass
class SensitiveColumns:
    """The sensitive columns of the datasets of a store and of the stores that it finds inputs in.

    ``folder`` is that of the manifests, if it is known; contracts are next to them. ``state_of`` returns the state of
    an input at its head.
    """

    store: Store
    folder: Path | None = None
    state_of: Callable[[Dataset], ChainState] = replay
    _known: dict[str, Sensitivity] = field(default_factory=dict)

    def of(self, dataset: Dataset, state: ChainState, own: Sensitivity | None = None) -> Sensitivity:
        """Return the sensitive columns of a dataset as of a state of its chain.

        :param own: what its contract says, by default that of the contract in force.
        """
        if dataset.uri not in self._known:
            self._known[dataset.uri] = Sensitivity()  # ends a circle of inputs
            own = own if own is not None else self._of_contract(dataset, state)
            schema = state.row_schema()
            added = state.vocab.columns[:3]
            columns = [name for name in schema.names if name not in added] if schema is not None else None
            self._known[dataset.uri] = self.of_transform(own, state.transform, columns)
        return self._known[dataset.uri]

    def names(self, dataset: Dataset, state: ChainState) -> frozenset[str]:
        """Return the names of the sensitive columns of a dataset, in lower case."""
        schema = state.row_schema()
        return self.of(dataset, state).among(schema.names) if schema is not None else frozenset()

    def of_transform(
        self, own: Sensitivity, transform: model.SetTransform | None, columns: Sequence[str] | None = None
    ) -> Sensitivity:
        """Return what a contract says, with what the columns of a transform inherit from its inputs.

        :param columns: of the derivative without those that the merge adds, None if they are not known yet.
        """
        if transform is None:
            return own
        inputs = [_Input.of(self, item) for item in transform.inputs]
        if all(item.columns is not None and not item.sensitivity.labels for item in inputs):
            return own
        return own.with_inherited(_inherited(transform, inputs, columns))

    def _of_contract(self, dataset: Dataset, state: ChainState) -> Sensitivity:
        """Return what the contract in force of a dataset says."""
        alias = str(dataset.alias)
        for path in binding.beside(self.folder / "odf.yaml", alias) if self.folder is not None else ():
            if is_file(path) and (of_file := stated(binding.Location(path), alias)) is not None:
                return of_file
        attached = binding.attached(state.attachments, Path(alias))
        own = (stated(attached, alias) if attached is not None else None) or Sensitivity()
        tested = _tested(dataset, state)
        public = {*own.public, *tested.public} - {*own.labels, *tested.labels}
        return replace(own, public=tuple(sorted(public))).with_inherited(tested.labels)


@dataclass(frozen=True)
class _Input:
    """An input of a derivative: its name in queries, its columns, None if it cannot be read, and the sensitive ones."""

    alias: str
    columns: tuple[str, ...] | None
    sensitivity: Sensitivity

    @classmethod
    def of(cls, known: SensitiveColumns, item: model.TransformInput) -> _Input:
        try:
            dataset = known.store.find(item.dataset_ref)
            state = known.state_of(dataset) if dataset is not None else None
            schema = state.row_schema() if state is not None else None
        except (OdfError, OSError, ValueError) as e:
            log.info("sensitive columns: input %s cannot be read: %s", item.alias or item.dataset_ref, e)
            return cls(str(item.alias or item.dataset_ref), None, Sensitivity())
        if dataset is None or state is None:
            return cls(str(item.alias or item.dataset_ref), None, Sensitivity())
        columns = tuple(schema.names) if schema is not None else ()
        return cls(str(item.alias or dataset.alias), columns, known.of(dataset, state))


def _inherited(
    transform: model.SetTransform, inputs: Iterable[_Input], columns: Sequence[str] | None
) -> Mapping[str, set[str]]:
    """Return the labels that columns of a derivative inherit. Where lineage is not resolved, a column may be made of
    any column of the inputs."""
    from airflow_provider_odf.lineage.columns import column_lineage, transform_of

    query, by_alias = transform_of(transform.transform), {item.alias: item for item in inputs}
    tables = {alias: item.columns for alias, item in by_alias.items() if item.columns is not None}
    lineage = column_lineage(query.engine, query.queries, tables)
    any_label = {label for item in by_alias.values() for of in item.sensitivity.labels.values() for label in of}
    any_label |= {UNNAMED} if any(item.columns is None for item in by_alias.values()) else set()

    def labels(column: str) -> set[str]:
        origins = (*lineage.of(column), *lineage.rows)
        known = {label for o in origins for label in by_alias[o.table].sensitivity.of(o.column)}
        return known if lineage.is_resolved(column) else any_label

    return {column.lower(): labels(column) for column in _columns(lineage, columns)}


def _columns(lineage: ColumnLineage, columns: Sequence[str] | None) -> Iterable[str]:
    """Return the columns that a query makes."""
    if columns is None:
        return lineage.columns if lineage.is_complete else (*lineage.columns, EVERY_COLUMN)
    return [name for name in columns if lineage.has(name)]


def stated(location: binding.Location, alias: str) -> Sensitivity | None:
    """Return what a contract says, or None if it is not valid: the task that tests it reports its problems."""
    from airflow_provider_odf.contract.sensitivity import of_model

    try:
        file = location.load(is_offline=True)
        return of_model(file.contract.model(binding.model_name(file, alias)))
    except (OdfError, OSError) as e:
        log.info("%s: the contract cannot be read: %s", alias, e)
        return None


def _tested(dataset: Dataset, state: ChainState) -> Sensitivity:
    """Return what the newest test of a published block recorded."""
    tests = dataset.storage.names("info/reports")
    for block_hash, _ in dataset.data_blocks(state.head, _MOST_BLOCKS) if tests else ():
        record = candidates.load_record(dataset, block_hash)
        if record is not None and record.report is not None:
            names = {name.lower(): (UNNAMED,) for name in record.report.sensitive_columns}
            return record.sensitivity or Sensitivity(names)
    return Sensitivity()
